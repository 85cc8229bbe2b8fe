//! One pattern, then another: what adaptive routing must react to.

use etherweave_primitives::{Duration, HostId, InputError, Stream, Time, params};

use super::{Adversarial, Destinations, Pattern, Uniform};
use crate::{HostGroups, HostRange};

params! {
    /// One pattern up to an instant, another from there on (`switching`): the transient experiment of Jiang et al.,
    /// 2009.
    pub struct Switching {
        /// The pattern at first, none that switches.
        pub from: Box<Pattern> = Box::new(Pattern::Uniform(Uniform::default())),
        /// The pattern from then on, which may itself switch, later.
        pub to: Box<Pattern> = Box::new(Pattern::Adversarial(Adversarial::default())),
        /// Time from the start of the run.
        pub at: Duration = Duration::from_us(50),
    }
}

#[derive(Clone, Debug)]
pub(super) struct PatternPlan {
    at: Time,
    /// Phases of `from`.
    from_phases: usize,
    from: Box<Destinations>,
    to: Box<Destinations>,
}

impl Switching {
    /// When the last pattern becomes active, counted from the start of the run.
    pub fn last(&self) -> Duration {
        match &*self.to {
            Pattern::Switching(next) => next.last(),
            _ => self.at,
        }
    }

    pub(super) fn plan(&self, groups: &HostGroups, seed: u64) -> Result<PatternPlan, InputError> {
        if let Pattern::Switching(_) = *self.from {
            let expected = "a pattern that does not switch; `to` may";
            return Err(InputError::new("from", "switching", expected));
        }
        match &*self.to {
            Pattern::Switching(next) if next.at <= self.at => {
                let mistake = format!("{} after a switch at {}", next.at, self.at);
                return Err(InputError::new("at", mistake, "later switches at later times"));
            }
            _ => {}
        }
        let plan = |pattern: &Pattern, key| pattern.plan(groups, seed).map(Box::new).map_err(|error| error.within(key));
        let (from, to) = (plan(&self.from, "from")?, plan(&self.to, "to")?);
        Ok(PatternPlan { at: Time::ZERO + self.at, from_phases: from.phases().len(), from, to })
    }
}

impl PatternPlan {
    #[inline]
    pub(super) fn destination(&self, src: HostId, now: Time, random: &mut Stream) -> Option<HostId> {
        self.at(now).destination(src, now, random)
    }

    pub(super) fn shares(&self, src: HostId, now: Time, each: &mut dyn FnMut(HostRange, f64)) {
        self.at(now).shares(src, now, each);
    }

    pub(super) fn sides(&self) -> [&Destinations; 2] {
        [&self.from, &self.to]
    }

    #[inline]
    pub(super) fn phase(&self, now: Time) -> usize {
        if now < self.at { self.from.phase(now) } else { self.from_phases + self.to.phase(now) }
    }

    #[inline]
    fn at(&self, now: Time) -> &Destinations {
        if now < self.at { &self.from } else { &self.to }
    }
}
