//! A permutation drawn once for the run.

use etherweave_primitives::{InputError, Purpose, Stream};

use super::permuted::Permuted;
use crate::{HostGroups, family::derangement};

/// A permutation drawn from the run's seed (`random_permutation`).
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RandomPermutation {
    /// Whether a host may be its own partner, and then sends nothing. One is on average, of however many.
    pub fixed_points: bool,
}

pub(super) type PatternPlan = Permuted;

impl RandomPermutation {
    pub(super) fn plan(&self, groups: &HostGroups, seed: u64) -> Result<PatternPlan, InputError> {
        let hosts = groups.hosts();
        if !self.fixed_points {
            let partners = derangement(hosts, seed);
            return Ok(Permuted::new(hosts, |host| partners[host as usize].get()));
        }
        let mut partners: Vec<u32> = (0..hosts).collect();
        Stream::new(seed, Purpose::Traffic, u64::from(hosts)).shuffle(&mut partners);
        Ok(Permuted::new(hosts, |host| partners[host as usize]))
    }
}
