//! Outgoing messages of a stream, as their sender keeps them until they are acknowledged.

use crate::{ShortQueue, connection::CHANGES, connection::OpenMessage, roce::Operation, state_word::joined};

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

    /// Takes the message with the byte at `offset` out of them; returns those behind it. None before it is left.
    fn part(&mut self, offset: u64) -> Option<EqualMessages> {
        let Outgoing { start, end, operation } = self.message_at(offset);
        let bytes = end - start;
        let behind = EqualMessages { start: end, end: self.end, count: ((self.end - end) / bytes) as u32, operation };
        *self = EqualMessages { start, end, count: 1, operation };
        (behind.count > 0).then_some(behind)
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

impl ShortQueue<EqualMessages> {
    /// The message of the byte `next`, where there is one and all before it is acknowledged; see
    /// [`ConnectionState::open_message`](crate::ConnectionState::open_message).
    pub(crate) fn open(&self, acknowledged: u64, next: u64) -> Result<Option<OpenMessage>, &'static str> {
        let own = self.iter().find(|own| own.end > next).map(|own| own.message_at(next));
        match own {
            Some(Outgoing { start, end, .. }) if start <= acknowledged => {
                Ok(Some(OpenMessage { start, acknowledged, next, end }))
            }
            None if acknowledged == next => Ok(None),
            _ => Err(CHANGES),
        }
    }

    /// Takes bytes away from the message of the byte `next`, which all before has been acknowledged.
    pub(crate) fn shorten(&mut self, next: u64, bytes: u64) {
        let place = self.iter().position(|own| own.end > next).expect("a message that is sent is posted");
        let behind = self.iter_mut().nth(place).and_then(|own| own.part(next));
        behind.into_iter().for_each(|behind| self.insert(place + 1, behind));
        for own in self.iter_mut().skip(place) {
            own.start -= if own.start > next { bytes } else { 0 };
            own.end -= bytes;
        }
    }
}
