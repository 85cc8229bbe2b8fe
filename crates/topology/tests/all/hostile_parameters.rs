//! Whatever numbers and texts a scenario has, the answer is a fabric or an error, and comes soon.

use etherweave_topology::{Custom, Family, Metrics, SizeRequest, TopologyKind};
use proptest::prelude::*;
use toml::Value;

/// Numbers at and beyond the ends of ranges, and small ones that make fabrics.
fn number() -> impl Strategy<Value = i64> {
    let large = prop_oneof![
        Just(65_535i64),
        Just(65_536i64),
        Just(4_294_967_295i64),
        Just(2_147_483_648i64),
        0i64..4_294_967_296
    ];
    prop_oneof![4 => 0i64..7, 1 => 7i64..300, 2 => large]
}

/// The integers of a value, in order.
fn integers(value: &mut Value) -> Vec<&mut i64> {
    match value {
        Value::Integer(integer) => vec![integer],
        Value::Array(list) => list.iter_mut().flat_map(integers).collect(),
        Value::Table(table) => table.iter_mut().flat_map(|(_, value)| integers(value)).collect(),
        Value::String(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => Vec::new(),
    }
}

/// A text with a piece of it replaced by another piece, or by something else.
fn spliced(text: &str, at: usize, length: usize, insert: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let start = at % (characters.len() + 1);
    let end = (start + length).min(characters.len());
    characters[..start].iter().copied().chain(insert.chars()).chain(characters[end..].iter().copied()).collect()
}

fn examples(pick: impl Fn(&Custom) -> &str) -> Vec<String> {
    Custom::examples().iter().map(|custom| pick(custom).to_owned()).filter(|text| !text.is_empty()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_numbers_in_any_family_never_panic(
        example in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), number()), 1..4),
    ) {
        let examples = TopologyKind::examples();
        let kind = example.get(&examples);
        let mut value = Value::try_from(kind).unwrap();
        for (place, number) in changes {
            let mut integers = integers(&mut value);
            if !integers.is_empty() {
                let place = place.index(integers.len());
                *integers[place] = number;
            }
        }
        if let Ok(kind) = value.try_into::<TopologyKind>()
            && let Ok(topology) = kind.generate()
            && topology.channels().len() < 5_000
        {
            let metrics = Metrics::of(&kind, &topology);
            prop_assert!(metrics.distances.diameter as usize <= topology.switches());
        }
    }

    #[test]
    fn any_departures_never_panic(
        example in any::<prop::sample::Index>(),
        hosts in proptest::option::of(0u32..12),
        radix in proptest::option::of(0u32..40),
        breakout in 0u32..10,
        failed in proptest::collection::vec("(leaf|core|s|switch|group|host)[0-9]{0,2}( - (leaf|core|s)[0-9])?", 0..3),
    ) {
        let examples = TopologyKind::examples();
        let mut value = Value::try_from(example.get(&examples)).unwrap();
        let family = value.as_table_mut().unwrap().iter_mut().next().unwrap().1.as_table_mut().unwrap();
        let mut as_built = toml::Table::new();
        hosts.into_iter().for_each(|hosts| { as_built.insert("hosts".into(), hosts.into()); });
        radix.into_iter().for_each(|radix| { as_built.insert("radix".into(), radix.into()); });
        as_built.insert("breakout".into(), breakout.into());
        as_built.insert("failed".into(), failed.into());
        family.insert("as_built".into(), as_built.into());
        let kind: TopologyKind = value.try_into().unwrap();
        if let Ok(topology) = kind.generate() {
            let metrics = Metrics::of(&kind, &topology);
            prop_assert!(hosts.is_none_or(|hosts| metrics.hosts <= hosts as usize));
        }
    }

    #[test]
    fn any_request_is_answered(hosts in number(), radix in number()) {
        let clamp = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
        for (name, fit) in TopologyKind::fits(&SizeRequest { hosts: clamp(hosts), radix: clamp(radix) }) {
            if let Err(error) = fit {
                prop_assert!(error.to_string().contains("expected"), "{}", name);
            }
        }
    }

    #[test]
    fn spliced_graphml_never_panics(
        at in any::<usize>(), length in 0usize..40, insert in "([<>/&\"=a-z0-9 ]|\\PC){0,12}", again in any::<usize>(),
    ) {
        for text in examples(|custom| &custom.graphml) {
            let once = spliced(&text, at, length, &insert);
            let _ = Custom { graphml: once.clone(), ..Custom::default() }.generate();
            let _ = Custom { graphml: spliced(&once, again, 1, ""), ..Custom::default() }.generate();
        }
    }

    #[test]
    fn spliced_json_never_panics(
        at in any::<usize>(),
        length in 0usize..40,
        insert in "([{}:,\"a-z0-9\\[\\] ]|\\PC){0,12}",
        again in any::<usize>(),
    ) {
        for text in examples(|custom| &custom.json) {
            let once = spliced(&text, at, length, &insert);
            let _ = Custom { json: once.clone(), ..Custom::default() }.generate();
            let _ = Custom { json: spliced(&once, again, 1, ""), ..Custom::default() }.generate();
        }
    }

    #[test]
    fn arbitrary_texts_never_panic(text in "\\PC*") {
        let _ = Custom { json: text.clone(), ..Custom::default() }.generate();
        let _ = Custom { graphml: text, ..Custom::default() }.generate();
    }
}
