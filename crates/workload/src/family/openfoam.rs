//! A step of a steady incompressible solver as OpenFOAM's `simpleFoam` takes it: momentum, pressure, turbulence.
//!
//! Ranks have parts of a mesh and exchange what lies along their boundaries (halos), before every sweep and product
//! with a matrix. Residuals and scalar products are sums over all ranks.
//! Source: OpenFOAM 7, `src/OpenFOAM/matrices/lduMatrix/solvers`: `smoothSolver`, `PCG`, `GAMG`.

use std::collections::BTreeMap;

use etherweave_primitives::{Bytes, Duration, InputError, InputErrors, Rank, params};

use crate::collective::{Collective, Communicator, Library, Rule};
use crate::{
    Block, Op, Part, Program, RankWorkload, limits::at_least, limits::within, program::iterations, rank_grid::RankGrid,
};

/// Size of a scalar [B].
const SCALAR: u64 = 8;
const RANKS_MAX: u32 = 1 << 18;
const CELLS_OF_RANK_MAX: u64 = 1 << 30;
/// Sweeps, cycles and iterations at most.
const REPEATS_MAX: u32 = 1_000;
/// Cells of a rank on the coarsest level (`nCellsInCoarsestLevel`).
const COARSEST_CELLS: u64 = 10;
/// Sweeps behind each coarser level at most, and on the finest (`nPostSweeps`, `nFinestSweeps`).
const POST_SWEEPS_MAX: u32 = 4;
const POST_SWEEPS: u32 = 2;
const FINEST_SWEEPS: u32 = 2;
/// Sums of the norm and of the first residual of a solver.
const FIRST_SUMS: u32 = 3;
/// Scalar products and residual of an iteration of conjugate gradient.
const PRODUCT_SUMS: u32 = 3;
const COMPONENTS: u32 = 3;
/// Fewest samples, as of the NAS Parallel Benchmarks.
const SAMPLES_MIN: u32 = 3;
const TAG: u32 = 1;

/// How the pressure is solved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum PressureSolver {
    /// Conjugate gradient with an incomplete Cholesky preconditioner (DIC), which every rank applies to its own cells.
    Pcg {
        /// Iterations of a step.
        iterations: u32,
    },
    /// Geometric-agglomerated multigrid: levels of half the cells, the coarsest solved by conjugate gradient.
    Gamg {
        /// V-cycles of a step.
        cycles: u32,
        /// Iterations on the coarsest level; they grow with the ranks.
        coarsest_iterations: u32,
    },
}

params! {
    /// Steps of a flow solver (`openfoam`).
    pub struct Openfoam {
        /// Number of ranks, 2 to 262,144.
        pub ranks: u32 = 8,
        /// Cells of the whole mesh, 10 or more of each rank.
        pub cells: u64 = 350_000,
        /// How the pressure is solved.
        pub pressure: PressureSolver = PressureSolver::Gamg { cycles: 4, coarsest_iterations: 6 },
        /// Sweeps of each of the three components of the momentum.
        pub momentum_sweeps: u32 = 10,
        /// Sweeps of each of the two equations of turbulence.
        pub turbulence_sweeps: u32 = 3,
        /// Computation of a step for each cell of a rank.
        pub per_cell: Duration = Duration::from_us(15),
        /// Library whose decisions pick the algorithms of collectives.
        pub library: Library = Library::default(),
        /// Number of steps, 1 or more; each is measured.
        pub iterations: u32 = 500,
        /// Number of them that are simulated and stand for all, 3 or more. Absent: all of them.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub samples: Option<u32> = None,
    }
}

/// Exchange of all ranks together: the finest level is 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Exchange {
    /// A halo of a level, and the computation that follows it.
    Halo(u32),
    /// A sum of so many scalars over all ranks.
    Sum(u64),
}

/// A piece of a step, so many times over.
#[derive(Clone, Debug)]
enum Piece {
    One(Exchange, u32),
    Several(Vec<Piece>, u32),
}

impl RankWorkload for Openfoam {
    fn ranks(&self) -> u64 {
        u64::from(self.ranks)
    }

    /// # Errors
    /// When ranks have too few cells or too many, or there is no step.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, _: u64) -> Result<Vec<Program>, InputErrors> {
        self.check()?;
        let [x, y, z] = near_cube(self.ranks);
        let grid = RankGrid::new(x, y, z)?;
        let pairs: usize = (0..self.ranks).map(|rank| neighbours(&grid, rank).len()).sum();
        let (world, step) = (Communicator::world(self.ranks), self.step());
        Ok(ranks.map(|rank| self.program(&world, &neighbours(&grid, rank), pairs as u64, &step, rank)).collect())
    }
}

impl Openfoam {
    fn check(&self) -> Result<(), InputErrors> {
        within("ranks", self.ranks, 2..=RANKS_MAX)?;
        let (least, most) = (COARSEST_CELLS, CELLS_OF_RANK_MAX);
        let is_shared = (least..=most).contains(&(self.cells / u64::from(self.ranks)));
        let cells = format!("{least} to {most} for each rank");
        let pressure = match self.pressure {
            PressureSolver::Pcg { iterations } => within("pressure.pcg.iterations", iterations, 1..=REPEATS_MAX),
            PressureSolver::Gamg { cycles, coarsest_iterations } => {
                let coarsest = "pressure.gamg.coarsest_iterations";
                within("pressure.gamg.cycles", cycles, 1..=REPEATS_MAX).and(within(
                    coarsest,
                    coarsest_iterations,
                    1..=REPEATS_MAX,
                ))
            }
        };
        InputErrors::all([
            InputError::unless(is_shared, "cells", self.cells, cells),
            pressure,
            within("momentum_sweeps", self.momentum_sweeps, 1..=REPEATS_MAX),
            within("turbulence_sweeps", self.turbulence_sweeps, 0..=REPEATS_MAX),
            at_least("iterations", self.iterations, 1),
            self.check_samples(),
        ])
    }

    fn check_samples(&self) -> Result<(), InputError> {
        let Some(samples) = self.samples else { return Ok(()) };
        let is_some = (SAMPLES_MIN..=self.iterations).contains(&samples);
        InputError::unless(is_some, "samples", samples, format!("{SAMPLES_MIN} to the {} iterations", self.iterations))
    }

    /// A barrier, then the steps. What a rank computes is spread over its halos by the cells of their level.
    fn program(&self, world: &Communicator, neighbours: &[Rank], pairs: u64, step: &[Piece], rank: u32) -> Program {
        let rule = Rule::of(self.library);
        let weight = |level: u32| 1.0 / (1_u64 << level) as f64;
        let exchanges = counted(step);
        let weights = exchanges.iter().filter_map(|(exchange, &times)| Some(weight(exchange.level()?) * times as f64));
        let all: f64 = weights.sum();
        let cells = self.cells as f64 / f64::from(self.ranks);
        let computed = |level: u32| {
            let time = self.per_cell.as_ps() as f64 * cells * weight(level) / all;
            Op::Compute { duration: Duration::from_ps(time.round() as u64) }
        };
        let ops = |exchange: &Exchange| match *exchange {
            Exchange::Halo(level) => {
                let mut ops = halo(neighbours, self.message(level, pairs));
                ops.push(computed(level));
                ops
            }
            Exchange::Sum(scalars) => {
                Collective::Allreduce { bytes: Bytes::new(SCALAR * scalars) }.lower(&rule, world, rank)
            }
        };
        let blocks = exchanges.keys().map(|exchange| (*exchange, Block::unmeasured(ops(exchange)))).collect();
        let steps = iterations(parts(step, &blocks), self.samples.unwrap_or(self.iterations));
        let barrier = Block::unmeasured(Collective::Barrier.lower(&rule, world, rank));
        Program::new([barrier.into(), steps])
    }

    /// Payload to a neighbour [B]: six sides of a cube of the rank's cells, over the mean number of neighbours.
    fn message(&self, level: u32, pairs: u64) -> u64 {
        let side = cube_root((self.cells / u64::from(self.ranks)) >> level);
        (6 * side * side * u64::from(self.ranks) / pairs).max(1) * SCALAR
    }

    fn step(&self) -> Vec<Piece> {
        let pressure = match self.pressure {
            PressureSolver::Pcg { iterations } => gradient(0, iterations),
            PressureSolver::Gamg { cycles, coarsest_iterations } => {
                Piece::Several(self.cycle(coarsest_iterations), cycles)
            }
        };
        vec![
            Piece::Several(smooth(self.momentum_sweeps), COMPONENTS),
            Piece::One(Exchange::Sum(1), FIRST_SUMS),
            pressure,
            Piece::Several(smooth(self.turbulence_sweeps), 2),
        ]
    }

    /// The coarsest level that still has ten cells for each rank.
    fn coarsest(&self) -> u32 {
        (self.cells / u64::from(self.ranks) / COARSEST_CELLS).max(1).ilog2()
    }

    /// The coarsest level, then up: the scaling of the correction and sweeps on each level, and the residual.
    fn cycle(&self, coarsest_iterations: u32) -> Vec<Piece> {
        let coarsest = self.coarsest();
        let up = (0..coarsest).rev().flat_map(|level| {
            let sweeps = if level == 0 { FINEST_SWEEPS } else { (POST_SWEEPS + level).min(POST_SWEEPS_MAX) };
            [Piece::One(Exchange::Sum(2), 1), Piece::One(Exchange::Halo(level), 1 + sweeps)]
        });
        let residual = [Piece::One(Exchange::Halo(0), 1), Piece::One(Exchange::Sum(1), 1)];
        std::iter::once(gradient(coarsest, coarsest_iterations)).chain(up).chain(residual).collect()
    }
}

impl Exchange {
    fn level(&self) -> Option<u32> {
        match *self {
            Exchange::Halo(level) => Some(level),
            Exchange::Sum(_) => None,
        }
    }
}

/// A smoother: its first residual, then for two sweeps two halos and a residual.
fn smooth(sweeps: u32) -> Vec<Piece> {
    let and_sum = |halos: u32, times: u32| {
        Piece::Several(vec![Piece::One(Exchange::Halo(0), halos), Piece::One(Exchange::Sum(1), 1)], times)
    };
    let first = Piece::One(Exchange::Sum(1), if sweeps > 0 { FIRST_SUMS } else { 0 });
    vec![first, and_sum(2, sweeps / 2), and_sum(1, sweeps % 2)]
}

fn gradient(level: u32, iterations: u32) -> Piece {
    let iteration = [Piece::One(Exchange::Halo(level), 1), Piece::One(Exchange::Sum(1), PRODUCT_SUMS)];
    Piece::Several(iteration.into(), iterations)
}

/// How often each exchange happens.
fn counted(pieces: &[Piece]) -> BTreeMap<Exchange, u64> {
    let mut all = BTreeMap::new();
    for piece in pieces {
        let (inner, times) = match piece {
            Piece::One(exchange, times) => (BTreeMap::from([(*exchange, 1)]), times),
            Piece::Several(pieces, times) => (counted(pieces), times),
        };
        let inner = inner.into_iter().filter(|_| *times > 0);
        inner.for_each(|(exchange, count)| *all.entry(exchange).or_insert(0) += count * u64::from(*times));
    }
    all
}

/// Pieces as parts of a program, given the blocks of exchanges.
fn parts(pieces: &[Piece], blocks: &BTreeMap<Exchange, Block>) -> Vec<Part> {
    let part = |piece: &Piece| match piece {
        Piece::One(exchange, times) => {
            blocks.get(exchange).map(|block| Part::Block(Block { repeat: *times, ..block.clone() }))
        }
        Piece::Several(pieces, times) => Some(Part::Repeated(parts(pieces, blocks), *times)),
    };
    pieces.iter().filter_map(part).collect()
}

/// Non-blocking messages with all neighbours.
fn halo(neighbours: &[Rank], bytes: u64) -> Vec<Op> {
    let receives = neighbours.iter().map(|&peer| Op::Irecv { peer, tag: TAG, bytes });
    let sends = neighbours.iter().map(|&peer| Op::Isend { peer, tag: TAG, bytes });
    receives.chain(sends).chain([Op::WaitAll]).collect()
}

/// Ranks along three axes, as near to a cube as their number allows.
fn near_cube(ranks: u32) -> [u32; 3] {
    let divisor = |number: u32, most: u32| (1..=most).rev().find(|part| number.is_multiple_of(*part)).unwrap_or(1);
    let x = divisor(ranks, cube_root(ranks.into()) as u32);
    let y = divisor(ranks / x, (ranks / x).isqrt());
    [x, y, ranks / x / y]
}

/// The largest number whose cube is at most `number`.
fn cube_root(number: u64) -> u64 {
    (1..).take_while(|side: &u64| side.pow(3) <= number).last().unwrap_or(0)
}

/// Ranks across faces and edges of a grid with open boundaries.
fn neighbours(grid: &RankGrid, rank: u32) -> Vec<Rank> {
    let from = grid.position(rank);
    let steps = (-1..=1).flat_map(|z| (-1..=1).flat_map(move |y| (-1..=1).map(move |x| [x, y, z])));
    let near = steps.filter(|step: &[i32; 3]| (1..=2).contains(&step.iter().filter(|&&along| along != 0).count()));
    near.filter_map(|step| grid.inside(from, step)).map(|place| grid.rank_at(place)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check, check_progress};

    /// The case that the counts are known of: 1.9 million cells, with 256 ranks 7,421 each.
    fn motorbike(ranks: u32, pressure: PressureSolver) -> Openfoam {
        Openfoam { ranks, cells: 1_900_000, pressure, iterations: 1, ..Openfoam::default() }
    }

    #[test]
    fn steps_end_on_ranks_of_all_numbers() {
        for ranks in [2, 3, 7, 12, 64] {
            for pressure in
                [PressureSolver::Pcg { iterations: 5 }, PressureSolver::Gamg { cycles: 2, coarsest_iterations: 3 }]
            {
                let programs = Openfoam { cells: 20_000, ..motorbike(ranks, pressure) }.programs(1).unwrap();
                assert_eq!(check(&programs), Ok(()), "{ranks} {pressure:?}");
                assert_eq!(check_progress(&programs), Ok(()), "{ranks} {pressure:?}");
            }
        }
    }

    fn halos_and_sums(step: &[Piece]) -> (u64, u64) {
        counted(step).iter().fold((0, 0), |(halos, sums), (one, times)| match one {
            Exchange::Halo(_) => (halos + times, sums),
            Exchange::Sum(_) => (halos, sums + times),
        })
    }

    /// A halo and three sums for each iteration; a sum and two halos for two sweeps, and three at their beginning.
    #[test]
    fn conjugate_gradient_has_a_halo_and_three_sums_in_each_iteration() {
        let step = motorbike(256, PressureSolver::Pcg { iterations: 200 }).step();
        assert_eq!(halos_and_sums(&step), (3 * 10 + 200 + 2 * 3, 3 * (3 + 5) + 3 + 3 * 200 + 2 * (3 + 2)));
    }

    /// About 380 halos and 440 sums a step are known of the case on 256 ranks, with about 30 iterations below.
    #[test]
    fn a_step_of_multigrid_has_as_many_exchanges_as_are_known() {
        let step = motorbike(256, PressureSolver::Gamg { cycles: 4, coarsest_iterations: 30 }).step();
        let (halos, sums) = halos_and_sums(&step);
        assert!((320..400).contains(&halos), "{halos}");
        assert!((400..470).contains(&sums), "{sums}");
        let coarsest = counted(&step).keys().filter_map(Exchange::level).max();
        assert_eq!(coarsest, Some(9), "7,421 cells by 2^9 are 14, by 2^10 less than ten");
    }

    /// 6 · 19² faces of a rank, 13.3 neighbours: about 1.3 kB. Each coarser level has a half of the cells.
    #[test]
    fn messages_are_boundaries_of_cubes_over_the_mean_number_of_neighbours() {
        let gamg = motorbike(256, PressureSolver::Gamg { cycles: 4, coarsest_iterations: 30 });
        let grid = RankGrid::new(4, 8, 8).unwrap();
        assert_eq!(near_cube(256), [4, 8, 8]);
        let pairs: usize = (0..256).map(|rank| neighbours(&grid, rank).len()).sum();
        // Along axes of 4, 8 and 8: 2 (3 · 64 + 2 · 4 · 7 · 8) faces, 4 (2 · 3 · 7 · 8 + 4 · 7 · 7) edges.
        assert_eq!(pairs, 2 * (3 * 64 + 2 * 4 * 7 * 8) + 4 * (2 * 3 * 7 * 8 + 4 * 7 * 7));
        assert_eq!(gamg.message(0, pairs as u64), 6 * 19 * 19 * 256 / pairs as u64 * 8);
        assert_eq!(gamg.message(3, pairs as u64), 6 * 9 * 9 * 256 / pairs as u64 * 8);
    }

    #[test]
    fn ranks_compute_what_their_cells_take() {
        let case = Openfoam { per_cell: Duration::from_us(10), ..motorbike(8, PressureSolver::Pcg { iterations: 3 }) };
        let time = |op: &Op| if let Op::Compute { duration } = op { duration.as_ps() } else { 0 };
        let computed: u64 = case.programs(1).unwrap()[5].ops().map(time).sum();
        assert!((computed as f64 / (1e7 * 1_900_000.0 / 8.0) - 1.0).abs() < 1e-6);
    }
}
