//! Fabrics of groups, every two switches of a group joined and every two groups: dragonflies.

use etherweave_primitives::{HostId, SwitchId};
use etherweave_topology::Topology;

use crate::RoutingError;
use crate::joints::Joints;
use crate::plan::{Aim, Step};

/// What the routings for groups are for.
const EXPECTED: &str = "a complete dragonfly";
/// All destinations.
pub(crate) const EVERYTHING: Aim = Aim::Set(u32::MAX);
/// All destinations outside the group where this is asked.
pub(crate) const OUTSIDE: Aim = Aim::Set(u32::MAX - 1);
/// All destinations but a group.
const BUT_GROUP: u32 = 1 << 30;
/// All destinations in the group where this is asked but a switch.
const BUT_SWITCH: u32 = 1 << 31;

/// A set of destinations, written out. There are fewer than 2²³ switches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Set {
    Everything,
    Outside,
    Group(u32),
    ButGroup(u32),
    ButSwitch(SwitchId),
}

impl Set {
    fn of(number: u32) -> Set {
        match Aim::Set(number) {
            EVERYTHING => Set::Everything,
            OUTSIDE => Set::Outside,
            _ if number >= BUT_SWITCH => Set::ButSwitch(SwitchId::new(number - BUT_SWITCH)),
            _ if number >= BUT_GROUP => Set::ButGroup(number - BUT_GROUP),
            _ => Set::Group(number),
        }
    }
}

/// All destinations of a group.
pub(crate) fn in_group(group: u32) -> Aim {
    Aim::Set(group)
}

/// All destinations in the group where this is asked, but a switch.
pub(crate) fn but_switch(switch: SwitchId) -> Aim {
    Aim::Set(BUT_SWITCH + switch.get())
}

/// The stages of a minimal way: within the first group, between groups, within the last group.
#[derive(Clone, Copy)]
pub(crate) struct Stages {
    pub out: u8,
    pub across: u8,
    pub home: u8,
}

/// Groups, and the ways between them.
pub(crate) struct Groups {
    pub joints: Joints,
    /// By switch.
    group_of: Vec<u32>,
    /// By group.
    members: Vec<Vec<SwitchId>>,
    has_hosts: Vec<bool>,
    /// Joints from one group to another, by both, each list by switch.
    ways: Vec<Vec<u32>>,
}

impl Groups {
    /// # Errors
    /// When switches have no groups, or some two switches of a group, or two groups, are not joined.
    pub fn of(topology: &Topology) -> Result<Groups, RoutingError> {
        let unsuited = |found: String| RoutingError::Unsuited { found, expected: EXPECTED };
        if topology.axes() != ["group", "switch"] {
            return Err(unsuited("the switches are not numbered within groups".to_owned()));
        }
        let switches = || (0..topology.switches()).map(SwitchId::from_index);
        let group_of: Vec<u32> = switches().map(|at| topology.coordinates(at)[0]).collect();
        let count = group_of.iter().max().map_or(0, |&most| most as usize + 1);
        let mut members = vec![Vec::new(); count];
        switches().for_each(|at| members[group_of[at.index()] as usize].push(at));
        let mut has_hosts = vec![false; topology.switches()];
        let hosts = (0..topology.hosts()).map(HostId::from_index);
        hosts.for_each(|host| has_hosts[topology.switch_of(host).index()] = true);
        let mut groups = Groups { joints: Joints::of(topology), group_of, members, has_hosts, ways: Vec::new() };
        groups.ways = groups.between();
        groups.check(topology).map_or(Ok(groups), |found| Err(unsuited(found)))
    }

    fn between(&self) -> Vec<Vec<u32>> {
        let mut ways = vec![Vec::new(); self.members.len() * self.members.len()];
        for joint in 0..self.joints.len() as u32 {
            let [from, to] = [self.joints.from(joint), self.joints.to(joint)].map(|end| self.group(end));
            if from != to {
                ways[from as usize * self.members.len() + to as usize].push(joint);
            }
        }
        ways
    }

    /// What is missing, in words.
    fn check(&self, topology: &Topology) -> Option<String> {
        let name = |at: SwitchId| topology.switch_name(at);
        for (group, members) in self.members.iter().enumerate() {
            let pairs = members.iter().flat_map(|&a| members.iter().map(move |&b| (a, b)));
            let apart = pairs.filter(|(a, b)| a != b).find(|&(a, b)| self.joints.find(a, b).is_none());
            if let Some((a, b)) = apart {
                return Some(format!("{} and {} are not joined", name(a), name(b)));
            }
            let other = (0..self.members.len()).filter(|&other| other != group);
            let mut apart = other.filter(|&other| !members.is_empty() && !self.members[other].is_empty());
            let apart = apart.find(|&other| self.ways[group * self.members.len() + other].is_empty());
            if let Some(other) = apart {
                return Some(format!("group {group} and group {other} are not joined"));
            }
        }
        None
    }

    pub fn group(&self, at: SwitchId) -> u32 {
        self.group_of[at.index()]
    }

    /// Whether a joint leads to another group.
    pub fn is_global(&self, joint: u32) -> bool {
        self.group(self.joints.from(joint)) != self.group(self.joints.to(joint))
    }

    /// The joints of a switch to other groups.
    pub fn global(&self, at: SwitchId) -> impl Iterator<Item = u32> {
        self.joints.leaving(at).filter(|&joint| self.is_global(joint))
    }

    /// The joints of a switch within its group.
    pub fn local(&self, at: SwitchId) -> impl Iterator<Item = u32> {
        self.joints.leaving(at).filter(|&joint| !self.is_global(joint))
    }

    /// Steps to any other group: by the switch's own channels, or by those of another switch of the group.
    pub fn away(&self, at: SwitchId, stages: Stages, aim: Aim, out: &mut Vec<Step>) {
        out.extend(self.global(at).map(|joint| Step { joint, stage: stages.across, aim }));
        let others = self.local(at).filter(|&joint| self.global(self.joints.to(joint)).next().is_some());
        out.extend(others.map(|joint| Step { joint, stage: stages.out, aim }));
    }

    /// What packets from a host at `at` aim at that may come back to their own group: not there, when nobody else is.
    pub fn elsewhere(&self, at: SwitchId, aim: Aim) -> Aim {
        let own = self.group(at);
        let others = || self.members[own as usize].iter().filter(|&&other| other != at);
        let is_alone = || !others().any(|other| self.has_hosts[other.index()]);
        if aim == EVERYTHING && is_alone() { Aim::Set(BUT_GROUP + own) } else { aim }
    }

    /// Steps of the minimal way: within the group at once; to another group by own channels where there are any,
    /// otherwise by a switch that has some.
    pub fn minimal(&self, at: SwitchId, stages: Stages, aim: Aim, out: &mut Vec<Step>) {
        let own = self.group(at);
        match aim {
            Aim::Switch(dst) if self.group(dst) == own => self.home(at, dst, stages, out),
            Aim::Switch(dst) => self.toward(at, self.group(dst), stages, aim, out),
            Aim::Set(number) => match Set::of(number) {
                Set::Group(group) if group != own => self.toward(at, group, stages, aim, out),
                Set::Group(_) => self.all_home(at, None, stages, out),
                Set::ButSwitch(switch) => self.all_home(at, Some(switch), stages, out),
                Set::Outside => self.toward_all(at, own, stages, out),
                Set::Everything => {
                    self.all_home(at, None, stages, out);
                    self.toward_all(at, own, stages, out);
                }
                Set::ButGroup(group) => {
                    if group != own {
                        self.all_home(at, None, stages, out);
                    }
                    self.toward_all(at, group, stages, out);
                }
            },
        }
    }

    /// Towards every group but this and one more.
    fn toward_all(&self, at: SwitchId, but: u32, stages: Stages, out: &mut Vec<Step>) {
        let own = self.group(at);
        let others = (0..self.members.len() as u32).filter(|&group| group != own && group != but);
        for group in others.filter(|&group| self.has_hosts(group)) {
            self.toward(at, group, stages, in_group(group), out);
        }
    }

    fn has_hosts(&self, group: u32) -> bool {
        self.members[group as usize].iter().any(|at| self.has_hosts[at.index()])
    }

    fn home(&self, at: SwitchId, dst: SwitchId, stages: Stages, out: &mut Vec<Step>) {
        let joint = self.joints.find(at, dst);
        out.extend(joint.map(|joint| Step { joint, stage: stages.home, aim: Aim::Switch(dst) }));
    }

    fn all_home(&self, at: SwitchId, but: Option<SwitchId>, stages: Stages, out: &mut Vec<Step>) {
        let members = self.members[self.group(at) as usize].iter().filter(|&&dst| Some(dst) != but);
        members.filter(|dst| self.has_hosts[dst.index()]).for_each(|&dst| self.home(at, dst, stages, out));
    }

    fn toward(&self, at: SwitchId, group: u32, stages: Stages, aim: Aim, out: &mut Vec<Step>) {
        let ways = &self.ways[self.group(at) as usize * self.members.len() + group as usize];
        // Ways are in the order of the switches they start from.
        let own = ways.partition_point(|&way| self.joints.from(way) < at);
        let own = ways[own..].iter().take_while(|&&way| self.joints.from(way) == at);
        let before = out.len();
        out.extend(own.map(|&joint| Step { joint, stage: stages.across, aim }));
        if out.len() == before {
            let gateways = ways.chunk_by(|&a, &b| self.joints.from(a) == self.joints.from(b));
            let joints = gateways.filter_map(|ways| self.joints.find(at, self.joints.from(ways[0])));
            out.extend(joints.map(|joint| Step { joint, stage: stages.out, aim }));
        }
    }
}
