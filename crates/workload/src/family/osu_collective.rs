//! One collective after another, as the collective tests of the OSU Micro-Benchmarks do.

use etherweave_primitives::{BitRate, Bytes, Duration, InputError, InputErrors, params};

use crate::collective::{Algorithm, Collective, Communicator, Kind, Library, Protocol, Rule};
use crate::limits::{ALL_PAIRS_MAX, at_least, within};
use crate::{Block, Op, Program, RankWorkload, program::iteration};

params! {
    /// A collective on all ranks (`osu_collective`). An iteration is one call, followed by a barrier
    /// outside the iteration; the tool reports the mean over iterations and ranks.
    pub struct OsuCollective {
        /// Number of ranks, 2 or more.
        pub ranks: u32 = 16,
        /// Operation of the ranks.
        pub operation: Collective = Collective::Allreduce { bytes: Bytes::new(8) },
        /// Library whose decisions pick the algorithms.
        pub library: Library = Library::default(),
        /// This algorithm of the operation instead.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub algorithm: Option<Algorithm> = None,
        /// Longest message of `algorithm` [B]; without it messages are not divided.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub segment: Option<Bytes> = None,
        /// Radix of `algorithm`, 2 to 64; without it the algorithm's own.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub radix: Option<u32> = None,
        /// Protocol of messages of `algorithm`, as NCCL has it; absent: as they are.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub protocol: Option<Protocol> = None,
        /// Rate of a rank's network, by which `library = "nccl"` chooses; absent: 100 Gb/s.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub network_rate: Option<BitRate> = None,
        /// Ranks in a row that share a node, for libraries and algorithms that work by node; absent: 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub ranks_per_node: Option<u32> = None,
        /// Ranks in a row beneath a leaf switch, a multiple of `ranks_per_node`, for `algorithm = "hierarchical"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub ranks_per_leaf: Option<u32> = None,
        /// Time for which each rank computes between the call of the non-blocking form and the wait for it
        /// (`osu_iallreduce` and its likes); the library progresses only while ranks wait. Absent: the blocking form.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub compute: Option<Duration> = None,
        /// Rounds of each pass around of a ring or a pairwise exchange that are simulated, evenly spread, 3 or more,
        /// which stand for all of a single call; each is an iteration.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub samples: Option<u32> = None,
        /// Calls that are not measured.
        pub warm_up: u32 = 10,
        /// Calls that are measured, 1 or more.
        pub iterations: u32 = 100,
    }
}

/// Fewest samples, as of the NAS Parallel Benchmarks.
const SAMPLES_MIN: u32 = 3;

impl RankWorkload for OsuCollective {
    fn ranks(&self) -> u64 {
        u64::from(self.ranks)
    }

    /// # Errors
    /// When there are fewer than two ranks, no iteration, or the operation or its algorithm has no meaning on so
    /// many ranks.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, _: u64) -> Result<Vec<Program>, InputErrors> {
        let is_all_pairs = matches!(self.operation.kind(), Kind::Alltoall | Kind::Alltoallv | Kind::Alltoallw);
        let most = if is_all_pairs { ALL_PAIRS_MAX } else { u32::MAX };
        at_least("ranks", self.ranks, 2).and_then(|()| within("ranks", self.ranks, 2..=most))?;
        let mut errors = InputErrors::default();
        errors.check(at_least("iterations", self.iterations, 1));
        errors.check(self.operation.check("operation", self.ranks));
        errors.check(self.rule().check(&self.operation, self.ranks));
        errors.check(self.check_samples());
        errors.into_result()?;
        let world = Communicator::world(self.ranks);
        Ok(ranks.map(|rank| self.program(&world, rank)).collect())
    }

    fn calls_nccl(&self) -> bool {
        self.library == Library::Nccl
    }
}

impl OsuCollective {
    /// How the operation is carried out.
    fn rule(&self) -> Rule {
        Rule {
            library: self.library,
            algorithm: self.algorithm,
            segment: self.segment,
            radix: self.radix,
            protocol: self.protocol,
            network_rate: self.network_rate,
            nodes: self.ranks_per_node,
            leaves: self.ranks_per_leaf,
            samples: self.samples,
            is_nonblocking: self.compute.is_some(),
            ..Rule::default()
        }
    }

    /// Samples are of one blocking call.
    fn check_samples(&self) -> Result<(), InputError> {
        let Some(samples) = self.samples else { return Ok(()) };
        at_least("samples", samples, SAMPLES_MIN)?;
        let mistake = format_args!("given with warm_up = {} and iterations = {}", self.warm_up, self.iterations);
        let is_single = self.warm_up == 0 && self.iterations == 1 && self.compute.is_none();
        InputError::unless(is_single, "samples", mistake, "warm_up = 0, iterations = 1 and no `compute` with it")
    }

    /// One call. Of a non-blocking form the first messages are posted before the rank computes, all others while it
    /// waits.
    fn call(&self, world: &Communicator, rank: u32) -> Vec<Op> {
        let mut ops = self.operation.lower(&self.rule(), world, rank);
        if let Some(duration) = self.compute {
            let first_wait = ops.iter().position(|op| *op == Op::WaitAll).unwrap_or(ops.len());
            ops.insert(first_wait, Op::Compute { duration });
        }
        ops
    }

    fn program(&self, world: &Communicator, rank: u32) -> Program {
        let between =
            Rule { algorithm: None, segment: None, radix: None, protocol: None, samples: None, ..self.rule() };
        let between = Rule { is_nonblocking: false, ..between };
        let barrier = Collective::Barrier.lower(&between, world, rank);
        if self.samples.is_some() {
            let mut call = self.call(world, rank);
            // What follows the last round, a copy to itself, is done once: it joins the first, which stands for no
            // other.
            let end = call.iter().rposition(|op| *op == Op::WaitAll).map_or(0, |last| last + 1);
            let behind = call.len() - end;
            call.rotate_right(behind);
            let rounds = call.split_inclusive(|op| *op == Op::WaitAll);
            let measured = rounds.map(|round| Block::measured(iteration(round.iter().copied()), 1));
            return Program::new(std::iter::once(Block::unmeasured(barrier)).chain(measured));
        }
        let mut call = iteration(self.call(world, rank));
        call.extend(&barrier);
        Program::new([
            Block::unmeasured(barrier),
            Block { ops: call.clone().into(), repeat: self.warm_up, measured: false },
            Block::measured(call, self.iterations),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_barrier_after_a_call_is_outside_its_iteration() {
        let programs = OsuCollective::default().programs(1).unwrap();
        let ops = &programs[0].blocks[2].ops;
        let end = ops.iter().position(|op| *op == crate::Op::IterationEnd).unwrap();
        // 16 ranks: Prepare, and four rounds of Irecv, Isend, WaitAll, Reduce; a barrier has neither end.
        assert_eq!((end, ops.len()), (2 + 4 * 4, 3 + 4 * 4 + 4 * 3));
    }

    /// A dissemination among 8 ranks: the first exchange is posted, all others wait for the end of the computation.
    #[test]
    fn a_non_blocking_collective_posts_its_first_messages_before_the_rank_computes() {
        let compute = Some(Duration::from_us(10));
        let osu = OsuCollective { ranks: 8, operation: Collective::Barrier, compute, ..OsuCollective::default() };
        let ops = &osu.programs(1).unwrap()[3].blocks[2].ops;
        let place = ops.iter().position(|op| matches!(op, Op::Compute { .. })).unwrap();
        assert!(matches!(ops[place - 2..place + 2], [Op::Irecv { .. }, Op::Isend { .. }, _, Op::WaitAll]), "{ops:?}");
    }

    /// Around a ring of 8: 14 rounds, of which the first, the fourth or fifth and the last of each pass stand for
    /// all.
    #[test]
    fn sampled_rounds_stand_for_all() {
        let text =
            "ranks = 8\nalgorithm = \"ring\"\nwarm_up = 0\niterations = 1\noperation.allreduce.bytes = \"64KiB\"";
        let osu = |more: &str| toml::from_str::<OsuCollective>(&format!("{text}\n{more}")).unwrap().programs(1);
        let programs = osu("samples = 3").unwrap();
        assert_eq!(crate::check(&programs), Ok(()));
        assert!(programs.iter().all(|program| program.iterations() == 6));
        let all = osu("samples = 7").unwrap();
        let messages = |programs: &[Program]| programs[0].ops().filter(|op| matches!(op, Op::Isend { .. })).count();
        assert_eq!((all[0].iterations(), messages(&all)), (14, messages(&osu("").unwrap()) - 3));
        let text = text.replace("allreduce", "alltoall").replace("ring", "pairwise");
        let pairwise = toml::from_str::<OsuCollective>(&format!("{text}\nsamples = 3")).unwrap().programs(1).unwrap();
        assert!(pairwise.iter().all(|program| program.iterations() == 3));
    }

    #[test]
    fn an_algorithm_and_a_library_are_written_by_name() {
        let text = "library = \"mpich_4\"\nalgorithm = \"recursive_doubling\"";
        let read: OsuCollective = toml::from_str(text).unwrap();
        assert_eq!((read.library, read.algorithm), (Library::Mpich4, Some(Algorithm::RecursiveDoubling)));
        let error = toml::from_str::<OsuCollective>("library = \"mpich\"").unwrap_err().to_string();
        assert!(error.contains("`open_mpi_4_0`, `open_mpi_4_1`, `open_mpi_5_0`, `mpich_4`, `ucc`, `nccl`"), "{error}");
    }

    #[test]
    fn the_operation_is_written_by_name() {
        let text = "ranks = 8\noperation.bcast = { root = 3, bytes = \"4KiB\" }";
        let read: OsuCollective = toml::from_str(text).unwrap();
        assert_eq!(read.operation, Collective::Bcast { root: 3, bytes: Bytes::new(4096) });
    }
}
