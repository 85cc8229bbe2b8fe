//! A share within the group, the rest out of it.

use std::hint::select_unpredictable;

use etherweave_primitives::{HostId, InputError, Stream, Time, params};

use super::is_in;
use crate::{HostGroups, HostRange, Share};

params! {
    /// A share of the packets to any other host of the own group, the rest to any host of the others (`group_local`).
    pub struct GroupLocal {
        /// Share that stays in the group: 0 where a group has one host, 1 where there is one group.
        pub share: Share = Share::percent(50),
    }
}

#[derive(Clone, Debug)]
pub(super) struct PatternPlan {
    all: HostRange,
    group_of: Box<[u32]>,
    groups: Box<[HostRange]>,
    share: Share,
}

impl GroupLocal {
    pub(super) fn plan(&self, groups: &HostGroups, _seed: u64) -> Result<PatternPlan, InputError> {
        let refuse =
            |why: String, expected| Err(InputError::new("share", format!("{} where {why}", self.share), expected));
        if self.share < Share::ALL && groups.count() == 1 {
            return refuse("there is one group".into(), "1");
        }
        let alone = groups.ranges().iter().position(|range| range.hosts == 1);
        match alone {
            Some(group) if self.share > Share::NONE => refuse(format!("group {group} has one host"), "0"),
            _ => Ok(PatternPlan {
                all: groups.all(),
                group_of: groups.of_each_host(),
                groups: groups.ranges().into(),
                share: self.share,
            }),
        }
    }
}

impl PatternPlan {
    #[inline]
    pub(super) fn destination(&self, src: HostId, _: Time, random: &mut Stream) -> Option<HostId> {
        let own = self.groups[self.group_of[src.index()] as usize];
        let stays = is_in(self.share, random);
        // One draw from either of two ranges: a branch would be mispredicted as often as not.
        let range = select_unpredictable(stays, own, self.all);
        let hole = select_unpredictable(stays, HostRange::of(src), own);
        Some(range.any_but(hole, random))
    }

    pub(super) fn shares(&self, src: HostId, _: Time, each: &mut dyn FnMut(HostRange, f64)) {
        let own = self.groups[self.group_of[src.index()] as usize];
        own.share_but(HostRange::of(src), f64::from(self.share), each);
        self.all.share_but(own, 1.0 - f64::from(self.share), each);
    }
}
