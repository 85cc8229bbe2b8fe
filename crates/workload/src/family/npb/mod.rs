//! NAS Parallel Benchmarks: BT, CG, DT, EP, FT, IS, LU, MG and SP of NPB 3.4 (MPI), and those of many zones, a file
//! each.
//!
//! A benchmark is its iteration: the operations of a rank between two marks. What a rank computes is its share of the
//! operations that the benchmark counts for an iteration (`Mop/s total` of its output), spread over the iteration as
//! its file says. Equations and sources: `docs/models/workload.md`.

mod cg;
mod class;
mod dt;
mod ep;
mod ft;
mod is;
mod lu;
mod mg;
mod multi_partition;
mod zones;

use etherweave_primitives::{Duration, InputError, InputErrors, Rank, params};

use self::{dt::Graph, zones::Zones};
use crate::collective::{Collective, Communicator, Library, Rule};
use crate::limits::{ALL_PAIRS_MAX, at_least};
use crate::program::{iteration, iterations};
use crate::{Block, Op, Program, RankWorkload};

pub use cg::NpbCg;
pub use class::NpbClass;

/// Size of a double [B].
const DOUBLE: u64 = 8;
/// Fewest samples: the first iteration, which waits for others to begin, and two more to compare.
const SAMPLES_MIN: u32 = 3;

/// Benchmark of the NAS Parallel Benchmarks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NpbBenchmark {
    /// Block tri-diagonal solver, on a square number of ranks.
    Bt,
    /// `Bt` in zones of different sizes, on at most as many ranks.
    BtMz,
    /// Arrays from many nodes to one, by a tree, on as many ranks or more.
    DtBh,
    /// Arrays shuffled by a butterfly.
    DtSh,
    /// Arrays from one node to many, by a tree.
    DtWh,
    /// Pairs of random numbers, which nobody else needs, on any number of ranks.
    Ep,
    /// Three-dimensional Fourier transform, on a power of two of ranks.
    Ft,
    /// Integer sort, on a power of two of ranks.
    Is,
    /// Lower and upper triangles by a wavefront, on any number of ranks.
    Lu,
    /// `Lu` in sixteen zones alike.
    LuMz,
    /// Multigrid, on a power of two of ranks.
    #[default]
    Mg,
    /// Scalar penta-diagonal solver, on a square number of ranks.
    Sp,
    /// `Sp` in zones alike.
    SpMz,
}

params! {
    /// A benchmark of the NAS Parallel Benchmarks (`npb`); conjugate gradient is `npb_cg`.
    pub struct Npb {
        /// Benchmark of the NAS Parallel Benchmarks.
        pub benchmark: NpbBenchmark = NpbBenchmark::default(),
        /// Size of the problem, S to E.
        pub class: NpbClass = NpbClass::default(),
        /// Number of ranks, 2 or more: a square (`bt`, `sp`), a power of two (`ft`, `is`, `mg`), else any number; at
        /// most as many as zones (`_mz`), at least as many as nodes (`dt_`).
        pub ranks: u32 = 64,
        /// Time of a rank for 10^9 of the operations that the benchmark counts; of `is` for 10^9 keys.
        pub per_gflop: Duration = Duration::from_ms(1_000),
        /// Library whose decisions pick the algorithms of collectives.
        pub library: Library = Library::default(),
        /// Number of iterations, 1 or more. The benchmark's: `docs/models/workload.md`.
        pub iterations: u32 = 20,
        /// Number of them that are simulated and stand for all, 3 or more. Absent: all of them.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub samples: Option<u32> = None,
    }
}

impl RankWorkload for Npb {
    fn ranks(&self) -> u64 {
        u64::from(self.ranks)
    }

    /// # Errors
    /// When the benchmark does not run on so many ranks, has no such class, or there is no iteration.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, _: u64) -> Result<Vec<Program>, InputErrors> {
        InputErrors::all([
            self.check_class(),
            self.check_ranks(),
            at_least("iterations", self.iterations, 1),
            self.check_samples(),
        ])?;
        let world = Communicator::world(self.ranks);
        let zones = self.is_of_zones().then(|| Zones::new(self));
        let graph = self.is_dt().then(|| Graph::new(self));
        Ok(ranks.map(|rank| self.program(&world, zones.as_ref(), graph.as_ref(), rank)).collect())
    }
}

impl Npb {
    fn is_of_zones(&self) -> bool {
        matches!(self.benchmark, NpbBenchmark::BtMz | NpbBenchmark::LuMz | NpbBenchmark::SpMz)
    }

    fn is_dt(&self) -> bool {
        matches!(self.benchmark, NpbBenchmark::DtBh | NpbBenchmark::DtSh | NpbBenchmark::DtWh)
    }

    fn check_class(&self) -> Result<(), InputError> {
        let is_known = !self.is_dt() || self.class < NpbClass::E;
        InputError::unless(is_known, "class", "E, which DT does not have", "S, W, A, B, C or D")?;
        InputError::unless(self.class != NpbClass::F, "class", "F, which only npb_cg has", "S, W, A, B, C, D or E")
    }

    fn check_samples(&self) -> Result<(), InputError> {
        let Some(samples) = self.samples else { return Ok(()) };
        let is_some = (SAMPLES_MIN..=self.iterations).contains(&samples);
        InputError::unless(is_some, "samples", samples, format!("{SAMPLES_MIN} to the {} iterations", self.iterations))
    }

    fn check_ranks(&self) -> Result<(), InputError> {
        let ranks = self.ranks;
        let (is_fit, expected) = match self.benchmark {
            NpbBenchmark::Bt | NpbBenchmark::Sp => {
                let most = multi_partition::side_max(self.side());
                let side = ranks.isqrt();
                (side * side == ranks && (2..=most).contains(&side), format!("a square from 4 to {}", most * most))
            }
            NpbBenchmark::BtMz | NpbBenchmark::LuMz | NpbBenchmark::SpMz => {
                let most = zones::side(self).pow(2) as u32;
                ((2..=most).contains(&ranks), format!("2 to {most}, the zones"))
            }
            NpbBenchmark::DtBh | NpbBenchmark::DtSh | NpbBenchmark::DtWh => {
                let nodes = Graph::new(self).nodes;
                (ranks >= nodes, format!("{nodes} or more, the nodes of the graph"))
            }
            NpbBenchmark::Ep => (ranks >= 2, "2 or more".into()),
            NpbBenchmark::Ft => (is_power(ranks, ft::ranks_max(self.class)), power_up_to(ft::ranks_max(self.class))),
            NpbBenchmark::Is => (is_power(ranks, ALL_PAIRS_MAX), power_up_to(ALL_PAIRS_MAX)),
            NpbBenchmark::Lu => {
                let most = lu::ranks_max(self.side());
                (lu::Grid::is_possible(ranks, self.side()), format!("2 to {most}, as a grid of 3 points or more each"))
            }
            NpbBenchmark::Mg => (is_power(ranks, mg::ranks_max(self.side())), power_up_to(mg::ranks_max(self.side()))),
        };
        InputError::unless(is_fit, "ranks", ranks, expected)
    }

    /// A barrier, then the iterations.
    fn program(&self, world: &Communicator, zones: Option<&Zones>, graph: Option<&Graph>, rank: u32) -> Program {
        let rule = Rule::of(self.library);
        let barrier = Block::unmeasured(Collective::Barrier.lower(&rule, world, rank));
        let times = self.samples.unwrap_or(self.iterations);
        let ops = match self.benchmark {
            NpbBenchmark::BtMz | NpbBenchmark::LuMz | NpbBenchmark::SpMz => {
                zones.map_or(Vec::new(), |zones| zones.iteration(self, rank))
            }
            NpbBenchmark::DtBh | NpbBenchmark::DtSh | NpbBenchmark::DtWh => {
                graph.map_or(Vec::new(), |graph| graph.iteration(self, rank))
            }
            NpbBenchmark::Bt => multi_partition::BT.iteration(self, rank),
            NpbBenchmark::Sp => multi_partition::SP.iteration(self, rank),
            NpbBenchmark::Ep => ep::iteration(self, world, rank),
            NpbBenchmark::Ft => ft::iteration(self, world, rank),
            NpbBenchmark::Is => is::iteration(self, world, rank),
            NpbBenchmark::Lu => return Program::new([barrier.into(), iterations(lu::iteration(self, rank), times)]),
            NpbBenchmark::Mg => mg::iteration(self, rank),
        };
        Program::new([barrier, Block::measured(iteration(ops), times)])
    }

    /// Points along an axis of a cube.
    fn side(&self) -> u32 {
        let sides = match self.benchmark {
            NpbBenchmark::Bt => [12, 24, 64, 102, 162, 408, 1_020],
            NpbBenchmark::Sp => [12, 36, 64, 102, 162, 408, 1_020],
            NpbBenchmark::Lu => [12, 33, 64, 102, 162, 408, 1_020],
            NpbBenchmark::Mg => [32, 128, 256, 256, 512, 1_024, 2_048],
            _ => return 0,
        };
        sides[(self.class as usize).min(6)]
    }

    /// Operations of an iteration, of all ranks, as the benchmark counts them.
    fn operations(&self) -> f64 {
        match self.benchmark {
            NpbBenchmark::Bt | NpbBenchmark::Lu | NpbBenchmark::Mg | NpbBenchmark::Sp => {
                self.solve([f64::from(self.side()); 3])
            }
            NpbBenchmark::BtMz | NpbBenchmark::LuMz | NpbBenchmark::SpMz => Zones::new(self).operations(self),
            NpbBenchmark::DtBh | NpbBenchmark::DtSh | NpbBenchmark::DtWh => Graph::new(self).operations(),
            NpbBenchmark::Ep => ep::numbers(self.class) as f64,
            NpbBenchmark::Ft => ft::operations(self.class),
            NpbBenchmark::Is => is::keys(self.class) as f64,
        }
    }

    /// Operations on a box of so many points along each axis: by its volume, the mean of its faces and that of its
    /// edges.
    fn solve(&self, [x, y, z]: [f64; 3]) -> f64 {
        let [volume, face, edge, constant] = match self.benchmark {
            NpbBenchmark::Bt | NpbBenchmark::BtMz => [3_478.8, -17_655.7, 28_023.7, 0.0],
            NpbBenchmark::Sp | NpbBenchmark::SpMz => [881.174, -4_683.91, 11_484.5, -19_272.4],
            NpbBenchmark::Lu | NpbBenchmark::LuMz => [1_984.77, -10_923.3, 27_770.9, -144_010.0],
            _ => [58.0, 0.0, 0.0, 0.0],
        };
        volume * x * y * z + face * (x * y + x * z + y * z) / 3.0 + edge * (x + y + z) / 3.0 + constant
    }

    /// Time of a rank for `share` of its operations of an iteration.
    fn compute(&self, share: f64) -> Option<Op> {
        self.time_of(self.operations() * share / f64::from(self.ranks))
    }

    fn time_of(&self, operations: f64) -> Option<Op> {
        let duration = Duration::from_ps((self.per_gflop.as_ps() as f64 * operations / 1e9).round() as u64);
        (!duration.is_zero()).then_some(Op::Compute { duration })
    }
}

fn is_power(ranks: u32, most: u32) -> bool {
    ranks.is_power_of_two() && (2..=most).contains(&ranks)
}

fn power_up_to(most: u32) -> String {
    format!("a power of two from 2 to {most}")
}

fn send(peer: u32, tag: u32, doubles: u64) -> Op {
    Op::Isend { peer: Rank::new(peer), tag, bytes: doubles * DOUBLE }
}

fn receive(peer: u32, tag: u32, doubles: u64) -> Op {
    Op::Irecv { peer: Rank::new(peer), tag, bytes: doubles * DOUBLE }
}

/// Points of part `number` of `points` in `parts`: the first ones get the remainder.
fn share(points: u32, parts: u32, number: u32) -> u64 {
    u64::from(points / parts) + u64::from(number < points % parts)
}

#[cfg(test)]
mod tests;
