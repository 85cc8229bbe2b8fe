//! One collective after another, as the collective tests of the OSU Micro-Benchmarks do.

use etherweave_primitives::Bytes;

use crate::collective::{Collective, Communicator};
use crate::program::iteration;
use crate::{Block, Program, WorkloadError};

/// A collective on all ranks (`osu_collective`). An iteration is one call, followed by a barrier
/// outside the iteration; the tool reports the mean over iterations and ranks.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OsuCollective {
    /// How many ranks, 2 or more.
    pub ranks: u32,
    /// What they do.
    pub operation: Collective,
    /// Calls that are not measured.
    pub warm_up: u32,
    /// Calls that are measured, 1 or more.
    pub iterations: u32,
}

impl Default for OsuCollective {
    fn default() -> OsuCollective {
        let operation = Collective::Allreduce { bytes: Bytes::new(8) };
        OsuCollective { ranks: 16, operation, warm_up: 10, iterations: 100 }
    }
}

impl OsuCollective {
    /// The schedule of every rank.
    ///
    /// # Errors
    /// When there are fewer than two ranks, no iteration, or a root beyond the ranks.
    pub fn programs(&self) -> Result<Vec<Program>, WorkloadError> {
        WorkloadError::unless_at_least("ranks", self.ranks, 2)?;
        WorkloadError::unless_at_least("iterations", self.iterations, 1)?;
        match self.operation {
            Collective::Bcast { root, .. } if root >= self.ranks => {
                return Err(WorkloadError::new("root", root.to_string(), format!("a rank below {}", self.ranks)));
            }
            Collective::Barrier
            | Collective::Alltoall { .. }
            | Collective::Allgather { .. }
            | Collective::Allreduce { .. }
            | Collective::Bcast { .. } => {}
        }
        let world = Communicator::world(self.ranks);
        Ok((0..self.ranks).map(|rank| self.program(&world, rank)).collect())
    }

    fn program(&self, world: &Communicator, rank: u32) -> Program {
        let barrier = Collective::Barrier.lower(world, rank);
        let mut call = iteration(self.operation.lower(world, rank));
        call.extend(&barrier);
        Program::new([
            Block::unmeasured(barrier),
            Block { ops: call.clone(), repeat: self.warm_up, measured: false },
            Block::measured(call, self.iterations),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_beyond_the_ranks_is_refused() {
        let operation = Collective::Bcast { root: 16, bytes: Bytes::new(8) };
        let error = OsuCollective { operation, ..OsuCollective::default() }.programs().unwrap_err().to_string();
        assert_eq!(error, "root: 16; expected a rank below 16");
    }

    #[test]
    fn the_barrier_after_a_call_is_outside_its_iteration() {
        let programs = OsuCollective::default().programs().unwrap();
        let ops = &programs[0].blocks[2].ops;
        let end = ops.iter().position(|op| *op == crate::Op::IterationEnd).unwrap();
        // 16 ranks: four rounds of Irecv, Isend, WaitAll each, for the call and again for the barrier.
        assert_eq!((end, ops.len()), (1 + 4 * 3, 2 + 2 * 4 * 3));
    }

    #[test]
    fn the_operation_is_written_by_name() {
        let text = "ranks = 8\noperation.bcast = { root = 3, bytes = \"4KiB\" }";
        let read: OsuCollective = toml::from_str(text).unwrap();
        assert_eq!(read.operation, Collective::Bcast { root: 3, bytes: Bytes::new(4096) });
    }
}
