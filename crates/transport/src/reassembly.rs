//! Data of a stream that has arrived: all below a point, and ranges beyond it.

use super::{SACK_BLOCKS, SackBlocks, ranges::ByteRange, ranges::Ranges, state_word::joined};

#[derive(Clone, Debug, Default)]
pub(super) struct Reassembly {
    /// Next byte expected (RCV.NXT).
    next: u64,
    out_of_order: Ranges,
    /// Where the latest out-of-order arrivals began, newest first (RFC 2018, section 4).
    recent: [u64; SACK_BLOCKS],
    duplicate: ByteRange,
}

impl Reassembly {
    /// State that decides what it will do.
    pub(super) fn word(&self) -> u64 {
        let &Reassembly { next, ref out_of_order, recent, duplicate } = self;
        // Where nothing is missing, earlier arrivals are reported no more.
        let recent = recent.map(|start| if out_of_order.is_empty() { 0 } else { start.wrapping_sub(next) });
        let duplicate = if duplicate.is_empty() { 0 } else { duplicate.word(next) };
        joined(recent.into_iter().chain([out_of_order.word(next), duplicate]))
    }

    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Ranges that have arrived beyond a gap.
    pub(super) fn ahead(&self) -> &Ranges {
        &self.out_of_order
    }

    /// Whether anything has arrived beyond a gap.
    pub(super) fn has_gap(&self) -> bool {
        !self.out_of_order.is_empty()
    }

    /// Keeps what has arrived beyond a gap. Returns whether any of it is new.
    pub(super) fn keep(&mut self, range: ByteRange) -> bool {
        let is_new = self.out_of_order.insert(range) > 0;
        if is_new {
            self.recent = [range.start, self.recent[0], self.recent[1]];
        } else {
            self.duplicate = range;
        }
        is_new
    }

    /// Notes what has arrived again, for the next report.
    pub(super) fn note_duplicate(&mut self, range: ByteRange) {
        self.duplicate = range;
    }

    /// Advances to `end` and over what waited there.
    pub(super) fn advance(&mut self, end: u64) {
        self.next = self.next.max(end);
        if self.out_of_order.is_empty() {
            return;
        }
        if let Some(first) = self.out_of_order.first().filter(|first| first.start <= self.next) {
            self.next = self.next.max(first.end);
        }
        self.out_of_order.remove_below(self.next);
    }

    /// Duplicate first (RFC 2883), then the blocks of the newest arrivals, then the lowest.
    pub(super) fn blocks(&mut self) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let duplicate = std::mem::take(&mut self.duplicate);
        if duplicate.is_empty() && self.out_of_order.is_empty() {
            return blocks;
        }
        let newest = self.recent.iter().filter_map(|&start| self.holding(start));
        let candidates = [duplicate].into_iter().chain(newest).chain(self.out_of_order.first());
        let mut used = 0;
        for block in candidates.filter(|block| !block.is_empty()) {
            if used < SACK_BLOCKS && !blocks[..used].contains(&block) {
                blocks[used] = block;
                used += 1;
            }
        }
        blocks
    }

    /// The out-of-order range with byte `seq`.
    fn holding(&self, seq: u64) -> Option<ByteRange> {
        self.out_of_order.at_or_after(seq).filter(|range| range.start <= seq)
    }
}
