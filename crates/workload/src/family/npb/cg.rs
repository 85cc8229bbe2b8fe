//! Conjugate gradient as the NAS Parallel Benchmarks run it (CG of NPB 3.4, MPI).
//!
//! Ranks form a grid of rows and columns, each with a block of a sparse matrix. An inner iteration multiplies the
//! matrix by a vector (sums along rows, then an exchange with the transposed rank) and adds two scalars along rows.
//! Equations and sources: `docs/models/workload.md`.

use etherweave_primitives::{Duration, InputError, InputErrors, Rank, params};

use crate::collective::{Collective, Communicator, Rule};
use crate::{
    Block, NpbClass, Op, Program, RankWorkload, TrafficSize, limits::at_least, program::iteration, size::sampled,
};

/// Size of a double [B].
const DOUBLE: u64 = 8;
/// Most ranks: each has at least two rows of the smallest class.
const RANKS_MAX: u32 = 1 << 18;

params! {
    /// Conjugate gradient of the NAS Parallel Benchmarks (`npb_cg`).
    pub struct NpbCg {
        /// Number of ranks, a power of two from 2 to 262,144.
        pub ranks: u32 = 64,
        /// Size of the problem.
        pub class: NpbClass = NpbClass::B,
        /// Computation of each product with the matrix [ps].
        pub compute: Duration = Duration::ZERO,
        /// Iterations of conjugate gradient in each outer iteration, 1 or more; each is measured.
        pub inner: u32 = 25,
        /// Number of outer iterations, 1 or more; the benchmark's are 15 (S, W, A), 75 (B, C) and 100 (D, E, F).
        pub iterations: u32 = 1,
    }
}

/// Rows and columns of the matrix (`na`).
fn unknowns(class: NpbClass) -> u64 {
    match class {
        NpbClass::S => 1_400,
        NpbClass::W => 7_000,
        NpbClass::A => 14_000,
        NpbClass::B => 75_000,
        NpbClass::C => 150_000,
        NpbClass::D => 1_500_000,
        NpbClass::E => 9_000_000,
        NpbClass::F => 54_000_000,
    }
}

impl RankWorkload for NpbCg {
    fn ranks(&self) -> u64 {
        u64::from(self.ranks)
    }

    /// # Errors
    /// When the ranks are no power of two, or there is no iteration.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, _: u64) -> Result<Vec<Program>, InputErrors> {
        let is_grid = (2..=RANKS_MAX).contains(&self.ranks) && self.ranks.is_power_of_two();
        InputErrors::all([
            InputError::unless(is_grid, "ranks", self.ranks, format_args!("a power of two from 2 to {RANKS_MAX}")),
            at_least("inner", self.inner, 1),
            at_least("iterations", self.iterations, 1),
        ])?;
        let world = Communicator::world(self.ranks);
        Ok(ranks.map(|rank| self.program(&world, rank)).collect())
    }

    /// Inner iterations are alike and are written out: all of them as the first, and so many times what the second
    /// adds.
    fn size(&self) -> Result<TrafficSize, InputErrors> {
        let of = |inner| {
            let few = NpbCg { inner, ..self.clone() };
            sampled(self.ranks(), |ranks| few.programs_of(ranks, 1))
        };
        let first = of(self.inner.min(1))?;
        let Some(others) = self.inner.checked_sub(1).filter(|&others| others > 0) else { return Ok(first) };
        let second = of(2)?;
        let grown = |base: u64, next: u64| base.saturating_add((next - base).saturating_mul(others.into()));
        let counted = |base: Option<u64>, next: Option<u64>| base.zip(next).map(|(base, next)| grown(base, next));
        Ok(TrafficSize {
            program_bytes: grown(first.program_bytes, second.program_bytes),
            rows: grown(first.rows, second.rows),
            messages: counted(first.messages, second.messages),
            bytes: counted(first.bytes, second.bytes),
            rest_ps: counted(first.rest_ps, second.rest_ps),
            ..second
        })
    }
}

impl NpbCg {
    /// A barrier, then the outer iterations. The benchmark's untimed first one is left out.
    fn program(&self, world: &Communicator, rank: u32) -> Program {
        let member = Member::new(self, rank);
        let barrier = Block::unmeasured(Collective::Barrier.lower(&Rule::default(), world, rank));
        Program::new([barrier, Block::measured(self.outer(&member), self.iterations)])
    }

    /// The first residual's norm, the inner iterations, the last residual and its norm, and two norms at once.
    fn outer(&self, member: &Member) -> Vec<Op> {
        let mut ops = member.sum_scalars(1);
        for _ in 0..self.inner {
            let steps = [self.product(member), member.sum_scalars(1), member.sum_scalars(1)];
            ops.extend(iteration(steps.into_iter().flatten()));
        }
        ops.extend([self.product(member), member.sum_scalars(1), member.sum_scalars(2)].into_iter().flatten());
        ops
    }

    fn product(&self, member: &Member) -> Vec<Op> {
        let compute = Op::Compute { duration: self.compute };
        let mut ops = if self.compute == Duration::ZERO { Vec::new() } else { vec![compute] };
        ops.extend(member.sum_row());
        ops.extend(member.transpose());
        ops
    }
}

/// A rank in its grid.
struct Member {
    rank: u32,
    rows: u32,
    /// Columns, as many as rows or twice as many: then each rank of a pair of columns keeps half of the sum of its row.
    columns: u32,
    /// Rows of the matrix.
    unknowns: u64,
}

impl Member {
    fn new(cg: &NpbCg, rank: u32) -> Member {
        let columns = 1 << cg.ranks.ilog2().div_ceil(2);
        Member { rank, rows: cg.ranks / columns, columns, unknowns: unknowns(cg.class) }
    }

    fn columns_per_row(&self) -> u32 {
        self.columns / self.rows
    }

    /// Unknowns of which a rank keeps the sum: those of its row, or of a pair of ranks the even one the larger half.
    fn kept_by(&self, rank: u32) -> u64 {
        let rows = u64::from(self.rows);
        let (row, parts) = (u64::from(rank / self.columns), self.columns_per_row());
        // The first rows get the remainder.
        let of_row = self.unknowns / rows + u64::from(row < self.unknowns % rows);
        let is_larger = rank.is_multiple_of(parts);
        if is_larger { of_row.div_ceil(parts.into()) } else { of_row / u64::from(parts) }
    }

    /// Tags of the exchanges along a row with their distances, the farthest partner first.
    fn distances(&self) -> impl DoubleEndedIterator<Item = (u32, u32)> {
        let columns = self.columns;
        (1..=columns.ilog2()).map(move |tag| (tag, columns >> tag))
    }

    /// The partial products of a row, summed: with the nearest partner first, each receives what it keeps.
    fn sum_row(&self) -> Vec<Op> {
        let step = |(tag, distance)| {
            let peer = self.rank ^ distance;
            exchange(peer, tag, self.kept_by(peer), self.kept_by(self.rank))
        };
        self.distances().rev().flat_map(step).collect()
    }

    /// Exchanges what it keeps for what the transposed rank keeps; on the diagonal that is itself, in memory.
    fn transpose(&self) -> Vec<Op> {
        let (row, column) = (self.rank / self.columns, self.rank % self.columns);
        let parts = self.columns_per_row();
        let peer = column / parts * self.columns + row * parts + column % parts;
        if peer == self.rank {
            return Vec::new();
        }
        exchange(peer, 1, self.kept_by(self.rank), self.kept_by(peer)).to_vec()
    }

    /// Some scalars of each rank of a row, summed.
    fn sum_scalars(&self, count: u64) -> Vec<Op> {
        self.distances().flat_map(|(tag, distance)| exchange(self.rank ^ distance, tag, count, count)).collect()
    }
}

/// Receives while sending doubles, and waits for both.
fn exchange(peer: u32, tag: u32, sent: u64, received: u64) -> [Op; 3] {
    let peer = Rank::new(peer);
    let bytes = |doubles| doubles * DOUBLE;
    [Op::Irecv { peer, tag, bytes: bytes(received) }, Op::Isend { peer, tag, bytes: bytes(sent) }, Op::WaitAll]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes_sent;

    /// (peer, bytes sent, bytes received) of each exchange of a rank's first inner iteration.
    fn inner(cg: &NpbCg, rank: usize) -> Vec<(u32, u64, u64)> {
        let program = &cg.programs(1).unwrap()[rank];
        let marked = program.blocks[1].ops.split(|op| matches!(op, Op::IterationStart | Op::IterationEnd)).nth(1);
        let exchange = |ops: &[Op]| match *ops {
            [Op::Irecv { peer, tag, bytes: received }, Op::Isend { peer: to, tag: same, bytes: sent }, Op::WaitAll] => {
                assert_eq!((peer, tag), (to, same));
                (peer.get(), sent, received)
            }
            _ => panic!("{ops:?}"),
        };
        marked.unwrap().chunks(3).map(exchange).collect()
    }

    #[test]
    fn a_row_of_a_square_grid_sums_with_the_nearest_first_and_then_meets_its_transpose() {
        // Rank 11 of 8 x 8 sits at row 1, column 3; 75,000 unknowns over 8 rows are 75,000 B.
        let row = [(10, 75_000, 75_000), (9, 75_000, 75_000), (15, 75_000, 75_000)];
        let transposed = [(3 * 8 + 1, 75_000, 75_000)];
        let scalars = [(15, 8, 8), (9, 8, 8), (10, 8, 8)];
        assert_eq!(inner(&NpbCg::default(), 11), [&row[..], &transposed, &scalars, &scalars].concat());
    }

    #[test]
    fn with_twice_as_many_columns_a_pair_of_ranks_shares_the_sum() {
        // Rank 5 of 2 x 4 sits at row 1, column 1; of 700 unknowns of a row each of a pair keeps 350.
        let cg = NpbCg { ranks: 8, class: NpbClass::S, ..NpbCg::default() };
        let row = [(4, 2_800, 2_800), (7, 2_800, 2_800)];
        // Its pair of columns is the first, so that its partner is in the first row, in the second pair.
        let transposed = [(3, 2_800, 2_800)];
        let scalars = [(7, 8, 8), (4, 8, 8)];
        assert_eq!(inner(&cg, 5), [&row[..], &transposed, &scalars, &scalars].concat());
    }

    #[test]
    fn rows_that_do_not_divide_the_unknowns_differ_by_one_and_so_do_halves() {
        // 14,000 unknowns over 32 rows: 16 rows of 438, then 16 of 437.
        let square = NpbCg { ranks: 1_024, class: NpbClass::A, ..NpbCg::default() };
        assert_eq!(inner(&square, 20)[5], (20 * 32, 438 * 8, 437 * 8), "from row 0 to row 20");
        // Over 16 rows of 32 columns: 875 unknowns, of which even ranks keep 438 and odd ones 437.
        let halved = NpbCg { ranks: 512, ..square };
        assert_eq!(inner(&halved, 0)[..2], [(1, 437 * 8, 438 * 8), (2, 438 * 8, 438 * 8)]);
        assert_eq!(inner(&halved, 1)[..2], [(0, 438 * 8, 437 * 8), (3, 437 * 8, 437 * 8)]);
    }

    #[test]
    fn on_the_diagonal_a_rank_is_its_own_transpose() {
        let rounds = |rank| inner(&NpbCg::default(), rank).len();
        assert_eq!((rounds(0), rounds(9), rounds(1)), (3 + 6, 3 + 6, 3 + 1 + 6));
    }

    #[test]
    fn bytes_of_an_outer_iteration_are_those_of_26_products_and_54_sums() {
        let all = |rank: usize, class| bytes_sent(&NpbCg { class, ..NpbCg::default() }.programs(1).unwrap()[rank]);
        // The last sum is of two scalars; 64 ranks have l = 3 partners in their row. Barriers send nothing.
        let expected = |unknowns: u64, exchanges: u64| 26 * exchanges * unknowns / 8 * 8 + (52 + 2) * 3 * 8;
        assert_eq!(all(1, NpbClass::B), expected(75_000, 4));
        assert_eq!(all(0, NpbClass::C), expected(150_000, 3));
    }

    #[test]
    fn every_inner_iteration_is_measured_and_computes_once() {
        let cg = NpbCg { compute: Duration::from_us(400), inner: 3, iterations: 15, ..NpbCg::default() };
        let program = &cg.programs(1).unwrap()[63];
        let computes = program.blocks[1].ops.iter().filter(|op| matches!(op, Op::Compute { .. })).count();
        assert_eq!((program.iterations(), computes), (45, 4), "and once for the last residual");
    }
}
