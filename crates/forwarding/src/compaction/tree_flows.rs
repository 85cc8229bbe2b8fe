//! Sources whose packets pass each switch of a tree, and the shares that its ports have of them.
//!
//! Packets of a source climb by the same switches, whatever their destination, but where a share names destinations
//! too; so levels are walked once, upward, with a few flows for every source and level. Where several links lead down
//! to one subtree, the flows that reach them are those that climbed to the switch from elsewhere, and those that come
//! down to it. In a tree whose uplinks do not all lead everywhere, up/down routing is listed, and flows are followed by
//! the sets of switches that they are for.

use std::collections::BTreeMap;

use etherweave_primitives::{HostId, Port, SwitchId};
use etherweave_routing::RoutingKind;
use etherweave_topology::{Node, Topology};

use super::shares::{Destinations, Flow, HomeSet, Share, shares};
use super::{RegionRoutes, source_patterns::SourcePatterns};
use crate::{MinimalRouting, Ternary, minimal::tree};

/// Rules that a table may have for shares, a sixteenth of a small TCAM; more only where a switch has more ports.
const ROOM: usize = 256;
/// Hosts whose flows are followed; beyond, all links keep the published shares.
const HOSTS_MAX: usize = 1 << 16;
/// Flows down that are looked at, over all switches; beyond, links down keep the published shares.
const FLOWS_DOWN_MAX: usize = 1 << 20;
/// Pairs of a host and a switch in a listed tree; beyond, all links keep the published shares.
const PAIRS_LISTED_MAX: usize = 1 << 20;

/// The shares of the ports of every switch.
pub struct TreeFlows {
    shares: BTreeMap<(SwitchId, Vec<Port>), Vec<Share>>,
}

impl TreeFlows {
    /// Computes the flows that pass, level by level; none where the fabric is not a tree, or too large.
    pub fn of(topology: &Topology, sources: &mut SourcePatterns<'_>) -> Option<TreeFlows> {
        if topology.hosts() > HOSTS_MAX {
            return None;
        }
        let is_small = topology.hosts() * topology.switches() <= PAIRS_LISTED_MAX;
        let listed = match tree::is_regular(topology) {
            true => None,
            false if is_small && is_layered(topology) => {
                Some(MinimalRouting::listed(topology, RoutingKind::UpDown).ok()?)
            }
            false => return None,
        };
        let mut order: Vec<SwitchId> = (0..topology.switches()).map(SwitchId::from_index).collect();
        order.sort_by_key(|&at| topology.level(at));
        let mut walk = TreeWalk::of(topology, listed, sources);
        order.iter().for_each(|&at| walk.climb(at));
        walk.descend(&order);
        Some(TreeFlows { shares: walk.shares })
    }

    /// The shares of some ports of a switch.
    pub fn shares(&self, at: SwitchId, ports: &[Port]) -> Option<&[Share]> {
        self.shares.get(&(at, ports.to_vec())).map(Vec::as_slice)
    }
}

/// Whether hosts are on the lowest level, and links join a level to the next.
fn is_layered(topology: &Topology) -> bool {
    let level = |node| match node {
        Node::Host(_) => -1,
        Node::Switch(at) => i32::from(topology.level(at)),
    };
    topology.channels().iter().all(|channel| (level(channel.from.node) - level(channel.to.node)).abs() == 1)
}

/// Ports of a switch by which packets go on alike.
struct PortGroup {
    ports: Vec<Port>,
    far: Vec<SwitchId>,
    is_up: bool,
    towards: Towards,
}

enum Towards {
    /// All that is not below the switch, in a regular tree.
    Elsewhere,
    /// Leaves with these coordinates, in a regular tree: not for packets from there, which turn further down.
    Subtree(Vec<u32>),
    Homes(Vec<SwitchId>),
}

impl PortGroup {
    /// Whether several links lead down to one subtree.
    fn is_parallel(&self) -> bool {
        !self.is_up && self.ports.len() > 1
    }
}

struct TreeWalk<'a, 's, 'p> {
    topology: &'a Topology,
    /// Where packets go, in a tree that is not regular.
    listed: Option<MinimalRouting<'a>>,
    sources: &'s mut SourcePatterns<'p>,
    destinations: Destinations,
    up: Vec<Vec<Flow>>,
    down: Vec<Vec<Flow>>,
    shares: BTreeMap<(SwitchId, Vec<Port>), Vec<Share>>,
}

impl<'a, 's, 'p> TreeWalk<'a, 's, 'p> {
    fn of(
        topology: &'a Topology,
        listed: Option<MinimalRouting<'a>>,
        sources: &'s mut SourcePatterns<'p>,
    ) -> TreeWalk<'a, 's, 'p> {
        let plan = sources.plan();
        let none = || vec![Vec::new(); topology.switches()];
        let (mut up, down) = (none(), none());
        for host in (0..topology.hosts()).map(HostId::from_index) {
            let home = topology.switch_of(host);
            let (src, dst, homes) = (plan.address(host), Ternary::ANY, HomeSet::ALL);
            up[home.index()].push(Flow { src, home: home.get(), dst, homes });
        }
        let destinations = Destinations::of(plan, topology);
        TreeWalk { topology, listed, sources, destinations, up, down, shares: BTreeMap::new() }
    }

    fn groups(&self, at: SwitchId) -> Vec<PortGroup> {
        match &self.listed {
            Some(listed) => self.listed_groups(listed, at),
            None => self.regular_groups(at),
        }
    }

    /// Ports up, and those down by subtree.
    fn regular_groups(&self, at: SwitchId) -> Vec<PortGroup> {
        let cover = tree::cover(self.topology, at);
        let mut groups: BTreeMap<Option<u32>, PortGroup> = BTreeMap::new();
        for port in (0..self.topology.out_channels(at).len()).map(Port::from_index) {
            let Some(far) = self.far(at, port) else { continue };
            let is_up = self.is_up(at, far);
            let digit = (!is_up).then(|| self.topology.coordinates(far)[cover.len()]);
            let group = groups.entry(digit).or_insert_with(|| {
                let subtree = |digit| Towards::Subtree([cover.as_slice(), &[digit]].concat());
                let towards = digit.map_or(Towards::Elsewhere, subtree);
                PortGroup { ports: Vec::new(), far: Vec::new(), is_up, towards }
            });
            group.ports.push(port);
            group.far.push(far);
        }
        groups.into_values().collect()
    }

    fn listed_groups(&self, listed: &MinimalRouting<'_>, at: SwitchId) -> Vec<PortGroup> {
        let routes = RegionRoutes::of(listed, self.sources.plan(), at);
        let mut homes: BTreeMap<&[Port], Vec<SwitchId>> = BTreeMap::new();
        for entry in routes.entries.iter().filter(|entry| !entry.is_own) {
            homes.entry(routes.sets.get(entry.action)).or_default().extend(entry.region.switches());
        }
        let group = |(ports, mut homes): (&[Port], Vec<SwitchId>)| {
            homes.sort_unstable();
            homes.dedup();
            let far: Vec<SwitchId> = ports.iter().filter_map(|&port| self.far(at, port)).collect();
            let is_up = self.is_up(at, *far.first()?);
            Some(PortGroup { ports: ports.to_vec(), far, is_up, towards: Towards::Homes(homes) })
        };
        homes.into_iter().filter_map(group).collect()
    }

    fn far(&self, at: SwitchId, port: Port) -> Option<SwitchId> {
        match self.topology.channel(self.topology.out_channel(at, port)).to.node {
            Node::Switch(far) => Some(far),
            Node::Host(_) => None,
        }
    }

    fn is_up(&self, at: SwitchId, far: SwitchId) -> bool {
        self.topology.level(far) > self.topology.level(at)
    }

    fn climb(&mut self, at: SwitchId) {
        for group in self.groups(at).iter().filter(|group| group.is_up) {
            let flows = self.towards(at, group);
            for (port, flow) in self.divide(at, group, &flows) {
                self.up[group.far[port].index()].push(flow);
            }
        }
    }

    /// Shares the links down to each subtree, from the top; `order` ascends.
    fn descend(&mut self, order: &[SwitchId]) {
        let first = order.iter().find(|&&at| self.groups(at).iter().any(PortGroup::is_parallel));
        let Some(lowest) = first.map(|&at| self.topology.level(at)) else { return };
        let switches: Vec<SwitchId> =
            order.iter().rev().take_while(|&&at| self.topology.level(at) >= lowest).copied().collect();
        // What climbs is known; what comes down from several levels may be more, and links it reaches last go without.
        let climbing: usize = switches.iter().map(|at| self.up[at.index()].len() * self.groups(*at).len()).sum();
        let mut left = if climbing > FLOWS_DOWN_MAX { 0 } else { 4 * FLOWS_DOWN_MAX };
        for at in switches {
            for group in self.groups(at).iter().filter(|group| !group.is_up) {
                let is_passed_on = self.topology.level(group.far[0]) >= lowest;
                if !is_passed_on && !group.is_parallel() {
                    continue;
                }
                let flows = self.towards(at, group);
                let Some(rest) = left.checked_sub(flows.len()) else { return };
                left = rest;
                let divided = self.divide(at, group, &flows);
                let passed_on = divided.into_iter().filter(|_| is_passed_on);
                passed_on.for_each(|(port, flow)| self.down[group.far[port].index()].push(flow));
            }
        }
    }

    fn towards(&mut self, at: SwitchId, group: &PortGroup) -> Vec<Flow> {
        let TreeWalk { topology, destinations, up, down, .. } = self;
        let from_above = if group.is_up { [].as_slice() } else { &down[at.index()] };
        let all = up[at.index()].iter().chain(from_above).copied();
        let home = |flow: &Flow| topology.coordinates(SwitchId::new(flow.home));
        match &group.towards {
            Towards::Elsewhere => all.collect(),
            Towards::Subtree(below) => all.filter(|flow| !home(flow).starts_with(below)).collect(),
            Towards::Homes(homes) => {
                let part = |flow: Flow| Some(Flow { homes: destinations.both(flow.homes, homes)?, ..flow });
                all.filter_map(part).collect()
            }
        }
    }

    /// Finds the shares of several ports, and what each takes.
    fn divide(&mut self, at: SwitchId, group: &PortGroup, flows: &[Flow]) -> Vec<(usize, Flow)> {
        let ports = group.ports.len();
        if ports == 1 {
            return flows.iter().map(|&flow| (0, flow)).collect();
        }
        let Some(published) = self.sources.published(self.topology.level(at).into(), ports) else { return Vec::new() };
        let room = ROOM * ports / self.topology.out_channels(at).len();
        let shares = shares(flows, published, room, &self.destinations);
        let divided = flows.iter().flat_map(|&flow| flow.divided(&shares)).collect();
        self.shares.insert((at, group.ports.clone()), shares);
        divided
    }
}
