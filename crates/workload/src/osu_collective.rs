//! One collective after another, as the collective tests of the OSU Micro-Benchmarks do.

use etherweave_primitives::{Bytes, InputErrors};

use crate::collective::{Algorithm, Collective, Communicator, Kind, Library, Rule};
use crate::limits::{ALL_PAIRS_MAX, at_least, within};
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
    /// Whose decisions pick the algorithms.
    pub library: Library,
    /// This algorithm of the operation instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<Algorithm>,
    /// Messages of `algorithm` are at most so long [B]; without it they are not divided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment: Option<Bytes>,
    /// Calls that are not measured.
    pub warm_up: u32,
    /// Calls that are measured, 1 or more.
    pub iterations: u32,
}

impl Default for OsuCollective {
    fn default() -> OsuCollective {
        let operation = Collective::Allreduce { bytes: Bytes::new(8) };
        OsuCollective {
            ranks: 16,
            operation,
            library: Library::default(),
            algorithm: None,
            segment: None,
            warm_up: 10,
            iterations: 100,
        }
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
    /// When there are fewer than two ranks, no iteration, or the operation or its algorithm has no meaning on so
    /// many ranks.
    pub fn programs(&self) -> Result<Vec<Program>, InputErrors> {
        self.programs_of(0..self.ranks)
    }

    /// The schedules of some ranks.
    pub(crate) fn programs_of(&self, ranks: impl Iterator<Item = u32>) -> Result<Vec<Program>, InputErrors> {
        let is_all_pairs = matches!(self.operation.kind(), Kind::Alltoall | Kind::Alltoallv);
        let most = if is_all_pairs { ALL_PAIRS_MAX } else { u32::MAX };
        let mut errors = InputErrors::default();
        errors.check(at_least("ranks", self.ranks, 2).and_then(|()| within("ranks", self.ranks, 2..=most)));
        errors.check(at_least("iterations", self.iterations, 1));
        errors.check(self.operation.check("operation", self.ranks));
        errors.check(self.rule().check(&self.operation, self.ranks));
        errors.into_result()?;
        let world = Communicator::world(self.ranks);
        Ok(ranks.map(|rank| self.program(&world, rank)).collect())
    }

    /// How the operation is carried out.
    fn rule(&self) -> Rule {
        Rule { library: self.library, algorithm: self.algorithm, segment: self.segment }
    }

    fn program(&self, world: &Communicator, rank: u32) -> Program {
        let barrier = Collective::Barrier.lower(&Rule::of(self.library), world, rank);
        let mut call = iteration(self.operation.lower(&self.rule(), world, rank));
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
    fn mistakes_of_the_operation_and_its_algorithm_are_reported_together() {
        let text = "ranks = 7\nsegment = \"1KiB\"\nalgorithm = \"ring\"\noperation.allgatherv.bytes = []";
        let error = toml::from_str::<OsuCollective>(text).unwrap().programs().unwrap_err().to_string();
        let expected = [
            "operation.allgatherv.bytes: 0 lengths; expected 1 to 7 lengths, one for each rank or fewer that are \
             repeated",
            "segment: 1KiB for allgatherv of ring; expected none, or an algorithm that divides its messages",
        ];
        assert_eq!(error, expected.join("\n"));
    }

    #[test]
    fn an_algorithm_and_a_library_are_written_by_name() {
        let text = "library = \"mpich_4\"\nalgorithm = \"recursive_doubling\"";
        let read: OsuCollective = toml::from_str(text).unwrap();
        assert_eq!((read.library, read.algorithm), (Library::Mpich4, Some(Algorithm::RecursiveDoubling)));
        let error = toml::from_str::<OsuCollective>("library = \"mpich\"").unwrap_err().to_string();
        assert!(error.contains("`open_mpi_4_0`, `open_mpi_4_1`, `mpich_4`"), "{error}");
    }

    #[test]
    fn the_operation_is_written_by_name() {
        let text = "ranks = 8\noperation.bcast = { root = 3, bytes = \"4KiB\" }";
        let read: OsuCollective = toml::from_str(text).unwrap();
        assert_eq!(read.operation, Collective::Bcast { root: 3, bytes: Bytes::new(4096) });
    }
}
