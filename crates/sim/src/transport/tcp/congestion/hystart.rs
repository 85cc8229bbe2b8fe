//! HyStart (Ha and Rhee, "Taming the Elephants", 2011) with the constants and the coarse clock of Linux 3.10.

use etherweave_primitives::Duration;

use super::Progress;

/// Below so many segments slow start is not questioned.
const WINDOW_MIN: u64 = 16;
/// ACKs closer than this belong to one train.
const TRAIN_GAP: Duration = Duration::from_ms(2);
/// Round-trip samples of a round that count.
const SAMPLES: u32 = 8;
/// A delay above the least one by an eighth, but by no less and no more than this, means a queue.
const DELAY_STEP: (Duration, Duration) = (Duration::from_ms(4), Duration::from_ms(16));

/// Watches the rounds of slow start.
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
    pub(super) fn on_ack(&mut self, ack: &Progress, window: u64) -> bool {
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

    /// Whether the round's first samples all lie above the least delay by more than an eighth... of two: 1/16.
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
