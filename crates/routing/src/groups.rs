//! Fabrics of groups, every two switches of a group joined and every two groups: dragonflies.

use etherweave_primitives::{HostId, InputError, SwitchId};
use etherweave_topology::Topology;

use crate::{adjacencies::Adjacencies, plan::DestinationSet, plan::RoutingStep};

const EXPECTED: &str = "a complete dragonfly";
pub(crate) const EVERYTHING: DestinationSet = DestinationSet::Set(u32::MAX);
/// All destinations outside the group of the switch at hand.
pub(crate) const OUTSIDE: DestinationSet = DestinationSet::Set(u32::MAX - 1);
const BUT_GROUP: u32 = 1 << 30;
/// All destinations in the group of the switch at hand but a switch.
const BUT_SWITCH: u32 = 1 << 31;

/// A set of destinations in readable form. There are fewer than 2²³ switches.
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
        match DestinationSet::Set(number) {
            EVERYTHING => Set::Everything,
            OUTSIDE => Set::Outside,
            _ if number >= BUT_SWITCH => Set::ButSwitch(SwitchId::new(number - BUT_SWITCH)),
            _ if number >= BUT_GROUP => Set::ButGroup(number - BUT_GROUP),
            _ => Set::Group(number),
        }
    }
}

pub(crate) fn in_group(group: u32) -> DestinationSet {
    DestinationSet::Set(group)
}

pub(crate) fn but_switch(switch: SwitchId) -> DestinationSet {
    DestinationSet::Set(BUT_SWITCH + switch.get())
}

/// The stages of a minimal path: within the first group, between groups, within the last group.
#[derive(Clone, Copy)]
pub(crate) struct Stages {
    pub out: u8,
    pub across: u8,
    pub home: u8,
}

/// Groups, and the links between them.
pub(crate) struct DragonflyGroups {
    pub adjacencies: Adjacencies,
    group_of: Vec<u32>,
    members: Vec<Vec<SwitchId>>,
    has_hosts: Vec<bool>,
    /// Adjacencies from one group to another, by both, each list by switch.
    links: Vec<Vec<u32>>,
}

impl DragonflyGroups {
    /// # Errors
    /// When switches have no groups, or some two switches of a group, or two groups, are not joined.
    pub fn of(topology: &Topology) -> Result<DragonflyGroups, InputError> {
        let unsuited = |mistake: String| InputError::new("", mistake, EXPECTED);
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
        let mut groups =
            DragonflyGroups { adjacencies: Adjacencies::of(topology), group_of, members, has_hosts, links: Vec::new() };
        groups.links = groups.between();
        groups.check(topology).map_or(Ok(groups), |mistake| Err(unsuited(mistake)))
    }

    fn between(&self) -> Vec<Vec<u32>> {
        let mut links = vec![Vec::new(); self.members.len() * self.members.len()];
        for adjacency in 0..self.adjacencies.len() as u32 {
            let [from, to] =
                [self.adjacencies.from(adjacency), self.adjacencies.to(adjacency)].map(|end| self.group(end));
            if from != to {
                links[from as usize * self.members.len() + to as usize].push(adjacency);
            }
        }
        links
    }

    /// The first link that is missing, as a text.
    fn check(&self, topology: &Topology) -> Option<String> {
        let name = |at: SwitchId| topology.switch_name(at);
        for (group, members) in self.members.iter().enumerate() {
            let pairs = members.iter().flat_map(|&a| members.iter().map(move |&b| (a, b)));
            let apart = pairs.filter(|(a, b)| a != b).find(|&(a, b)| self.adjacencies.find(a, b).is_none());
            if let Some((a, b)) = apart {
                return Some(format!("{} and {} are not joined", name(a), name(b)));
            }
            let other = (0..self.members.len()).filter(|&other| other != group);
            let mut apart = other.filter(|&other| !members.is_empty() && !self.members[other].is_empty());
            let apart = apart.find(|&other| self.links[group * self.members.len() + other].is_empty());
            if let Some(other) = apart {
                return Some(format!("group {group} and group {other} are not joined"));
            }
        }
        None
    }

    pub fn group(&self, at: SwitchId) -> u32 {
        self.group_of[at.index()]
    }

    /// Whether an adjacency leads to another group.
    pub fn is_global(&self, adjacency: u32) -> bool {
        self.group(self.adjacencies.from(adjacency)) != self.group(self.adjacencies.to(adjacency))
    }

    /// The adjacencies of a switch to other groups.
    pub fn global(&self, at: SwitchId) -> impl Iterator<Item = u32> {
        self.adjacencies.leaving(at).filter(|&adjacency| self.is_global(adjacency))
    }

    /// The adjacencies of a switch within its group.
    pub fn local(&self, at: SwitchId) -> impl Iterator<Item = u32> {
        self.adjacencies.leaving(at).filter(|&adjacency| !self.is_global(adjacency))
    }

    /// Steps to any other group: by the switch's own channels, or by those of another switch of the group.
    pub fn away(&self, at: SwitchId, stages: Stages, destinations: DestinationSet, out: &mut Vec<RoutingStep>) {
        out.extend(self.global(at).map(|adjacency| RoutingStep { adjacency, stage: stages.across, destinations }));
        let others = self.local(at).filter(|&adjacency| self.global(self.adjacencies.to(adjacency)).next().is_some());
        out.extend(others.map(|adjacency| RoutingStep { adjacency, stage: stages.out, destinations }));
    }

    /// The destinations of packets from a host at `at` that may return to their own group: without that group, when no
    /// other switch of it has hosts.
    pub fn elsewhere(&self, at: SwitchId, destinations: DestinationSet) -> DestinationSet {
        let own = self.group(at);
        let others = || self.members[own as usize].iter().filter(|&&other| other != at);
        let is_alone = || !others().any(|other| self.has_hosts[other.index()]);
        if destinations == EVERYTHING && is_alone() { DestinationSet::Set(BUT_GROUP + own) } else { destinations }
    }

    /// Steps of the minimal path: within the group at once; to another group by own channels where there are any,
    /// otherwise by a switch that has some.
    pub fn minimal(&self, at: SwitchId, stages: Stages, destinations: DestinationSet, out: &mut Vec<RoutingStep>) {
        let own = self.group(at);
        match destinations {
            DestinationSet::Switch(dst) if self.group(dst) == own => self.home(at, dst, stages, out),
            DestinationSet::Switch(dst) => self.toward(at, self.group(dst), stages, destinations, out),
            DestinationSet::Set(number) => match Set::of(number) {
                Set::Group(group) if group != own => self.toward(at, group, stages, destinations, out),
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

    fn toward_all(&self, at: SwitchId, but: u32, stages: Stages, out: &mut Vec<RoutingStep>) {
        let own = self.group(at);
        let others = (0..self.members.len() as u32).filter(|&group| group != own && group != but);
        for group in others.filter(|&group| self.has_hosts(group)) {
            self.toward(at, group, stages, in_group(group), out);
        }
    }

    fn has_hosts(&self, group: u32) -> bool {
        self.members[group as usize].iter().any(|at| self.has_hosts[at.index()])
    }

    fn home(&self, at: SwitchId, dst: SwitchId, stages: Stages, out: &mut Vec<RoutingStep>) {
        let adjacency = self.adjacencies.find(at, dst);
        out.extend(adjacency.map(|adjacency| RoutingStep {
            adjacency,
            stage: stages.home,
            destinations: DestinationSet::Switch(dst),
        }));
    }

    fn all_home(&self, at: SwitchId, but: Option<SwitchId>, stages: Stages, out: &mut Vec<RoutingStep>) {
        let members = self.members[self.group(at) as usize].iter().filter(|&&dst| Some(dst) != but);
        members.filter(|dst| self.has_hosts[dst.index()]).for_each(|&dst| self.home(at, dst, stages, out));
    }

    fn toward(
        &self,
        at: SwitchId,
        group: u32,
        stages: Stages,
        destinations: DestinationSet,
        out: &mut Vec<RoutingStep>,
    ) {
        let links = &self.links[self.group(at) as usize * self.members.len() + group as usize];
        // Links are in the order of the switches they start from.
        let own = links.partition_point(|&link| self.adjacencies.from(link) < at);
        let own = links[own..].iter().take_while(|&&link| self.adjacencies.from(link) == at);
        let before = out.len();
        out.extend(own.map(|&adjacency| RoutingStep { adjacency, stage: stages.across, destinations }));
        if out.len() == before {
            let gateways = links.chunk_by(|&a, &b| self.adjacencies.from(a) == self.adjacencies.from(b));
            let adjacencies = gateways.filter_map(|links| self.adjacencies.find(at, self.adjacencies.from(links[0])));
            out.extend(adjacencies.map(|adjacency| RoutingStep { adjacency, stage: stages.out, destinations }));
        }
    }
}
