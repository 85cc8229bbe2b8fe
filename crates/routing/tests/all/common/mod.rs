//! Helpers of tests of legality: walks of single packets from host to host, and the channel dependencies of each.

// Every test file uses its own part.
#![allow(dead_code)]

use std::collections::{BTreeMap, BTreeSet};

use etherweave_primitives::HostId;
use etherweave_routing::{ChannelHop, FullPorts, Legality, Routing, RoutingKind, Verdict, prove};
use etherweave_topology::{Custom, Family, Node, Topology};

pub fn hosts(topology: &Topology) -> impl Iterator<Item = HostId> + Clone {
    (0..topology.hosts()).map(HostId::from_index)
}

/// The routings that a topology is for.
pub fn suited(topology: &Topology) -> Vec<(RoutingKind, Legality)> {
    RoutingKind::all().into_iter().filter_map(|kind| Some((kind, kind.legality(topology).ok()?))).collect()
}

/// A ring of switches with a host on each.
pub fn ring(switches: u32) -> Topology {
    let link = |i| format!("h{i},s{i},100Gb/s,3m\ns{i},s{},100Gb/s,20m\n", (i + 1) % switches);
    Custom { hosts: switches, links: (0..switches).map(link).collect(), ..Custom::default() }.generate().unwrap()
}

/// A port channel between switches, and a priority.
type Vertex = (usize, u8);

/// The channel dependency graph by brute force: every packet from every host to every host, one after the other.
pub struct Graph {
    port_channels: Vec<usize>,
    successors: BTreeMap<Vertex, BTreeSet<Vertex>>,
}

impl Graph {
    pub fn of(topology: &Topology, legality: &Legality) -> Graph {
        let channels = 0..topology.channels().len() as u32;
        let port_channels =
            channels.map(|id| topology.port_channel(etherweave_primitives::ChannelId::new(id))).collect();
        let mut graph = Graph { port_channels, successors: BTreeMap::new() };
        hosts(topology).for_each(|dst| graph.follow(topology, legality, dst));
        graph
    }

    fn vertex(&self, hop: ChannelHop) -> Vertex {
        (self.port_channels[hop.channel.index()], hop.priority.get())
    }

    fn follow(&mut self, topology: &Topology, legality: &Legality, dst: HostId) {
        let sources = hosts(topology).filter(|&src| src != dst).map(|src| topology.host_channel(src));
        let mut holding: Vec<ChannelHop> = sources.map(ChannelHop::first).collect();
        let mut seen = BTreeSet::new();
        let is_to_switch = |hop: &ChannelHop| matches!(topology.channel(hop.channel).to.node, Node::Switch(_));
        while let Some(held) = holding.pop() {
            for hop in onward(topology, legality, held, dst).into_iter().filter(is_to_switch) {
                let vertex = self.vertex(hop);
                self.successors.entry(vertex).or_default();
                if let Some(arrival) = arrival(topology, held) {
                    let held = self.vertex(arrival);
                    self.successors.entry(held).or_default().insert(vertex);
                }
                if seen.insert(hop) {
                    holding.push(hop);
                }
            }
        }
    }

    /// Vertices and dependencies.
    pub fn size(&self) -> (u64, u64) {
        (self.successors.len() as u64, self.successors.values().map(|next| next.len() as u64).sum())
    }

    /// Takes vertices without successors away until none is left.
    pub fn is_acyclic(&self) -> bool {
        let mut left = self.successors.clone();
        loop {
            let ends: BTreeSet<Vertex> = left.iter().filter(|(_, next)| next.is_empty()).map(|(end, _)| *end).collect();
            if ends.is_empty() {
                return left.is_empty();
            }
            left.retain(|vertex, _| !ends.contains(vertex));
            left.values_mut().for_each(|next| next.retain(|vertex| !ends.contains(vertex)));
        }
    }

    /// Every hop may wait for the next, and the last for the first.
    pub fn assert_cycle(&self, hops: &[ChannelHop]) {
        assert!(!hops.is_empty());
        for (index, &hop) in hops.iter().enumerate() {
            let next = self.vertex(hops[(index + 1) % hops.len()]);
            assert!(self.successors[&self.vertex(hop)].contains(&next), "{hop:?} does not wait for the next");
        }
    }
}

/// The hop by which a packet arrived at a switch; none from a host.
fn arrival(topology: &Topology, held: ChannelHop) -> Option<ChannelHop> {
    Some(held).filter(|held| matches!(topology.channel(held.channel).from.node, Node::Switch(_)))
}

/// Hops after a held one, which there are at every switch.
pub fn onward(topology: &Topology, legality: &Legality, held: ChannelHop, dst: HostId) -> Vec<ChannelHop> {
    let Node::Switch(at) = topology.channel(held.channel).to.node else { return Vec::new() };
    let mut hops = Vec::new();
    legality.hops(at, arrival(topology, held), dst, &mut hops);
    assert!(!hops.is_empty(), "a packet to {dst} is stuck at {}", topology.switch_name(at));
    hops
}

/// Packets from everywhere to everywhere: none is stuck, none takes more hops than claimed.
pub fn check_arrival(topology: &Topology, legality: &Legality) {
    for dst in hosts(topology) {
        let mut held: Vec<ChannelHop> =
            hosts(topology).map(|src| ChannelHop::first(topology.host_channel(src))).collect();
        for _ in 0..=legality.hops_max() + 1 {
            held = held.iter().flat_map(|&hop| onward(topology, legality, hop, dst)).collect();
            held.sort_unstable();
            held.dedup();
        }
        assert!(held.is_empty(), "packets to {dst} have not arrived after {} hops", legality.hops_max());
    }
}

/// The proof has exactly the dependencies of single packets.
pub fn check_proof(topology: &Topology, kind: RoutingKind, legality: &Legality) {
    let (proof, graph) = (prove(topology, legality), Graph::of(topology, legality));
    assert_eq!((proof.channels, proof.dependencies), graph.size(), "{kind:?} {:?}", topology.axes());
    assert_eq!(proof.is_free(), graph.is_acyclic(), "{kind:?}");
    if let Verdict::Cycle(hops) = proof.verdict {
        graph.assert_cycle(&hops);
    }
}

/// The load of a switch at which nothing waits.
pub const NO_LOAD: FullPorts<'static> = FullPorts { switch: 0, full: &[] };
