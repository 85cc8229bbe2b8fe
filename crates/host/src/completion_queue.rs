//! A completion queue of the NIC: its interrupt, and the moderation of that.

use etherweave_engine::params::{
    Moderation, ModerationProfile, ModerationTimer, PROFILES, ReceiveParams, TransmitParams,
};
use etherweave_primitives::{Duration, Time};

use super::moderation::{AdaptiveModeration, QueueTotals};

pub(super) struct CompletionQueue {
    /// When the NIC raises the interrupt, [`Time::MAX`] while nothing is complete.
    raised_at: Time,
    /// Completions since it was polled.
    completions: u32,
    timer: ModerationTimer,
    profile: ModerationProfile,
    totals: QueueTotals,
    adaptive: Option<AdaptiveModeration>,
    /// Profiles that adaptive moderation chooses from.
    profiles: [ModerationProfile; PROFILES],
}

impl CompletionQueue {
    /// Creates the queue for received frames.
    pub fn of_receive(params: &ReceiveParams) -> CompletionQueue {
        CompletionQueue::new(params.timer, &params.moderation, params.timer.receive_profiles())
    }

    /// Creates the queue for sent frames.
    pub fn of_transmit(params: &TransmitParams) -> CompletionQueue {
        CompletionQueue::new(params.timer, &params.moderation, params.timer.transmit_profiles())
    }

    fn new(
        timer: ModerationTimer,
        moderation: &Moderation,
        profiles: [ModerationProfile; PROFILES],
    ) -> CompletionQueue {
        let profile = match moderation {
            Moderation::Off {} | Moderation::Throttled(_) => ModerationProfile { period: Duration::ZERO, count: 1 },
            Moderation::Fixed(profile) => *profile,
            Moderation::Adaptive(adaptive) => profiles[usize::from(adaptive.start)],
        };
        let is_adaptive = matches!(moderation, Moderation::Adaptive(_));
        CompletionQueue {
            raised_at: Time::MAX,
            completions: 0,
            timer,
            profile,
            totals: QueueTotals::default(),
            adaptive: is_adaptive.then(AdaptiveModeration::new),
            profiles,
        }
    }

    /// A frame or segment is complete while nothing polls.
    pub fn complete(&mut self, now: Time) {
        self.completions += 1;
        if self.raised_at <= now {
            return;
        }
        if self.completions >= self.profile.count {
            self.raised_at = now;
        } else if self.completions == 1 || self.timer == ModerationTimer::Completion {
            self.raised_at = now + self.profile.period;
        }
    }

    /// When the NIC raises the interrupt, as things stand, or has.
    pub fn raised_at(&self) -> Time {
        self.raised_at
    }

    /// The handler of an interrupt runs, perhaps of this queue.
    pub fn interrupt(&mut self, now: Time) {
        self.totals.interrupts += u64::from(self.raised_at <= now);
    }

    /// Counts `packets` of `bytes` in all.
    pub fn count(&mut self, packets: u64, bytes: u64) {
        self.totals.packets += packets;
        self.totals.bytes += bytes;
    }

    /// Totals so far.
    pub fn totals(&self) -> QueueTotals {
        self.totals
    }

    /// Takes all that is complete: the next completion is the first.
    pub fn poll(&mut self) {
        (self.completions, self.raised_at) = (0, Time::MAX);
    }

    /// The interrupt is armed: whether another profile is set.
    pub fn sample(&mut self, now: Time) -> bool {
        let Some(profile) = self.adaptive.as_mut().and_then(|adaptive| adaptive.sample(now, self.totals)) else {
            return false;
        };
        self.profile = self.profiles[profile];
        true
    }
}

#[cfg(test)]
impl CompletionQueue {
    /// Interrupts so far.
    pub fn interrupts(&self) -> u64 {
        self.totals.interrupts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// When the interrupt comes after completions at these times [us].
    fn raised_in(mut queue: CompletionQueue, completions: &[u64]) -> Vec<u64> {
        let mut raised = |time| {
            queue.complete(at(time));
            queue.raised_at().as_ps() / 1_000_000
        };
        completions.iter().map(|&time| raised(time)).collect()
    }

    fn raised(timer: ModerationTimer, moderation: Moderation, arrivals: &[u64]) -> Vec<u64> {
        raised_in(
            CompletionQueue::of_receive(&ReceiveParams { timer, moderation, ..ReceiveParams::default() }),
            arrivals,
        )
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

    /// Frames between the interrupt and its handler are polled.
    #[test]
    fn a_frame_after_the_interrupt_does_not_postpone_it() {
        assert_eq!(raised(ModerationTimer::Completion, fixed(8, 9), &[0, 8, 9]), [8, 8, 8]);
    }

    #[test]
    fn a_fresh_adaptive_queue_waits_as_its_driver_sets_it() {
        assert_eq!(raised(ModerationTimer::Completion, Moderation::Adaptive(Default::default()), &[0]), [32]);
        let transmit = CompletionQueue::of_transmit(&TransmitParams::default());
        assert_eq!(raised_in(transmit, &[0, 3, 6]), [8, 8, 8], "from the first segment");
    }

    /// 64 interrupts, a window, and a thousand times the rate of before: from profile 1 of transmission, as the NIC has
    /// it, and 0, as the software counts, to 32 us by the second step.
    #[test]
    fn what_is_sent_has_profiles_of_its_own() {
        let mut queue = CompletionQueue::of_transmit(&TransmitParams::default());
        assert!(!queue.sample(at(0)), "the first sample starts a window");
        let mut window = |start: u64, packets: u64| {
            for _ in 0..64 {
                queue.complete(at(start));
                queue.interrupt(at(start + 8));
                queue.poll();
            }
            queue.count(packets, 1_500 * packets);
            let has_changed = queue.sample(at(start + 640));
            queue.sample(at(start + 640));
            (has_changed, queue.profile.period)
        };
        assert_eq!(window(0, 64), (true, Duration::from_us(8)));
        assert_eq!(window(1_000, 64_000), (true, Duration::from_us(32)));
    }
}
