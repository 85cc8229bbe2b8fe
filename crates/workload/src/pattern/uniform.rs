//! Any other host, all alike.

use etherweave_primitives::{HostId, InputError, Stream, Time};

use crate::{HostGroups, HostRange};

/// Every packet to any other host, all alike (`uniform`; UN).
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Uniform {}

#[derive(Clone, Debug)]
pub(super) struct PatternPlan {
    all: HostRange,
}

impl Uniform {
    pub(super) fn plan(&self, groups: &HostGroups, _seed: u64) -> Result<PatternPlan, InputError> {
        Ok(PatternPlan { all: groups.all() })
    }
}

impl PatternPlan {
    #[inline]
    pub(super) fn destination(&self, src: HostId, _: Time, random: &mut Stream) -> Option<HostId> {
        Some(self.all.any_but(HostRange::of(src), random))
    }

    pub(super) fn shares(&self, src: HostId, _: Time, each: &mut dyn FnMut(HostRange, f64)) {
        self.all.share_but(HostRange::of(src), 1.0, each);
    }
}
