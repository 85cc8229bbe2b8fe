//! Tests of the Intel MPI Benchmarks (IMB-MPI1) in which ranks exchange messages with neighbours.
//!
//! Source: Intel MPI Benchmarks User Guide, "IMB-MPI1 Benchmarks": which calls a test times, and what it reports.

use etherweave_primitives::{Bytes, InputErrors, Rank, params};

use crate::collective::{BLOCKING, Collective, Communicator, Rule};
use crate::limits::{MESSAGE_MAX, at_least, at_most, within};
use crate::{Block, Op, Program, RankWorkload, program::iteration};

/// Test of IMB-MPI1.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImbTest {
    /// `PingPing`: both ranks of a pair send at once.
    PingPing,
    /// `Sendrecv`: every rank sends to its right neighbour and receives from its left one.
    Sendrecv,
    /// `Exchange`: every rank sends to both neighbours and receives from both.
    #[default]
    Exchange,
}

params! {
    /// A test of IMB-MPI1 (`imb`). An iteration is one exchange of every rank; the tool reports its mean, and
    /// `bytes / time` times the messages that a rank sends and receives of more than one.
    pub struct Imb {
        /// Test of IMB-MPI1.
        pub test: ImbTest = ImbTest::default(),
        /// Number of ranks: 2 of `ping_ping`, 2 or more of the others, whose neighbours form a ring.
        pub ranks: u32 = 2,
        /// One message [B], 0 or more.
        pub bytes: Bytes = Bytes::new(8),
        /// Exchanges that are not measured.
        pub warm_up: u32 = 10,
        /// Exchanges that are measured, 1 or more.
        pub iterations: u32 = 1_000,
    }
}

impl RankWorkload for Imb {
    fn ranks(&self) -> u64 {
        u64::from(self.ranks)
    }

    /// # Errors
    /// When the test does not run on so many ranks, or there is nothing to measure.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, _: u64) -> Result<Vec<Program>, InputErrors> {
        let most = if self.test == ImbTest::PingPing { 2 } else { 1 << 30 };
        InputErrors::all([
            within("ranks", self.ranks, 2..=most),
            at_least("iterations", self.iterations, 1),
            at_most("bytes", self.bytes, MESSAGE_MAX),
        ])?;
        let world = Communicator::world(self.ranks);
        Ok(ranks.map(|rank| self.program(&world, rank)).collect())
    }
}

impl Imb {
    fn program(&self, world: &Communicator, rank: u32) -> Program {
        let ops = self.exchange(rank);
        Program::new([
            Block::unmeasured(Collective::Barrier.lower(&Rule::default(), world, rank)),
            Block { ops: ops.clone().into(), repeat: self.warm_up, measured: false },
            Block::measured(iteration(ops), self.iterations),
        ])
    }

    /// Returns the calls of a rank: receives behind its sends, as blocking calls, and in `MPI_Sendrecv` at once with
    /// them.
    fn exchange(&self, rank: u32) -> Vec<Op> {
        let right = (rank + 1) % self.ranks;
        let left = (rank + self.ranks - 1) % self.ranks;
        let send = |peer, tag| Op::Isend { peer: Rank::new(peer), tag, bytes: self.bytes.get() };
        let receive = |peer, tag| Op::Irecv { peer: Rank::new(peer), tag, bytes: self.bytes.get() };
        // Tags differ between what goes right and left: of two ranks both neighbours are one.
        let (to_right, to_left) = (BLOCKING, BLOCKING + 1);
        match self.test {
            ImbTest::PingPing | ImbTest::Sendrecv => {
                vec![send(right, to_right), receive(left, to_right), Op::WaitAll]
            }
            ImbTest::Exchange => vec![
                send(right, to_right),
                send(left, to_left),
                receive(left, to_right),
                receive(right, to_left),
                Op::WaitAll,
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bytes_sent, check, check_progress};

    #[test]
    fn ranks_send_to_one_neighbour_or_both() {
        for (test, messages) in [(ImbTest::PingPing, 1), (ImbTest::Sendrecv, 1), (ImbTest::Exchange, 2)] {
            let ranks = if test == ImbTest::PingPing { 2 } else { 5 };
            let imb = Imb { test, ranks, bytes: Bytes::new(100), warm_up: 2, iterations: 3 };
            let programs = imb.programs(1).unwrap();
            assert_eq!((check(&programs), check_progress(&programs)), (Ok(()), Ok(())), "{test:?}");
            assert!(programs.iter().all(|program| bytes_sent(program) == messages * 5 * 100), "{test:?}");
        }
    }
}
