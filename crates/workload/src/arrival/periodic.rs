//! Equal gaps, and hosts in step or not.

use super::{HostArrivals, Offered};
use etherweave_primitives::InputError;

/// A packet every so often (`periodic`).
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Periodic {
    /// First packet of each host.
    pub phase: FirstArrival,
}

/// First packet of a host of equal gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FirstArrival {
    /// Each at a random time within the first period.
    #[default]
    Random,
    /// All at the start, and together ever after.
    Aligned,
}

#[derive(Clone, Debug)]
pub(super) struct GapPlan {
    /// [2^-16 ps].
    period: u64,
    phase: FirstArrival,
}

impl Periodic {
    pub(super) fn plan(&self, offered: Offered) -> Result<GapPlan, InputError> {
        Ok(GapPlan { period: offered.period(), phase: self.phase })
    }
}

impl GapPlan {
    #[inline]
    pub(super) fn gap(&self, host: &mut HostArrivals) -> u128 {
        if std::mem::replace(&mut host.started, true) {
            return u128::from(self.period);
        }
        match self.phase {
            FirstArrival::Random => u128::from(host.random.below(self.period)),
            FirstArrival::Aligned => 0,
        }
    }
}
