//! Turns that may stand for others.

use etherweave_primitives::Time;

use super::{messages::MessagePlace, series::Prospect, series::Series, series::SkipLevel, standing::JobLoop};
use crate::report::ReportPart;

/// Parts of a run that go on: loops of jobs, or messages where no rank is in a loop.
#[derive(Clone, Default, Debug)]
pub(super) struct Places {
    pub loops: Vec<JobLoop>,
    pub messages: Vec<MessagePlace>,
}

/// Progress between two places: repetitions of each job, or bytes of each message by the number of its sender.
#[derive(Clone, Default, Debug)]
pub(super) struct Passes {
    pub loops: Vec<(u32, u32)>,
    pub messages: Vec<(u32, u64)>,
}

impl Places {
    /// Whether the same loops and messages go on.
    fn are_those_of(&self, other: &Places) -> bool {
        let is_same_loop = |(own, other): (&JobLoop, &JobLoop)| own.is_that_of(other);
        let is_same_message = |(own, other): (&MessagePlace, &MessagePlace)| own.message() == other.message();
        (self.loops.len(), self.messages.len()) == (other.loops.len(), other.messages.len())
            && self.loops.iter().zip(&other.loops).all(is_same_loop)
            && self.messages.iter().zip(&other.messages).all(is_same_message)
    }

    /// How often all can skip what has passed and go on behind it.
    pub fn times_left(&self, passes: &Passes) -> u64 {
        let left = |own: &JobLoop| (own.times() - own.done[1]).saturating_sub(2);
        let loops = self.loops.iter().zip(&passes.loops);
        let loops = loops.map(|(own, &(_, passes))| u64::from(left(own) / passes.max(1)));
        let messages = self.messages.iter().zip(&passes.messages);
        loops.chain(messages.map(|(own, &(_, bytes))| own.times_left(bytes))).min().unwrap_or(0)
    }
}

/// Turns that may stand for others, once they are known not to differ from what is expected.
pub(super) struct Candidate {
    pub prospect: Prospect,
    /// Number of turns at its start.
    pub start: usize,
    /// Loops and messages at its start.
    pub places: Places,
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

    /// Whether loops and messages are those of its start, and the last turn is as it says.
    pub fn is_expected(&self, series: &Series, places: &Places) -> bool {
        self.places.are_those_of(places)
            && (self.prospect.level == SkipLevel::Steady || series.is_repeated(self.prospect.turns))
    }

    /// Progress since its start: of a job no repetition where its ranks have not made enough.
    pub fn passes(&self, places: &Places) -> Passes {
        let passes = |(before, after): (&JobLoop, &JobLoop)| {
            let [own, most, fewest] = [0, 1, 2].map(|side| after.done[side].saturating_sub(before.done[side]));
            let is_equal = self.prospect.level == SkipLevel::Steady || (own, own) == (most, fewest);
            (after.job, if is_equal && own <= after.done[2] { own } else { 0 })
        };
        let passed = |(before, after): (&MessagePlace, &MessagePlace)| (after.sender, after.passed(before));
        Passes {
            loops: self.places.loops.iter().zip(&places.loops).map(passes).collect(),
            messages: self.places.messages.iter().zip(&places.messages).map(passed).collect(),
        }
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
