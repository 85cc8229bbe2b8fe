//! Scheduling of traffic classes: strict priority, then enhanced transmission selection.
//!
//! Classes of weight 0 are strict: the highest eligible one goes first. The others share what is left by deficit
//! round robin (Shreedhar and Varghese 1995), in its surplus form: a class may send while its deficit is
//! positive and pays afterwards, so the scheduler never needs a packet's length beforehand. A class that is empty or
//! paused gives its share to the others (IEEE 802.1Q-2018, 8.6.8.4).

use super::port::{ClassQueue, Port};
use crate::params::Ets;

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
    /// The scheduler of `ets`, where no frame is larger than `largest_frame` [B on the wire]: at its turn the smallest
    /// share earns one such frame, the finest grain with which every turn serves (Shreedhar and Varghese, section 3).
    pub fn new(ets: &Ets, largest_frame: u32) -> Scheduler {
        let least = ets.weights.iter().copied().filter(|&weight| weight > 0).min().unwrap_or(1);
        Scheduler {
            strict: (0..8).filter(|&class| ets.weights[class] == 0).fold(0, |mask, class| mask | 1 << class),
            quantum: ets.weights.map(|weight| i32::from(weight) * largest_frame as i32 / i32::from(least)),
            class_of_priority: ets.class_of_priority,
        }
    }

    /// The class of a priority.
    #[inline]
    pub fn class(&self, priority: u8) -> usize {
        usize::from(self.class_of_priority[usize::from(priority)])
    }

    /// Whether several of these classes, a bit each, take turns.
    pub fn have_turns(&self, classes: u8) -> bool {
        (classes & !self.strict).count_ones() > 1
    }

    /// The class to serve among `eligible` (a bit each, not empty).
    #[inline]
    pub fn pick(&self, port: &mut Port, eligible: u8) -> usize {
        debug_assert!(eligible != 0, "at least one class is eligible");
        let strict = eligible & self.strict;
        if strict != 0 {
            return 7 - strict.leading_zeros() as usize;
        }
        if eligible.is_power_of_two() {
            return self.turn_alone(port, eligible.trailing_zeros() as usize);
        }
        self.next_turn(port, eligible)
    }

    /// Charges a class for `bytes` that it sends; an emptied class forgets its deficit, a strict one has none.
    #[inline]
    pub fn charge(&self, queue: &mut ClassQueue, class: usize, bytes: u32, still_waits: bool) {
        let (has_share, deficit) = (self.quantum[class] > 0, &mut queue.deficit);
        *deficit = if still_waits && has_share { *deficit - bytes as i32 } else { 0 };
    }

    /// A packet of `bytes` passes a port where nothing waits: as if it were enqueued, picked and charged.
    #[inline]
    pub fn pass(&self, port: &mut Port, class: usize, bytes: u32) {
        if self.strict & 1 << class == 0 {
            port.turn = class as u8;
        }
        let queue = port.queue_mut(class);
        queue.pass(bytes);
        queue.deficit = 0;
    }

    /// A class that is alone takes turn after turn: what others leave it is not held against it when they come.
    #[inline]
    fn turn_alone(&self, port: &mut Port, class: usize) -> usize {
        let deficit = &mut port.queue_mut(class).deficit;
        if *deficit <= 0 {
            *deficit += self.quantum[class];
        }
        port.turn = class as u8;
        class
    }

    fn next_turn(&self, port: &mut Port, eligible: u8) -> usize {
        loop {
            let class = usize::from(port.turn);
            if eligible & 1 << class != 0 && port.queue(class).deficit > 0 {
                return class;
            }
            port.turn = (port.turn + 1) % 8;
            let next = usize::from(port.turn);
            if eligible & 1 << next != 0 {
                port.queue_mut(next).deficit += self.quantum[next];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::{BitRate, Duration};
    use etherweave_topology::LinkClass;

    use super::*;
    use crate::port::{Owner, Peer, PeerLink};
    use etherweave_kernel::indices::{PortIndex, SwitchIndex};

    const FRAME: u32 = 4_192;

    fn port() -> Port {
        let (link, port) = (PeerLink::to_shard(0), PortIndex::new(1));
        let peer = Peer { link, port, is_host: false, link_class: LinkClass::Local };
        Port::new(BitRate::from_gbps(100), Owner::Switch(SwitchIndex::new(0)), peer, Duration::ZERO, Duration::ZERO)
    }

    /// Bytes that each class sends in `turns` frames, all of `eligible` backlogged.
    fn sent(scheduler: &Scheduler, port: &mut Port, eligible: u8, turns: u32) -> [u64; 8] {
        let mut bytes = [0; 8];
        for _ in 0..turns {
            let class = scheduler.pick(port, eligible);
            scheduler.charge(port.queue_mut(class), class, FRAME, true);
            bytes[class] += u64::from(FRAME);
        }
        bytes
    }

    #[test]
    fn what_a_class_sent_alone_is_not_held_against_it() {
        let scheduler = Scheduler::new(&Ets { weights: [50, 50, 0, 0, 0, 0, 0, 0], ..Ets::default() }, FRAME);
        let mut port = port();
        // 600,000 frames of 4,192 B are more than an i32 counts.
        sent(&scheduler, &mut port, 0b01, 600_000);
        let shared = sent(&scheduler, &mut port, 0b11, 1_000);
        // Equal, but for the turn that had begun: one quantum and a frame.
        assert!(shared[0].abs_diff(shared[1]) <= 2 * u64::from(FRAME), "{shared:?}");
    }

    #[test]
    fn a_packet_that_passes_leaves_a_port_as_one_that_is_picked_at_once() {
        let scheduler = Scheduler::new(&Ets { weights: [50, 50, 0, 0, 0, 0, 0, 0], ..Ets::default() }, FRAME);
        for class in [1, 7] {
            let [mut passed, mut picked] = [port(), port()];
            scheduler.pass(&mut passed, class, FRAME);
            picked.queue_mut(class).pass(FRAME);
            assert_eq!(scheduler.pick(&mut picked, 1 << class), class);
            scheduler.charge(picked.queue_mut(class), class, FRAME, false);
            let state = |port: &Port| (port.turn, port.queue(class).deficit, port.queue(class).bytes_max);
            assert_eq!(state(&passed), state(&picked), "class {class}");
        }
    }

    #[test]
    fn a_strict_class_goes_first_and_owes_nothing() {
        let scheduler = Scheduler::new(&Ets { weights: [100, 0, 0, 0, 0, 0, 0, 0], ..Ets::default() }, FRAME);
        let mut port = port();
        let shared = sent(&scheduler, &mut port, 0b1000_0001, 600_000);
        assert_eq!((shared[0], shared[7]), (0, 600_000 * u64::from(FRAME)));
        assert_eq!(port.queue(7).deficit, 0);
    }
}
