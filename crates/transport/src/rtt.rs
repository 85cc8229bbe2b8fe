//! Round-trip time and retransmission timeout (RFC 6298).

use etherweave_primitives::Duration;

use super::state_word::joined;

#[derive(Clone, Copy, Debug)]
pub(super) struct TimeoutLimits {
    /// Before the first measurement.
    pub(super) initial: Duration,
    pub(super) min: Duration,
    pub(super) max: Duration,
}

/// Smoothed round-trip time, its variation, and the timeout with its backoff.
#[derive(Clone, Debug)]
pub(super) struct RoundTrip {
    latest: Duration,
    smoothed: Option<Duration>,
    variation: Duration,
    timeout: Duration,
    limits: TimeoutLimits,
    backoff: u32,
}

impl RoundTrip {
    pub(super) fn new(limits: TimeoutLimits) -> RoundTrip {
        RoundTrip {
            latest: Duration::ZERO,
            smoothed: None,
            variation: Duration::ZERO,
            timeout: limits.initial,
            limits,
            backoff: 0,
        }
    }

    /// State that decides what it will do.
    pub(super) fn word(&self) -> u64 {
        let &RoundTrip { latest, smoothed, variation, timeout, limits: _, backoff } = self;
        let smoothed = smoothed.map_or(u64::MAX, Duration::as_ps);
        joined([latest.as_ps(), smoothed, variation.as_ps(), timeout.as_ps(), backoff.into()])
    }

    /// The latest measurement; zero before the first.
    pub(super) fn latest(&self) -> Duration {
        self.latest
    }

    /// Smoothed round-trip time (SRTT), once measured.
    pub(super) fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    /// Retransmission timeout with its backoff (RFC 6298, 5.5: doubled by each expiry).
    pub(super) fn timeout(&self) -> Duration {
        if self.backoff == 0 {
            return self.timeout;
        }
        let doubled = self.timeout.as_ps().saturating_mul(1 << self.backoff.min(32));
        Duration::from_ps(doubled).min(self.limits.max)
    }

    /// Takes a measurement (RFC 6298, 2.2 and 2.3; gains 1/8 and 1/4) and ends the backoff. The clock is
    /// exact, so its granularity G is nought.
    pub(super) fn sample(&mut self, measured: Duration) {
        self.latest = measured;
        let (measured, variation) = (measured.as_ps(), self.variation.as_ps());
        let (smoothed, variation) = match self.smoothed {
            None => (measured, measured / 2),
            Some(smoothed) => {
                let smoothed = smoothed.as_ps();
                (smoothed - smoothed / 8 + measured / 8, variation - variation / 4 + smoothed.abs_diff(measured) / 4)
            }
        };
        self.smoothed = Some(Duration::from_ps(smoothed));
        self.variation = Duration::from_ps(variation);
        self.timeout = Duration::from_ps(smoothed + 4 * variation).clamp(self.limits.min, self.limits.max);
        self.backoff = 0;
    }

    /// Doubles the timeout after an expiry.
    pub(super) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;
    const LIMITS: TimeoutLimits = TimeoutLimits {
        initial: Duration::from_ms(1_000),
        min: Duration::from_ms(200),
        max: Duration::from_ms(120_000),
    };

    #[test]
    fn the_timeout_follows_rfc_6298() {
        let mut rtt = RoundTrip::new(LIMITS);
        assert_eq!(rtt.timeout(), Duration::from_ms(1_000));
        // First sample R: SRTT = R, RTTVAR = R/2, RTO = R + 4·R/2 = 3 R.
        rtt.sample(Duration::from_ms(160));
        assert_eq!(rtt.timeout(), Duration::from_ms(480));
        // Second: RTTVAR = 3/4·80 + 1/4·|160 - 80| = 80; SRTT = 7/8·160 + 1/8·80 = 150; RTO = 150 + 320.
        rtt.sample(Duration::from_ms(80));
        assert_eq!(rtt.smoothed(), Some(Duration::from_ms(150)));
        assert_eq!(rtt.timeout(), Duration::from_ms(470));
    }

    #[test]
    fn the_timeout_doubles_up_to_its_bound_and_returns_with_a_sample() {
        let mut rtt = RoundTrip::new(LIMITS);
        rtt.sample(Duration::from_us(50));
        let timeouts: Vec<u64> = (0..12).map(|_| (rtt.timeout().as_ps() / MS, rtt.back_off()).0).collect();
        assert_eq!(timeouts, [200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200, 102_400, 120_000, 120_000]);
        rtt.sample(Duration::from_us(50));
        assert_eq!(rtt.timeout(), Duration::from_ms(200));
    }
}
