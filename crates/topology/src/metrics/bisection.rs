//! The bisection: the least rate between two halves of the hosts, in one direction.
//!
//! Hosts stay with their switch, so that the halves may differ by one switch's hosts; a single switch is not divided,
//! and half of its hosts send. Where a family has a formula that is proved for its member, that is exact; otherwise
//! the best of some cuts is an upper bound: halves in the order of numbers, along each coordinate, and by distance
//! from one switch.

use etherweave_primitives::{BitRate, HostId, SwitchId};

use super::graph::SwitchGraph;
use crate::{LinkClass, Node, Topology};

/// The rate between two halves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bisection {
    /// Rate in one direction [bit/s].
    pub rate: BitRate,
    /// How it is known.
    pub basis: BisectionBasis,
}

/// How a bisection is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BisectionBasis {
    /// A formula that holds for this member.
    Exact {
        /// The formula.
        formula: &'static str,
    },
    /// No bisection is larger than this cut; a smaller one may exist.
    UpperBound {
        /// How the halves were made.
        cut: &'static str,
    },
}

impl Bisection {
    /// Returns a bisection known by formula, at `bps` bits per second.
    pub fn exact(bps: u128, formula: &'static str) -> Bisection {
        Bisection { rate: saturated(bps), basis: BisectionBasis::Exact { formula } }
    }

    /// The bisection of equal planes side by side.
    pub(crate) fn times(self, planes: usize) -> Bisection {
        Bisection { rate: saturated(u128::from(self.rate.as_bps()) * planes as u128), ..self }
    }
}

fn saturated(bps: u128) -> BitRate {
    BitRate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
}

/// The least of some cuts.
pub(crate) fn bound(topology: &Topology) -> Bisection {
    let graph = SwitchGraph::of(topology);
    let bound = |bps, cut| Bisection { rate: saturated(bps), basis: BisectionBasis::UpperBound { cut } };
    if graph.access.len() < 2 {
        return bound(half_of_hosts(topology), "half of the hosts");
    }
    let cuts = orders(topology, &graph).into_iter().map(|(order, name)| (cut(topology, &graph, &order), name));
    let (bps, name) = cuts.min_by_key(|&(bps, _)| bps).expect("the order of numbers is one");
    bound(bps, name)
}

fn half_of_hosts(topology: &Topology) -> u128 {
    let hosts = (0..topology.hosts() / 2).map(HostId::from_index);
    hosts.map(|host| u128::from(topology.channel(topology.host_channel(host)).rate.as_bps())).sum()
}

/// Orders of the switches with hosts whose first half may make a small cut.
fn orders(topology: &Topology, graph: &SwitchGraph) -> Vec<(Vec<u32>, &'static str)> {
    let mut by_number = graph.access.clone();
    by_number.sort_unstable();
    let along = |axis: usize| {
        let mut order = by_number.clone();
        order.sort_by_key(|&switch| topology.coordinates(SwitchId::new(switch))[axis]);
        (order, "halves along a coordinate")
    };
    let mut orders = vec![(by_distance(graph, by_number[0]), "nearest half around one switch")];
    orders.extend((0..topology.axes().len()).map(along));
    orders.push((by_number, "halves by number"));
    orders
}

/// Switches with hosts, nearest to `start` first.
fn by_distance(graph: &SwitchGraph, start: u32) -> Vec<u32> {
    let mut is_seen = vec![false; graph.switches()];
    let mut order = vec![start];
    is_seen[start as usize] = true;
    let mut read = 0;
    while let Some(&at) = order.get(read) {
        read += 1;
        for &next in graph.neighbours(at as usize) {
            if !std::mem::replace(&mut is_seen[next as usize], true) {
                order.push(next);
            }
        }
    }
    order.retain(|&switch| graph.hosts[switch as usize] > 0);
    order
}

/// Rate from the first half of an order to the rest.
fn cut(topology: &Topology, graph: &SwitchGraph, order: &[u32]) -> u128 {
    let side = sides(topology, graph, order);
    let links = topology.channels().iter().step_by(2).filter(|link| link.class != LinkClass::Host);
    let crossing = links.filter(|link| match (link.from.node, link.to.node) {
        (Node::Switch(a), Node::Switch(b)) => side[a.index()] != side[b.index()],
        (Node::Host(_), _) | (_, Node::Host(_)) => false,
    });
    crossing.map(|link| u128::from(link.rate.as_bps())).sum()
}

/// Returns which switches are in the first half: those with hosts by order, the others where more of their rate leads.
fn sides(topology: &Topology, graph: &SwitchGraph, order: &[u32]) -> Vec<bool> {
    let mut weight: Vec<i32> = vec![0; graph.switches()];
    let half = half(graph, order);
    for (place, &switch) in order.iter().enumerate() {
        weight[switch as usize] = if place < half { 1 } else { -1 };
    }
    let mut transit: Vec<SwitchId> = (0..graph.switches()).map(SwitchId::from_index).collect();
    transit.retain(|switch| graph.hosts[switch.index()] == 0);
    transit.sort_by_key(|&switch| topology.level(switch));
    // The second round knows both neighbours of every level.
    for &switch in transit.iter().chain(&transit) {
        let channels = topology.out_channels(switch).iter().map(|&id| topology.channel(id));
        let pull = channels.map(|channel| match channel.to.node {
            Node::Switch(other) => i128::from(weight[other.index()]) * i128::from(channel.rate.as_bps()),
            Node::Host(_) => 0,
        });
        weight[switch.index()] = if pull.sum::<i128>() >= 0 { 1 } else { -1 };
    }
    weight.into_iter().map(|weight| weight > 0).collect()
}

/// How many switches of an order have nearest to half of the hosts, at least one and not all.
fn half(graph: &SwitchGraph, order: &[u32]) -> usize {
    let total: u64 = graph.hosts.iter().map(|&hosts| u64::from(hosts)).sum();
    let mut before = 0;
    for (place, &switch) in order.iter().enumerate() {
        let after = before + u64::from(graph.hosts[switch as usize]);
        if 2 * after >= total {
            let is_nearer = 2 * after - total < total.saturating_sub(2 * before);
            return (place + usize::from(is_nearer)).clamp(1, order.len() - 1);
        }
        before = after;
    }
    order.len() - 1
}
