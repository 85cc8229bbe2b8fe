//! The one-sided tests of the OSU Micro-Benchmarks: rank 0 reaches into the memory of rank 1, which waits in a barrier.
//!
//! Windows are locked once by `MPI_Win_lock` and every operation or window ends with `MPI_Win_flush`, the tools'
//! default. Source: OSU Micro-Benchmarks 7.4, `c/mpi/one-sided`.

use etherweave_primitives::{Bytes, InputError, InputErrors, Rank, params};

use crate::collective::{Collective, Communicator, Rule};
use crate::limits::{MESSAGE_MAX, WINDOW_MAX, at_least, at_most, within};
use crate::{Block, Op, Program, RankWorkload, program::Access, program::iteration};

/// A word of `osu_fop_latency` and `osu_cas_latency` [B].
const WORD: Bytes = Bytes::new(8);

params! {
    /// Latency (`osu_put_latency`, `osu_get_latency`, `osu_acc_latency`, `osu_get_acc_latency`, `osu_fop_latency`,
    /// `osu_cas_latency`). An iteration is one operation and its flush, whose mean the tools report.
    pub struct OsuOneSidedLatency {
        /// One-sided operation.
        pub access: Access = Access::Put,
        /// Payload [B], 1 or more; 8 of a fetch-and-op or a compare-and-swap.
        pub bytes: Bytes = WORD,
        /// Operations that are not measured.
        pub warm_up: u32 = 10,
        /// Operations that are measured, 1 or more.
        pub iterations: u32 = 1_000,
    }
}

params! {
    /// Bandwidth (`osu_put_bw`, `osu_get_bw`, `osu_put_bibw`). An iteration is a window of operations and its flush;
    /// the tools report `window · bytes · iterations / time`, of puts in both directions twice that.
    pub struct OsuOneSidedBw {
        /// One-sided operation: `put` or `get`.
        pub access: Access = Access::Put,
        /// Payload of one [B], 1 or more.
        pub bytes: Bytes = Bytes::new(4 << 20),
        /// Operations that are posted at once, 1 or more.
        pub window: u32 = 64,
        /// Whether both ranks put at once, as in `osu_put_bibw`.
        pub bidirectional: bool = false,
        /// Windows that are not measured.
        pub warm_up: u32 = 2,
        /// Windows that are measured, 1 or more.
        pub iterations: u32 = 20,
    }
}

impl RankWorkload for OsuOneSidedLatency {
    fn ranks(&self) -> u64 {
        2
    }

    /// Rank 0 works, rank 1 waits for its end.
    ///
    /// # Errors
    /// When there is nothing to move or to measure.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, _: u64) -> Result<Vec<Program>, InputErrors> {
        let is_sized = !self.access.is_of_a_word() || self.bytes == WORD;
        InputErrors::all([
            is_sound(self.bytes, self.iterations),
            InputError::unless(is_sized, "bytes", self.bytes, "8B, a word, for fetch_and_op and compare_and_swap"),
        ])?;
        Ok(ranks.map(program(self.access, self.bytes, 1, false, [self.warm_up, self.iterations])).collect())
    }
}

impl RankWorkload for OsuOneSidedBw {
    fn ranks(&self) -> u64 {
        2
    }

    /// Rank 0 works, rank 1 waits for its end or works too.
    ///
    /// # Errors
    /// When there is nothing to move or to measure, or what is asked for is neither put nor get.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, _: u64) -> Result<Vec<Program>, InputErrors> {
        let moves = matches!(self.access, Access::Put | Access::Get);
        InputErrors::all([
            is_sound(self.bytes, self.iterations),
            within("window", self.window, 1..=WINDOW_MAX),
            InputError::unless(
                moves,
                "access",
                "an operation on what is there",
                "put or get: others have no bandwidth",
            ),
            InputError::unless(
                !self.bidirectional || self.access == Access::Put,
                "bidirectional",
                "true",
                "access = \"put\": the tool puts in both directions",
            ),
        ])?;
        let window = self.window as usize;
        Ok(ranks
            .map(program(self.access, self.bytes, window, self.bidirectional, [self.warm_up, self.iterations]))
            .collect())
    }
}

fn is_sound(bytes: Bytes, iterations: u32) -> Result<(), InputError> {
    InputError::unless(bytes != Bytes::ZERO, "bytes", "0B", "at least 1B")?;
    at_most("bytes", bytes, MESSAGE_MAX)?;
    at_least("iterations", iterations, 1)
}

/// A barrier, what is not timed, what is, and the barrier in which rank 1 waits all the while, or after its own puts.
fn program(
    access: Access,
    bytes: Bytes,
    window: usize,
    bidirectional: bool,
    [warm_up, iterations]: [u32; 2],
) -> impl Fn(u32) -> Program {
    let barrier = |rank| Block::unmeasured(Collective::Barrier.lower(&Rule::default(), &Communicator::world(2), rank));
    move |rank| {
        if rank == 1 && !bidirectional {
            return Program::new([barrier(1), barrier(1)]);
        }
        let mut turn = vec![Op::OneSided { access, peer: Rank::new(1 - rank), bytes: bytes.get() }; window];
        turn.push(Op::WaitAll);
        Program::new([
            barrier(rank),
            Block { ops: turn.clone().into(), repeat: warm_up, measured: false },
            Block::measured(if rank == 0 { iteration(turn) } else { turn }, iterations),
            barrier(rank),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Goal, Schedule, Traffic, bytes_sent, check, check_progress};

    #[test]
    fn a_put_sends_its_bytes_and_a_get_none() {
        let sent = |access| {
            let latency = OsuOneSidedLatency { access, bytes: Bytes::new(100), warm_up: 2, iterations: 5 };
            let programs = latency.programs(1).unwrap();
            assert_eq!((check(&programs), check_progress(&programs)), (Ok(()), Ok(())));
            bytes_sent(&programs[0]) - bytes_sent(&programs[1])
        };
        assert_eq!([Access::Put, Access::Get, Access::Accumulate].map(sent), [700, 0, 700]);
    }

    #[test]
    fn puts_bidirectional_are_those_of_both_ranks_and_the_clock_is_that_of_the_first() {
        let bytes = Bytes::new(100);
        let both = OsuOneSidedBw { bytes, bidirectional: true, warm_up: 0, iterations: 2, ..OsuOneSidedBw::default() };
        let programs = both.programs(1).unwrap();
        assert!(programs.iter().all(|program| bytes_sent(program) >= 2 * 64 * 100));
        assert_eq!(programs.iter().map(Program::iterations).collect::<Vec<_>>(), [2, 0]);
    }

    #[test]
    fn files_of_sends_and_receives_refuse_one_sided_operations() {
        let traffic = Traffic::Ranks(OsuOneSidedLatency::default().programs(1).unwrap());
        let goal = Goal::write(&traffic, &mut Vec::new()).unwrap_err().to_string();
        let schedule = Schedule::new("put", traffic).to_bytes().unwrap_err().to_string();
        assert!(goal.contains("one-sided operations; expected sends and receives: GOAL has no windows"), "{goal}");
        assert!(schedule.contains("the executor has no windows of memory for put, get"), "{schedule}");
    }
}
