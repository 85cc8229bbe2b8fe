//! Any fabric: every port on a shortest path, by one search from the switch at hand.
//!
//! Links lead both ways, so a search from a switch that propagates its first hops in the order of distances (each
//! switch has those of all its neighbours on shortest paths to it) finds at once where it sends packets for every other
//! switch. Memory is a bit per switch and neighbour of the one at hand; time per switch, linear in the links.
//!
//! Links may differ in length: with a global link much longer than local ones, shortest paths of a dragonfly take one
//! global link wherever one joins the groups, as its hierarchical routing does, also around local links that are down.

use std::collections::BTreeSet;

use etherweave_primitives::{ChannelId, HostId, Port, SwitchId};
use etherweave_topology::{LinkClass, Node, Topology, reverse};

use crate::Region;

const UNREACHED: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lengths {
    Equal,
    /// A global link is as long as [`GLOBAL`] local ones.
    Hierarchical,
}

/// Longer than the paths to it and from it within groups, which take two local links each where one between two
/// switches of a group is down, and seldom many more.
const GLOBAL: u32 = 64;

impl Lengths {
    fn of(self, class: LinkClass) -> u32 {
        match (self, class) {
            (Lengths::Hierarchical, LinkClass::Global) => GLOBAL,
            (Lengths::Hierarchical, LinkClass::Host | LinkClass::Local) | (Lengths::Equal, _) => 1,
        }
    }
}

/// Graph of switches that are joined, however many links that takes.
#[derive(Clone, Debug)]
pub(super) struct SearchGraph {
    /// Those of switch `s` are `neighbours[starts[s]..starts[s + 1]]`, ascending, with the shortest link's length.
    neighbours: Vec<(u32, u32)>,
    starts: Vec<usize>,
    lengths: Lengths,
    down: BTreeSet<ChannelId>,
}

impl SearchGraph {
    pub fn of(topology: &Topology) -> SearchGraph {
        SearchGraph::around(topology, Lengths::Equal, &[])
    }

    /// Returns the graph as if neither direction of some links were there.
    pub fn around(topology: &Topology, lengths: Lengths, down: &[ChannelId]) -> SearchGraph {
        let down = down.iter().flat_map(|&channel| [channel, reverse(channel)]).collect();
        let mut graph = SearchGraph { neighbours: Vec::new(), starts: vec![0], lengths, down };
        for at in (0..topology.switches()).map(SwitchId::from_index) {
            let mut joined: Vec<(u32, u32)> =
                graph.links(topology, at).map(|(far, _, length)| (far.get(), length)).collect();
            joined.sort_unstable();
            joined.dedup_by_key(|(far, _)| *far);
            graph.neighbours.append(&mut joined);
            graph.starts.push(graph.neighbours.len());
        }
        graph
    }

    /// Links of a switch that are up: the far switch, the port, the length.
    fn links(&self, topology: &Topology, at: SwitchId) -> impl Iterator<Item = (SwitchId, Port, u32)> {
        let up = topology.out_channels(at).iter().filter(|&channel| !self.down.contains(channel));
        up.map(|&channel| topology.channel(channel)).filter_map(|channel| match channel.to.node {
            Node::Switch(far) => Some((far, channel.from.port, self.lengths.of(channel.class))),
            Node::Host(_) => None,
        })
    }

    fn neighbours(&self, switch: u32) -> &[(u32, u32)] {
        &self.neighbours[self.starts[switch as usize]..self.starts[switch as usize + 1]]
    }

    pub fn view<'a>(&self, topology: &'a Topology, at: SwitchId) -> SearchedView<'a> {
        let near = self.neighbours(at.get());
        let place = |far: SwitchId| near.binary_search_by_key(&far.get(), |near| near.0).expect("it was listed");
        let links = self.links(topology, at);
        let mut onward: Vec<(usize, Port)> = links.map(|(far, port, _)| (place(far), port)).collect();
        onward.sort_unstable();
        let words = near.len().div_ceil(64).max(1);
        SearchedView { topology, at, onward, words, towards: self.search(at, words) }
    }

    /// Returns for every switch which neighbours of `start` are on shortest paths to it: a bit each. Dijkstra, with a
    /// queue for each distance.
    fn search(&self, start: SwitchId, words: usize) -> Vec<u64> {
        let switches = self.starts.len() - 1;
        let (mut distances, mut towards) = (vec![UNREACHED; switches], vec![0; switches * words]);
        distances[start.index()] = 0;
        let mut queues: Vec<Vec<u32>> = vec![vec![start.get()]];
        let mut distance = 0;
        while distance < queues.len() {
            for at in std::mem::take(&mut queues[distance]) {
                if distances[at as usize] as usize != distance {
                    continue; // A shorter path was found since.
                }
                for (place, &(next, length)) in self.neighbours(at).iter().enumerate() {
                    let beyond = distance as u32 + length;
                    let known = &mut distances[next as usize];
                    if beyond > *known {
                        continue;
                    }
                    let first = next as usize * words;
                    if beyond < *known {
                        *known = beyond;
                        towards[first..first + words].fill(0);
                        queues.resize(queues.len().max(beyond as usize + 1), Vec::new());
                        queues[beyond as usize].push(next);
                    }
                    match at == start.get() {
                        true => towards[first + place / 64] |= 1 << (place % 64),
                        false => merge(&mut towards, at as usize * words, first, words),
                    }
                }
            }
            distance += 1;
        }
        towards
    }
}

fn merge(sets: &mut [u64], from: usize, to: usize, words: usize) {
    (0..words).for_each(|word| sets[to + word] |= sets[from + word]);
}

/// A switch and where it sends packets for every other one.
pub struct SearchedView<'a> {
    topology: &'a Topology,
    at: SwitchId,
    /// Place of a neighbour, port to it.
    onward: Vec<(usize, Port)>,
    words: usize,
    /// Sets of neighbours, one after the other, by switch.
    towards: Vec<u64>,
}

impl SearchedView<'_> {
    fn towards(&self, switch: SwitchId) -> &[u64] {
        &self.towards[switch.index() * self.words..][..self.words]
    }

    /// Whether packets for all hosts of a region take the same ports.
    pub(super) fn is_uniform(&self, region: &Region<'_>) -> bool {
        let mut switches = region.switches();
        let first = switches.next().expect("a region has hosts");
        region.host().is_some()
            || first != self.at
                && switches.all(|switch| switch != self.at && self.towards(switch) == self.towards(first))
    }

    pub(super) fn ports(&self, region: &Region<'_>, ports: &mut Vec<Port>) -> bool {
        if !self.is_uniform(region) {
            return false;
        }
        let first = region.switches().next().expect("a region has hosts");
        match region.host().filter(|_| first == self.at) {
            Some(host) => ports.push(self.host(host)),
            None => {
                let set = self.towards(first);
                let is_next = |place: usize| set[place / 64] >> (place % 64) & 1 == 1;
                ports.extend(self.onward.iter().filter(|&&(place, _)| is_next(place)).map(|&(_, port)| port));
                ports.sort_unstable();
            }
        }
        true
    }

    fn host(&self, host: HostId) -> Port {
        self.topology.channel(reverse(self.topology.host_channel(host))).from.port
    }
}
