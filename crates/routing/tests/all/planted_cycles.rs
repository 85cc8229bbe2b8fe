//! Fabrics and priorities that can deadlock and are reported so; with the priorities that make them free.

use crate::common::{Graph, ring};
use etherweave_routing::{DeadlockProof, Legality, Routing, RoutingKind, Verdict, prove};
use etherweave_topology::{Dimension, Dragonfly, Family, FlattenedButterfly, HyperX, Mesh, Topology, Torus};

fn torus(sizes: &[u32]) -> Topology {
    let dimensions = sizes.iter().map(|&size| Dimension::of(size)).collect();
    Torus { dimensions, ..Torus::default() }.generate().unwrap()
}

fn mesh(sizes: &[u32]) -> Topology {
    let dimensions = sizes.iter().map(|&size| Dimension::of(size)).collect();
    Mesh { dimensions, ..Mesh::default() }.generate().unwrap()
}

fn with_priorities(topology: &Topology, kind: RoutingKind, count: u8) -> (Legality, DeadlockProof) {
    let legality = kind.legality(topology).unwrap().with_priorities(count);
    let proof = prove(topology, &legality);
    (legality, proof)
}

/// Free with as many priorities as claimed, and with one less a cycle that brute force confirms.
fn check_needed(topology: &Topology, kind: RoutingKind, needed: u8) {
    let legality = kind.legality(topology).unwrap();
    assert_eq!(legality.priorities(), needed, "{kind:?}");
    assert!(prove(topology, &legality).is_free(), "{kind:?}");
    let (legality, proof) = with_priorities(topology, kind, needed - 1);
    let Verdict::Cycle(hops) = proof.verdict else { panic!("{kind:?} is free with {} priorities", needed - 1) };
    Graph::of(topology, &legality).assert_cycle(&hops);
}

#[test]
fn a_torus_needs_a_dateline() {
    check_needed(&torus(&[5]), RoutingKind::DimensionOrder, 2);
    check_needed(&torus(&[4, 6]), RoutingKind::DimensionOrder, 2);
}

#[test]
fn a_cycle_without_dateline_is_reported_by_switches_and_ports() {
    let topology = torus(&[4]);
    let (_, proof) = with_priorities(&topology, RoutingKind::DimensionOrder, 1);
    // Every switch has its host on port 0; links are in order, the one that closes the ring right after the first.
    let text = proof.verdict.describe(&topology);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + 4, "{text}");
    assert_eq!(lines[0], "may deadlock, each waits for the next:");
    assert!(lines[1..].iter().all(|line| line.contains("switch") && line.ends_with("priority 0")), "{text}");
    assert!(
        text.contains("switch0 port1 -> switch1 port1") || text.contains("switch1 port1 -> switch0 port1"),
        "{text}"
    );
    let (_, proof) = with_priorities(&topology, RoutingKind::DimensionOrder, 2);
    assert_eq!(proof.verdict.describe(&topology), "free, because acyclic");
}

#[test]
fn valiant_on_a_dragonfly_needs_every_priority_that_it_claims() {
    let topology = Dragonfly::default().generate().unwrap();
    check_needed(&topology, RoutingKind::Minimal, 2);
    check_needed(&topology, RoutingKind::Conditional, 2);
    check_needed(&topology, RoutingKind::ValiantGroup, 3);
    check_needed(&topology, RoutingKind::ValiantSwitch, 4);
}

#[test]
fn butterflies_need_a_priority_per_dimension_in_any_order_and_two_for_non_minimal_paths() {
    for sizes in [vec![3, 3], vec![3, 2, 2], vec![2, 2, 2, 2]] {
        let topology = FlattenedButterfly { sizes: sizes.clone(), ..FlattenedButterfly::default() }.generate().unwrap();
        assert_eq!(RoutingKind::DimensionOrder.legality(&topology).unwrap().priorities(), 1);
        check_needed(&topology, RoutingKind::AdaptiveMinimal, sizes.len() as u8);
        check_needed(&topology, RoutingKind::Valiant, 2);
    }
}

#[test]
fn adaptive_meshes_need_two_to_the_dimensions_but_one_and_tori_that_for_every_dateline_and_one_more() {
    let priorities = |topology: &Topology| {
        let legality = RoutingKind::AdaptiveMinimal.legality(topology).unwrap();
        assert!(prove(topology, &legality).is_free());
        legality.priorities()
    };
    assert_eq!(priorities(&mesh(&[5])), 1);
    check_needed(&mesh(&[4, 5]), RoutingKind::AdaptiveMinimal, 2);
    assert_eq!(priorities(&mesh(&[4, 4, 4])), 4);
    assert_eq!(priorities(&mesh(&[4, 4, 4, 4])), 8);
    assert_eq!(priorities(&torus(&[5])), 2);
    assert_eq!(priorities(&torus(&[4, 5])), 6);
    let error = RoutingKind::AdaptiveMinimal.legality(&torus(&[4, 4, 4])).err().unwrap().to_string();
    assert_eq!(error, "the routing needs 16 priorities on this fabric; expected at most 8, as 802.1Q has");
    let error = RoutingKind::AdaptiveMinimal.legality(&mesh(&[4; 5])).err().unwrap().to_string();
    assert!(error.contains("needs 16 priorities"), "{error}");
}

#[test]
fn a_listed_ring_deadlocks_on_shortest_paths_and_not_on_climbing_ones() {
    let topology = ring(5);
    let proof = prove(&topology, &RoutingKind::ShortestPath.legality(&topology).unwrap());
    let Verdict::Cycle(hops) = &proof.verdict else { panic!("a ring of five has a dependency cycle") };
    assert_eq!(hops.len(), 5);
    for kind in [RoutingKind::UpDown, RoutingKind::UpStarDownStar] {
        assert!(prove(&topology, &kind.legality(&topology).unwrap()).is_free(), "{kind:?}");
    }
}

#[test]
fn a_fabric_that_a_routing_is_not_for_is_an_error() {
    let error_of = |kind: RoutingKind, topology: &Topology| kind.legality(topology).err().unwrap().to_string();
    let tree = etherweave_topology::FatTree::default().generate().unwrap();
    let error = error_of(RoutingKind::DimensionOrder, &tree);
    assert!(error.contains("no places in rows; expected a complete flattened butterfly"), "{error}");
    let error = error_of(RoutingKind::Minimal, &tree);
    assert!(error.contains("expected a complete dragonfly"), "{error}");
    let error = error_of(RoutingKind::Valiant, &mesh(&[4, 4]));
    assert_eq!(error, "rows are lines or rings; expected a flattened butterfly or HyperX");
}

#[test]
fn with_a_failed_link_regular_routings_are_rejected_and_general_ones_route_around_it() {
    let failed = vec!["switch0.0 - switch0.1".to_owned()];
    let as_built = etherweave_topology::AsBuilt { failed, ..Default::default() };
    let topology = HyperX { as_built, ..HyperX::default() }.generate().unwrap();
    let error = RoutingKind::DimensionOrder.legality(&topology).err().unwrap().to_string();
    assert!(error.contains("a link along x is missing"), "{error}");
    assert!(prove(&topology, &RoutingKind::UpStarDownStar.legality(&topology).unwrap()).is_free());
}

#[test]
fn only_routings_by_destination_alone_make_a_table() {
    let torus = torus(&[4, 4]);
    let error = RoutingKind::DimensionOrder.build(&torus).unwrap_err().to_string();
    assert!(error.contains("changes among 2 priorities"), "{error}");
    let butterfly = FlattenedButterfly::default().generate().unwrap();
    assert!(RoutingKind::DimensionOrder.build(&butterfly).is_ok());
    assert!(RoutingKind::Valiant.build(&butterfly).is_err());
}

#[test]
fn folded_clos_networks_cut_at_a_pod_are_computed_and_those_cut_within_one_looked_up() {
    use etherweave_topology::{FoldedClos, Uplinks};
    let clos = |hosts| FoldedClos { radix: 8, hosts, uplinks: vec![Uplinks::default(); 2], ..FoldedClos::default() };
    // Pods of 4 leaves and 16 hosts: six of them; or a seventh of one leaf, whose spine joins 4 of 25 cores.
    for (hosts, is_implicit) in [(96, true), (100, false)] {
        let topology = clos(hosts).generate().unwrap();
        let legality = RoutingKind::UpDown.legality(&topology).unwrap();
        assert_eq!(legality.is_implicit(), is_implicit);
        assert!(prove(&topology, &legality).is_free());
    }
}
