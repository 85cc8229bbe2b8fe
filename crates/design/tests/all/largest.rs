//! Formulas of the largest fabrics against the fabrics themselves, built and counted.

use etherweave_design::{Design, DesignSpec, Largest, TablesSpec};
use etherweave_forwarding::{CompactionKind, PlanKind};

/// Without deadlock proofs. The paper merges rules of one port only, in the dragonfly.
fn spec(largest: &Largest) -> DesignSpec {
    let compaction = (largest.name == "dragonfly").then_some(CompactionKind::Prefixes);
    let tables = TablesSpec { compaction, ..TablesSpec::default() };
    DesignSpec { routings: Some(Vec::new()), tables, ..DesignSpec::default() }
}

fn check(largest: &Largest) {
    let Largest { name, radix, kind, .. } = largest;
    let design = Design::of(name, kind, &kind.generate().unwrap(), &spec(largest), &mut |_| true).unwrap();
    assert_eq!((design.fabric.hosts, design.fabric.switches), (largest.hosts, largest.switches), "{name} of {radix}");
    assert_eq!(u64::from(design.fabric.ports_used_max), largest.ports, "{name} of {radix}");
    let tables = design.tables.unwrap();
    let entries = |plan| tables.plans.iter().find(|count| count.plan == plan).unwrap().largest.entries;
    let counts = [PlanKind::Flat, PlanKind::PerSwitch, PlanKind::PerGroup].map(entries);
    let formula = [largest.entries_flat, largest.entries_per_switch, largest.entries_per_group];
    assert_eq!(counts, formula, "{name} of {radix}");
    let (least, most) = (tables.compacted.rules_min, tables.compacted.largest.entries);
    assert!(largest.rules_least <= least && most <= largest.rules_most, "{name} of {radix}: {least} to {most}");
}

#[test]
fn counts_and_entries_by_formula_are_those_of_the_fabric_as_built() {
    for radix in [8, 11, 16] {
        Largest::all(radix).unwrap().iter().for_each(check);
    }
}

#[test]
fn the_largest_of_96_ports_are_those_of_figure_4() {
    let sizes: Vec<(String, u64)> =
        Largest::all(96).unwrap().into_iter().map(|largest| (largest.name, largest.hosts)).collect();
    // k³/4; 32³, 24⁴; p = 24, a = 48: (24 · 48 + 1) · 48 · 24; 20⁵, 16⁶.
    let expected = [
        ("clos_3", 221_184),
        ("butterfly_2d", 32_768),
        ("butterfly_3d", 331_776),
        ("dragonfly", 1_328_256),
        ("butterfly_4d", 3_200_000),
        ("butterfly_5d", 16_777_216),
    ];
    assert_eq!(sizes, expected.map(|(name, hosts)| (name.to_owned(), hosts)));
}

#[test]
fn proportions_are_the_columns_of_table_1() {
    let published = |radix: u32, name: &str| {
        let member = Largest::all(radix).unwrap().into_iter().find(|largest| largest.name == name);
        let row = member.unwrap().published.unwrap();
        [row.hosts_per_access_switch, row.hosts_per_switch, row.hosts]
    };
    // P/2, P/5, P³/4; P/3 and its cube; P/4, 4 · (P/4)⁴.
    assert_eq!(published(24, "clos_3"), [12.0, 4.8, 3_456.0]);
    assert_eq!(published(48, "butterfly_2d"), [16.0, 16.0, 4_096.0]);
    assert_eq!(published(96, "dragonfly"), [24.0, 24.0, 1_327_104.0]);
}

#[test]
fn a_radix_without_such_fabrics_is_cited_the_range() {
    for radix in [0, 7, 129, u32::MAX] {
        let error = Largest::all(radix).unwrap_err().to_string();
        assert!(error.contains("radix") && error.contains("8 to 128"), "{error}");
    }
}
