//! Whatever parameters a fabric or a plan has, the answer is tables or an error, and comes soon.

use etherweave_forwarding::{FieldLayout, PlanKind, Sharing, Survey, TableProfile};
use etherweave_topology::TopologyKind;
use proptest::prelude::*;
use toml::Value;

/// The integers of a value, in order.
fn integers(value: &mut Value) -> Vec<&mut i64> {
    match value {
        Value::Integer(integer) => vec![integer],
        Value::Array(list) => list.iter_mut().flat_map(integers).collect(),
        Value::Table(table) => table.iter_mut().flat_map(|(_, value)| integers(value)).collect(),
        Value::String(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => Vec::new(),
    }
}

/// The fabric without some of its cables; none when the parameters make no fabric.
fn with_failures(mut value: Value, failed: &[prop::sample::Index]) -> Option<TopologyKind> {
    let topology = value.clone().try_into::<TopologyKind>().ok()?.generate().ok()?;
    let cable = |index: &prop::sample::Index| {
        let channel = index.get(topology.channels());
        Value::from(format!("{} - {}", topology.name(channel.from.node), topology.name(channel.to.node)))
    };
    let failed: Vec<Value> = failed.iter().map(cable).collect();
    let family = value.as_table_mut()?.iter_mut().next()?.1.as_table_mut()?;
    family.insert("as_built".into(), toml::Table::from_iter([("failed".to_owned(), failed.into())]).into());
    value.try_into().ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_numbers_in_any_family_have_tables_or_an_error(
        example in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), 0i64..7), 0..4),
        failed in proptest::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let mut value = Value::try_from(example.get(&TopologyKind::examples())).unwrap();
        for (place, number) in changes {
            let mut integers = integers(&mut value);
            if !integers.is_empty() {
                let place = place.index(integers.len());
                *integers[place] = number;
            }
        }
        if let Some(kind) = with_failures(value, &failed)
            && let Ok(topology) = kind.generate()
            && topology.channels().len() < 3_000
        {
            // A fabric that fails in parts is still connected, and its routing is listed.
            let survey = Survey::of(&kind, &topology).unwrap();
            prop_assert_eq!(survey.compacted.proof.pairs, topology.hosts() as u64 * topology.switches() as u64);
        }
    }

    #[test]
    fn any_widths_make_a_plan_or_an_error(
        widths in proptest::collection::vec(any::<u32>().prop_map(|bits| bits >> (bits % 32)), 0..5),
        example in any::<prop::sample::Index>(),
        plan in any::<prop::sample::Index>(),
    ) {
        let topology = example.get(&TopologyKind::examples()).generate().unwrap();
        let layout = FieldLayout { widths: &widths, ..FieldLayout::default() };
        if let Ok(plan) = plan.get(PlanKind::ALL).plan_with(&topology, layout) {
            prop_assert!(plan.bits() <= 46);
        }
    }
}

#[test]
fn a_failed_cable_has_its_fabric_s_routing_found_and_compacted_all_the_same() {
    let cases = [
        ("[folded_clos]", "leaf0 - core0"),
        ("[flattened_butterfly]", "switch0.0 - switch0.1"),
        ("[dragonfly]", "group0.switch0 - group0.switch1"),
    ];
    for (family, cable) in cases {
        let kind: TopologyKind = toml::from_str(&format!("{family}\nas_built.failed = [\"{cable}\"]")).unwrap();
        let topology = kind.generate().unwrap();
        // Rules that only share links among sources come on top.
        let strategy = etherweave_forwarding::Strategy::fitting(&kind);
        let strategy = etherweave_forwarding::Strategy { sharing: Sharing::Hash, ..strategy };
        let survey = Survey::with(&kind, &topology, strategy, &[], &mut |_| true).unwrap().unwrap();
        let plain = survey.plans[1].as_ref().unwrap().ternary;
        assert!(survey.compacted.rules.max <= plain.max, "{family}: {survey:?}");
        let shared = Survey::of(&kind, &topology).unwrap().compacted.rules;
        assert!(shared.max <= plain.max + 2, "{family}: {shared:?}, of which 2 divide a host among 3 uplinks");
    }
}

#[test]
fn the_error_of_an_unknown_plan_names_the_known_ones() {
    let parse = |text: &str| toml::from_str::<toml::Table>(text).unwrap()["plan"].clone().try_into::<PlanKind>();
    assert_eq!(parse("plan = \"per_group\"").unwrap(), PlanKind::PerGroup);
    let error = parse("plan = \"per_rack\"").unwrap_err().to_string();
    for plan in PlanKind::ALL {
        assert!(error.contains(plan.name()), "{error}");
    }
    assert!(toml::from_str::<TableProfile>("tcam = 1").unwrap_err().to_string().contains("ternary_entries"));
}
