//! The number counted from the other end.

use super::permuted::Permuted;
use crate::HostGroups;
use etherweave_primitives::InputError;

/// Host s to host n − 1 − s (`bit_complement`): where n is a power of two, all bits inverted (Dally and Towles, 2004,
/// table 3.1). Of an odd number the host in the middle sends nothing.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BitComplement {}

pub(super) type PatternPlan = Permuted;

impl BitComplement {
    pub(super) fn plan(&self, groups: &HostGroups, _seed: u64) -> Result<PatternPlan, InputError> {
        let hosts = groups.hosts();
        Ok(Permuted::new(hosts, |host| hosts - 1 - host))
    }
}
