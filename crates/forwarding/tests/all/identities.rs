//! Numbers of the paper by formula and by table: Benito et al. 2015, section III, figures 4 and 6.

use etherweave_forwarding::{
    CompactionKind, Hierarchy, MinimalRouting, PlanKind, Strategy, Survey, TableProfile, compact, plain,
};
use etherweave_topology::{Arrangement, Dragonfly, Family, FlattenedButterfly, KAryFatTree, SizeRequest, TopologyKind};

/// Entries of the largest table under a plan.
fn most(kind: &TopologyKind, plan: PlanKind) -> u64 {
    let topology = kind.generate().unwrap();
    let minimal = MinimalRouting::of(kind, &topology).unwrap();
    assert!(minimal.is_implicit(), "{} is listed", kind.name());
    plain(&minimal, &plan.plan(&topology).unwrap()).ternary.max
}

/// Equation 1 for balanced fabrics of switches with `p` ports (table I).
fn hierarchies(p: u64) -> [(&'static str, Hierarchy); 4] {
    let (half, two, three, quarter) = (p / 2, p.div_ceil(3), p.div_ceil(4), (p + 1) / 4);
    [
        ("clos", Hierarchy { groups: p, switches: half, hosts: half }),
        ("butterfly_2d", Hierarchy { groups: two, switches: two, hosts: two }),
        ("butterfly_3d", Hierarchy { groups: three * three, switches: three, hosts: three }),
        ("dragonfly", Hierarchy { groups: 2 * quarter * quarter + 1, switches: 2 * quarter, hosts: quarter }),
    ]
}

fn kinds(p: u32) -> [TopologyKind; 4] {
    let butterfly = |n: u32| {
        let side = (p + n) / (n + 1);
        let sizes = vec![side; n as usize];
        TopologyKind::FlattenedButterfly(FlattenedButterfly { hosts_per_switch: side, sizes, ..Default::default() })
    };
    let t = p.div_ceil(4).min((p + 1) / 4);
    [
        TopologyKind::KAryFatTree(KAryFatTree { k: p, ..KAryFatTree::default() }),
        butterfly(2),
        butterfly(3),
        TopologyKind::Dragonfly(Dragonfly { p: t, a: 2 * t, h: t, ..Dragonfly::default() }),
    ]
}

#[test]
fn figure_4_s_rules_per_switch_and_per_group_are_equation_1() {
    for p in [8u32, 16, 24] {
        for (kind, (name, groups)) in kinds(p).iter().zip(hierarchies(p.into())) {
            assert_eq!(most(kind, PlanKind::PerGroup), groups.rules(), "{name} of {p} ports per group");
            assert_eq!(most(kind, PlanKind::PerSwitch), groups.without_groups().rules(), "{name} of {p} ports");
            assert_eq!(most(kind, PlanKind::Flat), groups.hosts_total(), "{name} of {p} ports flat");
        }
    }
}

#[test]
fn more_than_300000_hosts_take_fewer_than_4096_rules_in_three_levels() {
    // Section III-A: dragonfly and three-dimensional flattened butterfly, of switches with 96 ports at most.
    let room = u64::from(TableProfile::default().ternary_entries);
    let families = hierarchies(96).into_iter().filter(|(_, groups)| groups.hosts_total() > 300_000);
    let rules: Vec<(&str, u64, u64)> =
        families.map(|(name, groups)| (name, groups.rules(), groups.without_groups().rules())).collect();
    // 24³ = 13,824 and 48 · 1,153 = 55,344 switches.
    assert_eq!(rules, [("butterfly_3d", 622, 13_847), ("dragonfly", 1_223, 55_367)]);
    assert!(rules.iter().all(|&(_, groups, switches)| groups < room && switches > room));
    // And by table.
    let sizes = vec![24, 24, 24];
    let butterfly = FlattenedButterfly { hosts_per_switch: 24, sizes, ..FlattenedButterfly::default() };
    let largest = FlattenedButterfly::fit(&SizeRequest { hosts: 300_000, radix: 96 }).unwrap().largest.unwrap();
    assert_eq!((largest.hosts_per_switch, &largest.sizes), (24, &butterfly.sizes));
    assert_eq!(most(&TopologyKind::FlattenedButterfly(butterfly), PlanKind::PerGroup), 622);
    let dragonfly = Dragonfly { p: 18, a: 36, h: 18, groups: Some(463), ..Dragonfly::default() };
    assert_eq!(most(&TopologyKind::Dragonfly(dragonfly), PlanKind::PerGroup), 515);
}

/// Rules by port of every switch, least and most.
fn rules_and_ports(kind: &TopologyKind) -> [(u64, u64); 2] {
    let topology = kind.generate().unwrap();
    let compacted = Survey::of(kind, &topology).unwrap().compacted;
    [compacted.rules, compacted.ports].map(|count| (count.min, count.max))
}

#[test]
fn figure_6_s_clos_and_butterflies_of_any_dimension_have_as_many_rules_as_ports() {
    let sizes: [&[u32]; 5] = [&[7], &[4, 4], &[3, 5, 2], &[3, 2, 3, 2], &[2, 3, 2, 2, 3]];
    let butterflies = sizes.map(|sizes| {
        let butterfly = FlattenedButterfly { hosts_per_switch: 3, sizes: sizes.to_vec(), ..Default::default() };
        TopologyKind::FlattenedButterfly(butterfly)
    });
    let trees = [4, 8, 16].map(|k| TopologyKind::KAryFatTree(KAryFatTree { k, ..KAryFatTree::default() }));
    for kind in butterflies.iter().chain(&trees) {
        let [rules, ports] = rules_and_ports(kind);
        assert_eq!(rules, ports, "{kind:?}");
    }
}

#[test]
fn dragonflies_lie_between_the_bounds_and_nesting_saves_more() {
    let arrangements = [Arrangement::PalmTree, Arrangement::Consecutive, Arrangement::Random { seed: 3 }];
    for (t, arrangement) in [2u32, 4, 6].into_iter().flat_map(|t| arrangements.map(|arrangement| (t, arrangement))) {
        let dragonfly = Dragonfly { p: t, a: 2 * t, h: t, arrangement, ..Dragonfly::default() };
        let kind = TopologyKind::Dragonfly(dragonfly);
        let topology = kind.generate().unwrap();
        let minimal = MinimalRouting::of(&kind, &topology).unwrap();
        let size = u64::from(t);
        let groups = Hierarchy { groups: 2 * size * size + 1, switches: 2 * size, hosts: size };
        let rules = |compaction| compact(&minimal, Strategy { compaction, ..Strategy::fitting(&kind) }).unwrap().rules;
        let (ports, disjoint, nested) =
            (4 * size - 1, rules(CompactionKind::Prefixes), rules(CompactionKind::PrefixesNested));
        let least = groups.dragonfly_least(ports);
        assert!(least <= disjoint.min && disjoint.max <= groups.rules(), "{t} {arrangement:?}: {disjoint:?}");
        // A rule around the own group serves a neighbour and groups behind it, which the paper counts as two.
        assert!(ports <= nested.min && nested.total <= disjoint.total, "{t} {arrangement:?}: {nested:?}");
    }
}

#[test]
fn flat_tables_of_300000_hosts_overflow_cam_and_tcam_by_what_they_exceed() {
    let dragonfly = TopologyKind::Dragonfly(Dragonfly::default());
    let topology = dragonfly.generate().unwrap();
    let survey = Survey::of(&dragonfly, &topology).unwrap();
    let small = TableProfile { exact_entries: 64, ternary_entries: 16 };
    let flat = survey.plans[0].as_ref().unwrap().ternary;
    assert_eq!((small.exact(&flat).excess(), small.ternary(&flat).excess()), (72 - 64, 72 - 16));
    assert_eq!(small.ternary(&survey.compacted.rules).excess(), survey.compacted.rules.max.saturating_sub(16));
}
