//! One collective after another, as the collective tests of the OSU Micro-Benchmarks do.

use etherweave_primitives::{Bytes, InputErrors};

use crate::collective::{Collective, Communicator};
use crate::limits::{ALL_PAIRS_MAX, COLLECTIVE_MAX, at_least, at_most, within};
use crate::program::iteration;
use crate::{Block, Program};

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
    /// How many ranks it has, before anything is built.
    pub(crate) fn ranks(&self) -> u64 {
        u64::from(self.ranks)
    }

    /// The schedule of every rank.
    ///
    /// # Errors
    /// When there are fewer than two ranks, no iteration, or a root beyond the ranks.
    pub fn programs(&self) -> Result<Vec<Program>, InputErrors> {
        self.programs_of(0..self.ranks)
    }

    /// The schedules of some ranks.
    pub(crate) fn programs_of(&self, ranks: impl Iterator<Item = u32>) -> Result<Vec<Program>, InputErrors> {
        let most = if matches!(self.operation, Collective::Alltoall { .. }) { ALL_PAIRS_MAX } else { u32::MAX };
        let ranks_known = at_least("ranks", self.ranks, 2).and_then(|()| within("ranks", self.ranks, 2..=most));
        let (bytes, root) = match self.operation {
            Collective::Barrier => (Ok(()), Ok(())),
            Collective::Alltoall { bytes } => (at_most("operation.alltoall.bytes", bytes, COLLECTIVE_MAX), Ok(())),
            Collective::Allgather { bytes } => (at_most("operation.allgather.bytes", bytes, COLLECTIVE_MAX), Ok(())),
            Collective::Allreduce { bytes } => (at_most("operation.allreduce.bytes", bytes, COLLECTIVE_MAX), Ok(())),
            Collective::Bcast { root, bytes } => (
                at_most("operation.bcast.bytes", bytes, COLLECTIVE_MAX),
                within("operation.bcast.root", root, 0..=self.ranks.saturating_sub(1)),
            ),
        };
        InputErrors::all([ranks_known, at_least("iterations", self.iterations, 1), bytes, root])?;
        let world = Communicator::world(self.ranks);
        Ok(ranks.map(|rank| self.program(&world, rank)).collect())
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
        assert_eq!(error, "operation.bcast.root: 16; expected 0 to 15");
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
