//! A receive queue of the kernel: the frames in it, its interrupt, its moderation.

use etherweave_primitives::{Duration, Time};

use super::moderation::{AdaptiveModeration, QueueTotals};
use crate::indices::{CoreIndex, HostIndex};
use crate::packet::{Handle, NO_PACKET};
use crate::params::{Moderation, ModerationProfile, ModerationTimer, ReceiveParams};

/// State of the interrupt side of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Softirq {
    /// The next frame starts the timer of the interrupt.
    Armed,
    /// The interrupt is scheduled.
    Scheduled,
    /// A batch of so many frames is being worked on.
    Running(u32),
}

/// See the module.
pub(crate) struct ReceiveQueue {
    /// Its host, numbered in the shard.
    pub host: HostIndex,
    /// The core of its interrupt, numbered in the shard, or [`OWN_CORE`](super::OWN_CORE).
    pub core: CoreIndex,
    /// Frames that wait: a list through the packet slab.
    pub(super) frames: (Handle, Handle),
    pub(super) softirq: Softirq,
    /// When its present event is due; earlier ones that are still in the calendar are void.
    pub(super) due: Time,
    /// When the NIC raises the interrupt.
    raised_at: Time,
    /// Frames since it was armed.
    completions: u32,
    /// Frames in it.
    pub(super) occupancy: u32,
    /// Batches so far: the number of the present one.
    pub(super) batch: u32,
    profile: ModerationProfile,
    totals: QueueTotals,
    adaptive: Option<AdaptiveModeration>,
}

impl ReceiveQueue {
    /// An empty queue of `host` that interrupts `core`.
    pub fn new(host: HostIndex, core: CoreIndex, params: &ReceiveParams) -> ReceiveQueue {
        let profile = match &params.moderation {
            Moderation::Off {} => ModerationProfile { period: Duration::ZERO, count: 1 },
            Moderation::Fixed(profile) => *profile,
            Moderation::Adaptive(adaptive) => params.timer.profiles()[usize::from(adaptive.start)],
        };
        let is_adaptive = matches!(params.moderation, Moderation::Adaptive(_));
        ReceiveQueue {
            host,
            core,
            frames: (NO_PACKET, NO_PACKET),
            softirq: Softirq::Armed,
            due: Time::ZERO,
            raised_at: Time::ZERO,
            completions: 0,
            occupancy: 0,
            batch: 0,
            profile,
            totals: QueueTotals::default(),
            adaptive: is_adaptive.then(AdaptiveModeration::new),
        }
    }

    /// A frame has come while nothing polls. Returns when the NIC raises the interrupt, as things stand.
    pub(super) fn complete(&mut self, now: Time, timer: ModerationTimer) -> Time {
        let is_raised = self.softirq == Softirq::Scheduled && self.raised_at <= now;
        self.softirq = Softirq::Scheduled;
        self.completions += 1;
        if is_raised {
            return self.raised_at;
        }
        if self.completions >= self.profile.count {
            self.raised_at = now;
        } else if self.completions == 1 || timer == ModerationTimer::Completion {
            self.raised_at = now + self.profile.period;
        }
        self.raised_at
    }

    /// When the NIC raises the interrupt, or has.
    pub(super) fn raised_at(&self) -> Time {
        self.raised_at
    }

    /// The handler runs.
    pub(super) fn interrupt(&mut self) {
        self.totals.interrupts += 1;
    }

    /// A frame of `bytes` has been worked on.
    pub(super) fn took(&mut self, bytes: u32) {
        self.occupancy -= 1;
        self.totals.packets += 1;
        self.totals.bytes += u64::from(bytes);
    }

    /// Polling has found the queue empty: arms the interrupt. Whether another profile is set.
    pub(super) fn arm(&mut self, now: Time, timer: ModerationTimer) -> bool {
        self.softirq = Softirq::Armed;
        self.completions = 0;
        let Some(profile) = self.adaptive.as_mut().and_then(|adaptive| adaptive.sample(now, self.totals)) else {
            return false;
        };
        self.profile = timer.profiles()[profile];
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// When the interrupt comes after frames at `arrivals` [us].
    fn raised(timer: ModerationTimer, moderation: Moderation, arrivals: &[u64]) -> Vec<u64> {
        let params = ReceiveParams { timer, moderation, ..ReceiveParams::default() };
        let mut queue = ReceiveQueue::new(HostIndex::new(0), CoreIndex::NONE, &params);
        let micros = |time: Time| time.as_ps() / 1_000_000;
        arrivals.iter().map(|&arrival| micros(queue.complete(at(arrival), timer))).collect()
    }

    fn fixed(period: u64, count: u32) -> Moderation {
        Moderation::Fixed(ModerationProfile { period: Duration::from_us(period), count })
    }

    #[test]
    fn the_timer_starts_with_the_last_frame_or_with_the_first() {
        assert_eq!(raised(ModerationTimer::Completion, fixed(8, 9), &[0, 3, 6]), [8, 11, 14]);
        assert_eq!(raised(ModerationTimer::Event, fixed(8, 9), &[0, 3, 6]), [8, 8, 8]);
    }

    #[test]
    fn enough_frames_raise_the_interrupt_at_once() {
        assert_eq!(raised(ModerationTimer::Completion, fixed(8, 3), &[0, 3, 6, 7]), [8, 11, 6, 6]);
        assert_eq!(raised(ModerationTimer::Event, fixed(8, 3), &[0, 3, 6, 7]), [8, 8, 6, 6]);
        assert_eq!(raised(ModerationTimer::Completion, Moderation::Off {}, &[5]), [5]);
    }

    /// What comes between the interrupt and its handler is polled.
    #[test]
    fn a_frame_after_the_interrupt_does_not_postpone_it() {
        assert_eq!(raised(ModerationTimer::Completion, fixed(8, 9), &[0, 8, 9]), [8, 8, 8]);
    }

    #[test]
    fn a_fresh_adaptive_queue_waits_as_its_driver_sets_it() {
        assert_eq!(raised(ModerationTimer::Completion, Moderation::Adaptive(Default::default()), &[0]), [32]);
    }
}
