//! HyStart (Ha and Rhee, "Taming the Elephants", 2011) with the constants and the coarse clock of Linux 3.10.

use etherweave_primitives::Duration;

use super::progress::AckProgress;

/// Below so many segments slow start is not questioned.
const WINDOW_MIN: u64 = 16;
/// ACKs closer than this belong to one train.
const TRAIN_GAP: Duration = Duration::from_ms(2);
/// Round-trip samples of a round that count.
const SAMPLES: u32 = 8;
/// A delay above the least one by a sixteenth of it, but by no less and no more than this, means a queue.
const DELAY_STEP: (Duration, Duration) = (Duration::from_ms(4), Duration::from_ms(16));

#[derive(Clone, Debug)]
pub(super) struct HyStart {
    tick: u64,
    window_min: u64,
    delay_min: Duration,
    /// The round ends when this is acknowledged [offset].
    round_end: u64,
    /// Start of the round and its latest ACK in the train [ticks].
    round_start: u64,
    train_end: u64,
    round_delay: Duration,
    samples: u32,
}

impl HyStart {
    pub(super) fn new(clock: Duration, mss: u64) -> HyStart {
        HyStart {
            tick: clock.as_ps(),
            window_min: WINDOW_MIN * mss,
            delay_min: Duration::from_ps(u64::MAX),
            round_end: 0,
            round_start: 0,
            train_end: 0,
            round_delay: Duration::from_ps(u64::MAX),
            samples: 0,
        }
    }

    /// Forgets what it measured, after a timeout.
    pub(super) fn restart(&mut self) {
        self.delay_min = Duration::from_ps(u64::MAX);
        self.round_end = 0;
    }

    /// Takes an ACK of slow start; true when slow start should end.
    pub(super) fn on_ack(&mut self, ack: &AckProgress, window: u64) -> bool {
        self.delay_min = self.delay_min.min(ack.round_trip);
        let now = ack.now.as_ps() / self.tick;
        if ack.una > self.round_end {
            self.start_round(now, ack.sent_to);
        }
        window >= self.window_min && (self.train_is_long(now) || self.delay_rises(ack.round_trip))
    }

    fn start_round(&mut self, now: u64, sent_to: u64) {
        self.round_end = sent_to;
        self.round_start = now;
        self.train_end = now;
        self.round_delay = Duration::from_ps(u64::MAX);
        self.samples = 0;
    }

    /// Whether closely spaced ACKs arrive for longer than half the least round trip: the pipe is full.
    fn train_is_long(&mut self, now: u64) -> bool {
        if (now - self.train_end) * self.tick > TRAIN_GAP.as_ps() {
            return false;
        }
        self.train_end = now;
        now - self.round_start > self.delay_min.as_ps() / 2 / self.tick
    }

    /// Whether the round's first samples all lie above the least delay by more than the step.
    fn delay_rises(&mut self, round_trip: Duration) -> bool {
        if self.samples < SAMPLES {
            self.samples += 1;
            self.round_delay = self.round_delay.min(round_trip);
            return false;
        }
        let step = (self.delay_min / 16).clamp(DELAY_STEP.0, DELAY_STEP.1);
        self.round_delay > self.delay_min + step
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Time;

    use super::*;

    const MSS: u64 = 1_000;

    /// ACKs of one round, 20 segments wide, at these times with these round trips [us]; how many until slow start ends.
    fn ends_after(delay_min_us: u64, acks: impl Iterator<Item = (u64, u64)>) -> Option<usize> {
        let mut hystart = HyStart::new(Duration::from_ms(1), MSS);
        hystart.delay_min = Duration::from_us(delay_min_us);
        let ends = acks.map(|(time, round_trip)| {
            let (now, round_trip) = (Time::ZERO + Duration::from_us(time), Duration::from_us(round_trip));
            let progress =
                AckProgress { now, acked: MSS, una: 1, sent_to: 1_000_000, round_trip, smoothed: round_trip };
            hystart.on_ack(&progress, 20 * MSS)
        });
        ends.zip(1..).find_map(|(end, number)| end.then_some(number))
    }

    #[test]
    fn a_delay_above_the_least_by_a_sixteenth_ends_slow_start() {
        // 100 ms + 100 / 16 ms = 106.25 ms. The ACKs are 3 ms apart, so they are no train; eight samples are needed.
        assert_eq!(ends_after(100_000, (0..20).map(|index| (3_000 * index, 107_000))), Some(9));
        assert_eq!(ends_after(100_000, (0..20).map(|index| (3_000 * index, 106_000))), None);
    }

    #[test]
    fn a_train_of_acks_longer_than_half_the_round_trip_ends_slow_start() {
        // Ticks of 1 ms, round trips of 10 ms: the seventh ACK comes 6 > 5 ms after the first.
        assert_eq!(ends_after(10_000, (0..20).map(|index| (1_000 * index, 10_000))), Some(7));
        // In a data centre half the round trip is less than a tick, and the first tick ends slow start.
        assert_eq!(ends_after(50, (0..2_000).map(|index| (index, 50))), Some(1_001));
    }
}
