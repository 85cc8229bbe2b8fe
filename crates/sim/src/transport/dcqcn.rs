//! DCQCN, the reaction point: a rate per connection (Zhu et al., SIGCOMM 2015, section 3.1).
//!
//! Timers are caught up with when the connection sends or is notified, so an idle connection costs no events. All in
//! integers: the congestion estimate in units of 2^-16, rates in bit/s.

use etherweave_primitives::{BitRate, Bytes, Duration, Time};

use crate::params::Dcqcn;

const ONE: u64 = 1 << 16;

/// The rate of one connection.
#[derive(Clone)]
pub(crate) struct RateLimiter {
    params: Dcqcn,
    line: u64,
    /// `R_C` [bit/s].
    current: u64,
    /// `R_T` [bit/s].
    target: u64,
    /// Congestion estimate `alpha` [2^-16].
    alpha: u64,
    alpha_at: Time,
    rate_at: Time,
    bytes: u64,
    by_timer: u32,
    by_bytes: u32,
    next_at: Time,
    is_limited: bool,
}

impl RateLimiter {
    /// At line rate, without congestion.
    pub fn new(params: &Dcqcn, line: BitRate) -> RateLimiter {
        RateLimiter {
            params: params.clone(),
            line: line.as_bps(),
            current: line.as_bps(),
            target: line.as_bps(),
            alpha: ONE,
            alpha_at: Time::ZERO,
            rate_at: Time::ZERO,
            bytes: 0,
            by_timer: 0,
            by_bytes: 0,
            next_at: Time::ZERO,
            is_limited: false,
        }
    }

    /// The present rate.
    pub fn rate(&self) -> BitRate {
        BitRate::from_bps(self.current)
    }

    /// The rate at `now`, with the timers that have expired until then. Changes nothing.
    pub fn rate_at(&self, now: Time) -> BitRate {
        let mut limiter = self.clone();
        if limiter.is_limited {
            limiter.catch_up(now);
        }
        limiter.rate()
    }

    /// When the next packet may go.
    pub fn next_at(&self) -> Time {
        self.next_at
    }

    /// A packet of `wire` bytes goes out: must the next one wait?
    pub fn sent(&mut self, now: Time, wire: u32) -> bool {
        if !self.is_limited {
            return false;
        }
        self.catch_up(now);
        self.bytes += u64::from(wire);
        while self.bytes >= self.params.rate_bytes.get() {
            self.bytes -= self.params.rate_bytes.get();
            self.by_bytes += 1;
            self.increase();
        }
        self.next_at = now + self.rate().serialization_time(Bytes::new(u64::from(wire)));
        self.is_limited
    }

    /// A notification has come: cut the rate (eq. 1).
    pub fn congestion(&mut self, now: Time) {
        if self.is_limited {
            self.catch_up(now);
        }
        self.is_limited = true;
        self.target = self.current;
        let cut = (u128::from(self.current) * u128::from(self.alpha) / u128::from(2 * ONE)) as u64;
        self.current = (self.current - cut).max(self.params.rate_min.as_bps());
        self.alpha = self.alpha - (self.alpha >> self.params.gain_shift) + (ONE >> self.params.gain_shift);
        self.alpha_at = now;
        self.rate_at = now;
        (self.bytes, self.by_timer, self.by_bytes) = (0, 0, 0);
    }

    /// Timers that have expired since the last look (eq. 2, and the increase by timer).
    fn catch_up(&mut self, now: Time) {
        while is_due(&mut self.alpha_at, self.params.alpha_timer, now) {
            self.alpha -= self.alpha >> self.params.gain_shift;
        }
        while self.is_limited && is_due(&mut self.rate_at, self.params.rate_timer, now) {
            self.by_timer += 1;
            self.increase();
        }
    }

    /// Fast recovery, then additive, then hyper increase (eq. 3 and 4).
    fn increase(&mut self) {
        let (most, least) = (self.by_timer.max(self.by_bytes), self.by_timer.min(self.by_bytes));
        let step = self.params.rate_step.as_bps();
        if least > self.params.fast_recovery {
            self.target += step * u64::from(least - self.params.fast_recovery);
        } else if most > self.params.fast_recovery {
            self.target += step;
        }
        self.target = self.target.min(self.line);
        self.current = (self.current + self.target).div_ceil(2);
        self.is_limited = self.current < self.line;
    }
}

fn is_due(last: &mut Time, period: Duration, now: Time) -> bool {
    let due = now.since(*last) >= period;
    if due {
        *last += period;
    }
    due
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_notification_halves_the_rate_and_recovery_halves_the_gap() {
        let mut limiter = RateLimiter::new(&Dcqcn::default(), BitRate::from_gbps(100));
        let now = Time::ZERO + Duration::from_us(100);
        limiter.congestion(now);
        // alpha starts at 1: R_C = R_C (1 - 1/2).
        assert_eq!(limiter.rate(), BitRate::from_gbps(50));
        // One timer expiry later: (R_T + R_C) / 2 with R_T the rate before the cut.
        limiter.sent(now + Duration::from_us(55), 4_096);
        assert_eq!(limiter.rate(), BitRate::from_gbps(75));
    }

    #[test]
    fn without_notifications_nothing_is_limited() {
        let mut limiter = RateLimiter::new(&Dcqcn::default(), BitRate::from_gbps(100));
        assert!(!limiter.sent(Time::ZERO, 4_096));
    }

    #[test]
    fn the_rate_returns_to_the_line_after_enough_time() {
        let mut limiter = RateLimiter::new(&Dcqcn::default(), BitRate::from_gbps(100));
        limiter.congestion(Time::ZERO);
        limiter.sent(Time::ZERO + Duration::from_ms(100), 64);
        assert_eq!(limiter.rate(), BitRate::from_gbps(100));
    }
}
