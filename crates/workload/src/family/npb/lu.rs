//! LU: the lower triangle from one corner of a grid of ranks to the other, plane by plane, then the upper one back.
//!
//! Before, every rank exchanges two layers of all planes with its neighbours, for the right-hand side.
//! Source: `LU/proc_grid.f`, `neighbors.f`, `exchange_1.f`, `exchange_3.f`, `ssor.f` of NPB 3.4.

use super::{Npb, receive, send, share};
use crate::{Block, Op, Part};

const VARIABLES: u64 = 5;
/// Layers that the right-hand side needs of a neighbour.
const LAYERS: u64 = 2;
/// Fewest points of a rank along an axis.
const POINTS_MIN: u32 = 3;

/// Ranks in rows and columns, as near to a square as their number allows; ranks that follow each other are in a
/// column.
#[derive(Clone, Copy)]
pub(super) struct Grid {
    rows: u32,
    columns: u32,
}

impl Grid {
    fn new(ranks: u32) -> Grid {
        let rows = (1..=ranks.isqrt()).rev().find(|&rows| ranks.is_multiple_of(rows)).unwrap_or(1);
        Grid { rows, columns: ranks / rows }
    }

    /// Whether every rank has enough of so many points along an axis.
    pub(super) fn is_possible(ranks: u32, points: u32) -> bool {
        ranks >= 2 && Grid::new(ranks).columns <= points / POINTS_MIN
    }
}

/// Most ranks for so many points along an axis.
pub(super) fn ranks_max(points: u32) -> u32 {
    (points / POINTS_MIN).pow(2)
}

struct Member {
    north: Option<u32>,
    south: Option<u32>,
    west: Option<u32>,
    east: Option<u32>,
    /// Points from north to south, from west to east, and planes.
    points: [u64; 3],
}

impl Member {
    fn new(npb: &Npb, rank: u32) -> Member {
        let Grid { rows, columns } = Grid::new(npb.ranks);
        let (row, column) = (rank % rows, rank / rows);
        let side = npb.side();
        Member {
            north: (row > 0).then(|| rank - 1),
            south: (row + 1 < rows).then(|| rank + 1),
            west: (column > 0).then(|| rank - rows),
            east: (column + 1 < columns).then(|| rank + rows),
            points: [share(side, rows, row), share(side, columns, column), side.into()],
        }
    }

    /// Two layers of all planes there and back, first from north to south.
    fn exchange(&self) -> Vec<Op> {
        let [nx, ny, nz] = self.points;
        let layers = |points: u64| LAYERS * VARIABLES * points * nz;
        let shifts = [
            (self.north, self.south, 1, layers(ny)),
            (self.south, self.north, 2, layers(ny)),
            (self.west, self.east, 3, layers(nx)),
            (self.east, self.west, 4, layers(nx)),
        ];
        let shift = |(from, to, tag, doubles): (Option<u32>, Option<u32>, u32, u64)| {
            let received = from.map(|peer| receive(peer, tag, doubles));
            let sent = to.map(|peer| send(peer, tag, doubles));
            received.into_iter().chain(sent).chain([Op::WaitAll])
        };
        shifts.into_iter().flat_map(shift).collect()
    }

    /// A plane: what comes from two neighbours, computing, and what goes to the other two.
    fn plane(&self, compute: Option<Op>, is_lower: bool) -> Vec<Op> {
        let [nx, ny, _] = self.points;
        let (vertical, horizontal) = (VARIABLES * ny, VARIABLES * nx);
        let (tag, from, to) = if is_lower {
            (5, [self.north, self.west], [self.south, self.east])
        } else {
            (6, [self.south, self.east], [self.north, self.west])
        };
        let doubles = [vertical, horizontal];
        let received = from.into_iter().zip(doubles).filter_map(|(peer, doubles)| Some((peer?, doubles)));
        let sent = to.into_iter().zip(doubles).filter_map(|(peer, doubles)| Some((peer?, doubles)));
        let received = received.flat_map(|(peer, doubles)| [receive(peer, tag, doubles), Op::WaitAll]);
        let sent = sent.flat_map(|(peer, doubles)| [send(peer, tag, doubles), Op::WaitAll]);
        received.chain(compute).chain(sent).collect()
    }
}

/// Both sweeps over the inner planes, then the right-hand side: a third of the computing each.
pub(super) fn iteration(npb: &Npb, rank: u32) -> Vec<Part> {
    let member = Member::new(npb, rank);
    let planes = npb.side() - 2;
    let third = 1.0 / 3.0;
    let compute = npb.compute(third / f64::from(planes));
    let sweep = |is_lower| Block::measured(member.plane(compute, is_lower), planes);
    let mut last = member.exchange();
    last.extend(npb.compute(third));
    [sweep(true), sweep(false), Block::measured(last, 1)].map(Part::Block).into()
}
