//! Which traffic class sends next: strict priority, then enhanced transmission selection.
//!
//! Classes of weight 0 are strict: the highest eligible one goes first. The others share what is left by deficit
//! round robin (Shreedhar and Varghese 1995), in its surplus form: a class may send while its deficit is
//! positive and pays afterwards, so the scheduler never needs a packet's length beforehand. A class that is empty or
//! paused gives its share to the others (IEEE 802.1Q-2018, 8.6.8.4).

use super::port::Port;
use crate::params::Ets;

/// Largest frame that a share must cover in one turn [B]: a jumbo frame.
const TURN: i32 = 9_216;

/// The scheduler's constants, the same for all ports.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// Classes with strict priority, a bit each.
    strict: u8,
    /// Bytes that a class earns at its turn.
    quantum: [i32; 8],
    /// Class of each priority.
    pub class_of_priority: [u8; 8],
}

impl Scheduler {
    /// The scheduler of `ets`.
    pub fn new(ets: &Ets) -> Scheduler {
        let least = ets.weights.iter().copied().filter(|&weight| weight > 0).min().unwrap_or(1);
        Scheduler {
            strict: (0..8).filter(|&class| ets.weights[class] == 0).fold(0, |mask, class| mask | 1 << class),
            quantum: ets.weights.map(|weight| i32::from(weight) * TURN / i32::from(least)),
            class_of_priority: ets.class_of_priority,
        }
    }

    /// The class of a priority.
    #[inline]
    pub fn class(&self, priority: u8) -> usize {
        usize::from(self.class_of_priority[usize::from(priority)])
    }

    /// The class to serve among `eligible` (a bit each, not empty).
    #[inline]
    pub fn pick(&self, port: &mut Port, eligible: u8) -> usize {
        debug_assert!(eligible != 0, "somebody must be eligible");
        let strict = eligible & self.strict;
        if strict != 0 {
            return 7 - strict.leading_zeros() as usize;
        }
        if eligible.is_power_of_two() {
            return eligible.trailing_zeros() as usize;
        }
        self.next_turn(port, eligible)
    }

    /// Charges a class for `bytes` that it sends; an emptied class forgets its deficit.
    #[inline]
    pub fn charge(&self, port: &mut Port, class: usize, bytes: u32, others_wait: bool) {
        port.lanes[class].queue.deficit = if others_wait { port.lanes[class].queue.deficit - bytes as i32 } else { 0 };
    }

    fn next_turn(&self, port: &mut Port, eligible: u8) -> usize {
        loop {
            let class = usize::from(port.turn);
            if eligible & 1 << class != 0 && port.lanes[class].queue.deficit > 0 {
                return class;
            }
            port.turn = (port.turn + 1) % 8;
            let next = usize::from(port.turn);
            if eligible & 1 << next != 0 {
                port.lanes[next].queue.deficit += self.quantum[next];
            }
        }
    }
}
