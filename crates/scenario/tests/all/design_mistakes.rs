//! Every mistake in a fabric on paper gives a line: place, key, what is wrong and what is expected.

use std::{fs, path::Path, path::PathBuf, time::Duration, time::Instant};

use etherweave_scenario::Fabric;

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

/// The lines of `[design]` and below, on the small dragonfly; the first stands on line 2.
fn check_design(lines: &str, expected: &str) {
    check(&format!("[topology.dragonfly]\n{lines}\n"), expected);
}

#[test]
fn parameters_of_fabrics_name_their_range() {
    check(
        "[topology.dragonfly]\np = 1\na = 2\nh = 1\ngroups = 4",
        "x.toml:5:1: topology.dragonfly.groups: 4; expected 1 to a·h + 1, which is 3",
    );
    check("[topology.dragonfly]\na = 0", "x.toml:2:1: topology.dragonfly.a: 0; expected at least 1");
    check(
        "[topology.folded_clos]\nradix = 1\nhosts = 4",
        "x.toml:2:1: topology.folded_clos.radix: 1; expected 2 to 65536",
    );
    check(
        "[topology.fat_tree]\nas_built.radix = 3",
        "x.toml:2:10: topology.fat_tree.as_built.radix: 3; expected at least ",
    );
    check(
        "[topology.torus]\ndimensions = []",
        "x.toml:2:1: topology.torus.dimensions: 0 elements; expected 1 to 6 elements",
    );
    check(
        "[topology.hyperx]\ndimensions = [{ size = 0 }]",
        "x.toml:2:17: topology.hyperx.dimensions.0.size: 0; expected at least 1",
    );
    check(
        "[topology.flattened_butterfly]\nsizes = [4, 0]",
        "x.toml:2:13: topology.flattened_butterfly.sizes.1: 0; expected at least 1",
    );
    check("[topology.torus]\nhosts_per_switch = -1", "x.toml:2:1: topology.torus.hosts_per_switch: ");
    check("[topology.klein_bottle]", "x.toml:1:2: topology: unknown name `klein_bottle`; expected one");
}

/// Two hosts on two switches, as GraphML: nodes on line 5, edges from line 6 of the scenario on.
fn graphml(edges: &str) -> String {
    let keys = ["kind\" for=\"node", "rate\" for=\"edge", "to_rate\" for=\"edge"];
    let keys = keys.map(|key| {
        let name = key.split('"').next().unwrap();
        format!("<key id=\"{key}\" attr.name=\"{name}\"/>")
    });
    let host = |id| format!("<node id=\"{id}\"><data key=\"kind\">host</data></node>");
    format!(
        "[topology.custom]\ngraphml = '''<graphml>\n{}\n<graph edgedefault=\"undirected\">\n{}{}<node id=\"a\"/>\
         <node id=\"b\"/>\n{edges}\n</graph></graphml>'''\n",
        keys.concat(),
        host("n0"),
        host("n1"),
    )
}

#[test]
fn cables_of_graphml_that_are_loose_doubled_or_of_two_speeds_have_their_line() {
    let edge = |from: &str, to: &str| format!("<edge source=\"{from}\" target=\"{to}\"/>\n");
    let hosts = edge("n0", "a") + &edge("n1", "b");
    let joined = hosts.clone() + &edge("a", "b");
    assert!(Fabric::parse(&graphml(&joined), "x.toml", &[]).is_ok());
    let key = "topology.custom.graphml";
    check(
        &graphml(&(joined.clone() + &edge("b", "a"))),
        &format!("x.toml:9:1: {key}: line 8: the cable b - a is listed twice; expected each pair once"),
    );
    check(&graphml(&hosts), "x.toml:1:11: topology.custom: n1 cannot be reached from n0; expected a connected fabric");
    check(
        &graphml(&(joined.clone() + &edge("b", "c"))),
        &format!("x.toml:9:1: {key}: line 8: there is no node \"c\"; expected the id of a listed node"),
    );
    let speeds =
        "<edge source=\"a\" target=\"b\"><data key=\"rate\">25Gb/s</data><data key=\"to_rate\">10Gb/s</data></edge>";
    check(
        &graphml(&(hosts + speeds)),
        &format!("x.toml:8:1: {key}: line 7: port speeds 25Gb/s and 10Gb/s differ; expected the same rate at both"),
    );
    check(&graphml(&(joined + &edge("a", "a"))), "x.toml:1:11: topology.custom: a link joins a with itself; expected");
}

#[test]
fn cables_of_edge_lists_that_are_loose_or_of_two_speeds_have_their_line() {
    let list =
        |lines: &str| format!("[topology.custom]\nlinks = '''\nfrom,to,rate,to_rate\nh0,s0,25Gb/s,\n{lines}'''\n");
    let key = "topology.custom.links";
    check(
        &list("h1,s1,25Gb/s,\ns0,s1,100Gb/s,40Gb/s\n"),
        &format!("x.toml:6:1: {key}: line 4: port speeds 100Gb/s and 40Gb/s differ; expected the same rate at both"),
    );
    check(&list("h1,s1,25Gb/s,\n"), "x.toml:1:11: topology.custom: host1 cannot be reached from host0; expected a c");
    check(&list("h1,s0\n"), &format!("x.toml:5:1: {key}: line 3: 2 fields; expected 4, as the header"));
    check(&list("h1,s0,fast,\n"), &format!("x.toml:5:1: {key}: line 3: "));
    check(&list("h1,s0,0Gb/s,\n"), "x.toml:1:11: topology.custom: the link host1 - s0 has rate 0b/s; expected");
}

#[test]
fn cables_of_json_that_are_loose_doubled_or_of_two_speeds_have_their_place() {
    let nodes = r#"{"nodes": [{"id": "n", "kind": "host"}, {"id": "a"}, {"id": "b"}], "links": ["#;
    let fabric = |links: &str| format!("[topology.custom]\njson = '''{nodes}{links}]}}'''\n");
    let host = r#"{"source": "n", "target": "a"}"#;
    let between = r#"{"source": "a", "target": "b"}"#;
    let key = "topology.custom.json";
    check(
        &fabric(&format!("{host}, {between}, {between}")),
        &format!("x.toml:2:1: {key}.links.2: the cable a - b is listed twice; expected each pair once"),
    );
    check(&fabric(host), "x.toml:1:11: topology.custom: b cannot be reached from n; expected a connected fabric");
    check(
        &fabric(&format!("{host}, {}", between.replace('}', ", \"rate\": \"1Gb/s\", \"to_rate\": \"10Gb/s\"}"))),
        &format!("x.toml:2:1: {key}.links.1: port speeds 1Gb/s and 10Gb/s differ; expected the same rate at both"),
    );
    check(
        &fabric(&format!("{host}, {}", between.replace('}', ", \"links\": 1025}"))),
        &format!("x.toml:2:1: {key}.links.1: links is 1025; expected 1 to 1024"),
    );
    check(&fabric("{}"), &format!("x.toml:2:1: {key}: line 1: missing field `source`; expected an object with nodes"));
}

#[test]
fn tables_name_the_field_and_the_plan() {
    let widths = "x.toml:4:1: design.tables.widths: ";
    check_design(
        "[design.tables]\nplan = \"per_group\"\nwidths = [18, 20, 9]",
        &format!("{widths}the address fields group 18 | switch 20 | host 9 need 47 bits; expected at most 46"),
    );
    check_design(
        "[design.tables]\nplan = \"per_group\"\nwidths = [3, 20, 8]",
        &format!("{widths}the address field group has 3 bits; expected 4 to 46"),
    );
    check_design(
        "[design.tables]\nplan = \"flat\"\nwidths = [4294967295]",
        &format!("{widths}the address field host has 4294967295 bits; expected 7 to 46"),
    );
    check_design(
        "[design.tables]\nplan = \"per_switch\"\nwidths = [6]",
        &format!("{widths}1 widths are given; expected one each for switch, host"),
    );
    check_design(
        "[design.tables]\nplan = \"per_rack\"",
        "x.toml:3:1: design.tables.plan: unknown name `per_rack`; exp",
    );
    check_design("[design.tables]\ncompaction = \"zip\"", "x.toml:3:1: design.tables.compaction: unknown name `zip`");
    check_design(
        "[design.tables.capacity]\nternary_entries = 0",
        "x.toml:3:1: design.tables.capacity.ternary_entries: 0; expected 1 to 4294967295",
    );
    check_design(
        "[design]\ntables.capacity.exact_entries = 0",
        "x.toml:3:17: design.tables.capacity.exact_entries: 0; expected 1 to 4294967295",
    );
    check_design(
        "[design.tables.capacity]\nexact_entries = 4294967296",
        "x.toml:3:1: design.tables.capacity.exact_entries: ",
    );
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
    check_design(
        "[design]\ntables.widths = [46, 46]",
        "x.toml:3:8: design.tables.widths: 2 widths are given; expected one each for group, switch, host",
    );
}

#[test]
fn an_unknown_name_is_reported_with_the_known_ones() {
    check_design(
        "[design]\npower = \"exascale\"",
        "x.toml:3:1: design.power: no power profile \"exascale\"; expected one of exascale-2015",
    );
    check_design(
        "[design]\nprices = \"list\"",
        "x.toml:3:1: design.prices: no price book \"list\"; expected one of example",
    );
    check_design(
        "[design]\nroutings = [\"ugall\"]",
        "x.toml:3:13: design.routings.0: unknown name `ugall`; expected one of",
    );
    check_design("[design]\npowr = \"x\"", "x.toml:3:1: design.powr: unknown key; expected one of");
    check_design("[design]\nroutings = [\"dimension_order\"]", "x.toml:3:1: design.routings: dimension_order: ");
}

#[test]
fn a_load_names_its_range_and_the_profile_without_figures() {
    for (load, shown) in [("1.5", "1.5"), ("-0.1", "-0.1"), ("nan", "NaN"), ("inf", "inf"), ("-inf", "-inf")] {
        check_design(
            &format!("[design.activity]\nload = {load}"),
            &format!("x.toml:3:1: design.activity.load: {shown}; expected 0 to 1"),
        );
    }
    check_design(
        "[design]\nactivity = {}",
        "x.toml:3:1: design.activity.load: missing; expected a value, for it has no default",
    );
    for (packet, shown) in [("0B", "0B"), ("17KiB", "17KiB")] {
        check_design(
            &format!("[design.activity]\nload = 0.5\npacket = \"{packet}\""),
            &format!("x.toml:4:1: design.activity.packet: {shown}; expected 1B to 16KiB"),
        );
    }
    let forties =
        "host_rate = \"40Gb/s\"\nlocal_rate = \"40Gb/s\"\nglobal_rate = \"40Gb/s\"\nlocal_cable = \"9m optical\"";
    check_design(
        &format!(
            "{forties}\n[design]\npower = \"exascale-2015\"\nactivity = {{ load = 0.1, saving = \"link_sleep\" }}"
        ),
        "x.toml:8:26: design.activity.saving: power profile exascale-2015 has no figures for link_sleep; \
         expected always_on or rate_adaptation",
    );
    // No profile is named, and none that has the rate knows the saving: silence would look like an answer.
    check_design(
        &format!("{forties}\n[design]\nactivity = {{ load = 0.1, saving = \"link_sleep\" }}"),
        "x.toml:7:26: design.activity.saving: power profile exascale-2015 has no figures for link_sleep; \
         expected always_on or rate_adaptation",
    );
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
    check(&design("power_file = \"bad.toml\""), ":3:1: design.power_file: line 2, column 10: ");
    check(&design("prices_file = \"bad.toml\""), ":3:1: design.prices_file: line ");
    check(
        &design("power_file = \"bad.toml\"\npower_text = \"\""),
        ":3:1: design.power_file: given beside power_text; exp",
    );
    check(
        &design("power_file = \"bad.toml\"\npower = \"exascale-2015\""),
        ":4:1: design.power: given beside a profile in power_text or power_file; expected one",
    );
    let custom = |name: &str| format!("[topology.custom]\nfile = \"{name}\"");
    check(&custom("bad.graphml"), ":2:1: topology.custom.file: line 3: a edge without source; expected the attribute");
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
        let started = Instant::now();
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
