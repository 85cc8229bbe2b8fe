//! Little's law on every input port, as an identity of a finite run: packets held, summed over time, are what packets
//! waited, summed over packets (Little, "A proof for the queuing formula L = λW", Operations Research 9, 1961). Counted
//! where debug assertions are on, as in tests.

/// Of the queues of an input port.
#[derive(Clone, Copy, Default)]
pub(crate) struct QueueMeter {
    /// Packets held, summed over time [ticks].
    pub area: u64,
    /// Until when that is counted [ticks].
    until: u32,
    /// How long packets that left had waited, put together [ticks].
    pub waited: u64,
}

impl QueueMeter {
    /// For so many ports; none where nothing is asserted.
    pub fn several(ports: usize) -> Vec<QueueMeter> {
        vec![QueueMeter::default(); if cfg!(debug_assertions) { ports } else { 0 }]
    }

    /// Counts the packets held until now.
    pub fn count(&mut self, now: u32, held: u16) {
        self.area += u64::from(now - self.until) * u64::from(held);
        self.until = now;
    }
}
