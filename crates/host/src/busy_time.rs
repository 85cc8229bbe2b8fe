//! Processor time by kind, of ranks, streams and receive queues, where a run samples its hosts.

use etherweave_kernel::{IndexVec, indices::ReceiveQueueIndex, indices::ThreadIndex};
use etherweave_primitives::{Duration, Time};

/// Processor time by kind.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ProcessorTimes {
    /// Programs, and libraries that work for them.
    pub user: Duration,
    /// The kernel, in calls of programs.
    pub system: Duration,
    /// Waits of ranks for messages, or for a core: time that a library which polls takes of its core.
    pub waiting: Duration,
}

/// Times of a thread or a receive queue until its last task ends.
#[derive(Clone, Copy, Default, Debug)]
pub struct BusyTime {
    times: ProcessorTimes,
    /// Times of the last task, of which the kernel's part comes last.
    last: ProcessorTimes,
    /// End of the last task; absent before the first.
    until: Option<Time>,
}

impl BusyTime {
    /// Adds a task that begins now; the time since the last one is a wait of a rank that `waits`.
    pub(super) fn add(&mut self, (now, until): (Time, Time), last: ProcessorTimes, waits: bool) {
        self.times = self.at(now, waits);
        self.times.user += last.user;
        self.times.system += last.system;
        (self.last, self.until) = (last, Some(until));
    }

    /// Has the last task end later.
    pub(super) fn postpone(&mut self, span: Duration) {
        self.until = self.until.map(|until| until + span);
    }

    /// Times until `now`.
    pub fn at(&self, now: Time, waits: bool) -> ProcessorTimes {
        let Some(until) = self.until else { return self.times };
        let left = until.since(now).min(self.last.user + self.last.system);
        let of_kernel = left.min(self.last.system);
        let waiting = if waits { now.since(until) } else { Duration::ZERO };
        ProcessorTimes {
            user: self.times.user - (left - of_kernel),
            system: self.times.system - of_kernel,
            waiting: self.times.waiting + waiting,
        }
    }
}

/// Times of a shard's threads and receive queues; none where hosts are not sampled.
#[derive(Default)]
pub struct BusyTimes {
    /// Ranks and streams.
    pub threads: IndexVec<ThreadIndex, BusyTime>,
    /// Interrupt sides of the kernel.
    pub queues: IndexVec<ReceiveQueueIndex, BusyTime>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Duration {
        Duration::from_us(us)
    }

    /// A send of 2 us in a library and 3 us in the kernel, from 10 us on; then the rank waits until 20 us.
    #[test]
    fn a_task_counts_as_far_as_it_has_come_and_the_rest_is_a_wait() {
        let at = |time| Time::ZERO + us(time);
        let mut busy = BusyTime::default();
        let send = ProcessorTimes { user: us(2), system: us(3), waiting: Duration::ZERO };
        busy.add((at(10), at(15)), send, true);
        let times = |busy: &BusyTime, time| {
            let ProcessorTimes { user, system, waiting } = busy.at(at(time), true);
            [user, system, waiting].map(|span| span.as_ps() / 1_000_000)
        };
        assert_eq!(
            [10, 11, 13, 15, 18].map(|time| times(&busy, time)),
            [[0, 0, 0], [1, 0, 0], [2, 1, 0], [2, 3, 0], [2, 3, 3]]
        );
        busy.add((at(20), at(25)), send, true);
        busy.postpone(us(4));
        assert_eq!([24, 29].map(|time| times(&busy, time)), [[2, 3, 5], [4, 6, 5]]);
        assert_eq!(busy.at(at(40), false).waiting, us(5), "its program has ended");
    }
}
