//! Rounds of a graph that a repetition stands for more of, and a bound of its error.

use etherweave_kernel::{RowNames, rows};
use etherweave_primitives::{Duration, Time};
use etherweave_workload::GraphOp;

rows! {
    /// Rounds of a rank that one repetition stands for. Of several iterations that with the largest error.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct RepetitionRow in RowNames<'n>, "repetitions" {
        /// Job.
        job: u32 ["job" = |row, names| names.job(row.job)];
        /// Rank in its job.
        rank: u32 ["rank"];
        /// Host.
        host: u32 ["host" = |row, names| names.host(row.host)];
        /// Rounds that are left out.
        left_out: u32 ["left_out"];
        /// Rounds that are simulated and compared.
        compared: u32 ["compared"];
        /// Difference between the longest and the shortest of these, times those left out.
        error: Duration ["error_ns"];
        /// Time of the last of them in which no operation computed.
        waited: Duration ["waited_ns"];
    }
}

/// Rounds that are left out, those that are compared, the bound of their error, and what the last of them waited.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(super) struct Repetition {
    pub error: Duration,
    pub waited: Duration,
    pub left_out: u32,
    pub compared: u32,
}

/// Ends of rounds of the present iteration. The round until the first end is none: it fills a pipeline.
#[derive(Default)]
pub(super) struct Rounds {
    ends: Vec<Time>,
    /// Computation of the present round.
    computed: Duration,
    /// The repetition of any iteration whose error is largest.
    pub repetition: Option<Repetition>,
}

impl Rounds {
    /// Begins an iteration.
    pub fn begin(&mut self) {
        self.ends.clear();
    }

    /// An operation, or the computation that a repetition is.
    #[inline]
    pub fn timed(&mut self, op: GraphOp, now: Time) -> GraphOp {
        match op {
            GraphOp::Compute { duration } | GraphOp::Transfer { duration, .. } => self.computed += duration,
            GraphOp::Repeat { times, per } => return self.repeated(op, times, per, now),
            GraphOp::Send { .. } | GraphOp::Receive { .. } | GraphOp::Copy { .. } => {}
        }
        op
    }

    fn repeated(&mut self, op: GraphOp, times: u32, per: u32, now: Time) -> GraphOp {
        self.ends.push(now);
        let computed = std::mem::take(&mut self.computed);
        if times == 0 {
            return op.repeated(Duration::ZERO);
        }
        self.repetition = self.repetition.max(Some(self.compared(times, computed)));
        op.repeated(now.since(self.ends[self.ends.len() - 1 - per as usize]))
    }

    /// The bound, as long as no round that is left out is longer or shorter than all that are compared.
    /// Messages in flight arrive while the repetition takes its time, which saves what the round waited at most.
    fn compared(&self, left_out: u32, computed: Duration) -> Repetition {
        let rounds = || self.ends.windows(2).map(|ends| ends[1].since(ends[0]));
        let (longest, shortest) = (rounds().max().unwrap_or_default(), rounds().min().unwrap_or_default());
        let last = rounds().next_back().unwrap_or_default();
        let waited = last - computed.min(last);
        let error = (longest - shortest) * u64::from(left_out);
        Repetition { error, waited, left_out, compared: rounds().count() as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds end at 5, 8, 12 and 15 us: of 3, 4 and 3 us, the last two with a mean of 3.5 us. The last one computes
    /// for 2 us. Ten more are left out.
    #[test]
    fn the_error_is_the_difference_of_rounds_times_those_left_out() {
        let (at, mark) = (|us| Time::ZERO + Duration::from_us(us), GraphOp::Repeat { times: 0, per: 1 });
        let mut rounds = Rounds::default();
        for end in [5, 8, 12] {
            assert_eq!(rounds.timed(mark, at(end)), GraphOp::Compute { duration: Duration::ZERO });
        }
        rounds.timed(GraphOp::Compute { duration: Duration::from_us(2) }, at(12));
        let timed = rounds.timed(GraphOp::Repeat { times: 10, per: 2 }, at(15));
        assert_eq!(timed, GraphOp::Compute { duration: Duration::from_us(35) });
        let (error, waited) = (Duration::from_us(10), Duration::from_us(1));
        assert_eq!(rounds.repetition, Some(Repetition { error, waited, left_out: 10, compared: 3 }));
    }
}
