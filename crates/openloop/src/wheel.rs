//! Timing wheel: events in one slot per tick, for delays that are bounded.

use crate::cache::every_line;

/// No node, no event.
const NONE: u32 = u32::MAX;

/// Events by tick. Putting one in and taking one out take the same time however many there are, and memory once used is
/// used again. Events of one tick come out in the order in which they went in.
pub(crate) struct Wheel {
    slots: Vec<Slot>,
    /// A bit per slot that holds something.
    filled: Vec<u64>,
    nodes: Vec<WheelNode>,
    free: u32,
    mask: u32,
}

#[derive(Clone, Copy)]
struct Slot {
    first: u32,
    last: u32,
}

#[derive(Clone, Copy)]
struct WheelNode {
    event: u32,
    next: u32,
}

impl Wheel {
    /// A wheel for events less than `horizon` ticks ahead.
    pub fn new(horizon: u32) -> Wheel {
        let size = horizon.next_power_of_two().max(64);
        Wheel {
            slots: vec![Slot { first: NONE, last: NONE }; size as usize],
            filled: vec![0; size as usize / 64],
            nodes: Vec::new(),
            free: NONE,
            mask: size - 1,
        }
    }

    /// How far ahead an event may be [ticks].
    pub fn horizon(&self) -> u32 {
        self.mask
    }

    /// Puts an event at a tick that is at most [`Wheel::horizon`] ahead.
    #[inline]
    pub fn put(&mut self, at: u32, event: u32) {
        let node = self.node(event);
        let index = (at & self.mask) as usize;
        let slot = &mut self.slots[index];
        if slot.first == NONE {
            slot.first = node;
            self.filled[index / 64] |= 1 << (index % 64);
        } else {
            self.nodes[slot.last as usize].next = node;
        }
        self.slots[index].last = node;
    }

    #[inline]
    fn node(&mut self, event: u32) -> u32 {
        let fresh = WheelNode { event, next: NONE };
        let node = self.free;
        if node == NONE {
            self.nodes.push(fresh);
            return self.nodes.len() as u32 - 1;
        }
        self.free = self.nodes[node as usize].next;
        self.nodes[node as usize] = fresh;
        node
    }

    /// Takes the first event of a tick.
    #[inline]
    pub fn take(&mut self, at: u32) -> Option<u32> {
        let index = (at & self.mask) as usize;
        let first = self.slots[index].first;
        if first == NONE {
            self.filled[index / 64] &= !(1 << (index % 64));
            return None;
        }
        let WheelNode { event, next } = self.nodes[first as usize];
        self.slots[index].first = next;
        self.nodes[first as usize].next = self.free;
        self.free = first;
        Some(event)
    }

    /// Reads a word of every cache line that events of `from..until` need: of a wheel for slow links, few slots do.
    pub fn touch(&self, from: u32, until: u32) -> u32 {
        let first = (from & self.mask) as usize;
        let (ahead, around) = (&self.slots[first..], ((until - from) as usize).min(self.slots.len()));
        let ahead = &ahead[..around.min(ahead.len())];
        let slots = every_line(ahead).chain(every_line(&self.slots[..around - ahead.len()]));
        let slots = slots.fold(0, |sum, slot| sum ^ slot.first);
        every_line(&self.nodes).fold(slots, |sum, node| sum ^ node.event)
    }

    /// The first tick in `from..until` with an event; the range is no longer than the wheel.
    #[inline]
    pub fn next(&self, from: u32, until: u32) -> Option<u32> {
        let mut at = from;
        while at < until {
            let index = (at & self.mask) as usize;
            let ahead = self.filled[index / 64] >> (index % 64);
            if ahead != 0 {
                let tick = at + ahead.trailing_zeros();
                return (tick < until).then_some(tick);
            }
            at += 64 - (index as u32 % 64);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_out_by_tick_and_then_in_the_order_they_went_in() {
        let mut wheel = Wheel::new(100);
        // The wheel has 128 slots; 130 comes round to the third of them.
        [(130, 1), (70, 2), (130, 3), (64, 4)].into_iter().for_each(|(at, event)| wheel.put(at, event));
        let mut out = Vec::new();
        let mut now = 60;
        while let Some(at) = wheel.next(now, 160) {
            while let Some(event) = wheel.take(at) {
                out.push((at, event));
            }
            now = at;
        }
        assert_eq!(out, [(64, 4), (70, 2), (130, 1), (130, 3)]);
    }

    #[test]
    fn nothing_is_found_beyond_the_end_of_a_range() {
        let mut wheel = Wheel::new(64);
        wheel.put(10, 7);
        assert_eq!(wheel.next(0, 10), None);
        assert_eq!(wheel.next(0, 11), Some(10));
        assert_eq!((wheel.take(10), wheel.take(10), wheel.next(0, 60)), (Some(7), None, None));
    }

    #[test]
    fn memory_is_used_again() {
        let mut wheel = Wheel::new(64);
        for at in 0..1_000 {
            wheel.put(at + 5, at);
            wheel.take(at);
        }
        // At most six events stand in the wheel at a time.
        assert!(wheel.nodes.len() <= 6, "{}", wheel.nodes.len());
    }
}
