//! Halo exchange on a grid with 26 neighbours, as the Halo3D-26 proxy of SST/macro runs it.
//!
//! Each iteration sleeps, posts for each neighbour first the receive and then the send, and waits
//! once for all. The iteration's time includes the sleep. Equations and sources:
//! `docs/models/workload.md`.

use etherweave_primitives::{Duration, Rank};

use crate::collective::{Collective, Communicator};
use crate::grid::Grid;
use crate::program::iteration;
use crate::{Block, Op, Program, WorkloadError};

/// What lies beyond the grid's edge.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Boundary {
    /// The other side: the grid wraps around in all three dimensions, and all ranks are alike.
    #[default]
    Periodic,
    /// Nothing: ranks at the edge have fewer neighbours.
    Open,
}

/// Halo3D-26 (`halo3d`). Defaults are the 48-rank run of the Sandia evaluation.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Halo3d {
    /// Ranks along x, 1 or more.
    pub pex: u32,
    /// Ranks along y, 1 or more.
    pub pey: u32,
    /// Ranks along z, 1 or more.
    pub pez: u32,
    /// Cells of one rank along x.
    pub nx: u32,
    /// Cells of one rank along y.
    pub ny: u32,
    /// Cells of one rank along z.
    pub nz: u32,
    /// Variables per cell, each an 8-byte double.
    pub vars: u32,
    /// Sleep at the start of each iteration [ps]; stands for the computation.
    pub sleep: Duration,
    /// How many iterations, 1 or more.
    pub iterations: u32,
    /// What lies beyond the grid's edge.
    pub boundary: Boundary,
    /// Whether the eight vertices of 8·vars bytes are exchanged too.
    pub corners: bool,
}

impl Default for Halo3d {
    fn default() -> Halo3d {
        Halo3d {
            pex: 4,
            pey: 4,
            pez: 3,
            nx: 100,
            ny: 100,
            nz: 100,
            vars: 8,
            sleep: Duration::from_us(216),
            iterations: 16_000,
            boundary: Boundary::Periodic,
            corners: false,
        }
    }
}

/// Steps to the neighbours in the order of the proxy: six faces, then twelve edges, ...
const FACES_AND_EDGES: [[i32; 3]; 18] = [
    [1, 0, 0],
    [-1, 0, 0],
    [0, 1, 0],
    [0, -1, 0],
    [0, 0, 1],
    [0, 0, -1],
    [-1, -1, 0],
    [0, -1, -1],
    [1, -1, 0],
    [0, -1, 1],
    [-1, 0, 1],
    [1, 0, 1],
    [-1, 0, -1],
    [1, 0, -1],
    [-1, 1, 0],
    [0, 1, 1],
    [1, 1, 0],
    [0, 1, -1],
];

/// ... then, on request, eight vertices. The proxy's order of these is not published; x runs fastest here.
const VERTICES: [[i32; 3]; 8] =
    [[-1, -1, -1], [1, -1, -1], [-1, 1, -1], [1, 1, -1], [-1, -1, 1], [1, -1, 1], [-1, 1, 1], [1, 1, 1]];

impl Halo3d {
    /// The schedule of every rank.
    ///
    /// # Errors
    /// When the grid, the cells or the iterations are empty.
    pub fn programs(&self) -> Result<Vec<Program>, WorkloadError> {
        let grid = Grid::new(self.pex, self.pey, self.pez)?;
        WorkloadError::unless_at_least("nx", self.nx, 1)?;
        WorkloadError::unless_at_least("ny", self.ny, 1)?;
        WorkloadError::unless_at_least("nz", self.nz, 1)?;
        WorkloadError::unless_at_least("vars", self.vars, 1)?;
        WorkloadError::unless_at_least("iterations", self.iterations, 1)?;
        let world = Communicator::world(grid.ranks());
        Ok((0..grid.ranks()).map(|rank| self.program(&grid, &world, rank)).collect())
    }

    /// Two barriers, the iterations, one barrier.
    fn program(&self, grid: &Grid, world: &Communicator, rank: u32) -> Program {
        let barrier = Collective::Barrier.lower(world, rank);
        let mut exchange = vec![Op::Sleep { duration: self.sleep }];
        exchange.extend(self.exchange(grid, rank));
        exchange.push(Op::WaitAll);
        Program::new([
            Block { ops: barrier.clone(), repeat: 2, measured: false },
            Block::measured(iteration(exchange), self.iterations),
            Block::unmeasured(barrier),
        ])
    }

    /// For each neighbour the receive, then the send.
    fn exchange(&self, grid: &Grid, rank: u32) -> Vec<Op> {
        let from = grid.position(rank);
        let vertices: &[_] = if self.corners { &VERTICES } else { &[] };
        let mut ops = Vec::with_capacity(52);
        for &step in FACES_AND_EDGES.iter().chain(vertices) {
            let Some(peer) = self.neighbour(grid, from, step) else { continue };
            let (tag, bytes) = (tag(step), self.message(step));
            ops.push(Op::Irecv { peer, tag, bytes });
            ops.push(Op::Isend { peer, tag, bytes });
        }
        ops
    }

    /// Who sits one step away. A periodic axis of one rank leads back to oneself: MPI copies that in memory.
    fn neighbour(&self, grid: &Grid, from: [u32; 3], step: [i32; 3]) -> Option<Rank> {
        let position = match self.boundary {
            Boundary::Periodic => Some(grid.wrapped(from, step)),
            Boundary::Open => grid.inside(from, step),
        };
        position.filter(|&to| to != from).map(|to| grid.rank_at(to))
    }

    /// Bytes to the neighbour at `step`: 8·vars per cell, and cells along every axis that the step leaves alone.
    fn message(&self, step: [i32; 3]) -> u64 {
        let extents = [self.nx, self.ny, self.nz].map(u64::from);
        let cells: u64 = (0..3).filter(|&axis| step[axis] == 0).map(|axis| extents[axis]).product();
        8 * u64::from(self.vars) * cells
    }
}

/// Faces carry a tag per axis, all others share one.
fn tag(step: [i32; 3]) -> u32 {
    match step {
        [_, 0, 0] => 1000,
        [0, _, 0] => 2000,
        [0, 0, _] => 4000,
        [_, _, _] => 8000,
    }
}
