//! A workload that cannot be: what is wrong, and what would be right.

use std::fmt;
use std::ops::RangeInclusive;

use etherweave_primitives::Bytes;

/// Largest message between two ranks: sums over a run stay countable.
pub(crate) const MESSAGE_MAX: Bytes = Bytes::new(1 << 40);
/// Most that a counted stream sends in all.
pub(crate) const STREAM_MAX: Bytes = Bytes::new(1 << 60);
/// Largest block of a collective: MPI counts its bytes in an `int`.
pub(crate) const COLLECTIVE_MAX: Bytes = Bytes::new((1 << 31) - 1);
/// Most ranks among which every pair talks, so that their connections can be numbered (8,386,560 of them).
pub(crate) const ALL_PAIRS_MAX: u32 = 4_096;
/// Most messages of a window, each an operation in memory.
pub(crate) const WINDOW_MAX: u32 = 65_536;
/// Most streams of a job, each a connection.
pub(crate) const STREAMS_MAX: u64 = 1 << 20;

/// Why a workload or a placement cannot be built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkloadError {
    /// The key at fault, as it stands in the scenario.
    pub key: &'static str,
    /// What is wrong.
    pub found: String,
    /// What would be right.
    pub expected: String,
}

impl WorkloadError {
    /// The error about `key`.
    pub fn new(key: &'static str, found: impl Into<String>, expected: impl Into<String>) -> WorkloadError {
        WorkloadError { key, found: found.into(), expected: expected.into() }
    }

    /// Refuses a count below `least`.
    pub(crate) fn unless_at_least(key: &'static str, value: u32, least: u32) -> Result<(), WorkloadError> {
        if value >= least { Ok(()) } else { Err(Self::new(key, value.to_string(), format!("at least {least}"))) }
    }

    /// Refuses a count outside `range`.
    pub(crate) fn unless_within(
        key: &'static str,
        value: u32,
        range: RangeInclusive<u32>,
    ) -> Result<(), WorkloadError> {
        let expected = || format!("{} to {}", range.start(), range.end());
        if range.contains(&value) { Ok(()) } else { Err(Self::new(key, value.to_string(), expected())) }
    }

    /// Refuses a stream of nothing, and one that is longer than can be counted.
    pub(crate) fn unless_counted(message: Bytes, messages: u64) -> Result<(), WorkloadError> {
        if message == Bytes::ZERO || messages == 0 {
            return Err(Self::new("message, messages", "nothing to send", "at least one message of 1B"));
        }
        Self::unless_at_most("message", message, MESSAGE_MAX)?;
        let expected = || format!("at most {STREAM_MAX} in all");
        let fits = messages <= STREAM_MAX.get() / message.get();
        if fits { Ok(()) } else { Err(Self::new("messages", format!("{messages} of {message}"), expected())) }
    }

    /// Refuses a message above `most`.
    pub(crate) fn unless_at_most(key: &'static str, size: Bytes, most: Bytes) -> Result<(), WorkloadError> {
        if size <= most { Ok(()) } else { Err(Self::new(key, size.to_string(), format!("at most {most}"))) }
    }
}

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; expected {}", self.key, self.found, self.expected)
    }
}

impl std::error::Error for WorkloadError {}
