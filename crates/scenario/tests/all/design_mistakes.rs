//! Every mistake in a fabric on paper gives a line: place, key, what is wrong and what is expected.

use std::{fs, path::Path, path::PathBuf, time::Duration};

use etherweave_scenario::Fabric;

use super::{cases, clock::ProcessorTime};

fn error_at(text: &str, origin: &str) -> String {
    let designed = Fabric::parse(text, origin, &[]).and_then(|fabric| fabric.design(None, &mut |_| true));
    let Err(error) = designed else { panic!("{text} is accepted") };
    let message = error.to_string();
    assert!(!message.contains('\n'), "{message}");
    assert!(message.contains("expected"), "{message}");
    message
}

fn check(text: &str, expected: &str) {
    let message = error_at(text, "x.toml");
    assert!(message.starts_with(expected), "{text}\ngave     {message}\nexpected {expected}");
}

/// The error of lines of `[design]` and below, on the small dragonfly; the first stands on line 2.
fn design_error(lines: &str) -> String {
    error_at(&format!("[topology.dragonfly]\n{lines}\n"), "x.toml")
}

#[test]
fn parameters_of_fabrics_name_their_range() {
    cases::check("fabric_parameters", |text| error_at(text, "x.toml"));
}

#[test]
fn cables_that_are_loose_doubled_or_of_two_speeds_have_their_line_or_place() {
    cases::check("cables_of_custom_fabrics", |text| error_at(text, "x.toml"));
}

#[test]
fn tables_name_the_field_and_the_plan() {
    cases::check("tables", design_error);
    let ring: String = (0..3).map(|i| format!("h{i},s{i},1Gb/s,1m\ns{i},s{},1Gb/s,1m\n", (i + 1) % 3)).collect();
    check(
        &format!("[topology.custom]\nlinks = '''\n{ring}'''\n[design]\ntables.plan = \"per_group\""),
        "x.toml:11:8: design.tables.plan: the address plan per_group cannot distinguish s0 and s1; expected a fabric",
    );
}

#[test]
fn widths_without_a_plan_are_those_of_the_plan_that_suits_the_family() {
    let text = "[topology.dragonfly]\n[design]\ntables.widths = [9, 9, 9]";
    let design = Fabric::parse(text, "x.toml", &[]).unwrap().design(None, &mut |_| true).unwrap().unwrap();
    assert_eq!(design.tables.unwrap().compacted.layout, "group 9 | switch 9 | host 9 (27 of 46 bits)");
}

#[test]
fn an_unknown_name_is_reported_with_the_known_ones() {
    cases::check("designs", design_error);
}

#[test]
fn a_load_names_its_range_and_the_profile_without_figures() {
    // No profile is named in the last, and none that has the rate knows the saving: silence would look like an answer.
    cases::check("loads", design_error);
}

/// A directory of its own below Cargo's.
fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn a_mistake_in_a_file_beside_the_scenario_names_the_key_that_names_the_file() {
    let directory = directory("design_mistakes");
    let origin = directory.join("x.toml").display().to_string();
    let check = |text: &str, expected: &str| {
        let message = error_at(text, &origin);
        assert!(
            message.strip_prefix(&origin).is_some_and(|message| message.starts_with(expected)),
            "{message}\nnot {expected}"
        );
    };
    fs::write(directory.join("bad.toml"), "about = \"mine\"\nswitch = 3\n").unwrap();
    fs::write(directory.join("bad.graphml"), "<graphml>\n<graph>\n<edge/></graph></graphml>").unwrap();
    fs::write(directory.join("fabric.xyz"), "").unwrap();
    let design = |line: &str| format!("[topology.dragonfly]\n[design]\n{line}");
    check(&design("power_file = \"none.toml\""), ":3:1: design.power_file: \"none.toml\" cannot be read (");
    check(&design("prices_file = 3"), ":3:1: design.prices_file: 3; expected the name of a file as a string");
    check(&design("power_file = \"bad.toml\""), ":3:1: design.power_file: \"bad.toml\", line 2, column 10: ");
    check(&design("prices_file = \"bad.toml\""), ":3:1: design.prices_file: \"bad.toml\", line ");
    check(
        &design("power_file = \"bad.toml\"\npower_text = \"\""),
        ":3:1: design.power_file: given beside power_text; exp",
    );
    check(
        &design("power_file = \"bad.toml\"\npower = \"exascale-2015\""),
        ":4:1: design.power: given beside a profile in power_text or power_file; expected one",
    );
    let custom = |name: &str| format!("[topology.custom]\nfile = \"{name}\"");
    check(
        &custom("bad.graphml"),
        ":2:1: topology.custom.file: \"bad.graphml\", line 3: a edge without source; expected",
    );
    check(
        &custom("fabric.xyz"),
        ":2:1: topology.custom.file: \"fabric.xyz\" is of no known format; expected one of .csv",
    );
    check(&custom("none.csv"), ":2:1: topology.custom.file: \"none.csv\" cannot be read (");
}

#[test]
fn numbers_beyond_all_bounds_are_rejected_at_once() {
    let most = u32::MAX;
    let cases = [
        format!("single_switch]\nhosts = {most}"),
        format!("fat_tree]\nleaves = {most}\nhosts_per_leaf = {most}"),
        format!("fat_tree]\nlinks_per_core = {most}\ncores = {most}"),
        format!("k_ary_fat_tree]\nk = {}", most - 1),
        format!("staged_fat_tree]\nhosts_per_leaf = {most}"),
        format!("staged_fat_tree]\nstages = [{{ down = {most}, up = {most}, links = {most} }}]"),
        format!("folded_clos]\nradix = 65536\nhosts = {most}\nuplinks = [{{}}, {{}}]"),
        format!("folded_clos]\nradix = 72\nhosts = {most}\nuplinks = [{{}}, {{}}, {{}}, {{}}, {{}}, {{}}]"),
        format!("rail_optimised]\nservers = {most}\nrails = {most}"),
        format!("flattened_butterfly]\nhosts_per_switch = {most}\nsizes = [{most}, {most}, {most}, {most}, {most}]"),
        format!("hyperx]\ndimensions = [{{ size = 2, lag = {most} }}]"),
        format!("dragonfly]\np = {most}\na = {most}\nh = {most}"),
        "dragonfly]\np = 65535\na = 2\nh = 2".to_owned(),
        format!("dragonfly_plus]\ngroups = 2\nhosts_per_leaf = {most}\nleaves = {most}\nspines = {most}"),
        format!("slim_fly]\nq = {most}"),
        format!("slim_fly]\nq = 5\nhosts_per_switch = {most}"),
        format!("torus]\ndimensions = [{{ size = {most} }}, {{ size = {most} }}]"),
        format!("mesh]\nhosts_per_switch = {most}\ndimensions = [{{ size = {most} }}]"),
        format!("custom]\nhosts = {most}\nlinks = \"h0,s0,1Gb/s,1m\""),
        format!("fat_tree]\nas_built.extra = [{{ from = \"leaf0\", to = \"leaf1\", links = {most} }}]"),
        format!("fat_tree]\nas_built.hosts = {most}"),
        format!("fat_tree]\nas_built.breakout = {most}"),
    ];
    for lines in cases {
        let text = format!("[topology.{lines}");
        let started = ProcessorTime::start();
        let message = error_at(&text, "x.toml");
        assert!(message.starts_with("x.toml:"), "{message}");
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}: {text}", started.elapsed());
    }
    let links: Vec<String> =
        (0..4_100).map(|i| format!("{{\"source\": {i}, \"target\": {}, \"links\": 1024}}", i + 1)).collect();
    let nodes: Vec<String> = (0..=4_100).map(|i| format!("{{\"id\": {i}}}")).collect();
    let json = format!("{{\"nodes\": [{}], \"links\": [{}]}}", nodes.join(","), links.join(","));
    check(
        &format!("[topology.custom]\njson = '{json}'"),
        "x.toml:1:11: topology.custom: too many links; expected at most",
    );
}

#[test]
fn a_number_of_the_wrong_sign_or_kind_is_reported_with_the_range() {
    for value in ["-1", "4294967296", "1.5", "nan", "\"many\""] {
        let message = error_at(&format!("[topology.dragonfly]\ngroups = {value}"), "x.toml");
        assert!(message.starts_with("x.toml:2:1: topology.dragonfly.groups: "), "{message}");
        assert!(message.contains("expected a whole number, 0 to 4294967295"), "{message}");
    }
}
