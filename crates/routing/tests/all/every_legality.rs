//! Properties of the hops of every routing, on every example of every topology family that the routing is for.

use std::collections::BTreeSet;

use crate::common::{check_arrival, check_proof, hosts, onward, suited};
use etherweave_routing::{ChannelHop, Legality, Routing, RoutingKind, prove};
use etherweave_topology::{Node, Topology, TopologyKind};

/// Runs one check on every routing and every example that it is for.
fn check(promise: impl Fn(&Topology, RoutingKind, &Legality)) {
    for topology in TopologyKind::examples().iter().map(|kind| kind.generate().unwrap()) {
        for (kind, legality) in suited(&topology) {
            promise(&topology, kind, &legality);
        }
    }
}

#[test]
fn every_legal_path_ends_at_its_destination_within_the_claimed_hops() {
    check(|topology, _, legality| check_arrival(topology, legality));
}

#[test]
fn hops_leave_their_switch_side_by_side_on_priorities_within_the_claim() {
    check(|topology, kind, legality| {
        let mut seen = BTreeSet::new();
        for (dst, src) in hosts(topology).flat_map(|dst| hosts(topology).map(move |src| (dst, src))) {
            let mut holding = vec![ChannelHop::first(topology.host_channel(src))];
            while let Some(held) = holding.pop() {
                let hops = onward(topology, legality, held, dst);
                let at = topology.channel(held.channel).to.node;
                assert!(hops.iter().all(|hop| topology.channel(hop.channel).from.node == at));
                assert!(hops.iter().all(|hop| hop.priority.get() < legality.priorities()), "{kind:?}");
                let ends: Vec<Node> = hops.iter().map(|hop| topology.channel(hop.channel).to.node).collect();
                let runs = ends.chunk_by(|a, b| a == b).count();
                assert_eq!(ends.iter().collect::<BTreeSet<_>>().len(), runs, "{kind:?}: side by side");
                holding.extend(hops.into_iter().filter(|&hop| seen.insert((dst, hop))));
            }
        }
        let used = seen.iter().filter(|(_, hop)| matches!(topology.channel(hop.channel).to.node, Node::Switch(_)));
        let used: BTreeSet<u8> = used.map(|(_, hop)| hop.priority.get()).collect();
        assert!(used.iter().all(|priority| *priority < legality.priorities()));
    });
}

#[test]
fn the_proof_has_exactly_the_dependencies_of_single_packets() {
    check(check_proof);
}

#[test]
fn with_fewer_priorities_the_proof_agrees_with_brute_force() {
    for topology in TopologyKind::examples().iter().map(|kind| kind.generate().unwrap()) {
        for kind in suited(&topology).into_iter().map(|(kind, _)| kind) {
            for count in 1..kind.legality(&topology).unwrap().priorities() {
                let legality = kind.legality(&topology).unwrap().with_priorities(count);
                assert_eq!(legality.priorities(), count);
                check_proof(&topology, kind, &legality);
            }
        }
    }
}

#[test]
fn all_but_shortest_paths_are_free_wherever_they_are_legal() {
    check(|topology, kind, legality| {
        assert!(kind == RoutingKind::ShortestPath || prove(topology, legality).is_free(), "{kind:?}");
    });
}

/// The routings for a fabric.
fn kinds(family: &str) -> BTreeSet<String> {
    let examples = TopologyKind::examples().into_iter().filter(|kind| kind.name() == family);
    let names = |kind: TopologyKind| suited(&kind.generate().unwrap()).into_iter().map(|(kind, _)| format!("{kind:?}"));
    examples.flat_map(names).collect()
}

#[test]
fn every_family_has_the_routings_that_are_for_it() {
    let anywhere = ["ShortestPath", "UpDown", "UpStarDownStar"];
    let check = |family: &str, more: &[&str]| {
        let expected = anywhere.iter().chain(more).map(|name| name.to_string()).collect::<BTreeSet<_>>();
        assert_eq!(kinds(family), expected, "{family}");
    };
    let trees = ["fat_tree", "k_ary_fat_tree", "staged_fat_tree", "folded_clos", "rail_optimised"];
    trees
        .iter()
        .chain(&["single_switch", "dragonfly_plus", "slim_fly", "custom"])
        .for_each(|family| check(family, &[]));
    let rows = ["DimensionOrder", "AdaptiveMinimal", "Valiant"];
    check("flattened_butterfly", &rows);
    check("hyperx", &rows);
    // An example of rows of two and three switches is a flattened butterfly as well.
    check("torus", &rows);
    check("mesh", &rows[..2]);
    let groups = ["Conditional", "Minimal", "ValiantGroup", "ValiantSwitch"];
    check("dragonfly", &groups);
}
