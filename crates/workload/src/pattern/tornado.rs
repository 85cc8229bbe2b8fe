//! Nearly half of the way around each ring.

use super::{lattice::moved, permuted::Permuted};
use crate::HostGroups;
use etherweave_primitives::InputError;

/// Traffic to the point ⌈k/2⌉ − 1 further in each dimension of extent k (`tornado`; Dally and Towles, 2004, table 3.1):
/// minimal routes all turn the same way, and half of each ring lies idle. From group to group it is adversarial, host
/// by host.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tornado {
    /// Points per dimension, first dimension fastest, each with equally many consecutive hosts, at least one of them
    /// 3 or more; none: the groups, equal in size, as one ring.
    pub extents: Vec<u32>,
}

pub(super) type PatternPlan = Permuted;

impl Tornado {
    pub(super) fn plan(&self, groups: &HostGroups, _seed: u64) -> Result<PatternPlan, InputError> {
        moved(&self.extents, groups, |extent| extent.div_ceil(2) - 1)
    }
}
