//! State of a requester that repeats, and bytes of its open message that skips take away.

use etherweave_primitives::Time;

use super::Requester;
use crate::connection::{CHANGES, OpenMessage};
use crate::roce::SEQUENCES;
use crate::roce::selective::Progress;
use crate::state_word::{from_now, joined};

impl Requester {
    /// State that decides what it will do, but for so many bytes that are left of its open message.
    ///
    /// # Errors
    /// See [`ConnectionState::repeatable_state`](crate::ConnectionState::repeatable_state).
    pub(in crate::roce) fn repeatable_state(&self, now: Time, left: u64) -> Result<u64, &'static str> {
        // A timer expires by the last progress: whether it is set decides only when the host looks. The message that
        // was looked up last is among those that are posted.
        let &Requester {
            posted,
            next,
            acknowledged,
            sequence,
            message_start: _,
            message_end: _,
            message_operation: _,
            is_timer_set: _,
            is_pacing,
            restarts,
            sending: _,
            sent_max,
            last_progress,
            packets: _,
            ref congestion,
            ref selective,
            ref outgoing,
            retransmitted_packets: _,
            timeouts: _,
        } = self;
        let progress = Progress { acknowledged, next };
        let control = congestion.as_ref().map_or(Some(0), |control| control.repeatable_state(now, progress));
        let control = control.ok_or("transport.roce.prototype")?;
        let repeat = selective.as_ref().map_or(Some(0), |selective| selective.repeatable_state(now, progress));
        let repeat = repeat.ok_or("transport.roce.load_balancing")?;
        let waits = if posted > acknowledged { from_now(now, last_progress) } else { 0 };
        let flags = u64::from(restarts) << 1 | u64::from(is_pacing);
        let numbers = u64::from(sequence.0.wrapping_sub(sequence.1) & SEQUENCES);
        let open = [posted - left, next, sent_max].map(|offset| offset - acknowledged);
        let messages = outgoing.iter().map(|own| own.word(acknowledged + if own.end > next { left } else { 0 }));
        let own = open.into_iter().chain([control, repeat, waits, flags, numbers]);
        Ok(joined(own.chain(messages)))
    }

    /// The message that it is sending, if there is one.
    ///
    /// # Errors
    /// Something is sent again, or messages complete in any order.
    pub(in crate::roce) fn open_message(&self) -> Result<Option<OpenMessage>, &'static str> {
        if self.next < self.sent_max || !self.moves_answers() {
            return Err(CHANGES);
        }
        self.outgoing.open(self.acknowledged, self.next)
    }

    /// Takes bytes that are still to be sent away from that message.
    pub(in crate::roce) fn shorten(&mut self, bytes: u64) {
        self.outgoing.shorten(self.next, bytes);
        self.posted -= bytes;
        if self.message_end > self.next {
            self.message_end -= bytes;
        }
    }
}
