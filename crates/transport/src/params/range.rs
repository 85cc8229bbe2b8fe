//! Ranges of values.

use std::{fmt::Display, ops::RangeInclusive};

use etherweave_primitives::{BitRate, Duration, InputError};

/// Result of a check.
pub type Checked = Result<(), InputError>;

/// Longest timer.
pub const TIMER_MAX: Duration = Duration::from_ms(1_000_000_000);
/// Slowest and fastest rate of a part. Times per byte keep three digits up to there.
pub const RATES: RangeInclusive<BitRate> = BitRate::from_bps(1_000_000)..=BitRate::from_gbps(100_000);
/// Rejects a value unless `is_right`.
///
/// # Errors
/// About `key`, unless it is.
pub fn require(is_right: bool, key: &str, mistake: impl Display, expected: impl Display) -> Checked {
    InputError::unless(is_right, key, mistake, expected)
}

/// Rejects a value outside `range`.
///
/// # Errors
/// About `key`, when it is.
pub fn require_within<T: Display + PartialOrd>(range: RangeInclusive<T>, key: &str, value: T) -> Checked {
    let expected = format!("{} to {}", range.start(), range.end());
    require(range.contains(&value), key, value, expected)
}

/// Rejects a timer that expires at once, or never.
///
/// # Errors
/// About `key`, when it does.
pub fn check_timer(key: &str, timer: Duration) -> Checked {
    require_within(Duration::from_ps(1)..=TIMER_MAX, key, timer)
}

/// Rejects an option that is set to something else than its default where nothing reads it.
///
/// # Errors
/// About `key`, when it is.
pub fn require_effect<T: Display + PartialEq>(is_read: bool, key: &str, value: T, default: T, why: &str) -> Checked {
    let expected = format!("{default}, the default: nothing here {why}, so that it cannot take effect");
    require(is_read || value == default, key, value, expected)
}
