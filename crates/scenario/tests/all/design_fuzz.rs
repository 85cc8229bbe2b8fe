//! Random fabrics and designs: a result or an error that helps, never a panic, and soon.
//!
//! Cases follow from a seed; the smallest text that fails is printed.

use std::time::Duration;

use etherweave_scenario::{Design, Fabric, ScenarioError};
use etherweave_topology::{Custom, Family, TopologyKind};
use proptest::{prelude::*, test_runner::RngSeed};

use super::clock::ProcessorTime;

/// Most processor time of a small text: far more than any takes.
const PATIENCE: Duration = Duration::from_secs(20);

fn design(text: &str) -> Result<Option<Design>, ScenarioError> {
    Fabric::parse(text, "x.toml", &[]).and_then(|fabric| fabric.design(None, &mut |_| true))
}

/// The outcome is a complete design, or a line for each mistake that says where it is and what was expected.
fn check(text: &str) -> Result<(), TestCaseError> {
    let started = ProcessorTime::start();
    match design(text) {
        Ok(design) => {
            let design = design.expect("nobody stopped it");
            prop_assert!(design.fabric.hosts > 0 && design.fabric.distance_mean.is_finite(), "{}", text);
        }
        Err(error) => {
            for line in error.mistakes.iter().map(ToString::to_string) {
                prop_assert!(line.starts_with("x.toml:") && !line.contains('\n'), "{}\n{}", line, text);
                prop_assert!(line.contains("expected"), "{}\n{}", line, text);
            }
        }
    }
    prop_assert!(started.elapsed() < PATIENCE, "{:?}: {}", started.elapsed(), text);
    Ok(())
}

/// A text with some of its pieces replaced.
fn spliced(text: &str, cuts: &[(prop::sample::Index, usize, String)]) -> String {
    cuts.iter().fold(text.to_owned(), |text, (at, length, insert)| {
        let characters: Vec<char> = text.chars().collect();
        let start = at.index(characters.len() + 1);
        let end = (start + length).min(characters.len());
        characters[..start].iter().copied().chain(insert.chars()).chain(characters[end..].iter().copied()).collect()
    })
}

/// Returns replacements of pieces: signs of the formats, names and numbers of the examples, and anything.
fn cuts() -> impl Strategy<Value = Vec<(prop::sample::Index, usize, String)>> {
    let insert = prop_oneof![
        3 => "[<>/&\"={}:,\\[\\]#a-z0-9 \n-]{0,8}",
        2 => prop::sample::select(vec![
            "4294967295", "-1", "1e309", "0", "\"links\": 1024", "<graph>", "</graph>",
            "<edge source=\"n0\" target=\"left\"/>",
            "h0", "s99", "400Gb/s", "0b/s", "1000000m", "\n", "\"\"", "&#0;", "&amp;", "<!DOCTYPE x>", "\u{0}",
        ]).prop_map(str::to_owned),
        1 => "\\PC{0,6}",
    ];
    proptest::collection::vec((any::<prop::sample::Index>(), 0usize..30, insert), 0..4)
}

/// Texts of one format among the examples of listed fabrics.
fn listed() -> Vec<(&'static str, String)> {
    let texts = |custom: Custom| [("links", custom.links), ("graphml", custom.graphml), ("json", custom.json)];
    Custom::examples().into_iter().flat_map(texts).filter(|(_, text)| !text.is_empty()).collect()
}

/// A scenario that holds a text as a value, whatever is in the text.
fn custom(format: &str, text: &str) -> String {
    let value = toml::Value::String(text.to_owned());
    format!("[topology.custom]\n{format} = {value}\n")
}

/// A value of any key of `[design]`: right, nearly right, or wrong.
fn value() -> impl Strategy<Value = String> {
    let names = "flat|per_switch|per_group|coordinates|plain|ternary|prefixes|prefixes_nested|wildcards|always_on|\
        link_sleep|low_power_idle|rate_adaptation|up_down|up_star_down_star|shortest_path|dimension_order|\
        dimension_adaptive|valiant|minimal|ugal_local|spray|controller|minimal_tables|valiant_group|\
        disjoint_trees|source|destination|hash|\
        valiant_switch|conditional|\
        exascale-2015|ethernet-100g|ethernet-400g|example";
    let names: Vec<String> = names.split('|').map(|name| format!("\"{name}\"")).collect();
    let number = prop::sample::select(vec![
        "0",
        "1",
        "-1",
        "0.5",
        "nan",
        "inf",
        "46",
        "47",
        "4294967295",
        "4294967296",
        "1e300",
    ]);
    let name = prop::sample::select(names);
    let scalar = prop_oneof![
        3 => name,
        2 => number.prop_map(str::to_owned),
        1 => prop::sample::select(vec!["true", "false", "{}", "[]", "\"\"", "\"1KiB\"", "\"99999999999GB\""])
            .prop_map(str::to_owned),
        1 => (0u32..60).prop_map(|number| number.to_string()),
    ];
    let list = proptest::collection::vec(scalar.clone(), 0..4).prop_map(|list| format!("[{}]", list.join(", ")));
    prop_oneof![3 => scalar, 1 => list]
}

const KEYS: &[&str] = &[
    "routings",
    "power",
    "power_text",
    "power_file",
    "prices",
    "prices_text",
    "prices_file",
    "tables.plan",
    "tables.widths",
    "tables.compaction",
    "tables.share_by",
    "tables.group_coordinates",
    "tables.peers",
    "tables.capacity.exact_entries",
    "tables.capacity.ternary_entries",
    "activity.load",
    "activity.packet",
    "activity.saving",
    "activity",
    "tables",
];

/// Fixed, so that a commit passes or fails for everyone; `PROPTEST_SEED` tries others.
fn seed() -> RngSeed {
    RngSeed::Fixed(std::env::var("PROPTEST_SEED").map_or(1, |seed| seed.parse().expect("a whole number")))
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: seed(), ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn listed_fabrics_are_designed_or_rejected(pick in any::<prop::sample::Index>(), cuts in cuts()) {
        let listed = listed();
        let (format, text) = pick.get(&listed);
        check(&custom(format, &spliced(text, &cuts)))?;
    }

    #[test]
    fn texts_of_another_kind_are_rejected(text in "\\PC*") {
        for format in ["links", "graphml", "json"] {
            let text = custom(format, &text);
            prop_assert!(design(&text).is_err(), "{}", text);
            check(&text)?;
        }
    }

    #[test]
    fn any_requests_for_a_design_are_fulfilled_or_rejected(
        example in any::<prop::sample::Index>(),
        requests in proptest::collection::vec((prop::sample::select(KEYS), value()), 0..4),
    ) {
        let examples = TopologyKind::examples();
        let mut root = toml::Table::new();
        root.insert("topology".to_owned(), toml::Value::try_from(example.get(&examples)).unwrap());
        let requests: Vec<String> = requests.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
        check(&format!("{}\n[design]\n{}", toml::to_string(&root).unwrap(), requests.concat()))?;
    }
}
