//! A job that performs one `MPI_Alltoall` after another.

use etherweave_primitives::{Bytes, InputErrors, params};

use crate::collective::{Algorithm, Collective, Communicator, Library, Rule};
use crate::limits::{ALL_PAIRS_MAX, COLLECTIVE_MAX, at_least, at_most, within};
use crate::{Block, Program, RankWorkload, program::iteration};

params! {
    /// Global all-to-all (`all_to_all`): every rank sends a block to every other.
    pub struct AllToAll {
        /// Number of ranks, 2 or more.
        pub ranks: u32 = 16,
        /// Block per pair [B]; its size decides the algorithm.
        pub bytes: Bytes = Bytes::new(10_000),
        /// Library whose decisions pick the algorithms of collectives.
        pub library: Library = Library::default(),
        /// This algorithm of the all-to-all instead.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub algorithm: Option<Algorithm> = None,
        /// Number of iterations, 1 or more.
        pub iterations: u32 = 10,
    }
}

impl RankWorkload for AllToAll {
    fn ranks(&self) -> u64 {
        u64::from(self.ranks)
    }

    /// # Errors
    /// When there are fewer than two ranks or no iteration, or the algorithm performs no all-to-all.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, _: u64) -> Result<Vec<Program>, InputErrors> {
        InputErrors::all([
            within("ranks", self.ranks, 2..=ALL_PAIRS_MAX),
            at_most("bytes", self.bytes, COLLECTIVE_MAX),
            at_least("iterations", self.iterations, 1),
        ])?;
        let world = Communicator::world(self.ranks);
        let alltoall = Collective::Alltoall { bytes: self.bytes };
        let rule = Rule { algorithm: self.algorithm, ..Rule::of(self.library) };
        rule.check(&alltoall, self.ranks)?;
        let program = |rank| {
            Program::new([
                Block::unmeasured(Collective::Barrier.lower(&Rule::of(self.library), &world, rank)),
                Block::measured(iteration(alltoall.lower(&rule, &world, rank)), self.iterations),
            ])
        };
        Ok(ranks.map(program).collect())
    }
}
