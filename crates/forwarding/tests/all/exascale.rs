//! The three fabrics of Benito, Vallejo and Beivide, "On the use of commodity Ethernet technology in exascale HPC
//! systems", HiPC 2015, section VI-A, and the identities of section III: every table made, counted and proved.

use etherweave_forwarding::{CompactionKind, Count, Hierarchy, MinimalRouting, PlanKind, Strategy, Survey, compact};
use etherweave_topology::{
    AsBuilt, Dimension, Dragonfly, DragonflyPlus, Family, FlattenedButterfly, FoldedClos, SizeRequest, TopologyKind,
    Torus, Uplinks,
};

fn survey(kind: &TopologyKind) -> Survey {
    let topology = kind.generate().unwrap();
    let survey = Survey::of(kind, &topology).unwrap();
    let pairs = topology.hosts() as u64 * topology.switches() as u64;
    assert_eq!((survey.exact, survey.compacted.proof.pairs), (topology.hosts() as u64, pairs));
    survey
}

fn entries(survey: &Survey, plan: PlanKind) -> Count {
    let tables = survey.plans.iter().flatten().find(|tables| tables.plan == plan);
    tables.expect("the fabric has this plan").ternary
}

#[test]
fn the_clos_of_303264_hosts_has_as_many_rules_as_ports() {
    let uplinks = vec![Uplinks::default(); 3];
    let clos = FoldedClos { radix: 72, hosts: 303_264, uplinks, ..FoldedClos::default() };
    let survey = survey(&TopologyKind::FoldedClos(clos));
    assert_eq!(entries(&survey, PlanKind::Flat).min, 303_264);
    // 8,424 leaves: 8,423 others and 36 own hosts; transit switches have none.
    let per_switch = entries(&survey, PlanKind::PerSwitch);
    assert_eq!((per_switch.min, per_switch.max), (8_424, 8_423 + 36));
    // 234 pods of 36 leaves. A core needs one rule per pod, a spine also those of its pod's leaves.
    let pods = Hierarchy { groups: 234, switches: 36, hosts: 36 };
    let per_group = entries(&survey, PlanKind::PerGroup);
    assert_eq!((per_group.min, per_group.max), (234, pods.rules()));
    let Count { min, max, tables, .. } = survey.compacted.rules;
    assert_eq!((min, max, tables), (72, 72, 29_484), "one rule per port");
}

#[test]
fn the_butterfly_of_303750_hosts_has_as_many_rules_as_ports() {
    let sizes = vec![15, 15, 15, 6];
    let butterfly = FlattenedButterfly { hosts_per_switch: 15, sizes, ..FlattenedButterfly::default() };
    let survey = survey(&TopologyKind::FlattenedButterfly(butterfly));
    let rows = Hierarchy { groups: 15 * 15 * 6, switches: 15, hosts: 15 };
    assert_eq!(rows.hosts_total(), 303_750);
    let check = |plan, expected| {
        let count = entries(&survey, plan);
        assert_eq!((count.min, count.max), (expected, expected), "{}", plan.name());
    };
    check(PlanKind::Flat, 303_750);
    check(PlanKind::PerSwitch, rows.without_groups().rules());
    check(PlanKind::PerGroup, rows.rules());
    // 15 + 14 + 14 + 14 + 5 ports.
    assert_eq!((survey.compacted.rules.min, survey.compacted.rules.max), (62, 62));
    assert_eq!(survey.compacted.layout, "w 3 | z 4 | y 4 | x 4 | host 4 (19 of 46 bits)");
}

#[test]
fn the_dragonfly_of_300024_hosts_lies_between_the_bounds() {
    let dragonfly = Dragonfly { p: 18, a: 36, h: 18, groups: Some(463), ..Dragonfly::default() };
    let survey = survey(&TopologyKind::Dragonfly(dragonfly));
    let groups = Hierarchy { groups: 463, switches: 36, hosts: 18 };
    assert_eq!(groups.rules(), 515);
    let check = |plan, expected| {
        let count = entries(&survey, plan);
        assert_eq!((count.min, count.max), (expected, expected), "{}", plan.name());
    };
    check(PlanKind::Flat, 300_024);
    check(PlanKind::PerSwitch, groups.without_groups().rules());
    check(PlanKind::PerGroup, groups.rules());
    let rules = survey.compacted.rules;
    assert!(rules.min >= groups.dragonfly_least(71) && rules.max <= groups.rules());
}

#[test]
fn disjoint_prefixes_for_the_dragonfly_of_300024_hosts_lie_between_the_bounds_too() {
    let dragonfly = Dragonfly { p: 18, a: 36, h: 18, groups: Some(463), ..Dragonfly::default() };
    let kind = TopologyKind::Dragonfly(dragonfly);
    let topology = kind.generate().unwrap();
    let minimal = MinimalRouting::of(&kind, &topology).unwrap();
    let strategy = Strategy { compaction: CompactionKind::Prefixes, ..Strategy::fitting(&kind) };
    let rules = compact(&minimal, strategy).unwrap().rules;
    assert!(rules.min >= 71 + 35 && rules.max <= 515, "{} to {}", rules.min, rules.max);
}

#[test]
fn a_dragonfly_plus_for_300000_hosts_sends_to_the_spines_with_links_to_a_group() {
    let kind =
        TopologyKind::DragonflyPlus(DragonflyPlus::fit(&SizeRequest { hosts: 300_000, radix: 72 }).unwrap().smallest);
    let survey = survey(&kind);
    // 232 groups of 36 leaves of 36 hosts. A leaf: 231 groups, 35 leaves, 36 hosts; a spine has no hosts of its own.
    let groups = Hierarchy { groups: 232, switches: 36, hosts: 36 };
    let per_group = entries(&survey, PlanKind::PerGroup);
    assert_eq!((per_group.min, per_group.max), (231 + 36, groups.rules()));
    assert!(survey.compacted.rules.max < groups.rules());
}

#[test]
fn an_irregular_fabric_of_1000_switches_is_searched_switch_by_switch() {
    // A torus of 10 × 10 × 10 with a failed link: a switch has an entry for every other one, and own hosts.
    let as_built = AsBuilt { failed: vec!["switch0.0.0 - switch0.0.1".to_owned()], ..AsBuilt::default() };
    let dimensions = vec![Dimension::of(10); 3];
    let torus = Torus { hosts_per_switch: 4, dimensions, as_built, ..Torus::default() };
    let survey = survey(&TopologyKind::Torus(torus));
    let per_switch = entries(&survey, PlanKind::PerSwitch);
    assert_eq!((per_switch.min, per_switch.max), (999 + 4, 999 + 4));
}
