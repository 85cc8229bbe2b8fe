//! StarFFT and SingleFFT of the HPC Challenge: ranks transform numbers of their own, all at once or one alone.

use etherweave_primitives::{Bytes, Duration, InputError, InputErrors, Purpose, Stream, params};

use crate::collective::{Collective, Communicator, Library, Rule};
use crate::limits::{ALL_PAIRS_MAX, at_least, within};
use crate::{Block, Op, Program, RankWorkload, program::iteration};

/// Ranks that transform.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FftScope {
    /// All ranks at once (`StarFFT`).
    #[default]
    Star,
    /// One rank, drawn at random, while the others wait (`SingleFFT`).
    Single,
}

params! {
    /// Fourier transforms without messages (`hpcc_fft`), behind a barrier; then all ranks learn the result. What one
    /// rank does faster alone than beside others shows what they share: memory (`host.memory_rate`), cores,
    /// interruptions. The benchmark reports 5 n log2 n operations by the time, for `star` as the mean over ranks.
    pub struct HpccFft {
        /// Number of ranks, 2 to 4,096.
        pub ranks: u32 = 16,
        /// Ranks that transform.
        pub scope: FftScope = FftScope::default(),
        /// Complex numbers of a transform as a power of two, 1 to 26: the benchmark takes a 48th of a rank's part of
        /// HPL, or less.
        pub log2_size: u32 = 20,
        /// Time of a rank for 10^9 operations.
        pub per_gflop: Duration = Duration::from_ms(1_000),
        /// How often a transform copies all its numbers in memory, as fast as a rank copies what it sends to itself
        /// (`self_per_kib` of MPI).
        pub passes: u32 = 3,
        /// Library whose decisions pick the algorithms of collectives.
        pub library: Library = Library::default(),
        /// Number of transforms, 1 or more: 1 in the benchmark.
        pub iterations: u32 = 1,
    }
}

/// A complex number of double precision [B].
const COMPLEX: u64 = 16;
/// Most numbers of a transform as a power of two: MPI counts the bytes of a copy in an `int`.
const LOG2_SIZE_MAX: u32 = 26;
/// Most passes, each an operation in memory.
const PASSES_MAX: u32 = 1_000;

impl RankWorkload for HpccFft {
    fn ranks(&self) -> u64 {
        u64::from(self.ranks)
    }

    /// # Errors
    /// When there are fewer than two ranks, or nothing to transform.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, seed: u64) -> Result<Vec<Program>, InputErrors> {
        let is_timed = !self.per_gflop.is_zero() || self.passes > 0;
        InputErrors::all([
            within("ranks", self.ranks, 2..=ALL_PAIRS_MAX),
            within("log2_size", self.log2_size, 1..=LOG2_SIZE_MAX),
            within("passes", self.passes, 0..=PASSES_MAX),
            at_least("iterations", self.iterations, 1),
            InputError::unless(is_timed, "per_gflop, passes", "both 0", "a transform that takes time"),
        ])?;
        let world = Communicator::world(self.ranks);
        let chosen = Stream::new(seed, Purpose::Traffic, 0).below(self.ranks.into()) as u32;
        Ok(ranks.map(|rank| self.program(&world, rank, chosen)).collect())
    }
}

impl HpccFft {
    fn program(&self, world: &Communicator, rank: u32, chosen: u32) -> Program {
        let rule = Rule::of(self.library);
        let mut ops = Collective::Barrier.lower(&rule, world, rank);
        if self.scope == FftScope::Star || rank == chosen {
            ops.extend(iteration(self.transform()));
        }
        let bytes = Bytes::new(8);
        let result = match self.scope {
            FftScope::Star => Collective::Reduce { root: 0, bytes },
            FftScope::Single => Collective::Bcast { root: chosen, bytes },
        };
        ops.extend(result.lower(&rule, world, rank));
        Program::new([Block::measured(ops, self.iterations)])
    }

    /// The passes, with the operations spread evenly before and after them.
    fn transform(&self) -> Vec<Op> {
        let operations = (5 * u64::from(self.log2_size)) << self.log2_size;
        let parts = u64::from(self.passes) + 1;
        let total = u128::from(self.per_gflop.as_ps()) * u128::from(operations) / 1_000_000_000;
        let duration = Duration::from_ps((total / u128::from(parts)) as u64);
        let computing = (!duration.is_zero()).then_some(Op::Compute { duration });
        let pass = [Op::Copy { bytes: COMPLEX << self.log2_size }];
        let steps = (0..self.passes).flat_map(|_| computing.into_iter().chain(pass));
        steps.chain(computing).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 5 * 2^20 * 20 operations at 1 ns each are 104.8576 ms, in four parts around three passes over 16 MiB.
    #[test]
    fn a_transform_computes_its_operations_and_passes_over_its_numbers() {
        let program = &HpccFft::default().programs(1).unwrap()[3];
        let computed = |op: &Op| if let Op::Compute { duration } = op { duration.as_ps() } else { 0 };
        let copied = |op: &Op| if let Op::Copy { bytes } = op { *bytes } else { 0 };
        assert_eq!(program.ops().map(computed).sum::<u64>(), 104_857_600_000);
        assert_eq!(program.ops().map(copied).sum::<u64>(), 3 * (16 << 20));
    }

    #[test]
    fn of_the_single_test_one_rank_computes_and_depends_on_the_seed() {
        let chosen = |seed| {
            let single = HpccFft { scope: FftScope::Single, ..HpccFft::default() };
            let programs = single.programs(seed).unwrap();
            let busy: Vec<usize> = (0..16).filter(|&rank| programs[rank].iterations() == 1).collect();
            assert_eq!(busy.len(), 1);
            busy[0]
        };
        assert!((2..20).any(|seed| chosen(seed) != chosen(1)));
        assert_eq!(chosen(1), chosen(1));
    }
}
