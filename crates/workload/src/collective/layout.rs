//! Layout of the memory on which a collective works.

/// Part of a member's memory that a message carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// Bytes from the first up to, but not including, the second.
    Bytes(u64, u64),
    /// `count` blocks from block `first` on; the first block follows the last.
    Blocks { first: u32, count: u32 },
    /// `count` blocks from block `first` on, so many numbers apart; the first block follows the last.
    Spread { first: u32, step: u32, count: u32 },
    /// The blocks whose number has this bit set.
    WithBit(u32),
}

/// Memory in blocks, one for each member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Layout {
    /// A vector in units, in shares as equal as can be: the first blocks get the remainder.
    Vector { bytes: u64, size: u32, unit: u64 },
    /// A message in blocks of the same length, as far as it goes.
    Message { bytes: u64, size: u32 },
    /// The block of each member, lengths repeated.
    Blocks { lengths: Vec<u64>, size: u32 },
    /// Block d goes to the member d places up, and at last came from d places down; the length depends on the
    /// destination.
    Pairs { lengths: Vec<u64>, size: u32 },
    /// Blocks 2k and 2k + 1 go to the member before and behind in dimension k of a grid; at last they came from the one
    /// behind and before.
    Neighbors { dims: Vec<u32>, bytes: u64 },
}

/// Where the part of `length` starts that falls to `number` of `parts`: the first ones get the remainder.
pub(super) fn share_start(length: u64, parts: u64, number: u64) -> u64 {
    length / parts * number + number.min(length % parts)
}

impl Layout {
    pub(super) fn vector(bytes: u64, size: u32, unit: u64) -> Layout {
        Layout::Vector { bytes, size, unit }
    }

    pub(super) fn message(bytes: u64, size: u32) -> Layout {
        Layout::Message { bytes, size }
    }

    pub(super) fn blocks(lengths: Vec<u64>, size: u32) -> Layout {
        Layout::Blocks { lengths, size }
    }

    pub(super) fn pairs(lengths: Vec<u64>, size: u32) -> Layout {
        Layout::Pairs { lengths, size }
    }

    pub(super) fn neighbors(dims: Vec<u32>, bytes: u64) -> Layout {
        Layout::Neighbors { dims, bytes }
    }

    /// How many blocks: one for each member, or for each neighbour.
    pub(super) fn size(&self) -> u32 {
        match *self {
            Layout::Neighbors { ref dims, .. } => 2 * dims.len() as u32,
            Layout::Vector { size, .. }
            | Layout::Message { size, .. }
            | Layout::Blocks { size, .. }
            | Layout::Pairs { size, .. } => size,
        }
    }

    /// All of it, as the collective's parameters say [B].
    pub(super) fn total(&self) -> u64 {
        match *self {
            Layout::Vector { bytes, .. } | Layout::Message { bytes, .. } => bytes,
            Layout::Blocks { .. } | Layout::Pairs { .. } | Layout::Neighbors { .. } => self.start(self.size()),
        }
    }

    /// Where a block starts [B]; that of number `size` is the end.
    pub(super) fn start(&self, block: u32) -> u64 {
        match self {
            Layout::Vector { bytes, size, unit } => {
                share_start(bytes.div_ceil(*unit), u64::from(*size), u64::from(block)) * unit
            }
            Layout::Message { bytes, size } => (bytes.div_ceil(u64::from(*size)) * u64::from(block)).min(*bytes),
            Layout::Blocks { lengths, .. } | Layout::Pairs { lengths, .. } => repeated_sum(lengths, block),
            Layout::Neighbors { bytes, .. } => u64::from(block) * bytes,
        }
    }

    /// The members before and behind `member` in each dimension of the grid of neighbours.
    pub(super) fn neighbors_of(&self, member: u32) -> Vec<[u32; 2]> {
        let Layout::Neighbors { dims, .. } = self else { panic!("a grid has neighbours") };
        let mut stride = dims.iter().product::<u32>();
        let of_dimension = |&extent: &u32| {
            stride /= extent;
            let own = member / stride % extent;
            [extent - 1, 1].map(|step| member - own * stride + (own + step) % extent * stride)
        };
        dims.iter().map(of_dimension).collect()
    }

    /// Bytes of a part of what goes to, or comes for, `destination`.
    pub(super) fn length(&self, part: Part, destination: u32) -> u64 {
        match (self, part) {
            (_, Part::Bytes(from, to)) => to - from,
            (Layout::Pairs { lengths, .. }, Part::Blocks { count: 1, .. }) => {
                lengths.get(destination as usize % lengths.len().max(1)).copied().unwrap_or(0)
            }
            (_, Part::Blocks { first, count }) => self.run(first, count),
            (_, Part::Spread { first, step, count }) => {
                let size = u64::from(self.size());
                let block = |number: u32| ((u64::from(first) + u64::from(number) * u64::from(step)) % size) as u32;
                (0..count).map(|number| self.run(block(number), 1)).sum()
            }
            (_, Part::WithBit(bit)) => {
                let blocks = (1..self.size()).filter(|block| block & bit != 0);
                blocks.map(|block| self.start(block + 1) - self.start(block)).sum()
            }
        }
    }

    /// Bytes of blocks in a row.
    fn run(&self, first: u32, count: u32) -> u64 {
        let end = first + count;
        let wrapped = end.saturating_sub(self.size());
        self.start(end - wrapped) - self.start(first) + self.start(wrapped)
    }
}

/// Sum of the first `count` of lengths that are repeated.
fn repeated_sum(lengths: &[u64], count: u32) -> u64 {
    let parts = lengths.len().max(1);
    let (rounds, rest) = (u64::from(count) / parts as u64, count as usize % parts);
    rounds * lengths.iter().sum::<u64>() + lengths[..rest.min(lengths.len())].iter().sum::<u64>()
}
