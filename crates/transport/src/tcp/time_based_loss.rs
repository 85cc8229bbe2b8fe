//! RACK in TCP (RFC 8985): losses are found by the times at which segments went out.

use etherweave_primitives::{Duration, Time};

use super::scoreboard::{DUPLICATE_THRESHOLD, Scoreboard};
use crate::rack::{Newest, Rack, Transmission};
use crate::ranges::ByteRange;

#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentNote {
    pub(super) is_retransmission: bool,
}

#[derive(Clone, Debug)]
pub(super) struct TimeBasedLoss {
    rack: Rack<SegmentNote>,
    /// In-flight data when the retransmission timer expired, as long as that may have been too early.
    timed_out: Vec<Transmission<SegmentNote>>,
    /// Data that had arrived by then.
    arrived_before: Option<Newest>,
}

impl TimeBasedLoss {
    pub(super) fn new(timeout_max: Duration) -> TimeBasedLoss {
        TimeBasedLoss { rack: Rack::new(timeout_max), timed_out: Vec::new(), arrived_before: None }
    }

    pub(super) fn sent(&mut self, now: Time, range: ByteRange, note: SegmentNote) {
        self.rack.sent(now, range, note);
    }

    /// Looks which segments have arrived by now (section 6.2, steps 1 and 2).
    pub(super) fn on_ack(&mut self, now: Time, scoreboard: &Scoreboard) {
        while self.rack.transmissions().front().is_some_and(|oldest| scoreboard.has_arrived(oldest.range)) {
            if let Some(oldest) = self.rack.pop_oldest() {
                self.take(now, oldest, oldest.range.end);
            }
        }
        let newest = self.rack.newest();
        let in_doubt = self.rack.transmissions().iter();
        let recent = if scoreboard.arrived() == 0 { in_doubt.take(1) } else { in_doubt.take(usize::MAX) };
        let newer = recent.rev().take_while(|transmission| (transmission.sent, transmission.range.end) > newest);
        let arrived = newer
            .filter_map(|transmission| scoreboard.arrived_to(transmission.range).map(|end| (*transmission, end)))
            .next();
        if let Some((transmission, end)) = arrived {
            self.take(now, transmission, end);
        }
    }

    /// A retransmission that is back before a round trip has passed was not needed, and says nothing.
    fn take(&mut self, now: Time, transmission: Transmission<SegmentNote>, end: u64) {
        let Transmission { sent, note, .. } = transmission;
        if !note.is_retransmission || now.since(sent) >= self.rack.round_trip_min() {
            self.rack.arrived(now, sent, end);
        }
    }

    /// Takes the report of a segment that has arrived twice.
    pub(super) fn duplicate(&mut self, acknowledged: u64, sent_to: u64) {
        self.rack.duplicate(acknowledged, sent_to);
    }

    /// Judges segments lost. Until segments were seen to overtake each other, three that have arrived behind a hole, or
    /// a recovery in progress, prove a loss at once (step 4).
    pub(super) fn find_losses(&mut self, now: Time, scoreboard: &mut Scoreboard, suspicion: Suspicion) {
        let is_certain = suspicion.in_recovery || scoreboard.arrived() >= DUPLICATE_THRESHOLD * suspicion.mss;
        let window = match is_certain && !scoreboard.is_reordered() {
            true => Duration::ZERO,
            false => self.rack.reordering_window(suspicion.smoothed),
        };
        scoreboard.find_losses(&mut self.rack, now, window);
    }

    /// When [`TimeBasedLoss::find_losses`] is due again, if nothing happens before.
    pub(super) fn loss_at(&self) -> Option<Time> {
        self.rack.loss_at()
    }

    /// The retransmission timer has expired: all that is out counts as lost.
    pub(super) fn time_out(&mut self) {
        self.arrived_before.get_or_insert(self.rack.newest_arrival());
        self.timed_out.extend(self.rack.take());
    }

    /// It had expired too early: what was out then is in doubt again, and what went out again since says nothing, for
    /// an answer to it may be one to what it repeats (RFC 8985, section 6.2, step 2).
    pub(super) fn undo_timeout(&mut self) {
        if let Some(newest) = self.arrived_before.take() {
            self.rack.restore_newest(newest);
        }
        self.rack.retain(|transmission| !transmission.note.is_retransmission);
        self.rack.put_before(self.timed_out.drain(..).filter(|earlier| !earlier.note.is_retransmission));
    }

    /// It had not.
    pub(super) fn confirm_timeout(&mut self) {
        self.timed_out.clear();
        self.arrived_before = None;
    }
}

/// State of the sender when it judges losses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspicion {
    pub(super) in_recovery: bool,
    pub(super) mss: u64,
    pub(super) smoothed: Option<Duration>,
}
