//! The routing that tables implement is the one that the routing crate calls legal: the first hops of every switch
//! towards every host, on every small fabric.

use std::collections::BTreeSet;

use crate::fabrics::{graph, hosts, ports_by_host, switches};
use etherweave_forwarding::{MinimalRouting, PlanKind};
use etherweave_primitives::{HostId, Port, SwitchId};
use etherweave_routing::{Routing, RoutingKind};
use etherweave_topology::{
    Arrangement, Custom, Dragonfly, DragonflyPlus, Family, FoldedClos, LinkClass, Node, Topology, TopologyKind, Uplinks,
};
use proptest::prelude::*;

/// Ports of a switch towards every host by a routing, for packets that come from a host.
fn by_legality(topology: &Topology, routing: &dyn Routing, at: SwitchId) -> Vec<BTreeSet<Port>> {
    let ports = |host| {
        let mut hops = Vec::new();
        routing.hops(at, None, host, &mut hops);
        hops.iter().map(|hop| topology.channel(hop.channel).from.port).collect()
    };
    hosts(topology).map(ports).collect()
}

fn check(kind: &TopologyKind, routing: RoutingKind) {
    let topology = kind.generate().unwrap();
    let (minimal, legality) = (MinimalRouting::of(kind, &topology).unwrap(), routing.legality(&topology).unwrap());
    let flat = PlanKind::Flat.plan(&topology).unwrap();
    for at in switches(&topology) {
        let (found, expected) = (ports_by_host(&minimal, &flat, at), by_legality(&topology, &legality, at));
        assert_eq!(found, expected, "{kind:?} {routing:?} at {}", topology.switch_name(at));
    }
}

/// The routing that is the same; none where the table's is a part of a routing, see below.
fn same(kind: &TopologyKind) -> Option<RoutingKind> {
    match kind {
        TopologyKind::FlattenedButterfly(_) | TopologyKind::HyperX(_) => None,
        TopologyKind::Dragonfly(_) => Some(RoutingKind::Minimal),
        TopologyKind::SingleSwitch(_)
        | TopologyKind::FatTree(_)
        | TopologyKind::KAryFatTree(_)
        | TopologyKind::StagedFatTree(_)
        | TopologyKind::FoldedClos(_)
        | TopologyKind::RailOptimised(_) => Some(RoutingKind::UpDown),
        // Packets may take any dimension in which they are apart.
        TopologyKind::Mesh(_) => Some(RoutingKind::AdaptiveMinimal),
        // To the opposite switch of a ring both directions are shortest, where the adaptive routing takes one of them.
        TopologyKind::Torus(_)
        | TopologyKind::DragonflyPlus(_)
        | TopologyKind::SlimFly(_)
        | TopologyKind::Custom(_) => Some(RoutingKind::ShortestPath),
    }
}

#[test]
fn every_first_hop_of_every_family_is_that_of_its_routing() {
    let uplinks = vec![Uplinks::default(); 2];
    let clos = FoldedClos { radix: 6, hosts: 54, uplinks, ..FoldedClos::default() };
    for kind in TopologyKind::examples().iter().chain([&TopologyKind::FoldedClos(clos)]) {
        same(kind).into_iter().for_each(|routing| check(kind, routing));
    }
}

#[test]
fn complete_trees_take_shortest_paths_and_so_do_meshes() {
    for kind in TopologyKind::examples() {
        let topology = kind.generate().unwrap();
        let is_complete = || MinimalRouting::of(&kind, &topology).unwrap().is_implicit();
        if matches!(same(&kind), Some(RoutingKind::UpDown | RoutingKind::AdaptiveMinimal)) && is_complete() {
            check(&kind, RoutingKind::ShortestPath);
        }
    }
}

#[test]
fn butterflies_take_the_most_significant_dimension_of_the_adaptive_superset() {
    for kind in TopologyKind::examples().iter().filter(|&kind| same(kind).is_none()) {
        let topology = kind.generate().unwrap();
        let (minimal, flat) = (MinimalRouting::of(kind, &topology).unwrap(), PlanKind::Flat.plan(&topology).unwrap());
        // Five dimensions need no more than five priorities.
        let adaptive = RoutingKind::AdaptiveMinimal.legality(&topology).unwrap();
        for at in switches(&topology) {
            let wanted = by_legality(&topology, &adaptive, at).into_iter().zip(hosts(&topology));
            let wanted: Vec<_> = wanted.map(|(ports, dst)| most_significant(&topology, at, dst, ports)).collect();
            assert_eq!(ports_by_host(&minimal, &flat, at), wanted, "{kind:?} at {}", topology.switch_name(at));
        }
    }
}

/// Returns those of some ports towards a host that change the first coordinate in which it is apart.
fn most_significant(topology: &Topology, at: SwitchId, dst: HostId, ports: BTreeSet<Port>) -> BTreeSet<Port> {
    let (own, end) = (topology.coordinates(at), topology.coordinates(topology.switch_of(dst)));
    let Some(axis) = (0..own.len()).find(|&axis| own[axis] != end[axis]) else { return ports };
    let changes = |port: &Port| match topology.channel(topology.out_channel(at, *port)).to.node {
        Node::Switch(far) => topology.coordinates(far)[axis] == end[axis],
        Node::Host(_) => false,
    };
    ports.into_iter().filter(changes).collect()
}

#[test]
fn no_family_is_listed_but_rails_single_switches_and_trees_cut_within_a_pod() {
    let is_listed = |kind: &TopologyKind| {
        let topology = kind.generate().unwrap();
        !MinimalRouting::of(kind, &topology).unwrap().is_implicit()
    };
    let names: BTreeSet<&str> =
        TopologyKind::examples().iter().filter(|kind| is_listed(kind)).map(TopologyKind::name).collect();
    assert!(names.iter().all(|name| ["folded_clos", "rail_optimised", "single_switch"].contains(name)), "{names:?}");
}

fn dragonfly_plus() -> impl Strategy<Value = DragonflyPlus> {
    let shape = (1u32..4, 1u32..5, 1u32..4, any::<prop::sample::Index>());
    (shape, 0..3usize, any::<u64>()).prop_map(|((leaves, spines, h, groups), arrangement, seed)| {
        let groups = Some(1 + groups.index(spines as usize * h as usize + 1) as u32);
        let arrangement = [Arrangement::PalmTree, Arrangement::Consecutive, Arrangement::Random { seed }][arrangement];
        DragonflyPlus { p: 1, leaves, spines, h, groups, arrangement, ..DragonflyPlus::default() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn dragonflies_plus_of_any_shape_take_shortest_paths(plus in dragonfly_plus()) {
        let topology = plus.generate().unwrap();
        let kind = TopologyKind::DragonflyPlus(plus);
        prop_assert!(MinimalRouting::of(&kind, &topology).unwrap().is_implicit());
        check(&kind, RoutingKind::ShortestPath);
    }

    #[test]
    fn a_search_from_each_switch_finds_the_shortest_paths_of_random_graphs(custom in graph()) {
        check(&TopologyKind::Custom(custom), RoutingKind::ShortestPath);
    }
}

#[test]
fn a_switch_with_more_neighbours_than_a_word_has_bits_is_searched_as_well() {
    // A hub of 70 spokes, each with a host and a link to the next.
    let spokes = (1..=70).map(|spoke| format!("s0,s{spoke}\ns{spoke},s{}\nh{},s{spoke}", spoke % 70 + 1, spoke - 1));
    let links = format!("from,to\n{}", spokes.collect::<Vec<_>>().join("\n"));
    check(&TopologyKind::Custom(Custom { links, ..Custom::default() }), RoutingKind::ShortestPath);
}

#[test]
fn paths_around_a_local_link_cross_one_global_link_between_any_two_groups() {
    // Nine groups of four switches, each pair with one link (figure 3c of Benito et al. 2015).
    let kind = TopologyKind::Dragonfly(Dragonfly { p: 2, a: 4, h: 2, ..Dragonfly::default() });
    let topology = kind.generate().unwrap();
    let flat = PlanKind::Flat.plan(&topology).unwrap();
    let local = topology.cables("group0.switch0 - group0.switch1")[0];
    let regular = MinimalRouting::of(&kind, &topology).unwrap();
    for down in [vec![], vec![local]] {
        let around = MinimalRouting::around(&kind, &topology, &down);
        let tables: Vec<_> = switches(&topology).map(|at| ports_by_host(&around, &flat, at)).collect();
        for (at, dst) in switches(&topology).flat_map(|at| hosts(&topology).map(move |dst| (at, dst))) {
            let is_regular =
                ports_by_host(&regular, &flat, at)[dst.index()].is_subset(&tables[at.index()][dst.index()]);
            assert!(is_regular || !down.is_empty(), "{at} to {dst}: the regular path is a shortest one");
            let (mut node, mut global) = (Node::Switch(at), 0);
            while let Node::Switch(here) = node {
                let port = *tables[here.index()][dst.index()].last().unwrap();
                let channel = topology.channel(topology.out_channel(here, port));
                assert!(!down.contains(&topology.out_channel(here, port)));
                global += u32::from(channel.class == LinkClass::Global);
                node = channel.to.node;
            }
            let home = topology.coordinates(topology.switch_of(dst))[0];
            assert_eq!((node, global), (Node::Host(dst), u32::from(topology.coordinates(at)[0] != home)));
        }
    }
}
