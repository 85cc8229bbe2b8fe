//! Halo exchange on a grid with 26 neighbours, as the Halo3D-26 proxy of SST/macro runs it.
//!
//! Each iteration sleeps, posts for each neighbour first the receive and then the send, and waits
//! once for all. The iteration's time includes the sleep. Equations and sources:
//! `docs/models/workload.md`.

use etherweave_primitives::{Bytes, Duration, InputError, InputErrors, Rank, params};

use crate::collective::{Collective, Communicator, Rule};
use crate::{
    Block, Op, Program, RankWorkload, limits::MESSAGE_MAX, limits::at_least, program::iteration, rank_grid::RankGrid,
};

/// Boundary of the grid: what lies beyond its edge.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Boundary {
    /// The other side: the grid wraps around in all three dimensions, and all ranks are alike.
    #[default]
    Periodic,
    /// Nothing: ranks at the edge have fewer neighbours.
    Open,
}

params! {
    /// Halo3D-26 (`halo3d`). Defaults are the 48-rank run of the Sandia evaluation.
    pub struct Halo3d {
        /// Ranks along x, 1 or more.
        pub pex: u32 = 4,
        /// Ranks along y, 1 or more.
        pub pey: u32 = 4,
        /// Ranks along z, 1 or more.
        pub pez: u32 = 3,
        /// Cells of one rank along x.
        pub nx: u32 = 100,
        /// Cells of one rank along y.
        pub ny: u32 = 100,
        /// Cells of one rank along z.
        pub nz: u32 = 100,
        /// Variables per cell, each an 8-byte double.
        pub vars: u32 = 8,
        /// Sleep at the start of each iteration [ps]; stands for the computation.
        pub sleep: Duration = Duration::from_us(216),
        /// Number of iterations, 1 or more.
        pub iterations: u32 = 100,
        /// Boundary of the grid: what lies beyond its edge.
        pub boundary: Boundary = Boundary::Periodic,
        /// Whether the eight vertices of 8·vars bytes are exchanged too.
        pub corners: bool = false,
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

impl RankWorkload for Halo3d {
    fn ranks(&self) -> u64 {
        u64::from(self.pex).saturating_mul(u64::from(self.pey)).saturating_mul(u64::from(self.pez))
    }

    /// # Errors
    /// When the grid, the cells or the iterations are empty.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, _: u64) -> Result<Vec<Program>, InputErrors> {
        let grid = RankGrid::new(self.pex, self.pey, self.pez)?;
        let (cells, repeats) = ([("nx", self.nx), ("ny", self.ny), ("nz", self.nz)], ("iterations", self.iterations));
        let positive = cells.into_iter().chain([("vars", self.vars), repeats]);
        InputErrors::all(positive.map(|(key, value)| at_least(key, value, 1)))?;
        // A cell's variables times the largest face.
        let faces = [[self.nx, self.ny], [self.ny, self.nz], [self.nx, self.nz]];
        let cells = faces.map(|face| u64::from(face[0]) * u64::from(face[1])).into_iter().max().unwrap_or(0);
        let face = Bytes::new(cells.saturating_mul(8).saturating_mul(u64::from(self.vars)));
        let mistake = format!("a face of {face}");
        InputError::unless(face <= MESSAGE_MAX, "vars", mistake, format_args!("at most {MESSAGE_MAX}"))?;
        let world = Communicator::world(grid.ranks());
        Ok(ranks.map(|rank| self.program(&grid, &world, rank)).collect())
    }
}

impl Halo3d {
    /// Two barriers, the iterations, one barrier.
    fn program(&self, grid: &RankGrid, world: &Communicator, rank: u32) -> Program {
        let barrier = Collective::Barrier.lower(&Rule::default(), world, rank);
        let mut exchange = vec![Op::Sleep { duration: self.sleep }];
        exchange.extend(self.exchange(grid, rank));
        exchange.push(Op::WaitAll);
        Program::new([
            Block { ops: barrier.clone().into(), repeat: 2, measured: false },
            Block::measured(iteration(exchange), self.iterations),
            Block::unmeasured(barrier),
        ])
    }

    /// Returns for each neighbour the receive, then the send.
    fn exchange(&self, grid: &RankGrid, rank: u32) -> Vec<Op> {
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
    fn neighbour(&self, grid: &RankGrid, from: [u32; 3], step: [i32; 3]) -> Option<Rank> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes_sent;

    /// (peer, tag, bytes) of the receives in the measured block of rank 0.
    fn receives(halo: &Halo3d) -> Vec<(u32, u32, u64)> {
        let receive = |op: &Op| match *op {
            Op::Irecv { peer, tag, bytes } => Some((peer.get(), tag, bytes)),
            _ => None,
        };
        halo.programs(1).unwrap()[0].blocks[1].ops.iter().filter_map(receive).collect()
    }

    #[test]
    fn neighbours_come_in_the_order_of_the_proxy() {
        // Rank 0 of 4·4·3 sits in a corner, so minus wraps around: x to 3, y to 12, z to 32.
        let nx_ny_nz = Halo3d { nx: 2, ny: 3, nz: 5, vars: 1, ..Halo3d::default() };
        let faces = [(1, 1000, 120), (3, 1000, 120), (4, 2000, 80), (12, 2000, 80), (16, 4000, 48), (32, 4000, 48)];
        // The edge between two axes runs along the third: xy 8·nz, yz 8·nx, xz 8·ny.
        let edges = [
            (15, 8000, 40),
            (44, 8000, 16),
            (13, 8000, 40),
            (28, 8000, 16),
            (19, 8000, 24),
            (17, 8000, 24),
            (35, 8000, 24),
            (33, 8000, 24),
            (7, 8000, 40),
            (20, 8000, 16),
            (5, 8000, 40),
            (36, 8000, 16),
        ];
        assert_eq!(receives(&nx_ny_nz), [faces.as_slice(), &edges].concat());
    }

    #[test]
    fn each_receive_is_posted_right_before_its_send_and_one_wait_ends_the_iteration() {
        let ops = &Halo3d::default().programs(1).unwrap()[22].blocks[1].ops;
        assert_eq!(ops[..2], [Op::IterationStart, Op::Sleep { duration: Duration::from_us(216) }]);
        assert_eq!(ops[ops.len() - 2..], [Op::WaitAll, Op::IterationEnd]);
        for pair in ops[2..ops.len() - 2].chunks(2) {
            let [Op::Irecv { peer, tag, bytes }, send] = *pair else { panic!("{pair:?}") };
            assert_eq!(send, Op::Isend { peer, tag, bytes });
        }
    }

    #[test]
    fn two_barriers_come_before_and_one_after() {
        let program = &Halo3d::default().programs(1).unwrap()[0];
        let shape: Vec<_> = program.blocks.iter().map(|block| (block.repeat, block.measured)).collect();
        assert_eq!(shape, [(2, false), (100, true), (1, false)]);
        assert_eq!(program.iterations(), 100);
    }

    #[test]
    fn an_open_corner_has_three_faces_three_edges_and_one_vertex() {
        let open = Halo3d { boundary: Boundary::Open, iterations: 1, ..Halo3d::default() };
        let corner = |halo: &Halo3d| bytes_sent(&halo.programs(1).unwrap()[0]);
        assert_eq!(corner(&open), 3 * 640_000 + 3 * 6_400);
        assert_eq!(corner(&Halo3d { corners: true, ..open }), 3 * 640_000 + 3 * 6_400 + 64);
    }
}
