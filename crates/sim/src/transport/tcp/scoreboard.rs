//! What of the stream is out, what arrived out of order, what is lost (RFC 6675, section 3).

use std::collections::VecDeque;

use crate::transport::ranges::{ByteRange, Ranges};

/// Duplicates after which a segment counts as lost (DupThresh, RFC 5681).
pub(super) const DUPLICATE_THRESHOLD: u64 = 3;

/// A retransmission, and how far the stream had been sent then.
#[derive(Clone, Copy, Debug)]
struct Retransmitted {
    range: ByteRange,
    sent_to: u64,
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
    /// Reported by SACK.
    sacked: Ranges,
    /// Lost and not retransmitted since.
    lost: Ranges,
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

    /// Advances to a cumulative acknowledgement; returns the bytes that were not known to have arrived.
    pub(super) fn acknowledge(&mut self, cumulative: u64) -> u64 {
        let covered = ByteRange::new(self.una, cumulative);
        self.una = cumulative;
        self.marked = self.marked.max(cumulative);
        if self.sacked.is_empty() && self.lost.is_empty() && self.retransmitted.is_empty() && self.duplicated == 0 {
            return covered.len();
        }
        let known = self.sacked.remove(covered);
        self.lost.remove(covered);
        while self.retransmitted.front().is_some_and(|entry| entry.range.end <= cumulative) {
            self.retransmitted.pop_front();
        }
        covered.len() - known
    }

    /// Takes a SACK block; returns the bytes that were not known to have arrived.
    pub(super) fn sack(&mut self, block: ByteRange) -> u64 {
        let plausible = block.start >= self.una && block.end <= self.sent_to && !block.is_empty();
        if !plausible {
            return 0;
        }
        self.lost.remove(block);
        self.sacked.insert(block)
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
            let whole = if hole.end <= limit { hole.len() } else { limit.saturating_sub(hole.start) / mss * mss };
            if whole == 0 {
                break;
            }
            self.mark(ByteRange::new(hole.start, hole.start + whole));
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

    /// What to retransmit next, at most `mss` bytes.
    pub(super) fn next_lost(&self, mss: u64) -> Option<ByteRange> {
        self.lost.first().map(|range| ByteRange::new(range.start, range.end.min(range.start + mss)))
    }

    /// Notes that `range` was sent again.
    pub(super) fn retransmit(&mut self, range: ByteRange) {
        self.lost.remove(range);
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
        let mut start = range.start.max(self.una);
        while start < range.end {
            let held = self.sacked.at_or_after(start).unwrap_or(ByteRange::new(range.end, range.end));
            self.lost.insert(ByteRange::new(start, held.start.min(range.end)));
            start = held.end.max(held.start);
        }
    }
}
