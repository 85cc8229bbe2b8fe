//! Scoreboard of a stream: data in flight, data that arrived out of order, lost data (RFC 6675, section 3).

use std::collections::VecDeque;

use etherweave_primitives::{Duration, Time};

use crate::{rack::Rack, ranges::ByteRange, ranges::Ranges};

/// Duplicates after which a segment counts as lost (DupThresh, RFC 5681).
pub(super) const DUPLICATE_THRESHOLD: u64 = 3;

/// A retransmission, and how far the stream had been sent then.
#[derive(Clone, Copy, Debug)]
struct Retransmitted {
    range: ByteRange,
    sent_to: u64,
}

/// Bytes that an ACK reports as newly arrived [B].
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Arrival {
    pub(super) bytes: u64,
    /// Bytes that were sent only once.
    pub(super) original: u64,
}

impl std::ops::AddAssign for Arrival {
    fn add_assign(&mut self, other: Arrival) {
        self.bytes += other.bytes;
        self.original += other.original;
    }
}

/// ```text
///    una            marked          sacked_to      sent_to      written
///  ───┼──lost──sacked──┼──sacked──────┼──────────────┼─────────────┼──
///     acknowledged     └ judged below, hopeful above   not yet sent
/// ```
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    /// Oldest byte that is not acknowledged (SND.UNA).
    una: u64,
    /// First byte never sent (SND.NXT).
    sent_to: u64,
    sacked: Ranges,
    lost: Ranges,
    /// Retransmitted, and not known to have arrived.
    resent: Ranges,
    /// Bytes from here on are newer than the timeout that is judged: no arrival of them is original [offset].
    newer_from: Option<u64>,
    /// Whether anything sent once has arrived after what was sent behind it (`RACK.reordering_seen`).
    is_reordered: bool,
    /// Below, every hole has been judged lost once.
    marked: u64,
    /// Retransmissions in flight, oldest first.
    retransmitted: VecDeque<Retransmitted>,
    /// Without SACK: bytes that left the network according to duplicate ACKs.
    duplicated: u64,
}

impl Scoreboard {
    pub(super) fn una(&self) -> u64 {
        self.una
    }

    pub(super) fn sent_to(&self) -> u64 {
        self.sent_to
    }

    /// Sent and not cumulatively acknowledged [B].
    pub(super) fn outstanding(&self) -> u64 {
        self.sent_to - self.una
    }

    /// Bytes thought to be in the network ("pipe" of RFC 6675: retransmissions of lost bytes count again).
    pub(super) fn in_flight(&self) -> u64 {
        self.outstanding() - self.sacked.total() - self.lost.total() - self.duplicated
    }

    /// Bytes known to be at the receiver out of order [B].
    pub(super) fn arrived(&self) -> u64 {
        self.sacked.total() + self.duplicated
    }

    pub(super) fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    pub(super) fn has_retransmitted(&self) -> bool {
        !self.retransmitted.is_empty()
    }

    /// Notes new data sent.
    pub(super) fn send(&mut self, len: u64) {
        self.sent_to += len;
    }

    /// Advances to a cumulative acknowledgement; returns what was not known to have arrived.
    pub(super) fn acknowledge(&mut self, cumulative: u64) -> Arrival {
        let covered = ByteRange::new(self.una, cumulative);
        self.una = cumulative;
        self.marked = self.marked.max(cumulative);
        if self.is_plain() {
            return Arrival { bytes: covered.len(), original: covered.len() };
        }
        self.note_reordering(covered);
        let newer = self.newer_part(covered);
        let bytes = covered.len() - self.sacked.remove(covered);
        self.lost.remove(covered);
        while self.retransmitted.front().is_some_and(|entry| entry.range.end <= cumulative) {
            self.retransmitted.pop_front();
        }
        Arrival { bytes, original: bytes - newer - self.resent.remove(covered) }
    }

    /// Before `arrived` is taken: how much of it is new and was first sent after the timeout that is judged [B].
    fn newer_part(&self, arrived: ByteRange) -> u64 {
        let Some(from) = self.newer_from else { return 0 };
        let newer = ByteRange::new(arrived.start.max(from), arrived.end);
        newer.len() - self.sacked.overlap(newer) - self.resent.overlap(newer)
    }

    /// Counts what is sent for the first time from now on as newer than the timeout that is judged.
    pub(super) fn begin_newer(&mut self) {
        self.newer_from = Some(self.sent_to);
    }

    /// No timeout is judged any more.
    pub(super) fn end_newer(&mut self) {
        self.newer_from = None;
    }

    /// Whether nothing is known of the flight but where it begins and ends.
    fn is_plain(&self) -> bool {
        let has_ranges = !self.sacked.is_empty() || !self.lost.is_empty() || !self.resent.is_empty();
        !has_ranges && self.retransmitted.is_empty() && self.duplicated == 0 && self.newer_from.is_none()
    }

    /// Takes a SACK block; returns what was not known to have arrived.
    pub(super) fn sack(&mut self, block: ByteRange) -> Arrival {
        let plausible = block.start >= self.una && block.end <= self.sent_to && !block.is_empty();
        if !plausible {
            return Arrival::default();
        }
        self.note_reordering(block);
        let newer = self.newer_part(block);
        self.lost.remove(block);
        let bytes = self.sacked.insert(block);
        Arrival { bytes, original: bytes - newer - self.resent.remove(block) }
    }

    /// Before `arrived` is taken: notes whether bytes of it, sent once, lie below what has arrived before (RFC 8985,
    /// section 6.2, step 3).
    fn note_reordering(&mut self, arrived: ByteRange) {
        let Some(highest) = self.sacked.last() else { return };
        let late = ByteRange::new(arrived.start, arrived.end.min(highest.end));
        self.is_reordered |= late.len() > self.sacked.overlap(late) + self.resent.overlap(late);
    }

    /// Whether packets were seen to overtake each other.
    pub(super) fn is_reordered(&self) -> bool {
        self.is_reordered
    }

    pub(super) fn has_arrived(&self, range: ByteRange) -> bool {
        has_arrived(self.una, &self.sacked, range)
    }

    /// Where what has arrived of a range ends, if anything has.
    pub(super) fn arrived_to(&self, range: ByteRange) -> Option<u64> {
        let end = self.sacked.last_below(range.end).unwrap_or(0).max(self.una.min(range.end));
        (end > range.start).then_some(end)
    }

    /// Judges by the time of sending (RFC 8985, section 6.2, step 5).
    pub(super) fn find_losses<N: Copy>(&mut self, rack: &mut Rack<N>, now: Time, window: Duration) {
        let Scoreboard { una, sacked, lost, .. } = self;
        rack.find_losses(
            now,
            window,
            |range| has_arrived(*una, sacked, range),
            |range| insert_holes(lost, sacked, ByteRange::new(range.start.max(*una), range.end)),
        );
    }

    /// Forgets what was judged lost and is not: nothing is to be sent again.
    pub(super) fn forget_losses(&mut self) {
        self.lost = Ranges::default();
        self.marked = self.una;
    }

    /// Without SACK: a duplicate ACK reports that one more segment left the network.
    pub(super) fn duplicate(&mut self, mss: u64) -> u64 {
        let added = mss.min(self.in_flight());
        self.duplicated += added;
        added
    }

    /// Without SACK: a cumulative ACK of `acked` bytes covers the repaired segment and what duplicate ACKs reported.
    pub(super) fn forget_duplicates(&mut self, acked: u64, mss: u64) {
        let held = self.outstanding() - self.lost.total();
        self.duplicated = self.duplicated.saturating_sub(acked.saturating_sub(mss)).min(held);
    }

    /// Judges holes lost that lie three segments below the highest SACKed byte (forward acknowledgement,
    /// Mathis and Mahdavi 1996; `IsLost` of RFC 6675 without holes above).
    pub(super) fn mark_lost(&mut self, mss: u64) {
        let Some(highest) = self.sacked.last() else { return };
        let limit = highest.end.saturating_sub(DUPLICATE_THRESHOLD * mss);
        while self.marked < limit {
            let hole = self.hole_at_marked(highest.end);
            // A segment is lost as a whole: what the limit cuts stays hopeful.
            let length = if hole.end <= limit { hole.len() } else { limit.saturating_sub(hole.start) / mss * mss };
            if length == 0 {
                break;
            }
            self.mark(ByteRange::new(hole.start, hole.start + length));
        }
    }

    /// Judges retransmissions lost after which even newer data was SACKed (as Linux 3.10 does with FACK).
    pub(super) fn mark_lost_retransmissions(&mut self) {
        let highest = self.sacked.last().map_or(0, |range| range.end);
        while self.retransmitted.front().is_some_and(|entry| entry.sent_to < highest) {
            let Some(entry) = self.retransmitted.pop_front() else { return };
            self.mark_holes(entry.range);
        }
    }

    /// Judges the first segment lost, once.
    pub(super) fn mark_head(&mut self, mss: u64) {
        self.duplicated = self.duplicated.min(self.outstanding().saturating_sub(mss + self.lost.total()));
        if self.marked == self.una && self.outstanding() > 0 {
            let hole = self.hole_at_marked(self.sent_to);
            self.mark(ByteRange::new(hole.start, hole.end.min(hole.start + mss)));
        }
    }

    /// Judges the next hole below the highest SACKed byte lost, whatever the threshold (`NextSeg` rule 3).
    pub(super) fn mark_next_hole(&mut self, mss: u64) {
        let Some(highest) = self.sacked.last() else { return };
        let hole = self.hole_at_marked(highest.end);
        self.mark(ByteRange::new(hole.start, hole.end.min(hole.start + mss)));
    }

    /// Judges all lost that is not SACKed: the retransmission timer expired.
    pub(super) fn mark_all(&mut self) {
        self.retransmitted.clear();
        self.duplicated = 0;
        self.mark_holes(ByteRange::new(self.una, self.sent_to));
        self.marked = self.sent_to;
    }

    /// Returns the range to retransmit next, at most `mss` bytes.
    pub(super) fn next_lost(&self, mss: u64) -> Option<ByteRange> {
        self.lost.first().map(|range| ByteRange::new(range.start, range.end.min(range.start + mss)))
    }

    /// Notes that `range` was sent again.
    pub(super) fn retransmit(&mut self, range: ByteRange) {
        self.lost.remove(range);
        self.resent.insert(range);
        self.retransmitted.push_back(Retransmitted { range, sent_to: self.sent_to });
    }

    /// The last segment sent, if it is not SACKed.
    pub(super) fn tail(&self, mss: u64) -> ByteRange {
        let floor = self.sacked.last().map_or(self.una, |range| range.end);
        ByteRange::new(floor.max(self.sent_to.saturating_sub(mss)), self.sent_to)
    }

    /// The first hole at or above `marked`, at most up to `limit`; empty when there is none.
    fn hole_at_marked(&self, limit: u64) -> ByteRange {
        let mut start = self.marked;
        loop {
            match self.sacked.at_or_after(start) {
                Some(held) if held.start <= start => start = held.end,
                Some(held) => return ByteRange::new(start, held.start.min(limit)),
                None => return ByteRange::new(start, limit.max(start)),
            }
        }
    }

    fn mark(&mut self, hole: ByteRange) {
        self.lost.insert(hole);
        self.marked = hole.end;
    }

    fn mark_holes(&mut self, range: ByteRange) {
        insert_holes(&mut self.lost, &self.sacked, ByteRange::new(range.start.max(self.una), range.end));
    }
}

fn has_arrived(una: u64, sacked: &Ranges, range: ByteRange) -> bool {
    let start = range.start.max(una);
    start >= range.end || sacked.at_or_after(start).is_some_and(|held| held.start <= start && range.end <= held.end)
}

/// Adds to `lost` what of `range` is not SACKed.
fn insert_holes(lost: &mut Ranges, sacked: &Ranges, range: ByteRange) {
    let mut start = range.start;
    while start < range.end {
        let held = sacked.at_or_after(start).unwrap_or(ByteRange::new(range.end, range.end));
        lost.insert(ByteRange::new(start, held.start.min(range.end)));
        start = held.end.max(held.start);
    }
}
