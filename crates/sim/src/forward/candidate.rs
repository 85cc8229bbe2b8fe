//! Turns that may stand for others.

use etherweave_primitives::Time;

use super::{series::Prospect, series::Series, series::SkipLevel, standing::JobLoop};
use crate::report::ReportPart;

/// Turns that may stand for others, once they are known not to differ from what is expected.
pub(super) struct Candidate {
    pub prospect: Prospect,
    /// Number of turns at its start.
    pub start: usize,
    /// Loops of jobs at its start.
    pub loops: Vec<JobLoop>,
    /// Counters at its start.
    pub before: ReportPart,
    /// Time of its start.
    pub from: Time,
}

impl Candidate {
    /// Turns until as many have passed as it has.
    pub fn turns_left(&self, series: &Series) -> usize {
        self.prospect.turns - (series.len() - self.start)
    }

    /// Whether as many turns have passed as it has.
    pub fn is_over(&self, series: &Series) -> bool {
        self.turns_left(series) == 0
    }

    /// Whether ranks are in the loops of its start, and the last turn is as it says.
    pub fn is_expected(&self, series: &Series, loops: &[JobLoop]) -> bool {
        let is_same = self.loops.len() == loops.len() && self.loops.iter().zip(loops).all(|(a, b)| a.is_that_of(b));
        is_same && (self.prospect.level == SkipLevel::Steady || series.is_repeated(self.prospect.turns))
    }

    /// Repetitions of each job since its start; 0 where its ranks have not made enough.
    pub fn passes(&self, loops: &[JobLoop]) -> Vec<(u32, u32)> {
        let passes = |(before, after): (&JobLoop, &JobLoop)| {
            let [own, most, fewest] = [0, 1, 2].map(|side| after.done[side].saturating_sub(before.done[side]));
            let is_equal = self.prospect.level == SkipLevel::Steady || (own, own) == (most, fewest);
            (after.job, if is_equal && own <= after.done[2] { own } else { 0 })
        };
        self.loops.iter().zip(loops).map(passes).collect()
    }
}

/// Messages of the stream without end that completes fewest between two counts.
pub(super) fn fewest_messages(before: &ReportPart, after: &ReportPart) -> Option<u64> {
    let messages = |part: &ReportPart| -> Vec<_> {
        let endless = part.streams.iter().filter(|(_, row)| row.total == 0);
        endless.map(|(_, row)| row.messages).collect()
    };
    messages(before).into_iter().zip(messages(after)).map(|(before, after)| after - before).min()
}

/// How often all jobs can skip their repetitions and perform others after them.
pub(super) fn times_left(loops: &[JobLoop], passes: &[(u32, u32)]) -> u64 {
    let left = |own: &JobLoop| (own.times() - own.done[1]).saturating_sub(2);
    let times = loops.iter().zip(passes).map(|(own, &(_, passes))| u64::from(left(own) / passes.max(1)));
    times.min().unwrap_or(0)
}
