//! The three fabrics of Benito, Vallejo and Beivide, "On the use of commodity Ethernet technology in exascale HPC
//! systems", HiPC 2015, section VI-A: about 300,000 hosts on switches of 72 ports. Verdicts in seconds.

use etherweave_primitives::{HostId, SwitchId};
use etherweave_routing::{DeadlockProof, FlowKey, Legality, Routing, RoutingKind, SelectionKind, Verdict, path, prove};
use etherweave_topology::{AsBuilt, Dragonfly, Family, FlattenedButterfly, FoldedClos, Topology, Uplinks};

fn clos() -> Topology {
    let uplinks = vec![Uplinks::default(); 3];
    FoldedClos { radix: 72, hosts: 303_264, uplinks, ..FoldedClos::default() }.generate().unwrap()
}

fn butterfly() -> Topology {
    let sizes = vec![15, 15, 15, 6];
    FlattenedButterfly { hosts_per_switch: 15, sizes, ..FlattenedButterfly::default() }.generate().unwrap()
}

fn dragonfly() -> Topology {
    Dragonfly { p: 18, a: 36, h: 18, groups: Some(463), ..Dragonfly::default() }.generate().unwrap()
}

/// The proof of an implicit routing, after `flows` flows arrived within the claimed hops.
fn proven(topology: &Topology, kind: RoutingKind, legality: Legality, flows: u32) -> DeadlockProof {
    assert!(legality.is_implicit(), "{kind:?}");
    let selection = SelectionKind::default().build(topology);
    let hosts = topology.hosts() as u32;
    for number in 0..flows {
        // Multiples of a number without common divisor spread over all hosts.
        let (src, dst) = (number * 7_919 % hosts, number * 104_729 % hosts);
        let key = FlowKey { src: HostId::new(src), dst: HostId::new(dst), entropy: u64::from(number) };
        if src != dst {
            let hops = path(topology, &legality, &selection, &key).unwrap().len() as u32 - 2;
            assert!(hops <= legality.hops_max(), "{kind:?}");
        }
    }
    prove(topology, &legality)
}

fn check_free(topology: &Topology, kinds: &[(RoutingKind, u8)]) {
    for &(kind, priorities) in kinds {
        let proof = proven(topology, kind, kind.legality(topology).unwrap(), 2_000);
        assert_eq!((proof.verdict, proof.priorities), (Verdict::Free, priorities), "{kind:?}");
    }
}

#[test]
fn the_folded_clos_is_free_with_one_priority() {
    check_free(&clos(), &[(RoutingKind::UpDown, 1)]);
}

#[test]
fn the_butterfly_is_free_with_one_priority_in_order_and_four_in_any_order() {
    check_free(&butterfly(), &[(RoutingKind::DimensionOrder, 1), (RoutingKind::AdaptiveMinimal, 4)]);
}

#[test]
fn the_dragonfly_is_free_with_two_priorities_and_by_groups_with_three_but_not_with_two() {
    let topology = dragonfly();
    check_free(&topology, &[(RoutingKind::Minimal, 2), (RoutingKind::ValiantGroup, 3)]);
    let two = RoutingKind::ValiantGroup.legality(&topology).unwrap().with_priorities(2);
    let Verdict::Cycle(cycle) = prove(&topology, &two).verdict else { panic!("a cycle of l1 g1 l1 g1") };
    // Two groups share one cable, so a path back by another switch takes a third: three local hops and three global.
    assert!(cycle.iter().all(|hop| hop.priority.get() == 1) && cycle.len() == 6, "{cycle:?}");
}

#[test]
fn dimension_order_in_the_butterfly_uses_every_channel_and_turns_to_later_dimensions_only() {
    let (topology, kind) = (butterfly(), RoutingKind::DimensionOrder);
    let proof = prove(&topology, &kind.legality(&topology).unwrap());
    // 20,250 switches with 14 + 14 + 14 + 5 neighbours; after a hop in one dimension any in a later one.
    assert_eq!(proof.channels, 20_250 * 47);
    assert_eq!(proof.dependencies, 20_250 * (14 * (14 + 14 + 5) + 14 * (14 + 5) + 14 * 5));
    let mut candidates = Vec::new();
    kind.legality(&topology).unwrap().candidates(SwitchId::new(0), HostId::new(303_749), &mut candidates);
    assert_eq!(candidates.len(), 1);
}

#[test]
fn up_star_down_star_is_free_on_all_three_and_up_down_where_there_are_no_levels() {
    // Too large to follow every packet, so the proof follows whole turns: after a hop down none leads up.
    let check = |topology: &Topology, kind: RoutingKind| {
        let proof = proven(topology, kind, kind.legality(topology).unwrap(), 3);
        assert!(proof.is_free() && !proof.is_exact && proof.priorities == 1, "{kind:?}");
        assert!(proof.channels <= topology.channels().len() as u64 && proof.dependencies > proof.channels);
    };
    check(&clos(), RoutingKind::UpStarDownStar);
    for topology in [butterfly(), dragonfly()] {
        check(&topology, RoutingKind::UpStarDownStar);
        check(&topology, RoutingKind::UpDown);
    }
}

#[test]
fn a_clos_with_a_failed_cable_is_free_as_well() {
    let as_built = AsBuilt { failed: vec!["leaf0 - spine1.0".to_owned()], ..AsBuilt::default() };
    let uplinks = vec![Uplinks::default(); 3];
    let clos = FoldedClos { radix: 72, hosts: 303_264, uplinks, as_built, ..FoldedClos::default() };
    let (topology, kind) = (clos.generate().unwrap(), RoutingKind::UpDown);
    let proof = proven(&topology, kind, kind.legality(&topology).unwrap(), 3);
    assert!(proof.is_free() && !proof.is_exact);
}
