//! Cables as a buyer counts them.

use std::collections::BTreeMap;

use etherweave_primitives::{BitRate, Length};

use crate::{ChannelEnd, LinkClass, Medium, Node, Topology};

/// Equal cables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cables {
    /// Class of their links.
    pub class: LinkClass,
    /// Medium of the cables.
    pub medium: Medium,
    /// How long each is [mm].
    pub length: Length,
    /// Rate of each of their links [bit/s].
    pub rate: BitRate,
    /// How many links they carry.
    pub links: u64,
    /// How many cables; fewer than links where hosts share breakout cables.
    pub cables: u64,
}

impl Cables {
    /// The cables of a fabric by class, medium, length and rate, in this order.
    pub fn of(topology: &Topology) -> Vec<Cables> {
        count(topology)
    }
}

type CableKind = (LinkClass, Medium, Length, BitRate);

fn count(topology: &Topology) -> Vec<Cables> {
    let mut counts: BTreeMap<CableKind, u64> = BTreeMap::new();
    // Links of hosts by their switch: cables are shared there and not beyond.
    let mut shared: BTreeMap<CableKind, BTreeMap<Node, u64>> = BTreeMap::new();
    for link in topology.channels().iter().step_by(2) {
        let key = (link.class, link.medium, link.length, link.rate);
        *counts.entry(key).or_default() += 1;
        if topology.breakout() > 1 && link.class == LinkClass::Host {
            *shared.entry(key).or_default().entry(switch_end(link.from, link.to)).or_default() += 1;
        }
    }
    let breakout = u64::from(topology.breakout());
    let cables = |key: &CableKind, links: u64| match shared.get(key) {
        Some(switches) => switches.values().map(|hosts| hosts.div_ceil(breakout)).sum(),
        None => links,
    };
    let entry = |(key, links): (&CableKind, &u64)| {
        let &(class, medium, length, rate) = key;
        Cables { class, medium, length, rate, links: *links, cables: cables(key, *links) }
    };
    counts.iter().map(entry).collect()
}

fn switch_end(from: ChannelEnd, to: ChannelEnd) -> Node {
    match from.node {
        Node::Switch(_) => from.node,
        Node::Host(_) => to.node,
    }
}
