//! Functions that tests of whole fabrics share.

use std::collections::BTreeSet;

use etherweave_forwarding::{AddressPlan, MinimalRouting, RegionRoutes};
use etherweave_primitives::{HostId, Port, SwitchId};
use etherweave_topology::{Custom, Topology};
use proptest::prelude::*;

pub fn switches(topology: &Topology) -> impl Iterator<Item = SwitchId> {
    (0..topology.switches()).map(SwitchId::from_index)
}

pub fn hosts(topology: &Topology) -> impl Iterator<Item = HostId> {
    (0..topology.hosts()).map(HostId::from_index)
}

/// Ports of a switch towards every host, each asked for alone.
pub fn ports_by_host(minimal: &MinimalRouting<'_>, flat: &AddressPlan, at: SwitchId) -> Vec<BTreeSet<Port>> {
    let routes = RegionRoutes::of(minimal, flat, at);
    routes.entries.iter().map(|entry| routes.sets.get(entry.action).iter().copied().collect()).collect()
}

/// A connected graph with parallel links: a random tree of switches with hosts, and more links.
pub fn graph() -> impl Strategy<Value = Custom> {
    let index = any::<prop::sample::Index>;
    let tree = proptest::collection::vec(index(), 1..30);
    let more = proptest::collection::vec((index(), index()), 0..60);
    let hosts = proptest::collection::vec(index(), 1..20);
    (tree, more, hosts).prop_map(|(tree, more, hosts)| {
        let switches = tree.len() + 1;
        let pairs = more.iter().map(|(a, b)| (a.index(switches), b.index(switches))).filter(|(a, b)| a != b);
        let links = tree.iter().enumerate().map(|(at, to)| (at + 1, to.index(at + 1))).chain(pairs);
        let mut lines: Vec<String> = links.map(|(a, b)| format!("s{a},s{b}")).collect();
        lines.extend(hosts.iter().enumerate().map(|(host, at)| format!("h{host},s{}", at.index(switches))));
        Custom { links: format!("from,to\n{}", lines.join("\n")), ..Custom::default() }
    })
}
