//! Only some pairs.

use super::permuted::Permuted;
use crate::{HostGroups, limits::within};
use etherweave_primitives::InputError;

/// Every packet of a listed source to its destination; other hosts send nothing (`listed`).
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Listed {
    /// Source and destination of each pair, hosts by number; each source once.
    pub pairs: Vec<[u32; 2]>,
}

pub(super) type PatternPlan = Permuted;

impl Listed {
    pub(super) fn plan(&self, groups: &HostGroups, _seed: u64) -> Result<PatternPlan, InputError> {
        let hosts = groups.hosts();
        let (mut partners, mut is_source): (Vec<u32>, _) = ((0..hosts).collect(), vec![false; hosts as usize]);
        for &[src, dst] in &self.pairs {
            for host in [src, dst] {
                within("pairs", host, 0..=hosts - 1)?;
            }
            let is_twice = std::mem::replace(&mut is_source[src as usize], true);
            InputError::unless(!is_twice, "pairs", format!("source {src} twice"), "each source once")?;
            partners[src as usize] = dst;
        }
        Ok(Permuted::new(hosts, |host| partners[host as usize]))
    }
}
