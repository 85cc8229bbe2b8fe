//! All of a group to one other group: the worst for minimal routing on a dragonfly.

use etherweave_primitives::{HostId, InputError, Stream, Time, params};

use crate::{HostGroups, HostRange};

params! {
    /// Every packet of group g to any host of group g + `offset`, all alike (`adversarial`; ADV+k).
    ///
    /// On a dragonfly all of it shares one global channel of minimal routes (Kim et al., *Technology-Driven,
    /// Highly-Scalable Dragonfly Topology*, ISCA 2008; Jiang et al., *Indirect Adaptive Routing on Large Scale
    /// Interconnection Networks*, ISCA 2009).
    pub struct Adversarial {
        /// Distance to the receiver in groups, modulo their number: no multiple of it.
        pub offset: u32 = 1,
        /// Hosts of a switch, where a packet goes only to those of the one switch that has the place of its own switch
        /// in that group: groups of one size that this divides. Without it to all hosts of the group.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub hosts_per_switch: Option<u32> = None,
    }
}

#[derive(Clone, Debug)]
pub(super) struct PatternPlan {
    /// The group of each host, or its switch.
    part_of: Box<[u32]>,
    /// Hosts to which each group or switch sends.
    targets: Box<[HostRange]>,
}

impl Adversarial {
    pub(super) fn plan(&self, groups: &HostGroups, _seed: u64) -> Result<PatternPlan, InputError> {
        let count = groups.count();
        if self.offset.is_multiple_of(count) {
            let mistake = format!("{} among {count} groups", self.offset);
            return Err(InputError::new("offset", mistake, format!("no multiple of {count}, which leads back")));
        }
        let parts = self.parts(groups)?;
        let mut targets: Box<[HostRange]> = parts.ranges().into();
        targets.rotate_left((self.offset % count * (parts.count() / count)) as usize);
        Ok(PatternPlan { part_of: parts.of_each_host(), targets })
    }

    /// The hosts that share their destinations: those of a group, or of a switch.
    fn parts(&self, groups: &HostGroups) -> Result<HostGroups, InputError> {
        let Some(size) = self.hosts_per_switch else { return Ok(groups.clone()) };
        match groups.equal_size() {
            Some(group) if size > 0 && group.is_multiple_of(size) => {
                HostGroups::new(&vec![size; (groups.hosts() / size) as usize])
            }
            Some(group) => {
                let expected = format!("a divisor of the {group} hosts of a group");
                Err(InputError::new("hosts_per_switch", size.to_string(), expected))
            }
            None => Err(InputError::new("hosts_per_switch", "groups of unequal sizes", "groups of one size")),
        }
    }
}

impl PatternPlan {
    #[inline]
    pub(super) fn destination(&self, src: HostId, _: Time, random: &mut Stream) -> Option<HostId> {
        Some(self.targets[self.part_of[src.index()] as usize].any(random))
    }

    pub(super) fn shares(&self, src: HostId, _: Time, each: &mut dyn FnMut(HostRange, f64)) {
        let target = self.targets[self.part_of[src.index()] as usize];
        each(target, 1.0 / f64::from(target.hosts));
    }
}
