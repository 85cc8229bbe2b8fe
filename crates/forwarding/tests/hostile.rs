//! Whatever parameters a fabric or a plan has, the answer is tables or an error, and comes soon.

use etherweave_forwarding::{PlanKind, Survey, TableProfile};
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_numbers_in_any_family_have_tables_or_an_error(
        example in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), 0i64..7), 0..4),
        failed in proptest::collection::vec("(leaf|core|switch|group|host)[0-9]{1,2}( - (leaf|core)[0-9])?", 0..3),
    ) {
        let mut value = Value::try_from(example.get(&TopologyKind::examples())).unwrap();
        for (place, number) in changes {
            let mut integers = integers(&mut value);
            if !integers.is_empty() {
                let place = place.index(integers.len());
                *integers[place] = number;
            }
        }
        let family = value.as_table_mut().unwrap().iter_mut().next().unwrap().1.as_table_mut().unwrap();
        let failed: Vec<Value> = failed.into_iter().map(Value::from).collect();
        family.insert("as_built".into(), Value::from(toml::Table::from_iter([("failed".to_owned(), failed.into())])));
        if let Ok(kind) = value.try_into::<TopologyKind>()
            && let Ok(topology) = kind.generate()
            && topology.channels().len() < 3_000
        {
            match Survey::of(&kind, &topology) {
                Ok(survey) => prop_assert_eq!(
                    survey.compacted.proof.pairs,
                    topology.hosts() as u64 * topology.switches() as u64
                ),
                Err(error) => prop_assert!(!error.to_string().contains("the table of"), "{}", error),
            }
        }
    }

    #[test]
    fn any_widths_make_a_plan_or_an_error(
        widths in proptest::collection::vec(any::<u32>().prop_map(|bits| bits >> (bits % 32)), 0..5),
        example in any::<prop::sample::Index>(),
        plan in any::<prop::sample::Index>(),
    ) {
        let topology = example.get(&TopologyKind::examples()).generate().unwrap();
        if let Ok(plan) = plan.get(PlanKind::ALL).plan_with(&topology, &widths) {
            prop_assert!(plan.bits() <= 46);
        }
    }
}

#[test]
fn an_unknown_plan_is_told_the_known_ones() {
    let parse = |text: &str| toml::from_str::<toml::Table>(text).unwrap()["plan"].clone().try_into::<PlanKind>();
    assert_eq!(parse("plan = \"per_group\"").unwrap(), PlanKind::PerGroup);
    let error = parse("plan = \"per_rack\"").unwrap_err().to_string();
    for plan in PlanKind::ALL {
        assert!(error.contains(plan.name()), "{error}");
    }
    assert!(toml::from_str::<TableProfile>("tcam = 1").unwrap_err().to_string().contains("ternary_entries"));
}
