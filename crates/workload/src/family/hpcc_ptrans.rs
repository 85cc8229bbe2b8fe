//! PTRANS of the HPC Challenge: a matrix in blocks over a grid of ranks is transposed.

use etherweave_primitives::{BitRate, Bytes, Duration, InputErrors, Purpose, Rank, Stream};

use crate::collective::{Collective, Communicator, Library, Rule};
use crate::limits::{at_least, positive, within};
use crate::program::iteration;
use crate::size::sampled;
use crate::{Block, Op, Program, RankWorkload, TrafficSize};

/// Parallel matrix transpose (`hpcc_ptrans`). An iteration is one transpose, behind a barrier. The benchmark reports
/// the bytes of the matrix by the time of the slowest rank, of the slowest repetition.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HpccPtrans {
    /// Rows of the grid of ranks, 1 to 1,024.
    pub rows: u32,
    /// Columns of the grid of ranks, 1 to 1,024; 2 ranks or more in all. Their places in the grid are random.
    pub columns: u32,
    /// Rows and columns of the matrix, 1 to 2^30; the benchmark takes half of what HPL has.
    pub size: u32,
    /// Rows and columns of a block, 1 or more.
    pub block: u32,
    /// How fast a rank packs its part, and adds what it receives to its part. Absent: at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_rate: Option<BitRate>,
    /// Whose decisions pick the algorithms of collectives.
    pub library: Library,
    /// How many transposes, 1 or more: 5 in the benchmark.
    pub iterations: u32,
}

/// Messages of a part of a matrix that are written out to know the size of all.
const PIECES_SAMPLED: u64 = 1_024;

impl Default for HpccPtrans {
    fn default() -> HpccPtrans {
        HpccPtrans {
            rows: 4,
            columns: 4,
            size: 4_096,
            block: 64,
            copy_rate: None,
            library: Library::default(),
            iterations: 5,
        }
    }
}

/// Side of the grid at most.
const SIDE_MAX: u32 = 1_024;
/// Side of the matrix at most: its bytes can be counted.
const SIZE_MAX: u32 = 1 << 30;
/// The matrix goes in messages of at most so many bytes.
const PIECE: u64 = 100_000_000;
/// A real number of double precision [B].
const REAL: u64 = 8;
const TAG: u32 = 1;

impl RankWorkload for HpccPtrans {
    fn ranks(&self) -> u64 {
        u64::from(self.rows).saturating_mul(u64::from(self.columns))
    }

    /// # Errors
    /// When there are fewer than two ranks, or nothing to transpose.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, seed: u64) -> Result<Vec<Program>, InputErrors> {
        self.programs_in(ranks, seed, 1)
    }

    /// A large matrix goes in many messages of equal length: some of its programs' stand for several each.
    fn size(&self) -> Result<TrafficSize, InputErrors> {
        let together = self.pieces_max().div_ceil(PIECES_SAMPLED).max(1);
        let size = sampled(self.ranks(), |ranks| self.programs_in(ranks, 1, together))?;
        Ok(TrafficSize {
            program_bytes: size.program_bytes.saturating_mul(together),
            messages: size.messages.map(|messages| messages.saturating_mul(together)),
            ..size
        })
    }
}

impl HpccPtrans {
    /// Messages of the part that a rank has for another, at most.
    fn pieces_max(&self) -> u64 {
        let side = |places: u32| u64::from(self.size.div_ceil(places.max(1)).saturating_add(self.block));
        let side = side(self.rows.max(self.columns)).min(self.size.into());
        side.saturating_mul(side).saturating_mul(REAL).div_ceil(PIECE)
    }

    /// The schedules of some ranks, in messages of so many pieces each.
    fn programs_in(
        &self,
        ranks: impl Iterator<Item = u32>,
        seed: u64,
        pieces: u64,
    ) -> Result<Vec<Program>, InputErrors> {
        InputErrors::all([
            within("rows", self.rows, 1..=SIDE_MAX),
            within("columns", self.columns, 1..=SIDE_MAX),
            at_least("ranks", self.rows.saturating_mul(self.columns), 2),
            within("size", self.size, 1..=SIZE_MAX),
            at_least("block", self.block, 1),
            at_least("iterations", self.iterations, 1),
            self.copy_rate.map_or(Ok(()), |rate| positive("copy_rate", rate)),
        ])?;
        let world = Communicator::world(self.rows * self.columns);
        let grid = Grid::new(self, seed);
        let piece = PIECE.saturating_mul(pieces);
        Ok(ranks.map(|rank| self.program(&world, &grid, rank, piece)).collect())
    }

    fn program(&self, world: &Communicator, grid: &Grid, rank: u32, piece_bytes: u64) -> Program {
        let mut ops = Collective::Barrier.lower(&Rule::of(self.library), world, rank);
        let (sent, received) = (grid.sent(rank), grid.received(rank));
        let mut transpose = self.pass(&sent);
        let messages = |list: &[(Rank, u64)]| list.iter().copied().filter(|&(peer, _)| peer.get() != rank).collect();
        let (sent, received): (Vec<_>, Vec<_>) = (messages(&sent), messages(&received));
        let pieces = sent.iter().chain(&received).map(|&(_, bytes)| bytes.div_ceil(piece_bytes)).max().unwrap_or(0);
        for piece in 0..pieces {
            let part = |&(peer, bytes): &(Rank, u64)| {
                let bytes = bytes.saturating_sub(piece * piece_bytes).min(piece_bytes);
                (bytes > 0).then_some((peer, bytes))
            };
            transpose.extend(received.iter().filter_map(part).map(|(peer, bytes)| Op::Irecv { peer, tag: TAG, bytes }));
            transpose.extend(sent.iter().filter_map(part).map(|(peer, bytes)| Op::Isend { peer, tag: TAG, bytes }));
            transpose.push(Op::WaitAll);
        }
        transpose.extend(self.pass(&grid.received(rank)));
        ops.extend(iteration(transpose));
        Program::new([Block::measured(ops, self.iterations)])
    }

    /// One pass of a rank over its part of the matrix.
    fn pass(&self, part: &[(Rank, u64)]) -> Vec<Op> {
        let bytes = part.iter().map(|&(_, bytes)| bytes).sum();
        let duration = self.copy_rate.map_or(Duration::ZERO, |rate| rate.serialization_time(Bytes::new(bytes)));
        if duration.is_zero() { Vec::new() } else { vec![Op::Compute { duration }] }
    }
}

/// Where the blocks of the matrix are: block (i, j) has the rank at row i mod P and column j mod Q of the grid. Blocks
/// of equal i and equal j modulo the least common multiple of P and Q go the same way.
struct Grid {
    rows: u32,
    columns: u32,
    /// Rank at each place, row by row.
    ranks: Vec<u32>,
    /// Place of each rank.
    places: Vec<u32>,
    /// Rows of the matrix in blocks of each number modulo the least common multiple.
    extents: Vec<u64>,
}

impl Grid {
    fn new(ptrans: &HpccPtrans, seed: u64) -> Grid {
        let (rows, columns) = (ptrans.rows, ptrans.columns);
        let mut ranks: Vec<u32> = (0..rows * columns).collect();
        Stream::new(seed, Purpose::Traffic, 0).shuffle(&mut ranks);
        let mut places = vec![0; ranks.len()];
        (0..).zip(&ranks).for_each(|(place, &rank)| places[rank as usize] = place);
        let multiple = rows / common_divisor(rows, columns) * columns;
        let (blocks, rest) = (ptrans.size / ptrans.block, ptrans.size % ptrans.block);
        let whole = |number: u32| u64::from(blocks / multiple + u32::from(number < blocks % multiple));
        let mut extents: Vec<u64> = (0..multiple).map(|number| whole(number) * u64::from(ptrans.block)).collect();
        extents[(blocks % multiple) as usize] += u64::from(rest);
        Grid { rows, columns, ranks, places, extents }
    }

    fn place(&self, rank: u32) -> (u32, u32) {
        let place = self.places[rank as usize];
        (place / self.columns, place % self.columns)
    }

    fn rank(&self, row: u32, column: u32) -> Rank {
        Rank::new(self.ranks[(row % self.rows * self.columns + column % self.columns) as usize])
    }

    /// Numbers of blocks that are `first` modulo `step`, modulo the least common multiple.
    fn classes(&self, first: u32, step: u32) -> impl Iterator<Item = u32> + Clone {
        (first..self.extents.len() as u32).step_by(step as usize)
    }

    fn bytes(&self, i: u32, j: u32) -> u64 {
        self.extents[i as usize] * self.extents[j as usize] * REAL
    }

    /// Where the part of a rank goes: block (i, j) becomes block (j, i).
    fn sent(&self, rank: u32) -> Vec<(Rank, u64)> {
        let (row, column) = self.place(rank);
        let columns = self.classes(column, self.columns);
        let parts = self.classes(row, self.rows).flat_map(|i| columns.clone().map(move |j| (i, j)));
        parts.map(|(i, j)| (self.rank(j, i), self.bytes(i, j))).filter(|&(_, bytes)| bytes > 0).collect()
    }

    /// Where the part of a rank comes from.
    fn received(&self, rank: u32) -> Vec<(Rank, u64)> {
        let (row, column) = self.place(rank);
        let columns = self.classes(row, self.rows);
        let parts = self.classes(column, self.columns).flat_map(|i| columns.clone().map(move |j| (i, j)));
        parts.map(|(i, j)| (self.rank(i, j), self.bytes(i, j))).filter(|&(_, bytes)| bytes > 0).collect()
    }
}

fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bytes_sent, check, check_progress};

    /// Grids of all kinds: what is sent is received, and what no rank sends stays on its rank.
    #[test]
    fn the_whole_matrix_is_moved_on_any_grid() {
        for (rows, columns) in [(1, 2), (2, 2), (2, 3), (4, 2), (6, 4), (5, 5)] {
            let ptrans = HpccPtrans { rows, columns, size: 1_000, block: 30, iterations: 1, ..HpccPtrans::default() };
            let programs = ptrans.programs(3).unwrap();
            assert_eq!((check(&programs), check_progress(&programs)), (Ok(()), Ok(())), "{rows} x {columns}");
            let grid = Grid::new(&ptrans, 3);
            let kept = |rank: u32| grid.sent(rank).iter().filter(|to| to.0.get() == rank).map(|to| to.1).sum::<u64>();
            let kept: u64 = (0..rows * columns).map(kept).sum();
            let sent: u64 = programs.iter().map(bytes_sent).sum();
            assert_eq!(sent + kept, 1_000 * 1_000 * REAL, "{rows} x {columns}");
        }
    }

    /// On a square grid a rank exchanges all it has with its mirror: (4,096 / 4)^2 reals; four ranks are on the
    /// diagonal.
    #[test]
    fn ranks_of_a_square_grid_exchange_with_their_mirrors() {
        let programs = HpccPtrans { iterations: 1, ..HpccPtrans::default() }.programs(1).unwrap();
        let mut sent: Vec<u64> = programs.iter().map(bytes_sent).collect();
        sent.sort_unstable();
        assert_eq!(sent, [[0; 4].as_slice(), &[1_024 * 1_024 * 8; 12]].concat());
    }

    /// 32,768^2 reals on four ranks: 2,147,483,648 B each, in 22 messages; each rank packs and adds at 8 Gb/s: 2.1 s
    /// twice.
    #[test]
    fn large_parts_go_in_pieces_between_two_passes() {
        let copy_rate = Some(BitRate::from_gbps(8));
        let ptrans =
            HpccPtrans { rows: 2, columns: 2, size: 32_768, iterations: 1, copy_rate, ..HpccPtrans::default() };
        for program in ptrans.programs(1).unwrap() {
            let ops = &program.blocks[0].ops;
            let large = ops.iter().filter(|op| matches!(op, Op::Isend { bytes, .. } if *bytes > 0)).count();
            assert!(large == 0 || large == 22, "{large}");
            let pass = Op::Compute { duration: Duration::from_ps(2_147_483_648 * 1_000) };
            assert_eq!(ops.iter().filter(|op| **op == pass).count(), 2);
        }
    }
}
