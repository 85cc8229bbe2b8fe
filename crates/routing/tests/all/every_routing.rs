//! Properties of every routing that makes a table, on every example of every topology family.

use crate::common::hosts;
use etherweave_primitives::{ChannelId, HostId, SwitchId};
use etherweave_routing::{Routing, RoutingKind, RoutingTable, dependency_cycle};
use etherweave_topology::{Node, Topology, TopologyKind};

/// Runs one check on every pair of a topology and a routing.
fn check(promise: impl Fn(&Topology, RoutingKind, &RoutingTable)) {
    for topology in TopologyKind::examples().iter().map(|kind| kind.generate().unwrap()) {
        for (kind, table) in RoutingKind::all().into_iter().filter_map(|kind| Some((kind, kind.build(&topology).ok()?)))
        {
            promise(&topology, kind, &table);
        }
    }
}

#[test]
fn a_table_offers_what_the_routing_allows_packets_of_hosts() {
    check(|topology, kind, table| {
        let legality = kind.legality(topology).unwrap();
        for (at, dst) in switches(topology).flat_map(|at| hosts(topology).map(move |dst| (at, dst))) {
            let (mut candidates, mut legal) = (Vec::new(), table.legal(at, dst).to_vec());
            legality.candidates(at, dst, &mut candidates);
            candidates.sort_unstable();
            legal.sort_unstable();
            assert_eq!(candidates, legal, "{kind:?} at {}", topology.switch_name(at));
            if at == topology.switch_of(dst) {
                let ends: Vec<_> = legal.iter().map(|&channel| topology.channel(channel).to.node).collect();
                assert_eq!(ends, [Node::Host(dst)], "{kind:?}: one channel leads to a host");
            }
        }
    });
}

#[test]
fn up_down_and_shortest_paths_make_a_table_of_every_fabric() {
    for topology in TopologyKind::examples().iter().map(|kind| kind.generate().unwrap()) {
        assert!([RoutingKind::UpDown, RoutingKind::ShortestPath].iter().all(|kind| kind.build(&topology).is_ok()));
    }
}

#[test]
fn candidates_are_whole_port_channels_out_of_the_switch_side_by_side() {
    check(|topology, _, routing| {
        for (at, dst) in switches(topology).flat_map(|at| hosts(topology).map(move |dst| (at, dst))) {
            let mut candidates = Vec::new();
            routing.candidates(at, dst, &mut candidates);
            assert_eq!(candidates, routing.legal(at, dst));
            assert!(candidates.iter().all(|&channel| topology.channel(channel).from.node == Node::Switch(at)));
            let same = |a: &ChannelId, b: &ChannelId| topology.port_channel(*a) == topology.port_channel(*b);
            let bundles: Vec<_> = candidates.chunk_by(same).collect();
            bundles.iter().for_each(|bundle| assert_eq!(*bundle, topology.parallel(bundle[0])));
        }
    });
}

/// Links lead to the next level only.
fn is_tree(topology: &Topology) -> bool {
    let is_named = topology.switch_name(SwitchId::new(0)).starts_with("leaf");
    is_named && topology.axes().first().is_some_and(|axis| axis == "level")
}

#[test]
fn up_down_cannot_deadlock_and_on_fat_trees_shortest_paths_cannot_either() {
    check(|topology, kind, routing| {
        if kind == RoutingKind::UpDown || is_tree(topology) {
            assert_eq!(dependency_cycle(topology, routing), None, "{kind:?}");
        }
    });
}

#[test]
fn up_down_never_climbs_after_it_descended() {
    check(|topology, kind, routing| {
        // Elsewhere up and down are not those of levels.
        if kind == RoutingKind::UpDown && is_tree(topology) {
            hosts(topology).for_each(|dst| check_no_climb(topology, routing, dst));
        }
    });
}

/// Wherever a channel descends, no channel that is legal next climbs.
fn check_no_climb(topology: &Topology, routing: &RoutingTable, dst: HostId) {
    for at in switches(topology) {
        for &channel in routing.legal(at, dst) {
            let Node::Switch(next) = topology.channel(channel).to.node else { continue };
            let follows = routing.legal(next, dst).iter().filter_map(|&after| ends(topology, after));
            if !climbs(topology, at, next) {
                assert!({ follows }.all(|(from, to)| !climbs(topology, from, to)), "{}", topology.switch_name(next));
            }
        }
    }
}

fn switches(topology: &Topology) -> impl Iterator<Item = SwitchId> {
    (0..topology.switches()).map(SwitchId::from_index)
}

fn climbs(topology: &Topology, from: SwitchId, to: SwitchId) -> bool {
    (topology.level(to), to) > (topology.level(from), from)
}

/// The two switches of a channel; none when it leads to a host.
fn ends(topology: &Topology, channel: ChannelId) -> Option<(SwitchId, SwitchId)> {
    let channel = topology.channel(channel);
    match (channel.from.node, channel.to.node) {
        (Node::Switch(from), Node::Switch(to)) => Some((from, to)),
        _ => None,
    }
}
