//! State of a connection as a word: the same whenever its parts are the same, whatever time it is and however much has
//! been sent.
//!
//! Times are counted from now on, offsets from the first byte that is not acknowledged. Each part of a connection
//! takes its struct apart where it makes its word, so that a new field has to be named there.

use etherweave_primitives::{Time, mix};

use super::ranges::{ByteRange, Ranges};

/// Several words, joined in order.
pub(crate) fn joined(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(0, |state, word| mix(state) ^ word)
}

/// A time, counted from now on [ps].
pub(crate) fn from_now(now: Time, at: Time) -> u64 {
    at.as_ps().wrapping_sub(now.as_ps())
}

/// A time that may not be set, counted likewise [ps].
pub(crate) fn maybe_from_now(now: Time, at: Option<Time>) -> u64 {
    at.map_or(u64::MAX, |at| from_now(now, at))
}

impl ByteRange {
    /// Its place behind an offset.
    pub(crate) fn word(self, start: u64) -> u64 {
        mix(self.start.wrapping_sub(start)) ^ self.end.wrapping_sub(start)
    }
}

impl Ranges {
    /// The places of all behind an offset.
    pub(crate) fn word(&self, start: u64) -> u64 {
        joined(self.iter().map(|range| range.word(start)))
    }
}
