//! Sets of bytes of the stream, as sorted ranges.

/// Bytes from `start` up to, not including, `end` [offsets in the stream].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ByteRange {
    /// First byte.
    pub start: u64,
    /// Byte after the last.
    pub end: u64,
}

impl ByteRange {
    /// The bytes from `start` up to `end`; empty when `end` is not above `start`.
    pub const fn new(start: u64, end: u64) -> ByteRange {
        ByteRange { start, end }
    }

    /// How many bytes.
    pub const fn len(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// Whether all of them are among those of another range.
    pub const fn is_within(self, outer: ByteRange) -> bool {
        outer.start <= self.start && self.end <= outer.end
    }
}

/// Address of a value, or null.
pub(crate) fn address<T>(value: Option<&T>) -> *const u8 {
    value.map_or(std::ptr::null(), |value| std::ptr::from_ref(value).cast())
}

/// Address of a value, or null, and its bytes.
pub(crate) fn extent<T>(value: Option<&T>) -> (*const u8, usize) {
    (address(value), size_of::<T>())
}

/// Disjoint ranges that do not touch, ascending, in a vector that keeps its memory. Operations cost
/// O(log n) to find and O(n) to move, n being the number of holes in a window.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    sorted: Vec<ByteRange>,
    total: u64,
}

impl Ranges {
    /// All, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = ByteRange> {
        self.sorted.iter().copied()
    }

    /// How many bytes are in the set.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Addresses of the first and the last range, null where there is none.
    pub(super) fn addresses(&self) -> [*const u8; 2] {
        [self.sorted.first(), self.sorted.last()].map(address)
    }

    pub(super) fn first(&self) -> Option<ByteRange> {
        self.sorted.first().copied()
    }

    pub(super) fn last(&self) -> Option<ByteRange> {
        self.sorted.last().copied()
    }

    /// The first range that ends after `seq`: the one that holds it, or the next.
    pub(super) fn at_or_after(&self, seq: u64) -> Option<ByteRange> {
        let index = self.sorted.partition_point(|range| range.end <= seq);
        self.sorted.get(index).copied()
    }

    /// Where the last of the bytes below `limit` ends.
    pub(super) fn last_below(&self, limit: u64) -> Option<u64> {
        let index = self.sorted.partition_point(|range| range.start < limit);
        let last = self.sorted[..index].last()?;
        Some(last.end.min(limit))
    }

    pub(super) fn overlap(&self, range: ByteRange) -> u64 {
        let from = self.sorted.partition_point(|held| held.end <= range.start);
        let held = self.sorted[from..].iter().take_while(|held| held.start < range.end);
        held.map(|held| ByteRange::new(held.start.max(range.start), held.end.min(range.end)).len()).sum()
    }

    /// Whether all of a range that is not empty is in the set.
    pub fn contain(&self, range: ByteRange) -> bool {
        !range.is_empty() && self.at_or_after(range.start).is_some_and(|held| range.is_within(held))
    }

    /// Number of messages in the set as a whole, where messages of `bytes` each fill the stream.
    pub fn messages(&self, bytes: u64) -> u64 {
        self.sorted.iter().map(|range| (range.end / bytes).saturating_sub(range.start.div_ceil(bytes))).sum()
    }

    /// Adds a range and returns how many of its bytes are new.
    pub(super) fn insert(&mut self, range: ByteRange) -> u64 {
        if range.is_empty() {
            return 0;
        }
        // Most of what arrives follows the last, or comes beyond it.
        if self.sorted.last().is_none_or(|last| last.end <= range.start) {
            match self.sorted.last_mut().filter(|last| last.end == range.start) {
                Some(last) => last.end = range.end,
                None => self.sorted.push(range),
            }
            self.total += range.len();
            return range.len();
        }
        let from = self.sorted.partition_point(|held| held.end < range.start);
        let to = from + self.sorted[from..].partition_point(|held| held.start <= range.end);
        let held: u64 = self.sorted[from..to].iter().map(|range| range.len()).sum();
        let added = if from == to {
            self.sorted.insert(from, range);
            range.len()
        } else {
            let start = range.start.min(self.sorted[from].start);
            let end = range.end.max(self.sorted[to - 1].end);
            self.sorted[from] = ByteRange { start, end };
            self.sorted.drain(from + 1..to);
            end - start - held
        };
        self.total += added;
        added
    }

    /// Takes out all below a limit.
    pub(super) fn remove_below(&mut self, limit: u64) {
        if self.sorted.first().is_none_or(|first| limit <= first.start) {
            return;
        }
        let count = self.sorted.iter().take_while(|held| held.end <= limit).count();
        self.total -= self.sorted.drain(..count).map(ByteRange::len).sum::<u64>();
        if let Some(first) = self.sorted.first_mut().filter(|first| first.start < limit) {
            self.total -= limit - first.start;
            first.start = limit;
        }
    }

    /// Takes a range out and returns how many of its bytes were there.
    pub(super) fn remove(&mut self, range: ByteRange) -> u64 {
        if self.sorted.first().is_none_or(|first| range.end <= first.start) {
            return 0;
        }
        let from = self.sorted.partition_point(|held| held.end <= range.start);
        let to = from + self.sorted[from..].partition_point(|held| held.start < range.end);
        if from == to || range.is_empty() {
            return 0;
        }
        let held: u64 = self.sorted[from..to].iter().map(|range| range.len()).sum();
        let left = ByteRange::new(self.sorted[from].start, range.start);
        let right = ByteRange::new(range.end, self.sorted[to - 1].end);
        self.replace(from, to, left, right);
        let removed = held - left.len() - right.len();
        self.total -= removed;
        removed
    }

    /// Puts what is left of the ranges `from..to` in their place.
    fn replace(&mut self, from: usize, to: usize, left: ByteRange, right: ByteRange) {
        let mut kept = from;
        if !left.is_empty() {
            self.sorted[kept] = left;
            kept += 1;
        }
        if right.is_empty() {
            self.sorted.drain(kept..to);
        } else if kept == to {
            self.sorted.insert(kept, right);
        } else {
            self.sorted[kept] = right;
            self.sorted.drain(kept + 1..to);
        }
    }
}

etherweave_kernel::wire! { ByteRange { start, end } }

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ranges: &[(u64, u64)]) -> Ranges {
        let mut set = Ranges::default();
        for &(start, end) in ranges {
            let _ = set.insert(ByteRange::new(start, end));
        }
        set
    }

    fn check(set: &Ranges, expected: &[(u64, u64)]) {
        let bounds: Vec<_> = set.sorted.iter().map(|range| (range.start, range.end)).collect();
        assert_eq!(bounds, expected);
        assert_eq!(set.total, expected.iter().map(|(start, end)| end - start).sum::<u64>());
    }

    #[test]
    fn ranges_that_touch_become_one() {
        check(&set(&[(20, 30), (0, 10), (10, 20)]), &[(0, 30)]);
        check(&set(&[(0, 10), (20, 30), (5, 25)]), &[(0, 30)]);
    }

    #[test]
    fn removal_splits_trims_and_drops() {
        let removal = |range, expected: &[(u64, u64)], count| {
            let mut ranges = set(&[(0, 10), (20, 30), (40, 50)]);
            assert_eq!(ranges.remove(range), count);
            check(&ranges, expected);
        };
        removal(ByteRange::new(22, 25), &[(0, 10), (20, 22), (25, 30), (40, 50)], 3);
        removal(ByteRange::new(5, 45), &[(0, 5), (45, 50)], 20);
        removal(ByteRange::new(20, 30), &[(0, 10), (40, 50)], 10);
        removal(ByteRange::new(10, 20), &[(0, 10), (20, 30), (40, 50)], 0);
        removal(ByteRange::new(0, 60), &[], 30);
    }

    #[test]
    fn messages_count_when_all_their_bytes_are_there() {
        let held = set(&[(5, 29), (30, 40), (41, 59)]);
        assert_eq!([10, 5].map(|bytes| held.messages(bytes)), [2, 8]);
        let cases = [(10, 29), (5, 5), (28, 31), (30, 40)];
        assert_eq!(cases.map(|(start, end)| held.contain(ByteRange::new(start, end))), [true, false, false, true]);
    }

    #[test]
    fn a_set_agrees_with_a_bitmap_under_random_operations() {
        use etherweave_primitives::{Purpose, Stream};
        let mut random = Stream::new(1, Purpose::Traffic, 0);
        let (mut ranges, mut bitmap) = (Ranges::default(), [false; 64]);
        for _ in 0..20_000 {
            let (a, b) = (random.below(65), random.below(65));
            let range = ByteRange::new(a.min(b), a.max(b));
            let member = random.happens(1, 2);
            let flipped = (range.start..range.end).filter(|&byte| bitmap[byte as usize] != member).count() as u64;
            (range.start..range.end).for_each(|byte| bitmap[byte as usize] = member);
            if range.start == 0 && !member {
                let mut rest = ranges.clone();
                rest.remove_below(range.end);
                assert_eq!(rest.total(), ranges.total() - flipped);
                let mut same = ranges.clone();
                same.remove(range);
                assert_eq!(rest.sorted, same.sorted);
            }
            assert_eq!(if member { ranges.insert(range) } else { ranges.remove(range) }, flipped);
            let within =
                |limit: u64| bitmap[..limit as usize].iter().rposition(|&held| held).map(|last| last as u64 + 1);
            assert_eq!(ranges.last_below(range.end), within(range.end));
            let member_count = (range.start..range.end).filter(|&byte| bitmap[byte as usize]).count() as u64;
            assert_eq!(ranges.overlap(range), member_count);
            assert_eq!(ranges.total(), bitmap.iter().filter(|&&held| held).count() as u64);
            assert!(ranges.sorted.windows(2).all(|pair| pair[0].end < pair[1].start));
        }
    }
}
