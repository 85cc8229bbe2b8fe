//! The next in each ring.

use super::{lattice::moved, permuted::Permuted};
use crate::HostGroups;
use etherweave_primitives::InputError;

/// Traffic to the next point in each dimension (`neighbour`; Dally and Towles, 2004, table 3.1).
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Neighbour {
    /// Points per dimension, first dimension fastest, each with equally many consecutive hosts, at least one of them
    /// 2 or more; none: the groups, equal in size, as one ring.
    pub extents: Vec<u32>,
}

pub(super) type PatternPlan = Permuted;

impl Neighbour {
    pub(super) fn plan(&self, groups: &HostGroups, _seed: u64) -> Result<PatternPlan, InputError> {
        moved(&self.extents, groups, |_| 1)
    }
}
