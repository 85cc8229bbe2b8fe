//! A share within the group, of which a share stays in the leaf, the rest out of it.

use std::hint::select_unpredictable;

use etherweave_primitives::{HostId, InputError, Stream, Time, params};

use crate::{HostGroups, HostRange, Share};

params! {
    /// A share of the packets to any other host of the own group, the rest to any host of the others (`group_local`).
    /// With `leaf_share` a part of that share stays in the own leaf, and the rest of it goes to other leaves of the
    /// group: locality within leaf and pod.
    pub struct GroupLocal {
        /// Share that stays in the group: 0 where a group has one host, 1 where there is one group.
        pub share: Share = Share::percent(50),
        /// Share that stays in the leaf, at most `share`, of which it is part. Default: leaves make no difference.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub leaf_share: Option<Share> = None,
        /// Hosts of a leaf, consecutive ones of a group. Default: of `flows` as the fabric has them.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub leaf_hosts: Option<u32> = None,
    }
}

#[derive(Clone, Debug)]
pub(super) struct PatternPlan {
    all: HostRange,
    group_of: Box<[u32]>,
    groups: Box<[HostRange]>,
    share: Share,
    leaf_share: Share,
    /// Hosts of a leaf: without leaves each host is one.
    leaf_hosts: u32,
}

impl GroupLocal {
    pub(super) fn plan(&self, groups: &HostGroups, _seed: u64) -> Result<PatternPlan, InputError> {
        let leaf_hosts = self.leaf_hosts(groups)?;
        let leaf_share = self.leaf_share.unwrap_or(Share::NONE);
        let refuse = |why: String, expected: String| {
            Err(InputError::new("share", format!("{} where {why}", self.share), expected))
        };
        if self.share < Share::ALL && groups.count() == 1 {
            return refuse("there is one group".into(), "1".into());
        }
        let alone = groups.ranges().iter().position(|range| range.hosts == leaf_hosts);
        match alone {
            Some(group) if self.share > leaf_share => {
                let part = if leaf_hosts == 1 { "host" } else { "leaf" };
                refuse(format!("group {group} has one {part}"), leaf_share.to_string())
            }
            _ => Ok(PatternPlan {
                all: groups.all(),
                group_of: groups.of_each_host(),
                groups: groups.ranges().into(),
                share: self.share,
                leaf_share,
                leaf_hosts,
            }),
        }
    }

    /// Hosts of a leaf, of which groups consist.
    fn leaf_hosts(&self, groups: &HostGroups) -> Result<u32, InputError> {
        let Some(leaf_share) = self.leaf_share else {
            let expected = "none without leaf_share";
            return InputError::unless(self.leaf_hosts.is_none(), "leaf_hosts", "no effect", expected).map(|()| 1);
        };
        let expected = format!("at most share, {}, of which it is part", self.share);
        InputError::unless(leaf_share <= self.share, "leaf_share", leaf_share, expected)?;
        let hosts = self.leaf_hosts.ok_or_else(|| InputError::new("leaf_hosts", "none", "hosts of a leaf"))?;
        let divides = |range: &HostRange| hosts > 0 && range.hosts.is_multiple_of(hosts);
        let odd = groups.ranges().iter().find(|range| !divides(range));
        let expected = odd.map_or(String::new(), |range| format!("a divisor of {}, the hosts of a group", range.hosts));
        InputError::unless(odd.is_none(), "leaf_hosts", hosts, expected)?;
        let has_others = hosts > 1 || leaf_share == Share::NONE;
        InputError::unless(has_others, "leaf_share", format!("{leaf_share} where a leaf has one host"), "0")?;
        Ok(hosts)
    }
}

impl PatternPlan {
    #[inline]
    pub(super) fn destination(&self, src: HostId, _: Time, random: &mut Stream) -> Option<HostId> {
        let (own, leaf) = self.around(src);
        let part = random.below(Share::PARTS);
        if part < self.leaf_share.parts() {
            return Some(leaf.any_but(HostRange::of(src), random));
        }
        let stays = part < self.share.parts();
        // One draw from either of two ranges: a branch would be mispredicted as often as not.
        let range = select_unpredictable(stays, own, self.all);
        let hole = select_unpredictable(stays, leaf, own);
        Some(range.any_but(hole, random))
    }

    /// Group and leaf of a host.
    #[inline]
    fn around(&self, src: HostId) -> (HostRange, HostRange) {
        let own = self.groups[self.group_of[src.index()] as usize];
        if self.leaf_hosts == 1 {
            return (own, HostRange::of(src));
        }
        let first = src.get() - (src.get() - own.first) % self.leaf_hosts;
        (own, HostRange { first, hosts: self.leaf_hosts })
    }

    pub(super) fn shares(&self, src: HostId, _: Time, each: &mut dyn FnMut(HostRange, f64)) {
        let (own, leaf) = self.around(src);
        let [share, leaf_share] = [self.share, self.leaf_share].map(f64::from);
        leaf.share_but(HostRange::of(src), leaf_share, each);
        own.share_but(leaf, share - leaf_share, each);
        self.all.share_but(own, 1.0 - share, each);
    }
}
