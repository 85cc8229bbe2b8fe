//! The bits of the number backwards.

use super::permuted::Permuted;
use crate::HostGroups;
use etherweave_primitives::InputError;

/// Host s to the host whose number has the bits of s backwards (`bit_reverse`; Dally and Towles, 2004, table 3.1).
/// Hosts whose number is a palindrome send nothing.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BitReverse {}

pub(super) type PatternPlan = Permuted;

impl BitReverse {
    pub(super) fn plan(&self, groups: &HostGroups, _seed: u64) -> Result<PatternPlan, InputError> {
        let hosts = groups.hosts();
        if !hosts.is_power_of_two() {
            let mistake = format!("{hosts} hosts");
            return Err(InputError::new("", mistake, "a power of two, so that every number has its reverse"));
        }
        let unused = 32 - hosts.trailing_zeros();
        Ok(Permuted::new(hosts, |host| host.reverse_bits() >> unused))
    }
}
