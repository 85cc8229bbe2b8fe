//! The groups of a fabric as patterns see them: consecutive ranges of hosts.

use std::hint::select_unpredictable;

use etherweave_primitives::{HostId, InputError, Stream};

use crate::limits::at_least;

/// Groups of a workload that the fabric sets, as far as they are left open.
pub struct OpenGroups<'w> {
    /// Hosts of a group.
    pub group: &'w mut Option<u32>,
    /// Hosts of a leaf, where leaves make a difference.
    pub leaf_hosts: Option<&'w mut Option<u32>>,
}

/// A range of hosts with consecutive numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostRange {
    /// The lowest.
    pub first: u32,
    /// How many, 1 or more.
    pub hosts: u32,
}

/// Hosts in groups, in order: of a dragonfly its groups, of a tree its pods or leaves, else one group of all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostGroups {
    ranges: Vec<HostRange>,
}

impl HostRange {
    #[inline]
    pub(crate) fn of(host: HostId) -> HostRange {
        HostRange { first: host.get(), hosts: 1 }
    }

    #[inline]
    pub(crate) fn any(self, random: &mut Stream) -> HostId {
        HostId::new(self.first + random.below(u64::from(self.hosts)) as u32)
    }

    /// One of them, all alike, but none of `hole`, which is part of them.
    #[inline]
    pub(crate) fn any_but(self, hole: HostRange, random: &mut Stream) -> HostId {
        let host = self.first + random.below(u64::from(self.hosts - hole.hosts)) as u32;
        HostId::new(host + select_unpredictable(host < hole.first, 0, hole.hosts))
    }

    /// Reports the ranges on both sides of `hole`, which is part of it, and what each of their hosts gets of `share`;
    /// nothing where there is nothing to share.
    pub(crate) fn share_but(self, hole: HostRange, share: f64, each: &mut dyn FnMut(HostRange, f64)) {
        let below = HostRange { first: self.first, hosts: hole.first - self.first };
        let above = HostRange { first: hole.first + hole.hosts, hosts: self.hosts - below.hosts - hole.hosts };
        let rest = f64::from(self.hosts - hole.hosts);
        let sides = [below, above].into_iter().filter(|side| side.hosts > 0 && share > 0.0);
        sides.for_each(|side| each(side, share / rest));
    }
}

impl HostGroups {
    /// Groups of these sizes, from host 0 on.
    ///
    /// # Errors
    /// When a group is empty, or there are fewer than 2 hosts or more than ids.
    pub fn new(sizes: &[u32]) -> Result<HostGroups, InputError> {
        let mut ranges = Vec::with_capacity(sizes.len());
        let mut first = 0;
        for (group, &hosts) in sizes.iter().enumerate() {
            if hosts == 0 {
                return Err(InputError::new("groups", format!("group {group} is empty"), "a host in each group"));
            }
            ranges.push(HostRange { first, hosts });
            first = first.checked_add(hosts).ok_or_else(|| {
                InputError::new("groups", format!("{group} groups fill the ids"), format!("at most {} hosts", u32::MAX))
            })?;
        }
        at_least("hosts", first, 2)?;
        Ok(HostGroups { ranges })
    }

    /// All hosts in one group.
    ///
    /// # Errors
    /// When there are fewer than 2.
    pub fn one(hosts: u32) -> Result<HostGroups, InputError> {
        at_least("hosts", hosts, 2)?;
        HostGroups::new(&[hosts])
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        self.ranges.last().map_or(0, |last| last.first + last.hosts)
    }

    pub(crate) fn all(&self) -> HostRange {
        HostRange { first: 0, hosts: self.hosts() }
    }

    /// How many groups.
    pub fn count(&self) -> u32 {
        self.ranges.len() as u32
    }

    /// The hosts of each group.
    pub fn ranges(&self) -> &[HostRange] {
        &self.ranges
    }

    /// The group of a host, by bisection.
    pub fn group_of(&self, host: HostId) -> u32 {
        self.ranges.partition_point(|range| range.first <= host.get()) as u32 - 1
    }

    /// The group of each host, for lookups per packet.
    pub(crate) fn of_each_host(&self) -> Box<[u32]> {
        let of_group = |(group, range): (usize, &HostRange)| std::iter::repeat_n(group as u32, range.hosts as usize);
        self.ranges.iter().enumerate().flat_map(of_group).collect()
    }

    /// How many hosts each group has, if all have equally many.
    pub(crate) fn equal_size(&self) -> Option<u32> {
        let size = self.ranges.first()?.hosts;
        self.ranges.iter().all(|range| range.hosts == size).then_some(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_in_the_group_whose_range_holds_it() {
        let groups = HostGroups::new(&[3, 1, 4]).unwrap();
        assert_eq!((groups.hosts(), groups.count()), (8, 3));
        let expected = [0, 0, 0, 1, 2, 2, 2, 2];
        assert_eq!(*groups.of_each_host(), expected);
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(|host| groups.group_of(HostId::new(host))), expected);
        assert_eq!(groups.ranges()[2], HostRange { first: 4, hosts: 4 });
        assert_eq!(groups.equal_size(), None);
    }

    #[test]
    fn groups_without_hosts_and_fabrics_without_partners_are_rejected() {
        let refused = |sizes: &[u32], expected| assert_eq!(HostGroups::new(sizes).unwrap_err().to_string(), expected);
        refused(&[2, 0], "groups: group 1 is empty; expected a host in each group");
        refused(&[], "hosts: 0; expected at least 2");
        refused(&[1], "hosts: 1; expected at least 2");
        refused(&[u32::MAX, 1], "groups: 1 groups fill the ids; expected at most 4294967295 hosts");
    }
}
