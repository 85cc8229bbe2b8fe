//! Gaps without memory.

use super::{HostArrivals, Offered, exponential};
use etherweave_primitives::InputError;

/// A Poisson process (`poisson`): exponential gaps, independent of earlier ones; M in queueing theory.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Poisson {}

#[derive(Clone, Debug)]
pub(super) struct GapPlan {
    /// [2^-16 ps].
    mean: u64,
}

impl Poisson {
    pub(super) fn plan(&self, offered: Offered) -> Result<GapPlan, InputError> {
        Ok(GapPlan { mean: offered.period() })
    }
}

impl GapPlan {
    #[inline]
    pub(super) fn gap(&self, host: &mut HostArrivals) -> u128 {
        exponential(self.mean, &mut host.random)
    }
}
