//! All-to-all on sub-communicators of a grid, as a distributed 3-D FFT does (subcom3d-a2a).
//!
//! Each iteration performs a blocking all-to-all among the ranks of equal (y, z), then of equal
//! (x, z), then of equal (x, y). There is no computation and no barrier in the loop.

use etherweave_primitives::{Bytes, InputError, InputErrors, params};

use crate::collective::{Algorithm, Collective, Communicator, Library, Rule};
use crate::limits::{ALL_PAIRS_MAX, COLLECTIVE_MAX, at_least, at_most, within};
use crate::{Block, Op, Program, RankWorkload, program::iteration, rank_grid::RankGrid};

params! {
    /// The FFT proxy (`fft`). Defaults are the 48-rank run of the Sandia evaluation.
    pub struct Fft {
        /// Ranks along x, 1 or more.
        pub pex: u32 = 4,
        /// Ranks along y, 1 or more.
        pub pey: u32 = 4,
        /// Ranks along z, 1 or more.
        pub pez: u32 = 3,
        /// Message to each rank of the x sub-communicator [B]; 0 skips the direction.
        pub x_bytes: Bytes = Bytes::new(10_000),
        /// Message to each rank of the y sub-communicator [B]; 0 skips the direction.
        pub y_bytes: Bytes = Bytes::new(10_000),
        /// Message to each rank of the z sub-communicator [B]; 0 skips the direction.
        pub z_bytes: Bytes = Bytes::new(10_000),
        /// Library whose decisions pick the algorithms of collectives.
        pub library: Library = Library::default(),
        /// This algorithm of the all-to-alls instead.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub algorithm: Option<Algorithm> = None,
        /// Number of iterations, 1 or more.
        pub iterations: u32 = 100,
    }
}

impl RankWorkload for Fft {
    fn ranks(&self) -> u64 {
        u64::from(self.pex).saturating_mul(u64::from(self.pey)).saturating_mul(u64::from(self.pez))
    }

    /// # Errors
    /// When the grid or the iterations are empty, all three directions are skipped, or the algorithm performs no
    /// all-to-all.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, _: u64) -> Result<Vec<Program>, InputErrors> {
        let grid = RankGrid::new(self.pex, self.pey, self.pez)?;
        let extents = [("pex", self.pex), ("pey", self.pey), ("pez", self.pez)];
        let blocks = [("x_bytes", self.x_bytes), ("y_bytes", self.y_bytes), ("z_bytes", self.z_bytes)];
        let sends = self.blocks().iter().any(|&bytes| bytes != Bytes::ZERO);
        let checks = extents.into_iter().map(|(key, extent)| within(key, extent, 1..=ALL_PAIRS_MAX));
        let checks = checks.chain(blocks.into_iter().map(|(key, block)| at_most(key, block, COLLECTIVE_MAX)));
        InputErrors::all(checks.chain([
            at_least("iterations", self.iterations, 1),
            InputError::unless(sends, "x_bytes, y_bytes, z_bytes", "all 0B", "a message in at least one direction"),
        ]))?;
        for (&bytes, (_, extent)) in self.blocks().iter().zip(extents).filter(|(bytes, _)| **bytes != Bytes::ZERO) {
            self.rule().check(&Collective::Alltoall { bytes }, extent)?;
        }
        let world = Communicator::world(grid.ranks());
        Ok(ranks.map(|rank| self.program(&grid, &world, rank)).collect())
    }
}

impl Fft {
    /// A barrier, the iterations, a barrier.
    fn program(&self, grid: &RankGrid, world: &Communicator, rank: u32) -> Program {
        let barrier = Block::unmeasured(Collective::Barrier.lower(&Rule::of(self.library), world, rank));
        let transposes = (0..3).flat_map(|axis| self.transpose(grid, rank, axis));
        Program::new([barrier.clone(), Block::measured(iteration(transposes), self.iterations), barrier])
    }

    /// The all-to-all along `axis`.
    fn transpose(&self, grid: &RankGrid, rank: u32, axis: usize) -> Vec<Op> {
        let bytes = self.blocks()[axis];
        if bytes == Bytes::ZERO {
            return Vec::new();
        }
        let position = grid.position(rank);
        // Context 0 is the world.
        let line = Communicator::new(grid.line(position, axis), axis as u8 + 1);
        Collective::Alltoall { bytes }.lower(&self.rule(), &line, position[axis])
    }

    /// How the all-to-alls are carried out.
    fn rule(&self) -> Rule {
        Rule { algorithm: self.algorithm, ..Rule::of(self.library) }
    }

    fn blocks(&self) -> [Bytes; 3] {
        [self.x_bytes, self.y_bytes, self.z_bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_iteration_is_eight_dependent_exchanges_x_then_y_then_z() {
        // Rank 22 sits at (2, 1, 1): partners one, two, three up on its line.
        let ops = &Fft::default().programs(1).unwrap()[22].blocks[1].ops;
        let send = |op: &Op| if let Op::Isend { peer, bytes, .. } = op { Some((peer.get(), *bytes)) } else { None };
        let to: Vec<_> = ops.iter().filter_map(send).collect();
        assert_eq!(to, [23, 20, 21, 26, 30, 18, 38, 6].map(|peer| (peer, 10_000)));
        assert_eq!(ops.iter().filter(|op| **op == Op::WaitAll).count(), 3 + 3 + 2);
    }

    #[test]
    fn each_all_to_all_ends_with_the_block_that_the_rank_has_for_itself() {
        let ops = &Fft::default().programs(1).unwrap()[22].blocks[1].ops;
        let copies = ops.windows(2).filter(|pair| pair[1] == Op::Copy { bytes: 10_000 });
        assert_eq!(copies.map(|pair| pair[0]).collect::<Vec<_>>(), [Op::WaitAll; 3]);
    }

    #[test]
    fn a_direction_without_message_is_skipped() {
        let plane = Fft { z_bytes: Bytes::ZERO, iterations: 1, ..Fft::default() };
        assert_eq!(crate::bytes_sent(&plane.programs(1).unwrap()[0]), 6 * 10_000);
    }
}
