//! All of a group to one other group: the worst for minimal routing on a dragonfly.

use etherweave_primitives::{HostId, Stream, Time};

use crate::{Groups, HostRange, WorkloadError};

/// Every packet of group g to any host of group g + `offset`, all alike (`adversarial`; ADV+k).
///
/// On a dragonfly all of it shares one global channel of minimal routes (Kim et al., *Technology-Driven,
/// Highly-Scalable Dragonfly Topology*, ISCA 2008; Jiang et al., *Indirect Adaptive Routing on Large Scale
/// Interconnection Networks*, ISCA 2009).
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Adversarial {
    /// How many groups further, modulo their number: no multiple of it.
    pub offset: u32,
}

impl Default for Adversarial {
    fn default() -> Adversarial {
        Adversarial { offset: 1 }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Plan {
    group_of: Box<[u32]>,
    /// Of each group, the hosts to which it sends.
    targets: Box<[HostRange]>,
}

impl Adversarial {
    pub(super) fn plan(&self, groups: &Groups, _seed: u64) -> Result<Plan, WorkloadError> {
        let count = groups.count();
        if self.offset.is_multiple_of(count) {
            let found = format!("{} among {count} groups", self.offset);
            return Err(WorkloadError::new("offset", found, format!("no multiple of {count}, which leads back")));
        }
        let mut targets: Box<[HostRange]> = groups.ranges().into();
        targets.rotate_left((self.offset % count) as usize);
        Ok(Plan { group_of: groups.of_each_host(), targets })
    }
}

impl Plan {
    #[inline]
    pub(super) fn destination(&self, src: HostId, _: Time, random: &mut Stream) -> Option<HostId> {
        Some(self.targets[self.group_of[src.index()] as usize].any(random))
    }
}
