//! Drain of the receive buffer of a NIC: at its rate, but for times at which reception stands still.

use etherweave_engine::params::CommandStall;
use etherweave_primitives::{Duration, Time};

/// Data in the buffer, by the time that it takes to drain.
#[derive(Clone, Copy, Debug)]
pub struct BufferDrain {
    empty_at: Time,
    /// Until then nothing drains.
    stalled_until: Time,
    /// When the driver reads statistics next.
    statistics_at: Time,
}

impl BufferDrain {
    /// An empty buffer. The driver of host `number` has its own time to read statistics.
    pub fn new(number: u32, stall: Option<&CommandStall>) -> BufferDrain {
        // The golden ratio spreads any number of hosts evenly over a period.
        let share = u128::from(number.wrapping_mul(0x9e37_79b9));
        let first = |stall: &CommandStall| ((u128::from(stall.statistics_period.as_ps()) * share) >> 32) as u64;
        let statistics_at = Time::from_ps(stall.map_or(u64::MAX, first));
        BufferDrain { empty_at: Time::ZERO, stalled_until: Time::ZERO, statistics_at }
    }

    /// How long what is in the buffer takes to drain, once it does.
    #[inline]
    pub fn backlog(&self, now: Time) -> Duration {
        self.empty_at.since(self.starts(now))
    }

    /// Time until the buffer is empty.
    #[inline]
    pub fn wait(&self, now: Time) -> Duration {
        self.empty_at.since(now)
    }

    /// Returns the time from which on data that comes at `now` may drain, by all that has stopped reception until then:
    /// before anything is added.
    #[inline]
    pub fn drains_from(&mut self, now: Time, stall: Option<&CommandStall>) -> Time {
        match stall {
            None => now,
            Some(stall) => self.after_statistics(now, stall),
        }
    }

    /// When what takes `service` and may drain from `start` on has drained.
    #[inline]
    pub fn after(&self, start: Time, service: Duration) -> Time {
        self.empty_at.max(start) + service
    }

    /// Adds what has drained at `empty_at`.
    #[inline]
    pub fn fill(&mut self, empty_at: Time) {
        self.empty_at = empty_at;
    }

    /// Reception stops for `span` from `at` on, or after an earlier stop.
    pub fn stall(&mut self, at: Time, span: Duration) {
        let from = self.starts(at);
        self.stalled_until = from + span;
        self.empty_at = self.empty_at.max(from) + span;
    }

    /// Stops for the statistics that the driver has read until now.
    #[cold]
    fn after_statistics(&mut self, now: Time, stall: &CommandStall) -> Time {
        while self.statistics_at <= now {
            self.stall(self.statistics_at, stall.duration * u64::from(stall.statistics_commands));
            self.statistics_at += stall.statistics_period;
        }
        self.starts(now)
    }

    #[inline]
    fn starts(&self, now: Time) -> Time {
        self.stalled_until.max(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn micros(span: Duration) -> u64 {
        span.as_ps() / 1_000_000
    }

    /// 10 us of packets, of which 4 have drained when reception stops for 5 us, and again for 5 us meanwhile.
    #[test]
    fn what_waits_stays_while_reception_stands_still() {
        let mut drain = BufferDrain::new(0, None);
        drain.fill(drain.after(at(0), Duration::from_us(10)));
        drain.stall(at(4), Duration::from_us(5));
        assert_eq!(micros(drain.backlog(at(4))), 6);
        drain.stall(at(6), Duration::from_us(5));
        assert_eq!(micros(drain.backlog(at(13))), 6);
        assert_eq!(drain.after(at(14), Duration::from_us(2)), at(22));
        assert_eq!((micros(drain.backlog(at(16))), micros(drain.wait(at(13)))), (4, 7));
        assert_eq!(drain.backlog(at(23)), Duration::ZERO);
    }

    /// Host 1 of the golden ratio reads at 0.618 of each period: four commands of 5 us from 618 us on.
    #[test]
    fn statistics_are_read_once_a_period() {
        let stall = CommandStall {
            duration: Duration::from_us(5),
            statistics_period: Duration::from_ms(1),
            statistics_commands: 4,
        };
        let mut drain = BufferDrain::new(1, Some(&stall));
        let mut waits = |time| micros(drain.drains_from(at(time), Some(&stall)).since(at(time)));
        assert_eq!([617, 620, 639, 1_620].map(&mut waits), [0, 18, 0, 18]);
    }
}
