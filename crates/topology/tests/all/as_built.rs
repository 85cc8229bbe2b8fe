//! Departures from the plan: hosts that do not fill, spare ports in use, what has failed.

use etherweave_primitives::{BitRate, HostId, SwitchId};
use etherweave_topology::{LinkClass, Topology, TopologyKind};

/// The testbed's tree of 8 leaves with 12 hosts and 4 links to the core, built as `lines` say.
fn generate(lines: &str) -> Result<Topology, String> {
    let kind: TopologyKind = toml::from_str(&format!("[fat_tree.as_built]\n{lines}")).map_err(|e| e.to_string())?;
    kind.generate().map_err(|error| error.to_string())
}

/// Hosts, switches and links.
fn check(lines: &str, expected: (usize, usize, usize)) {
    let topology = generate(lines).unwrap();
    assert_eq!((topology.hosts(), topology.switches(), topology.channels().len() / 2), expected, "{lines}");
}

fn check_error(lines: &str, expected: &str) {
    assert_eq!(generate(lines).unwrap_err(), expected);
}

#[test]
fn hosts_fill_the_switches_in_order() {
    check("hosts = 95", (95, 9, 95 + 32));
    let topology = generate("hosts = 13").unwrap();
    assert_eq!(topology.out_channels(SwitchId::new(0)).len(), 12 + 4);
    assert_eq!(topology.out_channels(SwitchId::new(1)).len(), 1 + 4);
    check_error("hosts = 97", "fat_tree.as_built.hosts: 97; expected 1 to 96");
    check_error("hosts = 0", "fat_tree.as_built.hosts: 0; expected 1 to 96");
}

#[test]
fn a_failed_switch_takes_its_hosts_along_and_names_stay() {
    check("failed = [\"leaf3\"]", (84, 8, 84 + 28));
    let topology = generate("failed = [\"leaf3\"]").unwrap();
    assert_eq!(topology.host_name(HostId::new(36)), "host48");
    assert_eq!(topology.switch_name(topology.switch_of(HostId::new(36))), "leaf4");
    assert_eq!(topology.coordinates(SwitchId::new(3)), [0, 4]);
}

#[test]
fn failed_cables_go_one_by_one() {
    check("failed = [\"leaf0 - core0\"]", (96, 9, 96 + 31));
    check("failed = [\"core0 - leaf0\", \"leaf0 - core0\"]", (96, 9, 96 + 30));
    check("failed = [\"leaf0 - host3\"]", (95, 9, 95 + 32));
}

#[test]
fn what_fails_must_be_there_and_leave_a_fabric() {
    let cable = "leaf0 - core0";
    let five = format!("failed = [{}]", vec![format!("\"{cable}\""); 5].join(", "));
    let expected = "expected a switch, leaf0 to core0, a host, or a working cable as \"A - B\"";
    check_error(&five, &format!("fat_tree.as_built.failed.4: \"{cable}\"; {expected}"));
    check_error("failed = [\"leaf9\"]", &format!("fat_tree.as_built.failed.0: \"leaf9\"; {expected}"));
    check_error("failed = [\"core0\"]", "fat_tree: host12 cannot be reached from host0; expected a connected fabric");
    let all: Vec<String> = (0..8).map(|leaf| format!("\"leaf{leaf}\"")).collect();
    check_error(&format!("failed = [{}]", all.join(", ")), "fat_tree.hosts: 0; expected at least 1");
}

#[test]
fn extra_links_use_spare_ports_and_no_others() {
    let extra = "[[fat_tree.as_built.extra]]\nfrom = \"leaf0\"\nto = \"leaf1\"\nlinks = 2";
    let topology = generate(&format!("radix = 32\n{extra}")).unwrap();
    let between = topology.out_channels(SwitchId::new(0)).iter().map(|&id| topology.channel(id));
    let names: Vec<_> = between.skip(16).map(|channel| (topology.name(channel.to.node), channel.class)).collect();
    // All leaves are at level 0 of one tree.
    assert_eq!(names, [("leaf1", LinkClass::Local); 2]);
    check_error(&format!("radix = 17\n{extra}"), "fat_tree.as_built.radix: 17; expected at least 32, which core0 uses");
    let unknown = "[[fat_tree.as_built.extra]]\nfrom = \"leaf0\"\nto = \"host1\"";
    check_error(unknown, "fat_tree.as_built.extra.0.to: \"host1\"; expected a switch, leaf0 to core0");
    let many = format!("{extra}000000");
    check_error(&many, "fat_tree.as_built.extra.0.links: 2000000; expected 1 to 1024");
}

#[test]
fn one_direction_of_parallel_links_is_slower() {
    let slow = |to: &str| format!("[[fat_tree.as_built.slow]]\nfrom = \"core0\"\nto = \"{to}\"\nrate = \"25Gb/s\"");
    let topology = generate(&slow("leaf1")).unwrap();
    let channels = topology.channels().iter();
    let slow_ones = channels.filter(|channel| channel.rate == BitRate::from_gbps(25));
    let names: Vec<_> =
        slow_ones.map(|channel| [channel.from.node, channel.to.node].map(|node| topology.name(node))).collect();
    assert_eq!(names, [["core0", "leaf1"]; 4]);
    let expected = "fat_tree.as_built.slow.0: \"core0\" to \"host1\"; expected two nodes with a cable";
    check_error(&slow("host1"), expected);
}

#[test]
fn a_port_that_has_failed_was_needed_all_the_same() {
    let failed = "failed = [\"leaf0 - core0\"]";
    check_error(
        &format!("radix = 31\n{failed}"),
        "fat_tree.as_built.radix: 31; expected at least 32, which core0 uses",
    );
}

#[test]
fn breakout_cables_save_ports() {
    assert_eq!(generate("breakout = 4").unwrap().ports_used(SwitchId::new(0)), 12 / 4 + 4);
    check_error("breakout = 0", "fat_tree.as_built.breakout: 0; expected 1 to 8");
}
