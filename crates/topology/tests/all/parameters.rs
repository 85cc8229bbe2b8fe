//! Families as users write them, and the errors for their mistakes.

use etherweave_topology::{Builder, LinkClass, TopologyKind};

fn generate(text: &str) -> Result<(usize, usize), String> {
    let kind: TopologyKind = toml::from_str(text).map_err(|error| error.to_string())?;
    let topology = kind.generate().map_err(|error| error.to_string())?;
    Ok((topology.hosts(), topology.switches()))
}

fn check(text: &str, expected: (usize, usize)) {
    assert_eq!(generate(text), Ok(expected), "{text}");
}

/// The words that an error must contain.
fn check_error(text: &str, words: &[&str]) {
    let error = generate(text).expect_err(text);
    words.iter().for_each(|word| assert!(error.contains(word), "{word} is missing in: {error}"));
}

#[test]
fn the_testbed_is_one_table() {
    check(
        "[fat_tree]\nleaves = 8\nhosts_per_leaf = 12\ncores = 1\nlinks_per_core = 4\nhost_rate = \"100Gb/s\"",
        (96, 9),
    );
}

#[test]
fn absent_keys_have_defaults() {
    check("[k_ary_fat_tree]\nk = 16", (16 * 16 * 16 / 4, 5 * 16 * 16 / 4));
    check("[single_switch]\nhosts = 5\ncable = \"1m\"", (5, 1));
    check("[fat_tree]", (96, 9));
}

#[test]
fn stages_are_listed_lowest_first() {
    // 4 hosts on each of 2·3 leaves; 2·3 spines; 2·2 cores.
    let stages =
        "[[staged_fat_tree.stages]]\ndown = 2\nup = 2\n[[staged_fat_tree.stages]]\ndown = 3\nup = 2\nlinks = 2";
    check(&format!("[staged_fat_tree]\nhosts_per_leaf = 4\n{stages}"), (24, 6 + 6 + 4));
}

#[test]
fn an_edge_list_is_text_within_the_scenario() {
    let links = "h0,s0,100Gb/s,3m\nh1,s1,100Gb/s,3m # far away\n\ns0,s1,400Gb/s,20m";
    check(&format!("[custom]\nhosts = 2\nlinks = \"\"\"\n{links}\n\"\"\""), (2, 2));
}

#[test]
fn columns_with_defaults_may_be_missing_from_an_edge_list() {
    check("[custom]\nlinks = \"\"\"\nh0,s0\nh1,s1,25Gb/s\ns0,s1,400Gb/s,20m,optical\n\"\"\"", (2, 2));
    check("[custom]\nlinks = \"\"\"\nto,from\ns0,h0\ns1,h1\ns0,s1\n\"\"\"", (2, 2));
}

#[test]
fn unknown_families_and_keys_name_the_known_ones() {
    check_error("[thorus]", &["thorus", "torus", "dragonfly", "single_switch", "fat_tree", "k_ary_fat_tree", "custom"]);
    check_error("[fat_tree]\nleafs = 8", &["leafs", "leaves", "hosts_per_leaf"]);
}

#[test]
fn a_parameter_out_of_range_names_the_range() {
    check_error("[single_switch]\nhosts = 0", &["hosts: 0", "1 to 65536"]);
    check_error("[k_ary_fat_tree]\nk = 7", &["k: 7", "even"]);
    check_error("[fat_tree]\ncores = 0", &["cores: 0", "at least 1"]);
    check_error("[fat_tree]\nhost_rate = \"0Gb/s\"", &["host0", "leaf0", "rate 0b/s", "1Mb/s to 100Tb/s"]);
}

#[test]
fn a_fabric_beyond_memory_is_rejected_before_it_is_built() {
    check_error("[fat_tree]\nleaves = 4000000000\nhosts_per_leaf = 4000000000", &["too many links", "4194304"]);
    check_error("[fat_tree]\nleaves = 1\nhosts_per_leaf = 70000", &["too many ports of leaf0", "65536"]);
}

#[test]
fn edge_list_errors_name_the_line_and_what_was_expected() {
    let custom = |hosts: u32, links: &str| format!("[custom]\nhosts = {hosts}\nlinks = '''\n{links}'''");
    check_error(&custom(1, "h0"), &["line 1", "1 fields", "from,to,rate,length"]);
    check_error(&custom(1, "h0,s0,100Gb/s,3m\nh0,x1,1Gb/s,3m"), &["line 2", "\"x1\"", "s3"]);
    check_error(&custom(2, "h0,s0,100Gb/s,3m\nh2,s0,1Gb/s,3m"), &["line 2", "\"h2\"", "h0 to h1"]);
    check_error(&custom(1, "h0,s0,100,3m"), &["line 1", "unit is missing", "100Gb/s"]);
    check_error(&custom(1, "h0,s0,1Gb/s,three"), &["line 1", "\"three\"", "3m"]);
    check_error(&custom(1, "h0,s4294967295,1Gb/s,3m"), &["s4294967295", "s0"]);
    check_error(&custom(4_000_000_000, "h0,s0,1Gb/s,3m"), &["hosts: 4000000000"]);
    check_error(&custom(0, "s0,s1,1Gb/s,3m"), &["links: no link of a host; expected links such as h0,s0"]);
    check_error("[custom]\nhosts = 2", &["links: empty"]);
}

#[test]
fn links_that_make_no_fabric_are_errors_with_their_nodes() {
    let custom = |hosts: u32, links: &str| format!("[custom]\nhosts = {hosts}\nlinks = '''\n{links}'''");
    check_error(&custom(2, "h0,s0,1Gb/s,3m\nh1,s1,1Gb/s,3m"), &["host1", "cannot be reached"]);
    check_error(&custom(1, "h0,s0,1Gb/s,3m\ns0,s0,1Gb/s,3m"), &["s0 with itself"]);
    check_error(&custom(2, "h0,h1,1Gb/s,3m"), &["host0", "host1", "expected a switch"]);
    check_error(&custom(2, "h0,s0,1Gb/s,3m"), &["hosts: 2", "expected 1, as many as are listed"]);
    check_error(&custom(1, "h0,s0,1Gb/s,9000000000m"), &["host0 - s0", "too long"]);
}

#[test]
fn a_builder_without_hosts_is_rejected() {
    let mut builder = Builder::new();
    let (a, b) = (builder.add_switch("a", 0), builder.add_switch("b", 0));
    builder.link(a, b, "1Gb/s".parse().unwrap(), "1m".parse().unwrap(), LinkClass::Global);
    assert_eq!(builder.build().unwrap_err().key, "hosts");
}
