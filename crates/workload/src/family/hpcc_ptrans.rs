//! PTRANS of the HPC Challenge: a matrix in blocks over a grid of ranks is transposed.

use etherweave_primitives::{BitRate, Bytes, Duration, InputErrors, Purpose, Rank, Stream, params};

use crate::collective::{Collective, Communicator, Library, Rule};
use crate::limits::{at_least, positive, within};
use crate::{Block, Op, Program, RankWorkload, TrafficSize, program::iteration, size::sampled};

params! {
    /// Parallel matrix transpose (`hpcc_ptrans`). An iteration is one transpose, behind a barrier. The benchmark
    /// reports the bytes of the matrix by the time of the slowest rank, of the slowest repetition.
    pub struct HpccPtrans {
        /// Rows of the grid of ranks, 1 to 1,024.
        pub rows: u32 = 4,
        /// Columns of the grid of ranks, 1 to 1,024; 2 ranks or more in all. Their places in the grid are random.
        pub columns: u32 = 4,
        /// Rows and columns of the matrix, 1 to 2^30; the benchmark takes half of what HPL has.
        pub size: u32 = 4_096,
        /// Rows and columns of a block, 1 to `size`. Messages have whole blocks.
        pub block: u32 = 64,
        /// How fast a rank packs its part, and adds what it receives to its part. Absent: at once.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub copy_rate: Option<BitRate> = None,
        /// Library whose decisions pick the algorithms of collectives.
        pub library: Library = Library::default(),
        /// Number of transposes, 1 or more: 5 in the benchmark.
        pub iterations: u32 = 5,
    }
}

/// Messages of a part of a matrix that are written out to know the size of all.
const PIECES_SAMPLED: u64 = 1_024;

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
            within("block", self.block, 1..=self.size.max(1)),
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
        let mut transpose = Vec::new();
        for step in grid.steps(rank) {
            self.step(&mut transpose, &step, grid.message, piece_bytes);
        }
        ops.extend(iteration(transpose));
        Program::new([Block::measured(ops, self.iterations)])
    }

    /// A step: packs a part, exchanges it, and adds what has come. An own part is added where it is.
    fn step(&self, ops: &mut Vec<Op>, step: &Step, message: u64, piece_bytes: u64) {
        ops.extend(self.pass(step.sent));
        let Some((to, from)) = step.peers else { return };
        for piece in 0..message.div_ceil(piece_bytes) {
            let bytes = (message - piece * piece_bytes).min(piece_bytes);
            ops.push(Op::Irecv { peer: from, tag: TAG, bytes });
            ops.push(Op::Isend { peer: to, tag: TAG, bytes });
            ops.push(Op::WaitAll);
        }
        ops.extend(self.pass(step.received));
    }

    /// One pass of a rank over a part of the matrix.
    fn pass(&self, bytes: u64) -> Option<Op> {
        let duration = self.copy_rate.map_or(Duration::ZERO, |rate| rate.serialization_time(Bytes::new(bytes)));
        (!duration.is_zero()).then_some(Op::Compute { duration })
    }
}

/// A step of a transpose: a part goes to a rank while another comes from one.
struct Step {
    /// Receiver and sender. None: the part stays on the rank.
    peers: Option<(Rank, Rank)>,
    /// Bytes of the matrix that go, without those that fill up their last block.
    sent: u64,
    /// Bytes of the matrix that come.
    received: u64,
}

/// Where the blocks of the matrix are: block (i, j) has the rank at row i mod P and column j mod Q of the grid. Blocks
/// of equal i and equal j modulo the least common multiple of P and Q go the same way.
struct Grid {
    rows: u32,
    columns: u32,
    /// Rank at each place, row by row.
    ranks: Vec<u32>,
    places: Vec<u32>,
    /// Rows of the matrix in blocks of each number modulo the least common multiple.
    extents: Vec<u64>,
    /// Bytes of a message: a part in whole blocks, as long as the longest.
    message: u64,
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
        let full_blocks = |number: u32| u64::from(blocks / multiple + u32::from(number < blocks % multiple));
        let mut extents: Vec<u64> = (0..multiple).map(|number| full_blocks(number) * u64::from(ptrans.block)).collect();
        extents[(blocks % multiple) as usize] += u64::from(rest);
        let side = u64::from(ptrans.size.div_ceil(ptrans.block).div_ceil(multiple)) * u64::from(ptrans.block);
        Grid { rows, columns, ranks, places, extents, message: side * side * REAL }
    }

    fn place(&self, rank: u32) -> (u32, u32) {
        let place = self.places[rank as usize];
        (place / self.columns, place % self.columns)
    }

    fn rank(&self, row: u32, column: u32) -> Rank {
        Rank::new(self.ranks[(row % self.rows * self.columns + column % self.columns) as usize])
    }

    /// The number of blocks that is `first` modulo one side of the grid and `other` modulo the other side.
    fn class(&self, (first, side): (u32, u32), (other, other_side): (u32, u32)) -> u32 {
        let mut numbers = (first..self.extents.len() as u32).step_by(side as usize);
        numbers.find(|number| number % other_side == other % other_side).expect("both are alike modulo the divisor")
    }

    fn bytes(&self, i: u32, j: u32) -> u64 {
        self.extents[i as usize] * self.extents[j as usize] * REAL
    }

    /// The steps of a rank, in the benchmark's order: block (i, j) becomes block (j, i).
    fn steps(&self, rank: u32) -> Vec<Step> {
        let Grid { rows, columns, .. } = *self;
        let (row, column) = self.place(rank);
        let divisor = common_divisor(rows, columns);
        let apart = (rows + column - row) % divisor;
        let back = (divisor - apart) % divisor;
        let (of_row, of_column) = ((row, rows), (column, columns));
        // Rows of the grid that the steps of a turn send to and receive from, and their classes of blocks.
        let rows_of = |step: u32| {
            let (to, from) = (row + divisor * step + apart, row + rows - divisor * step - back);
            let class = |other| self.class(of_column, (other, rows));
            ((to, class(to)), (from, class(from)))
        };
        let turn: Vec<_> = (0..rows / divisor).map(rows_of).collect();
        let columns_of = |turn: u32| {
            let (to, from) = (column + columns - divisor * turn - apart, column + divisor * turn + back);
            let class = |other| self.class(of_row, (other, columns));
            ((to, class(to)), (from, class(from)))
        };
        let steps =
            (0..columns / divisor).map(columns_of).flat_map(|of_turn| turn.iter().map(move |step| (of_turn, step)));
        let exchange = |(of_turn, of_step): (Pair, &Pair)| {
            let ((to_column, i), (from_column, j)) = of_turn;
            let ((to_row, to_j), (from_row, from_i)) = *of_step;
            let (to, from) = (self.rank(to_row, to_column), self.rank(from_row, from_column));
            let peers = (to.get() != rank).then_some((to, from));
            Step { peers, sent: self.bytes(i, to_j), received: self.bytes(from_i, j) }
        };
        steps.map(exchange).collect()
    }
}

/// A row or a column of the grid with the class of blocks that goes there, and one with the class that comes from it.
type Pair = ((u32, u32), (u32, u32));

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
            let steps: Vec<Step> = (0..rows * columns).flat_map(|rank| grid.steps(rank)).collect();
            let matrix = 1_000 * 1_000 * REAL;
            assert_eq!(steps.iter().map(|step| step.sent).sum::<u64>(), matrix, "{rows} x {columns}");
            assert_eq!(steps.iter().map(|step| step.received).sum::<u64>(), matrix, "{rows} x {columns}");
            let messages = steps.iter().filter(|step| step.peers.is_some()).count() as u64;
            let sent: u64 = programs.iter().map(bytes_sent).sum();
            assert_eq!(sent, messages * grid.message, "{rows} x {columns}");
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

    /// Two columns of the grid have a block of 256 columns and one of 128: whole blocks go both ways.
    #[test]
    fn parts_are_filled_up_to_whole_blocks() {
        let ptrans = HpccPtrans { rows: 1, columns: 2, size: 384, block: 256, iterations: 1, ..HpccPtrans::default() };
        for program in ptrans.programs(1).unwrap() {
            assert_eq!(bytes_sent(&program), 256 * 256 * REAL);
        }
    }

    /// On two by three ranks each has six parts of equal size, which go one after the other; one of them is its own.
    #[test]
    fn parts_go_one_after_the_other() {
        let ptrans = HpccPtrans { rows: 2, columns: 3, size: 600, block: 10, iterations: 1, ..HpccPtrans::default() };
        for program in ptrans.programs(1).unwrap() {
            let is_exchange = |step: &[Op]| {
                matches!(step, [Op::Irecv { bytes: 80_000, .. }, Op::Isend { bytes: 80_000, .. }, Op::WaitAll])
            };
            assert_eq!(program.blocks[0].ops.windows(3).filter(|ops| is_exchange(ops)).count(), 5);
            assert_eq!(bytes_sent(&program), 5 * 80_000);
        }
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
            // A rank on the diagonal adds its own part where it is.
            assert_eq!(ops.iter().filter(|op| **op == pass).count(), if large == 0 { 1 } else { 2 });
        }
    }
}
