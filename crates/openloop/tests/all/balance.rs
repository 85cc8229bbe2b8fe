//! Flow tables at full load accept what the routing itself accepts, family by family: trees against ECMP, which keeps
//! the path of a flow as tables do; dragonflies and flattened butterflies against their minimal routing.

use crate::fabric::offered;
use etherweave_forwarding::{FabricTables, TableParams};
use etherweave_openloop::{Arrival, OfferedTraffic, Pattern, RunParams};
use etherweave_primitives::Duration;
use etherweave_routing::RoutingKind;
use etherweave_topology::{
    Dragonfly, FatTree, FlattenedButterfly, FoldedClos, HyperX, KAryFatTree, Stage, StagedFatTree, TopologyKind,
    Uplinks,
};
use etherweave_workload::pattern::{Adversarial, Uniform};

/// Returns the load that a fabric accepts of full load.
fn accepted(kind: &TopologyKind, routing: RoutingKind, pattern: &Pattern) -> f64 {
    let topology = kind.generate().unwrap();
    let params = TableParams::default();
    let tables = FabricTables { kind, topology: &topology, params: &params };
    let run = RunParams::fixed(1.0, Duration::from_us(200), Duration::from_us(100), 1);
    let traffic = OfferedTraffic { arrival: Arrival::default(), ..offered(&tables, pattern.clone(), run) };
    traffic.run_with(routing, 1).unwrap().load_accepted
}

/// Returns the share that the tables accept of what a routing accepts, under uniform and adversarial traffic.
fn shares(kind: &TopologyKind, routing: RoutingKind) -> [f64; 2] {
    [Pattern::Uniform(Uniform::default()), Pattern::Adversarial(Adversarial::default())]
        .map(|pattern| accepted(kind, RoutingKind::MinimalTables, &pattern) / accepted(kind, routing, &pattern))
}

fn fat_tree(leaves: u32, hosts_per_leaf: u32, cores: u32, links_per_core: u32) -> TopologyKind {
    TopologyKind::FatTree(FatTree { leaves, hosts_per_leaf, cores, links_per_core, ..FatTree::default() })
}

#[test]
fn tables_accept_what_the_routing_of_the_family_accepts() {
    let up = Uplinks { ports: Some(4), ..Uplinks::default() };
    let clos = FoldedClos { radix: 12, hosts: 96, uplinks: vec![up.clone(), up], ..FoldedClos::default() };
    let stages = vec![Stage { down: 4, up: 2, links: 2, ..Stage::default() }];
    let staged = StagedFatTree { hosts_per_leaf: 4, stages, ..StagedFatTree::default() };
    let butterfly = FlattenedButterfly { hosts_per_switch: 3, sizes: vec![3, 3], ..FlattenedButterfly::default() };
    for (kind, routing) in [
        (fat_tree(2, 8, 1, 8), RoutingKind::Ecmp),
        (fat_tree(8, 12, 1, 4), RoutingKind::Ecmp),
        (fat_tree(8, 12, 4, 2), RoutingKind::Ecmp),
        (TopologyKind::FoldedClos(clos), RoutingKind::Ecmp),
        (TopologyKind::KAryFatTree(KAryFatTree { k: 4, ..KAryFatTree::default() }), RoutingKind::Ecmp),
        (TopologyKind::StagedFatTree(staged), RoutingKind::Ecmp),
        (TopologyKind::FlattenedButterfly(butterfly), RoutingKind::DimensionOrder),
        (TopologyKind::HyperX(HyperX::default()), RoutingKind::DimensionOrder),
        (TopologyKind::Dragonfly(Dragonfly::default()), RoutingKind::Minimal),
    ] {
        let shares = shares(&kind, routing);
        println!("{} of {}: {shares:.3?}", kind.name(), routing.name());
        assert!(shares.iter().all(|share| *share > 0.95), "{} of {}: {shares:?}", kind.name(), routing.name());
    }
}

#[test]
fn parallel_links_to_a_leaf_all_carry_traffic_from_elsewhere() {
    let adversarial = Pattern::Adversarial(Adversarial::default());
    let by_tables = |kind| accepted(&kind, RoutingKind::MinimalTables, &adversarial);
    // Each of 8 hosts has a link of its own, and a leaf of 12 hosts has 4 links, of which arbiters cost a few percent.
    let [two, eight] = [by_tables(fat_tree(2, 8, 1, 8)), by_tables(fat_tree(8, 12, 1, 4))];
    assert!(two > 0.85 && (0.27..=0.334).contains(&eight), "{two} {eight}");
}
