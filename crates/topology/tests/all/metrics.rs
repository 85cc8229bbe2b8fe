//! Figures of fabrics against formulas and against counting by hand.

use etherweave_primitives::{BitRate, Length};
use etherweave_topology::{
    AsBuilt, BisectionBasis, Dimension, Dragonfly, FatTree, FlattenedButterfly, HyperX, KAryFatTree, LinkClass, Medium,
    Metrics, SingleSwitch, SlimFly, TopologyKind, Torus,
};

fn metrics(kind: &TopologyKind) -> Metrics {
    Metrics::of(kind, &kind.generate().unwrap())
}

/// Diameter and mean distance in links between switches.
fn check_distances(kind: TopologyKind, diameter: u32, mean: f64) {
    let distances = metrics(&kind).distances;
    assert_eq!(distances.diameter, diameter, "{kind:?}");
    assert!((distances.mean - mean).abs() < 1e-9, "{} is not {mean}: {kind:?}", distances.mean);
}

#[test]
fn distances_are_those_of_the_formulas() {
    check_distances(TopologyKind::SingleSwitch(SingleSwitch::default()), 0, 0.0);
    // 11 of the 95 others are on the same leaf, 84 behind the core.
    check_distances(TopologyKind::FatTree(FatTree::default()), 2, 2.0 * 84.0 / 95.0);
    // k = 4: 1 other on the leaf, 2 in the pod at 2, 12 at 4.
    let tree = KAryFatTree { k: 4, ..KAryFatTree::default() };
    check_distances(TopologyKind::KAryFatTree(tree), 4, (2.0 * 2.0 + 12.0 * 4.0) / 15.0);
    // A ring of 6 with one host each: 1, 1, 2, 2, 3.
    let ring = Torus { dimensions: vec![Dimension::of(6)], ..Torus::default() };
    check_distances(TopologyKind::Torus(ring), 3, 9.0 / 5.0);
    // 4 hosts on each of 4 × 4 switches: 3 others here, 24 at 1, 36 at 2.
    let butterfly = FlattenedButterfly::default();
    check_distances(TopologyKind::FlattenedButterfly(butterfly), 2, (24.0 + 2.0 * 36.0) / 63.0);
    // The Hoffman-Singleton graph with 4 hosts per switch: 3 here, 28 at 1, 168 at 2.
    check_distances(TopologyKind::SlimFly(SlimFly::default()), 2, (28.0 + 2.0 * 168.0) / 199.0);
    assert_eq!(metrics(&TopologyKind::Dragonfly(Dragonfly::default())).distances.diameter, 3);
}

#[test]
fn pairs_of_unequally_filled_switches_are_weighed_by_their_hosts() {
    // 13 hosts: 12 on the first leaf and 1 on the second.
    let as_built = AsBuilt { hosts: Some(13), ..AsBuilt::default() };
    let distances = metrics(&TopologyKind::FatTree(FatTree { as_built, ..FatTree::default() })).distances;
    assert_eq!(distances.pairs, [12 * 11, 0, 2 * 12]);
}

/// A bisection by formula, in links of 100 Gb/s.
fn check_exact(kind: TopologyKind, links: u64) {
    let bisection = metrics(&kind).bisection;
    assert!(matches!(bisection.basis, BisectionBasis::Exact { .. }), "{kind:?}: {bisection:?}");
    assert_eq!(bisection.rate, BitRate::from_gbps(100 * links), "{kind:?}");
}

#[test]
fn bisections_are_those_of_the_formulas() {
    check_exact(TopologyKind::SingleSwitch(SingleSwitch { hosts: 9, ..SingleSwitch::default() }), 4);
    check_exact(TopologyKind::FatTree(FatTree::default()), 4 * 4);
    check_exact(TopologyKind::KAryFatTree(KAryFatTree { k: 8, ..KAryFatTree::default() }), 128 / 2);
    // Half of every row of 4 joins the other: 2 · 2 links, 4 rows.
    check_exact(TopologyKind::FlattenedButterfly(FlattenedButterfly::default()), 16);
    // A cube of 4: every one of the 16 rings is cut twice.
    check_exact(TopologyKind::Torus(Torus::default()), 32);
    let dimensions = vec![Dimension::of(4), Dimension { lag: 3, ..Dimension::of(2) }];
    // 8 switches: the row of 4 has min(4·1, 2·3) = 4, so 8 · 4/4.
    check_exact(TopologyKind::HyperX(HyperX { dimensions, ..HyperX::default() }), 8);
}

#[test]
fn every_formula_is_at_most_the_best_cut_found() {
    // The same links as a list: no formula, only cuts.
    for kind in TopologyKind::examples() {
        let Some(exact) = kind.bisection() else { continue };
        let topology = kind.generate().unwrap();
        let custom = etherweave_topology::Custom { links: edge_list(&topology), ..Default::default() };
        let bound = metrics(&TopologyKind::Custom(custom)).bisection;
        assert!(exact.rate <= bound.rate, "{kind:?}: {exact:?} but {bound:?}");
        assert!(matches!(bound.basis, BisectionBasis::UpperBound { .. }));
    }
}

fn edge_list(topology: &etherweave_topology::Topology) -> String {
    let name = |node| match node {
        etherweave_topology::Node::Host(host) => format!("h{}", host.get()),
        etherweave_topology::Node::Switch(switch) => format!("s{}", switch.get()),
    };
    let line = |link: &etherweave_topology::Channel| {
        format!("{},{},{},{}\n", name(link.from.node), name(link.to.node), link.rate, link.length)
    };
    topology.channels().iter().step_by(2).map(line).collect()
}

#[test]
fn a_failed_link_leaves_a_bound_and_not_a_formula() {
    let as_built = AsBuilt { failed: vec!["leaf0 - core0".to_owned()], ..AsBuilt::default() };
    let bisection = metrics(&TopologyKind::FatTree(FatTree { as_built, ..FatTree::default() })).bisection;
    assert!(matches!(bisection.basis, BisectionBasis::UpperBound { .. }));
    // The halves by number cut the uplinks of the leaf that has lost one.
    assert_eq!(bisection.rate, BitRate::from_gbps(100 * (4 * 4 - 1)));
}

#[test]
fn path_diversity_and_taper_of_trees_are_their_widths() {
    let measured = metrics(&TopologyKind::KAryFatTree(KAryFatTree { k: 8, ..KAryFatTree::default() }));
    assert_eq!((measured.paths.least, measured.paths.most, measured.paths.is_exact), (4, 16, true));
    assert!(measured.tapers.iter().all(|taper| taper.ratio() == 1.0));
    let tapered = metrics(&TopologyKind::FatTree(FatTree::default()));
    assert_eq!(tapered.tapers.iter().map(|taper| taper.ratio()).collect::<Vec<_>>(), [3.0]);
    assert_eq!((tapered.paths.least, tapered.paths.most), (1, 1), "parallel links are one path");
}

#[test]
fn cables_are_counted_as_they_are_bought() {
    let measured = metrics(&TopologyKind::Dragonfly(Dragonfly::default()));
    let counts: Vec<_> = measured.cables.iter().map(|c| (c.class, c.medium, c.length, c.cables)).collect();
    let metres = Length::from_m;
    let expected = [
        (LinkClass::Host, Medium::Copper, metres(3), 72),
        (LinkClass::Local, Medium::Optical, metres(8), 9 * 6),
        (LinkClass::Global, Medium::Optical, metres(80), 36),
    ];
    assert_eq!(counts, expected);
}

#[test]
fn breakout_cables_and_free_ports_are_counted_by_switch() {
    let as_built = AsBuilt { radix: Some(36), breakout: 4, hosts: Some(22), ..AsBuilt::default() };
    let measured = metrics(&TopologyKind::FatTree(FatTree { as_built, ..FatTree::default() }));
    // 12 and 10 hosts: three cables each; 32 uplinks end at both leaves and core.
    assert_eq!((measured.cables[0].links, measured.cables[0].cables), (22, 6));
    assert_eq!(measured.ports_used, 6 + 2 * 32);
    assert_eq!(measured.ports_free, Some(9 * 36 - 70));
}
