//! Schedule of a pattern that is made of several, as data: the active one of them at each time.

use etherweave_primitives::Time;

use super::{Destinations, Pattern, PatternPlan};

impl Pattern {
    /// Whether destinations depend on when a packet is made.
    pub fn changes(&self) -> bool {
        matches!(self, Pattern::Switching(_) | Pattern::Alternating(_))
    }
}

impl Destinations {
    /// The destinations of every phase, none of which changes with time; of a pattern that does not change itself.
    pub fn phases(&self) -> Vec<&Destinations> {
        match &self.0 {
            PatternPlan::Switching(plan) => plan.sides().into_iter().flat_map(Destinations::phases).collect(),
            PatternPlan::Alternating(plan) => plan.phases().iter().collect(),
            _ => vec![self],
        }
    }

    /// The number, among [`Destinations::phases`], of the one that is active at `now`.
    #[inline]
    pub fn phase(&self, now: Time) -> usize {
        match &self.0 {
            PatternPlan::Switching(plan) => plan.phase(now),
            PatternPlan::Alternating(plan) => plan.phase(now),
            _ => 0,
        }
    }
}
