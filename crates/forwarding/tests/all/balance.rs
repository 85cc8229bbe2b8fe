//! Tables use links as evenly as the routing that they are made of would by a fair hash.

use etherweave_forwarding::{Busiest, LoadPattern, MinimalRouting, Sharing, Strategy, Survey, TableLoads};
use etherweave_topology::{FatTree, FoldedClos, HyperX, TopologyKind, Uplinks};

/// Least share that tables accept of the traffic that the routing accepts.
const SHARE_MIN: f64 = 0.95;

fn fat_tree(leaves: u32, hosts_per_leaf: u32, cores: u32, links_per_core: u32) -> TopologyKind {
    TopologyKind::FatTree(FatTree { leaves, hosts_per_leaf, cores, links_per_core, ..FatTree::default() })
}

/// Three levels, with so many ports up from leaves and spines.
fn clos(radix: u32, hosts: u32, up: [u32; 2]) -> TopologyKind {
    let uplinks = up.map(|ports| Uplinks { ports: Some(ports), ..Uplinks::default() }).to_vec();
    TopologyKind::FoldedClos(FoldedClos { radix, hosts, uplinks, ..FoldedClos::default() })
}

/// The busiest channels by the tables and by the routing itself.
fn busiest(kind: &TopologyKind) -> [Busiest; 2] {
    let topology = kind.generate().unwrap();
    let minimal = MinimalRouting::of(kind, &topology).unwrap();
    let fitting = Strategy::fitting(kind);
    [fitting, Strategy { sharing: Sharing::Hash, ..fitting }]
        .map(|strategy| TableLoads::of(&minimal, strategy, &[]).unwrap().busiest())
}

/// Returns the share that tables accept of the traffic that the routing accepts, uniform and by the worst shift.
fn shares(kind: &TopologyKind) -> [f64; 2] {
    let [tables, routing] = busiest(kind);
    [routing.uniform.load / tables.uniform.load, routing.worst.load / tables.worst.load]
}

fn rules_most(kind: &TopologyKind) -> u64 {
    Survey::of(kind, &kind.generate().unwrap()).unwrap().compacted.rules.max
}

#[test]
fn tables_of_every_family_accept_what_the_routing_accepts() {
    let lag = etherweave_topology::Dimension { lag: 3, ..etherweave_topology::Dimension::of(3) };
    let more = [
        fat_tree(8, 12, 4, 2),
        fat_tree(6, 10, 3, 2),
        fat_tree(4, 9, 2, 3),
        fat_tree(5, 7, 5, 1),
        fat_tree(8, 16, 3, 4),
        fat_tree(16, 24, 7, 2),
        fat_tree(4, 11, 3, 3),
        clos(12, 96, [4, 4]),
        clos(6, 54, [3, 3]),
        TopologyKind::HyperX(HyperX { hosts_per_switch: 4, dimensions: vec![lag], ..HyperX::default() }),
    ];
    for kind in TopologyKind::examples().into_iter().chain(more) {
        let topology = kind.generate().unwrap();
        // One host sends nothing; folded Clos networks that are not regular have a test of their own.
        let is_implicit = MinimalRouting::of(&kind, &topology).unwrap().is_implicit();
        if topology.hosts() > 1 && (is_implicit || !matches!(kind, TopologyKind::FoldedClos(_))) {
            let shares = shares(&kind);
            assert!(shares.iter().all(|share| *share > SHARE_MIN), "{shares:?} of {kind:?}");
        }
    }
}

#[test]
fn tables_of_trees_whose_pods_differ_accept_less_under_some_shifts() {
    // Shortfalls that docs/models/compaction.md names.
    for (kind, uniform, worst) in [
        (clos(6, 50, [3, 3]), 0.99, 0.99),
        (clos(6, 12, [4, 2]), 0.99, 0.49),
        (clos(12, 200, [5, 5]), 0.81, 0.62),
        (clos(16, 300, [6, 6]), 0.92, 0.6),
        (clos(12, 150, [6, 4]), 0.99, 0.58),
    ] {
        let shares = shares(&kind);
        assert!(shares[0] > uniform && shares[1] > worst, "{shares:?} of {kind:?}");
    }
}

#[test]
fn all_links_from_a_core_to_a_leaf_carry_what_sources_elsewhere_send() {
    // Of 16 hosts, the 8 of the other leaf send to a leaf over its 8 links.
    let [tables, _] = busiest(&fat_tree(2, 8, 1, 8));
    assert!((tables.worst.load - 1.0).abs() < 1e-9, "{tables:?}");
    assert_eq!(rules_most(&fat_tree(2, 8, 1, 8)), 16, "as many rules as ports");
    // The 12 hosts of a leaf send to the next one over its 4 links, 3 by each; under uniform traffic, 84 of 95 others.
    let [tables, _] = busiest(&fat_tree(8, 12, 1, 4));
    assert!((tables.worst.load - 3.0).abs() < 1e-9 && tables.worst.pattern == LoadPattern::Shift(1), "{tables:?}");
    assert!((tables.uniform.load - 3.0 * 84.0 / 95.0).abs() < 1e-9, "{tables:?}");
    assert_eq!(rules_most(&fat_tree(8, 12, 1, 4)), 32, "as many rules as ports");
}

#[test]
fn where_hosts_do_not_divide_among_uplinks_more_rules_divide_them_by_destinations() {
    // 12 hosts and 8 uplinks: with a rule for each uplink 4 of them would carry 2 hosts.
    let tree = fat_tree(8, 12, 4, 2);
    let [tables, routing] = busiest(&tree);
    assert!([tables, routing].iter().all(|by| (by.worst.load - 1.5).abs() < 1e-9), "{tables:?}");
    let most = rules_most(&tree);
    assert!((20..=64).contains(&most), "{most} rules, for 12 hosts and 8 uplinks");
}
