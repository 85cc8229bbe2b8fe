//! A transmitter whose rate follows its load, a step up or down at the end of each epoch.
//!
//! Its state advances when a frame begins, so that nothing happens while nothing is sent:
//!
//! ```text
//!  epoch │ frames, their time at the full rate summed up │ epoch
//!                                                        └ utilisation above or below `load_max`: next rate, and
//!                                                          nothing is sent for `reactivation`, nor before the frame
//!                                                          on the wire has ended
//! ```

use etherweave_primitives::{Duration, Time};

use crate::params::EpochRates;

/// A transmitter with several rates, and how long it had each.
#[derive(Clone, Debug)]
pub struct SteppedTransmitter {
    rates: EpochRates,
    step: usize,
    epoch_end: Time,
    /// Time at the full rate of what this epoch has sent, and of what the ones before could not.
    used: Duration,
    /// End of the last frame.
    idle_from: Time,
    /// No frame begins before.
    ready: Time,
    /// When the present rate began.
    since: Time,
    /// How long it had each rate until then.
    times: Vec<Duration>,
    /// How often the rate changed.
    pub changes: u64,
    /// How much later frames ended than at the full rate, summed over frames.
    pub waited: Duration,
}

impl SteppedTransmitter {
    /// A transmitter that has sent nothing, at the full rate.
    pub fn new(rates: EpochRates) -> SteppedTransmitter {
        let (step, epoch_end) = (rates.rates.len(), Time::ZERO + rates.epoch);
        let times = vec![Duration::ZERO; step + 1];
        let [idle_from, ready, since] = [Time::ZERO; 3];
        let [used, waited] = [Duration::ZERO; 2];
        SteppedTransmitter { rates, step, epoch_end, used, idle_from, ready, since, times, changes: 0, waited }
    }

    /// Begins a frame at `start` that takes `duration` at the full rate. Returns how much later it ends than there.
    pub fn begin(&mut self, start: Time, duration: Duration) -> Duration {
        self.advance(start);
        let end = self.ready.max(start) + self.rates.time(self.step, duration);
        let late = end.since(start) - duration;
        self.used += duration;
        self.waited += late;
        self.idle_from = end;
        late
    }

    /// Share of the full rate and time of each of them in a run that ends at `end`.
    pub fn times_until(&mut self, end: Time) -> impl Iterator<Item = (f64, Duration)> {
        self.advance(end);
        let SteppedTransmitter { rates, step, since, times, .. } = &*self;
        let present = end.max(*since).since(*since);
        times
            .iter()
            .enumerate()
            .map(move |(each, &time)| (rates.share(each), if each == *step { time + present } else { time }))
    }

    /// Ends the epochs before `now`.
    fn advance(&mut self, now: Time) {
        while self.epoch_end <= now {
            self.end_epoch();
            if self.step == 0 && self.used.is_zero() {
                // It stays at the lowest rate.
                let epoch = self.rates.epoch.as_ps();
                let epochs = now.max(self.epoch_end).since(self.epoch_end).as_ps() / epoch;
                self.epoch_end += Duration::from_ps(epochs * epoch);
                if self.epoch_end <= now {
                    self.epoch_end += self.rates.epoch;
                }
            }
        }
    }

    fn end_epoch(&mut self) {
        let at = self.epoch_end;
        let room = self.rates.epoch.as_ps() as f64 * self.rates.share(self.step);
        let load = self.used.as_ps() as f64 / room;
        let next = if load > self.rates.load_max {
            (self.step + 1).min(self.rates.rates.len())
        } else if load < self.rates.load_max {
            self.step.saturating_sub(1)
        } else {
            self.step
        };
        self.used = Duration::from_ps(self.used.as_ps().saturating_sub(room as u64));
        if next != self.step {
            self.times[self.step] += at.since(self.since);
            (self.step, self.since) = (next, at);
            self.ready = at.max(self.idle_from) + self.rates.reactivation;
            self.changes += 1;
        }
        self.epoch_end = at + self.rates.epoch;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(time: u64) -> Time {
        Time::ZERO + Duration::from_us(time)
    }

    /// Rates of 1/4, 1/2 and 1, epochs of 10 us, 1 us to change.
    fn transmitter() -> SteppedTransmitter {
        let (epoch, reactivation) = (Duration::from_us(10), Duration::from_us(1));
        SteppedTransmitter::new(EpochRates { rates: vec![0.25, 0.5], epoch, reactivation, load_max: 0.5 })
    }

    fn times(transmitter: &mut SteppedTransmitter, end: u64) -> Vec<(f64, u64)> {
        transmitter.times_until(us(end)).map(|(share, time)| (share, time.as_ps() / 1_000_000)).collect()
    }

    #[test]
    fn an_idle_transmitter_goes_down_a_rate_every_epoch_and_stays_at_the_lowest() {
        let mut transmitter = transmitter();
        assert_eq!(times(&mut transmitter, 1_000), [(0.25, 980), (0.5, 10), (1.0, 10)]);
        assert_eq!(transmitter.changes, 2);
        // A frame of 2 us takes 8 us there.
        assert_eq!(transmitter.begin(us(1_001), Duration::from_us(2)), Duration::from_us(6));
    }

    #[test]
    fn a_frame_waits_for_the_change_of_the_rate_and_takes_longer_at_a_lower_one() {
        let mut transmitter = transmitter();
        // 4 of 10 us: below half, so that the rate is halved at 10 us, and the frame of 10 us begins at 11.
        assert_eq!(transmitter.begin(us(0), Duration::from_us(4)), Duration::ZERO);
        assert_eq!(transmitter.begin(us(10), Duration::from_us(4)), Duration::from_us(1 + 4));
        // It ends at 19. 4 us of what takes 5 at half the rate are more than half: full rate from 21 us on.
        assert_eq!(transmitter.begin(us(20), Duration::from_us(4)), Duration::from_us(1));
        assert_eq!(transmitter.waited, Duration::from_us(6));
        assert_eq!(times(&mut transmitter, 30), [(0.25, 0), (0.5, 10), (1.0, 20)]);
    }

    #[test]
    fn a_rate_changes_when_the_frame_on_the_wire_has_ended() {
        let mut transmitter = transmitter();
        // Idle for an epoch: half rate at 10 us. The frame of 6 us begins at 18 and ends at 30; until 20 its epoch has
        // 6 us of 5, until 30 the rest of 1 us of 10 at the full rate, and half rate follows.
        assert_eq!(transmitter.begin(us(18), Duration::from_us(6)), Duration::from_us(6));
        assert_eq!(transmitter.begin(us(30), Duration::from_us(1)), Duration::from_us(1 + 1));
        assert_eq!(transmitter.changes, 3);
    }
}
