//! Patterns by turns: the phases of an iteration, over and over.

use etherweave_primitives::{Duration, HostId, InputError, Stream, Time, params};

use super::{Adversarial, Destinations, Pattern, Uniform};
use crate::{HostGroups, HostRange};

params! {
    /// Every pattern of a list for a time, then the next, after the last the first again (`alternating`).
    pub struct Alternating {
        /// The patterns in turn, at least one, none that changes with time itself.
        pub patterns: Vec<Pattern> =
            vec![Pattern::Uniform(Uniform::default()), Pattern::Adversarial(Adversarial::default())],
        /// Time for which each is active, above 0. The first begins with the run.
        pub period: Duration = Duration::from_us(50),
    }
}

#[derive(Clone, Debug)]
pub(super) struct PatternPlan {
    /// [ps]
    period: u64,
    turns: Box<[Destinations]>,
}

impl Alternating {
    pub(super) fn plan(&self, groups: &HostGroups, seed: u64) -> Result<PatternPlan, InputError> {
        if self.period.is_zero() {
            return Err(InputError::new("period", "0", "a time above 0"));
        }
        if self.patterns.is_empty() {
            return Err(InputError::new("patterns", "none", "one pattern or more"));
        }
        if let Some(pattern) = self.patterns.iter().find(|pattern| pattern.changes()) {
            return Err(InputError::new("patterns", pattern.name(), "patterns that do not change with time"));
        }
        let plan = |(number, pattern): (usize, &Pattern)| {
            pattern.plan(groups, seed).map_err(|error| error.within(&format!("patterns.{number}")))
        };
        let turns = self.patterns.iter().enumerate().map(plan).collect::<Result<_, _>>()?;
        Ok(PatternPlan { period: self.period.as_ps(), turns })
    }
}

impl PatternPlan {
    #[inline]
    pub(super) fn destination(&self, src: HostId, now: Time, random: &mut Stream) -> Option<HostId> {
        self.turns[self.phase(now)].destination(src, now, random)
    }

    pub(super) fn shares(&self, src: HostId, now: Time, each: &mut dyn FnMut(HostRange, f64)) {
        self.turns[self.phase(now)].shares(src, now, each);
    }

    /// Returns the number of the pattern whose turn it is.
    #[inline]
    pub(super) fn phase(&self, now: Time) -> usize {
        (now.as_ps() / self.period % self.turns.len() as u64) as usize
    }

    pub(super) fn phases(&self) -> &[Destinations] {
        &self.turns
    }
}
