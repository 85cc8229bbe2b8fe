//! Little's law on a queue, as an identity of a finite run: packets held, summed over time, are what packets waited,
//! summed over packets (Little, "A proof for the queuing formula L = λW", Operations Research 9, 1961). Counted where
//! debug assertions are on, as in tests.

/// Occupancy of a queue and waits of its packets, in ticks of the simulator.
#[derive(Clone, Copy, Default, Debug)]
pub struct QueueMeter {
    /// Packets held, summed over time [ticks].
    area: u128,
    /// Until when that is counted [ticks].
    until: u64,
    /// How long packets that left had waited, put together [ticks].
    waited: u128,
}

impl QueueMeter {
    /// Meters of so many queues; none where nothing is asserted.
    pub fn several(queues: usize) -> Vec<QueueMeter> {
        vec![QueueMeter::default(); if cfg!(debug_assertions) { queues } else { 0 }]
    }

    /// Counts the packets held until now, before one more comes.
    pub fn enter(&mut self, now: u64, held: u32) {
        self.area += u128::from(now - self.until) * u128::from(held);
        self.until = now;
    }

    /// Counts the packets held until now, before one leaves that has waited so long.
    pub fn leave(&mut self, now: u64, held: u32, waited: u64) {
        self.enter(now, held);
        self.waited += u128::from(waited);
    }

    /// Asserts the law at the end of a run, when packets that are held have waited `still` altogether.
    ///
    /// # Panics
    /// When it does not hold: a packet was counted twice, or not at all.
    pub fn end(mut self, now: u64, held: u32, still: u128) {
        self.enter(now, held);
        assert_eq!(self.area, self.waited + still, "Little's law: packets held over time are what packets waited");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One packet waits from 2 to 7, another from 4 on: at 10 they have been held for 5 + 6 ticks.
    fn meter() -> QueueMeter {
        let mut meter = QueueMeter::default();
        meter.enter(2, 0);
        meter.enter(4, 1);
        meter.leave(7, 2, 5);
        meter
    }

    #[test]
    fn what_is_held_over_time_is_what_packets_waited() {
        meter().end(10, 1, 6);
    }

    #[test]
    #[should_panic(expected = "Little's law")]
    fn a_packet_that_is_not_counted_breaks_the_law() {
        meter().end(10, 1, 5);
    }
}
