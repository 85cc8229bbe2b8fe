//! Only some pairs.

use super::permuted::Permuted;
use crate::HostGroups;
use crate::limits::within;
use etherweave_primitives::InputError;

/// Every packet of a listed source to its destination; other hosts send nothing (`listed`).
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Listed {
    /// Source and destination of each pair; the last counts of those with the same source.
    pub pairs: Vec<[u32; 2]>,
}

pub(super) type PatternPlan = Permuted;

impl Listed {
    pub(super) fn plan(&self, groups: &HostGroups, _seed: u64) -> Result<PatternPlan, InputError> {
        let hosts = groups.hosts();
        let mut partners: Vec<u32> = (0..hosts).collect();
        for &[src, dst] in &self.pairs {
            for host in [src, dst] {
                within("pairs", host, 0..=hosts - 1)?;
            }
            partners[src as usize] = dst;
        }
        Ok(Permuted::new(hosts, |host| partners[host as usize]))
    }
}
