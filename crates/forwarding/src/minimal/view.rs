//! The ports of one switch towards regions.

use std::cmp::Ordering;

use etherweave_primitives::{HostId, Port, SwitchId};
use etherweave_topology::{Node, Topology};

use super::{listed::ListedRouting, searched::SearchedView};
use crate::Region;

/// The ports of one switch for regions.
pub enum SwitchView<'a> {
    /// Ports by coordinates.
    CoordinateView(CoordinateView),
    /// Ports by a search from the switch.
    SearchedView(SearchedView<'a>),
    /// Ports by a listed routing.
    ListedRouting {
        /// The list.
        listed: &'a ListedRouting,
        /// The fabric.
        topology: &'a Topology,
        /// The switch.
        at: SwitchId,
    },
}

impl SwitchView<'_> {
    /// Sets `ports`, ascending, to those that packets for any host of a region may take; says false when it is not the
    /// same for all its hosts.
    pub fn ports(&self, region: &Region<'_>, ports: &mut Vec<Port>) -> bool {
        ports.clear();
        match self {
            SwitchView::CoordinateView(near) => near.ports(region, ports),
            SwitchView::SearchedView(searched) => searched.ports(region, ports),
            SwitchView::ListedRouting { listed, topology, at } => listed.ports(topology, *at, region, ports),
        }
    }

    /// How many regions a table needs that has an entry for each region whose hosts share their ports, and otherwise
    /// descends into it: without compaction.
    pub fn entries(&self, region: &Region<'_>) -> u64 {
        if region.is_last() {
            return region.len() as u64;
        }
        let inside = match self {
            SwitchView::CoordinateView(near) => near.differing(region).into_iter().collect(),
            SwitchView::SearchedView(searched) => {
                region.children().filter(|child| !searched.is_uniform(child)).collect()
            }
            SwitchView::ListedRouting { .. } => {
                let mut ports = Vec::new();
                region.children().filter(|child| !self.ports(child, &mut ports)).collect::<Vec<_>>()
            }
        };
        let uniform = region.len() - inside.len();
        uniform as u64 + inside.iter().map(|child| self.entries(child)).sum::<u64>()
    }
}

/// A switch in a regular fabric: hosts that agree with `cover` in all of its coordinates are below or on it.
pub struct CoordinateView {
    /// Coordinates of all hosts below; all coordinates, when it has hosts of its own.
    cover: Vec<u32>,
    /// Ports to a place that agrees with `cover` up to an axis and has this value there, by axis and value.
    apart: Vec<(usize, u32, Port)>,
    /// Ports to all other places.
    otherwise: Vec<Port>,
    hosts: Vec<(HostId, Port)>,
}

impl CoordinateView {
    /// A switch and its own hosts.
    pub fn new(
        topology: &Topology,
        at: SwitchId,
        cover: Vec<u32>,
        mut apart: Vec<(usize, u32, Port)>,
        otherwise: Vec<Port>,
    ) -> CoordinateView {
        // Stable, because the input is a few ascending runs.
        apart.sort();
        apart.dedup();
        let leaving = topology.out_channels(at).iter().map(|&channel| topology.channel(channel));
        let hosts = leaving.filter_map(|channel| match channel.to.node {
            Node::Host(host) => Some((host, channel.from.port)),
            Node::Switch(_) => None,
        });
        let mut hosts: Vec<(HostId, Port)> = hosts.collect();
        hosts.sort_unstable();
        CoordinateView { cover, apart, otherwise, hosts }
    }

    fn ports(&self, region: &Region<'_>, ports: &mut Vec<Port>) -> bool {
        let known = region.known();
        let apart = (0..known.len()).find(|&axis| self.cover.get(axis) != Some(&known[axis]));
        match (apart, region.host()) {
            (Some(axis), _) => self.lead(axis, known[axis], ports),
            (None, Some(host)) => ports.extend(self.host(host)),
            (None, None) => return false,
        }
        true
    }

    fn lead(&self, axis: usize, value: u32, ports: &mut Vec<Port>) {
        let first = self.apart.partition_point(|&(a, v, _)| (a, v) < (axis, value));
        let same = self.apart[first..].iter().take_while(|&&(a, v, _)| (a, v) == (axis, value));
        ports.extend(same.map(|&(_, _, port)| port));
        if ports.is_empty() {
            ports.extend_from_slice(&self.otherwise);
        }
    }

    fn host(&self, host: HostId) -> Option<Port> {
        let place = self.hosts.binary_search_by_key(&host, |&(host, _)| host).ok()?;
        Some(self.hosts[place].1)
    }

    /// The one region within that must be descended into, found by its coordinates: those of regions ascend.
    fn differing<'a>(&self, region: &Region<'a>) -> Option<Region<'a>> {
        let (mut low, mut high) = (0, region.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let is_before = order(region.child(middle).known(), &self.cover) == Ordering::Less;
            (low, high) = if is_before { (middle + 1, high) } else { (low, middle) };
        }
        let child = (low < region.len()).then(|| region.child(low))?;
        let is_within = order(child.known(), &self.cover) == Ordering::Equal && child.known().len() <= self.cover.len();
        (is_within && child.host().is_none()).then_some(child)
    }
}

fn order(a: &[u32], b: &[u32]) -> Ordering {
    let both = a.len().min(b.len());
    a[..both].cmp(&b[..both])
}

/// Switches that a switch has links to, each with its port; once for each of parallel links.
pub(super) fn neighbours(topology: &Topology, at: SwitchId) -> impl Iterator<Item = (SwitchId, Port)> {
    let leaving = topology.out_channels(at).iter().map(|&channel| topology.channel(channel));
    leaving.filter_map(|channel| match channel.to.node {
        Node::Switch(far) => Some((far, channel.from.port)),
        Node::Host(_) => None,
    })
}
