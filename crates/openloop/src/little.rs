//! Little's law on every input port, as an identity of a finite run: packets held, summed over time, are what packets
//! waited, summed over packets (Little, "A proof for the queuing formula L = λW", Operations Research 9, 1961). Counted
//! where debug assertions are on, as in tests.

use crate::packet::NONE;
use crate::shard::Shard;

/// Of the queues of an input port.
#[derive(Clone, Copy, Default)]
pub(crate) struct QueueMeter {
    /// Packets held, summed over time [ticks].
    area: u64,
    /// Until when that is counted [ticks].
    until: u32,
    /// How long packets that left had waited, put together [ticks].
    waited: u64,
}

impl QueueMeter {
    /// For so many ports; none where nothing is asserted.
    pub fn several(ports: usize) -> Vec<QueueMeter> {
        vec![QueueMeter::default(); if cfg!(debug_assertions) { ports } else { 0 }]
    }

    fn count(&mut self, now: u32, held: u16) {
        self.area += u64::from(now - self.until) * u64::from(held);
        self.until = now;
    }
}

impl Shard {
    /// Before a port holds more or fewer packets.
    #[inline]
    pub fn meter(&mut self, port: usize, waited: u32) {
        if cfg!(debug_assertions) {
            self.meters[port].count(self.now, self.ports[port].held);
            self.meters[port].waited += u64::from(waited);
        }
    }

    /// At the end of a run.
    pub fn assert_little(&self) {
        for (port, mut meter) in self.meters.iter().copied().enumerate() {
            meter.count(self.now, self.ports[port].held);
            let inputs = (port << self.shift)..((port + 1) << self.shift);
            let still: u64 = inputs.map(|input| self.still(input)).sum();
            assert_eq!(meter.area, meter.waited + still, "packets held over time are what packets waited");
        }
    }

    /// How long the packets of an input channel have waited so far, put together [ticks].
    fn still(&self, input: usize) -> u64 {
        let first = Some(self.inputs[input].first).filter(|&id| id != NONE);
        let waiting = std::iter::successors(first, |&id| Some(self.slab.peek(id).next).filter(|&id| id != NONE));
        waiting.map(|id| u64::from(self.now - self.slab.peek(id).entered)).sum()
    }
}
