//! Data that members have before a collective and must have after it: for every byte of their memory the ranks that
//! contributed to it.

use crate::{collective::Collective, collective::Kind, collective::layout::Layout, collective::layout::Part};

pub(super) type Ranks = u128;

/// The cells of a part, in order.
pub(super) fn cells_of(layout: &Layout, part: Part) -> Vec<usize> {
    let block = |number: u32| match layout {
        Layout::Pairs { .. } => number as usize..number as usize + 1,
        Layout::Vector { .. } | Layout::Message { .. } | Layout::Blocks { .. } | Layout::Neighbors { .. } => {
            layout.start(number) as usize..layout.start(number + 1) as usize
        }
    };
    match part {
        Part::Bytes(from, to) => (from as usize..to as usize).collect(),
        Part::Blocks { first, count } => {
            (first..first + count).flat_map(|number| block(number % layout.size())).collect()
        }
        Part::Spread { first, step, count } => {
            (0..count).flat_map(|number| block((first + number * step) % layout.size())).collect()
        }
        Part::WithBit(bit) => (1..layout.size()).filter(|number| number & bit != 0).flat_map(block).collect(),
    }
}

/// The block of each cell of a member's memory: of its bytes, or of its blocks where their length depends on the
/// destination.
fn owners(layout: &Layout) -> Vec<u32> {
    match layout {
        Layout::Pairs { size, .. } => (0..*size).collect(),
        Layout::Vector { .. } | Layout::Message { .. } | Layout::Blocks { .. } | Layout::Neighbors { .. } => {
            let cells = |block: u32| (layout.start(block + 1) - layout.start(block)) as usize;
            (0..layout.size()).flat_map(|block| std::iter::repeat_n(block, cells(block))).collect()
        }
    }
}

fn all(ranks: u32) -> Ranks {
    (1 << ranks) - 1
}

/// Returns what a member contributes at first.
pub(super) fn before(collective: &Collective, layout: &Layout, me: u32) -> Vec<Ranks> {
    let (mine, root) = (1 << me, collective.root());
    let of = |is_mine: bool| if is_mine { mine } else { 0 };
    let value = |owner: u32| match collective.kind() {
        Kind::Bcast | Kind::Scatter | Kind::Scatterv => of(me == root),
        Kind::Gather | Kind::Gatherv | Kind::Allgather | Kind::Allgatherv => of(owner == me),
        Kind::Barrier
        | Kind::Alltoall
        | Kind::Alltoallv
        | Kind::Alltoallw
        | Kind::NeighborAllgather
        | Kind::NeighborAlltoall
        | Kind::Reduce
        | Kind::Allreduce
        | Kind::ReduceScatter
        | Kind::ReduceScatterBlock
        | Kind::Scan
        | Kind::Exscan => mine,
    };
    owners(layout).into_iter().map(value).collect()
}

/// Returns what the definition of the collective gives a member at last; none where it says nothing.
pub(super) fn after(collective: &Collective, layout: &Layout, me: u32) -> Vec<Option<Ranks>> {
    let (ranks, root) = (layout.size(), collective.root());
    let value = |owner: u32| {
        match collective.kind() {
            Kind::Barrier => None,
            Kind::Bcast => Some(1 << root),
            Kind::Scatter | Kind::Scatterv => (owner == me).then_some(1 << root),
            Kind::Gather | Kind::Gatherv => (me == root).then_some(1 << owner),
            Kind::Allgather | Kind::Allgatherv => Some(1 << owner),
            // Block 2k came from the member behind in dimension k, block 2k + 1 from the one before.
            Kind::NeighborAllgather | Kind::NeighborAlltoall => {
                Some(1 << layout.neighbors_of(me)[owner as usize / 2][1 - owner as usize % 2])
            }
            // Block d came from d places down.
            Kind::Alltoall | Kind::Alltoallv | Kind::Alltoallw => Some(1 << ((me + ranks - owner) % ranks)),
            Kind::Reduce => (me == root).then_some(all(ranks)),
            Kind::Allreduce => Some(all(ranks)),
            Kind::ReduceScatter | Kind::ReduceScatterBlock => (owner == me).then_some(all(ranks)),
            Kind::Scan => Some(all(me + 1)),
            // The first has nothing.
            Kind::Exscan => (me > 0).then_some(all(me)),
        }
    };
    owners(layout).into_iter().map(value).collect()
}
