//! Limits of the parameters of workloads, and the checks against them.

use std::ops::RangeInclusive;

use etherweave_primitives::{BitRate, Bytes, Duration, InputError};

/// Largest message between two ranks: sums over a run stay countable.
pub(crate) const MESSAGE_MAX: Bytes = Bytes::new(1 << 40);
/// Most that a counted stream sends in all.
const STREAM_MAX: Bytes = Bytes::new(1 << 60);
/// Largest block of a collective: MPI counts its bytes in an `int`.
pub(crate) const COLLECTIVE_MAX: Bytes = Bytes::new((1 << 31) - 1);
/// Most ranks among which every pair talks, so that their connections can be numbered (8,386,560 of them).
pub(crate) const ALL_PAIRS_MAX: u32 = 4_096;
/// Most messages of a window, each an operation in memory.
pub(crate) const WINDOW_MAX: u32 = 65_536;
/// Most streams of a job, each a connection.
pub(crate) const STREAMS_MAX: u64 = 1 << 20;
/// Most flows of a job, each a connection.
pub(crate) const FLOWS_MAX: u64 = 1 << 24;

/// Longest computation that a driver begins at once, an hour: sums over a run stay countable.
const COMPUTATION_MAX: Duration = Duration::from_ms(3_600_000);

/// An error about a computation above that.
pub(crate) fn short(key: &str, time: Duration) -> Result<(), InputError> {
    InputError::unless(time <= COMPUTATION_MAX, key, time, format_args!("at most {COMPUTATION_MAX}"))
}

/// A count with commas between thousands: 16,777,216.
pub(crate) fn separated(count: u64) -> String {
    let digits = count.to_string();
    let group = |(place, digit): (usize, char)| {
        let comma = (place > 0 && (digits.len() - place).is_multiple_of(3)).then_some(',');
        comma.into_iter().chain([digit])
    };
    digits.chars().enumerate().flat_map(group).collect()
}

/// A size in decimal units, of three decimal places at most, so that sizes compare at a glance: 1.347GB.
pub(crate) fn decimal(size: Bytes) -> String {
    let bytes = size.get();
    let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let (unit, factor) = units.into_iter().find(|&(_, factor)| bytes as f64 >= factor).unwrap_or(("B", 1.0));
    let figure = format!("{:.3}", bytes as f64 / factor);
    format!("{}{unit}", figure.trim_end_matches('0').trim_end_matches('.'))
}

/// An error about a count below `least`.
pub(crate) fn at_least(key: &str, value: u32, least: u32) -> Result<(), InputError> {
    InputError::unless(value >= least, key, value, format_args!("at least {least}"))
}

/// An error about a count outside `range`.
pub(crate) fn within(key: &str, value: u32, range: RangeInclusive<u32>) -> Result<(), InputError> {
    let expected = format_args!("{} to {}", range.start(), range.end());
    InputError::unless(range.contains(&value), key, value, expected)
}

/// An error about a rate of nothing, by which no time can be computed.
pub(crate) fn positive(key: &str, rate: BitRate) -> Result<(), InputError> {
    InputError::unless(!rate.is_zero(), key, "0Gb/s", "more than 0")
}

/// An error about a size above `most`.
pub(crate) fn at_most(key: &str, size: Bytes, most: Bytes) -> Result<(), InputError> {
    InputError::unless(size <= most, key, size, format_args!("at most {most}"))
}

/// An error about a stream without a byte, or with more bytes than can be counted.
pub(crate) fn counted_stream(message: Bytes, messages: u64) -> Result<(), InputError> {
    if message == Bytes::ZERO || messages == 0 {
        return Err(InputError::new("message, messages", "nothing to send", "at least one message of 1B"));
    }
    at_most("message", message, MESSAGE_MAX)?;
    let is_countable = messages <= STREAM_MAX.get() / message.get();
    let mistake = format_args!("{messages} of {message}");
    InputError::unless(is_countable, "messages", mistake, format_args!("at most {STREAM_MAX} in all"))
}

/// A text that was written out, which has a line at least: an empty one is refused, for it would count as none.
///
/// # Errors
/// Where the text has nothing but spaces.
pub(crate) fn written_text<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<String, D::Error> {
    let text: String = serde::Deserialize::deserialize(reader)?;
    if text.trim().is_empty() {
        let expected = &"at least one line";
        return Err(serde::de::Error::invalid_value(serde::de::Unexpected::Other("nothing"), expected));
    }
    Ok(text)
}
