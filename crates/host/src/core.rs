//! Processor cores that ranks and the interrupt side of receive queues share.
//!
//! ```text
//!   rank   ──task──────┐        ┌───rest of the task──► done, later by what interrupts took
//!   queue              └─batch──┘
//! ```
//!
//! An interrupt stops whatever runs on its core until its batch is done; batches of several queues follow each other.
//! Ranks of one core run a task each in turn, in the order in which they have something to do.

use etherweave_kernel::indices::CoreIndex;
use etherweave_primitives::{Duration, Time};

/// The thread or queue has a core of its own.
pub const OWN_CORE: CoreIndex = CoreIndex::NONE;

/// See the module.
#[derive(Clone, Copy, Default, Debug)]
pub struct Core {
    /// When all tasks that have begun will be done, if nothing interrupts them.
    free_at: Time,
    /// When the interrupts so far will be done.
    interrupted_until: Time,
    interrupts: Duration,
}

impl Core {
    /// A task of `cost` begins as soon as the core is free: when it will be done, if nothing interrupts it.
    pub fn begin(&mut self, now: Time, cost: Duration) -> Time {
        self.free_at = self.free_at.max(now) + cost;
        self.free_at
    }

    /// An interrupt takes `cost`: when it will be done.
    pub fn interrupt(&mut self, now: Time, cost: Duration) -> Time {
        let start = self.interrupted_until.max(now);
        self.interrupted_until = start + cost;
        self.interrupts += cost;
        self.free_at = self.free_at.max(start) + cost;
        self.interrupted_until
    }

    /// Returns the time that interrupts have taken so far: a task is done later by what has been added since it began.
    pub fn interrupts(&self) -> Duration {
        self.interrupts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn us(us: u64) -> Duration {
        Duration::from_us(us)
    }

    #[test]
    fn an_idle_core_serves_at_once_and_a_busy_one_in_turn() {
        let mut core = Core::default();
        assert_eq!(core.begin(at(5), us(10)), at(15));
        assert_eq!(core.begin(at(7), us(2)), at(17), "another rank of the core waits for the first");
    }

    #[test]
    fn an_interrupt_comes_at_once_and_delays_what_runs() {
        let mut core = Core::default();
        let (done, before) = (core.begin(at(0), us(10)), core.interrupts());
        assert_eq!(core.interrupt(at(4), us(3)), at(7));
        assert_eq!(core.interrupt(at(5), us(1)), at(8), "batches follow each other");
        assert_eq!(done + (core.interrupts() - before), at(14));
        assert_eq!(core.begin(at(6), us(1)), at(15), "the next task waits for both");
    }

    #[test]
    fn a_task_that_comes_during_an_interrupt_waits_for_its_end() {
        let mut core = Core::default();
        assert_eq!(core.interrupt(at(1), us(4)), at(5));
        assert_eq!(core.begin(at(2), us(1)), at(6));
    }
}
