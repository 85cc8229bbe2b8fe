//! A transmitter that sleeps between frames.
//!
//! Its state is the end of the last frame, so that nothing happens while nothing is sent. Behind that end it stays
//! active for `after`, falls asleep for `sleep`, and is asleep. A frame that comes while it is active begins at once;
//! otherwise it waits until the transmitter is asleep, and for `wake`:
//!
//! ```text
//!  frame │ active: after │ falls asleep: sleep │ asleep │ wakes: wake │ frame
//! ```

use etherweave_primitives::{Duration, Time};

use crate::params::LowPowerIdleTimes;

/// A transmitter that sleeps, and how often and how long it did.
#[derive(Clone, Copy, Debug)]
pub struct SleepingTransmitter {
    times: LowPowerIdleTimes,
    /// End of the last frame.
    idle_from: Time,
    /// How often it was woken.
    pub wakes: u64,
    /// How long it was asleep between frames.
    asleep: Duration,
    /// How long frames waited for it, summed over frames.
    pub waited: Duration,
}

impl SleepingTransmitter {
    /// A transmitter that has sent nothing, and is active at the beginning.
    pub fn new(times: LowPowerIdleTimes) -> SleepingTransmitter {
        let (idle_from, none) = (Time::ZERO, Duration::ZERO);
        SleepingTransmitter { times, idle_from, wakes: 0, asleep: none, waited: none }
    }

    /// Wakes for a frame that would begin at `start`, if it must. Returns how long the frame waits.
    pub fn wake(&mut self, start: Time) -> Duration {
        if start <= self.idle_from + self.times.after {
            return Duration::ZERO;
        }
        let woken = start.max(self.asleep_from());
        let wait = (woken + self.times.wake).since(start);
        self.wakes += 1;
        self.asleep += woken.since(self.asleep_from());
        self.waited += wait;
        wait
    }

    /// A frame is on the wire until `end`.
    pub fn send(&mut self, end: Time) {
        self.idle_from = end;
    }

    /// How long it was asleep in a run that ends at `end`.
    pub fn asleep_until(&self, end: Time) -> Duration {
        self.asleep + end.max(self.asleep_from()).since(self.asleep_from())
    }

    /// When it is asleep, unless a frame comes before.
    fn asleep_from(&self) -> Time {
        self.idle_from + self.times.after + self.times.sleep
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(time: u64) -> Time {
        Time::ZERO + Duration::from_us(time)
    }

    /// A transmitter that stays active for 2 us, falls asleep in 3 and wakes in 5, and has sent until 10.
    fn transmitter() -> SleepingTransmitter {
        let times =
            LowPowerIdleTimes { after: Duration::from_us(2), sleep: Duration::from_us(3), wake: Duration::from_us(5) };
        let mut transmitter = SleepingTransmitter::new(times);
        transmitter.send(us(10));
        transmitter
    }

    #[test]
    fn a_frame_waits_for_what_is_left_of_falling_asleep_and_for_waking() {
        // Until 12 it is active, until 15 it falls asleep.
        for (start, wait, asleep) in [(10, 0, 0), (12, 0, 0), (13, 7, 0), (15, 5, 0), (16, 5, 1), (40, 5, 25)] {
            let mut transmitter = transmitter();
            assert_eq!(transmitter.wake(us(start)), Duration::from_us(wait), "at {start} us");
            assert_eq!(transmitter.asleep, Duration::from_us(asleep), "at {start} us");
            assert_eq!(transmitter.wakes, u64::from(wait > 0), "at {start} us");
        }
    }

    #[test]
    fn it_is_asleep_from_its_last_frame_to_the_end_of_the_run() {
        assert_eq!(transmitter().asleep_until(us(14)), Duration::ZERO);
        assert_eq!(transmitter().asleep_until(us(20)), Duration::from_us(5));
    }
}
