//! Outgoing messages of a stream, as their sender keeps them until they are acknowledged.

use crate::{roce::Operation, state_word::joined};

#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Outgoing {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) operation: Operation,
}

/// Outgoing messages of one size and one operation, each behind the other: a stream has no others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EqualMessages {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) count: u32,
    pub(crate) operation: Operation,
}

impl EqualMessages {
    /// Their places behind an offset, wherever those before them stood.
    pub(crate) fn word(&self, from: u64) -> u64 {
        let &EqualMessages { start, end, count, operation } = self;
        joined([end - from, (end - start) / u64::from(count), operation as u64])
    }

    /// Adds a message behind them if it is like them. Whether it is.
    #[inline]
    pub(crate) fn extend(&mut self, bytes: u64, operation: Operation) -> bool {
        let is_alike = operation == self.operation && bytes * u64::from(self.count) == self.end - self.start;
        if is_alike {
            self.end += bytes;
            self.count += 1;
        }
        is_alike
    }

    /// The message with the byte at `offset`.
    #[inline]
    pub(crate) fn message_at(&self, offset: u64) -> Outgoing {
        if self.count == 1 {
            return Outgoing { start: self.start, end: self.end, operation: self.operation };
        }
        let bytes = (self.end - self.start) / u64::from(self.count);
        let start = offset - (offset - self.start) % bytes;
        Outgoing { start, end: start + bytes, operation: self.operation }
    }
}
