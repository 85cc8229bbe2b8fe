//! Any fabric: every port on a shortest path, by one breadth-first search from the switch that is asked about.
//!
//! Links lead both ways, so a search from a switch that hands its first hops on from layer to layer (each switch has
//! those of all its neighbours one layer before) finds at once where it sends packets for every other switch. Memory is
//! a bit per switch and neighbour of the one at hand; time per switch, linear in the links.

use std::collections::BTreeSet;

use etherweave_primitives::{ChannelId, HostId, Port, SwitchId};
use etherweave_topology::{Topology, reverse};

use super::view::neighbours;
use crate::Region;

/// Farther than any switch.
const UNREACHED: u32 = u32::MAX;

/// Which switches are joined, however many links that takes.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    /// Those of switch `s` are `neighbours[starts[s]..starts[s + 1]]`, ascending.
    neighbours: Vec<u32>,
    starts: Vec<usize>,
    /// Channels that no packet may take.
    down: BTreeSet<ChannelId>,
}

impl Graph {
    pub fn of(topology: &Topology) -> Graph {
        Graph::around(topology, &[])
    }

    /// As if neither direction of some links were there.
    pub fn around(topology: &Topology, down: &[ChannelId]) -> Graph {
        let down = down.iter().flat_map(|&channel| [channel, reverse(channel)]).collect();
        let mut graph = Graph { neighbours: Vec::new(), starts: vec![0], down };
        for at in (0..topology.switches()).map(SwitchId::from_index) {
            let mut joined: Vec<u32> = graph.links(topology, at).map(|(far, _)| far.get()).collect();
            joined.sort_unstable();
            joined.dedup();
            graph.neighbours.append(&mut joined);
            graph.starts.push(graph.neighbours.len());
        }
        graph
    }

    /// Links of a switch that are up.
    fn links(&self, topology: &Topology, at: SwitchId) -> impl Iterator<Item = (SwitchId, Port)> {
        let is_up = move |port| !self.down.contains(&topology.out_channel(at, port));
        neighbours(topology, at).filter(move |&(_, port)| is_up(port))
    }

    fn neighbours(&self, switch: u32) -> &[u32] {
        &self.neighbours[self.starts[switch as usize]..self.starts[switch as usize + 1]]
    }

    pub fn view<'a>(&self, topology: &'a Topology, at: SwitchId) -> Searched<'a> {
        let near = self.neighbours(at.get());
        let place = |far: SwitchId| near.binary_search(&far.get()).expect("a neighbour was listed");
        let mut onward: Vec<(usize, Port)> = self.links(topology, at).map(|(far, port)| (place(far), port)).collect();
        onward.sort_unstable();
        let words = near.len().div_ceil(64).max(1);
        Searched { topology, at, onward, words, towards: self.search(at, words) }
    }

    /// Of every switch, which neighbours of `start` are on shortest paths to it: a bit each.
    fn search(&self, start: SwitchId, words: usize) -> Vec<u64> {
        let switches = self.starts.len() - 1;
        let (mut distances, mut towards) = (vec![UNREACHED; switches], vec![0; switches * words]);
        distances[start.index()] = 0;
        let mut queue = self.neighbours(start.get()).to_vec();
        for (place, &next) in queue.iter().enumerate() {
            distances[next as usize] = 1;
            towards[next as usize * words + place / 64] |= 1 << (place % 64);
        }
        let mut read = 0;
        while let Some(&at) = queue.get(read) {
            read += 1;
            for &next in self.neighbours(at) {
                let beyond = distances[at as usize] + 1;
                if distances[next as usize] == UNREACHED {
                    distances[next as usize] = beyond;
                    queue.push(next);
                }
                if distances[next as usize] == beyond {
                    hand_on(&mut towards, at as usize * words, next as usize * words, words);
                }
            }
        }
        towards
    }
}

/// Joins the set at one place with that at another.
fn hand_on(sets: &mut [u64], from: usize, to: usize, words: usize) {
    (0..words).for_each(|word| sets[to + word] |= sets[from + word]);
}

/// A switch and where it sends packets for every other one.
pub struct Searched<'a> {
    topology: &'a Topology,
    at: SwitchId,
    /// Place of a neighbour, port to it.
    onward: Vec<(usize, Port)>,
    /// How many words a set of neighbours has.
    words: usize,
    /// Sets of neighbours, one after the other, by switch.
    towards: Vec<u64>,
}

impl Searched<'_> {
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
                let is_on_way = |place: usize| set[place / 64] >> (place % 64) & 1 == 1;
                ports.extend(self.onward.iter().filter(|&&(place, _)| is_on_way(place)).map(|&(_, port)| port));
                ports.sort_unstable();
            }
        }
        true
    }

    fn host(&self, host: HostId) -> Port {
        self.topology.channel(reverse(self.topology.host_channel(host))).from.port
    }
}
