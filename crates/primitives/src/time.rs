//! Instants and spans in integer picoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

use crate::unit::{Unit, impl_text_form};

/// An instant: picoseconds since the simulation started. 2^64 ps are 213 days.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Time(u64);

/// A span of time [ps].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Duration(u64);

impl Time {
    /// The start of every run.
    pub const ZERO: Time = Time(0);
    /// Later than any event.
    pub const MAX: Time = Time(u64::MAX);

    /// The instant `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }

    /// Picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Nanoseconds since the start, for tables and figures.
    pub fn as_ns_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// The span from `earlier` to here; zero when `earlier` is in fact later.
    pub const fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);

    /// A span of `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Duration {
        Duration(ps)
    }

    /// A span of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Duration {
        Duration(ns * 1_000)
    }

    /// A span of `us` microseconds.
    pub const fn from_us(us: u64) -> Duration {
        Duration(us * 1_000_000)
    }

    /// A span of `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Duration {
        Duration(ms * 1_000_000_000)
    }

    /// Picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Nanoseconds, for tables and figures.
    pub fn as_ns_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Seconds, for tables and figures.
    pub fn as_s_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// Whether the span is empty.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, span: Duration) -> Time {
        Time(self.0 + span.0)
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, span: Duration) {
        self.0 += span.0;
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0 + other.0)
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Duration) {
        self.0 += other.0;
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0 - other.0)
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, times: u64) -> Duration {
        Duration(self.0 * times)
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, parts: u64) -> Duration {
        Duration(self.0 / parts)
    }
}

impl Unit for Duration {
    const NAME: &'static str = "duration";
    const SUFFIXES: &'static [(&'static str, u64)] =
        &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)];
    const IGNORES_CASE: bool = true;
    fn from_base(ps: u64) -> Self {
        Duration(ps)
    }
    fn base(self) -> u64 {
        self.0
    }
}

impl_text_form!(Duration);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration(self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_reads_back_as_it_was_written() {
        for text in ["0ps", "216us", "1500ns", "200ms", "13s", "7ps"] {
            let span: Duration = text.parse().unwrap();
            assert_eq!(span.to_string().parse::<Duration>().unwrap(), span);
        }
        assert_eq!("0.5us".parse::<Duration>().unwrap(), Duration::from_ns(500));
    }

    #[test]
    fn spans_are_read_in_capitals_and_with_either_sign_of_micro() {
        for text in ["1us", "1US", "1 us", "1Us", "1 \u{b5}s", "1\u{3bc}s", "0.001MS", "1000 NS"] {
            assert_eq!(text.parse::<Duration>().unwrap(), Duration::from_us(1), "{text}");
        }
        let error = "1S".parse::<Duration>().unwrap_err();
        assert_eq!(error.expected, "1s, a number with one of the units ps, ns, us, ms, s");
    }

    #[test]
    fn since_never_goes_below_zero() {
        assert_eq!(Time::from_ps(3).since(Time::from_ps(5)), Duration::ZERO);
    }
}
