//! Faults during a run, from the file to the tables.

use etherweave_scenario::Outcome;

use super::results;

fn run(changed: &[(&str, &str)]) -> Outcome {
    let text = include_str!("../../../../scenarios/degraded_link.toml");
    results::run(text, changed, 1).unwrap_or_else(|error| panic!("{error}"))
}

/// Node, port and errors of the ports that received damaged packets.
fn errors(outcome: &Outcome) -> Vec<(String, u64, u64)> {
    let nodes = results::texts(&outcome.tables, "ports", "node");
    let [ports, errors] = ["port", "fcs_errors"].map(|name| results::numbers(&outcome.tables, "ports", name));
    let rows = nodes.into_iter().zip(ports).zip(errors);
    rows.map(|((node, port), errors)| (node, port as u64, errors as u64)).filter(|&(_, _, errors)| errors > 0).collect()
}

#[test]
fn errors_show_at_the_ends_of_the_cable_and_at_the_hosts_that_discard() {
    let outcome = run(&[]);
    let summary = &outcome.summary;
    assert_eq!((summary.finished, summary.packets_dropped), ("complete", 0));
    assert!(summary.warnings.is_empty(), "{:?}", summary.warnings);
    let (at_hosts, at_switches): (Vec<_>, Vec<_>) =
        errors(&outcome).into_iter().partition(|(node, _, _)| node.starts_with("host"));
    let count = |rows: &[(String, u64, u64)]| rows.iter().map(|(_, _, errors)| errors).sum::<u64>();
    // Ports 0 to 11 of a leaf are its hosts'; the core counts leaf by leaf.
    let is_end = |(node, port, _): &(String, u64, u64)| [("leaf0", 12), ("core0", 0)].contains(&(node.as_str(), *port));
    assert!(!at_switches.is_empty() && at_switches.iter().all(is_end), "{at_switches:?}");
    // The switches cut through: a packet counts once as it comes off the cable and once where it is discarded.
    assert_eq!((count(&at_hosts), count(&at_switches)), (summary.packets_damaged, summary.packets_damaged));
}

#[test]
fn a_good_cable_loses_nothing() {
    let good = run(&[("faults.degraded.0.bit_error_rate", "0")]);
    assert_eq!((good.summary.packets_damaged, errors(&good).len()), (0, 0));
}

/// RS(528,514) leaves nothing of one wrong bit in ten million.
#[test]
fn a_degraded_link_has_the_code_of_its_class_unless_it_states_its_own() {
    let damaged = |overrides: &[(&str, &str)]| run(overrides).summary.packets_damaged;
    assert_eq!(damaged(&[("fec.local", "\"rs528\"")]), 0);
    assert_eq!(damaged(&[("fec.local", "\"rs528\""), ("faults.degraded.0.fec", "\"none\"")]), damaged(&[]));
}

#[test]
fn a_storm_after_the_end_of_the_run_is_warned_of() {
    let warnings = |from: &str| {
        let storm = format!("[{{ host = \"host1\", from = \"{from}\" }}]");
        run(&[("faults.pause_storm", &storm)]).summary.warnings
    };
    let [warning] = &warnings("2s")[..] else { panic!("a single warning") };
    assert!(warning.starts_with("faults.pause_storm.0.from: 2s; the run ends at "), "{warning}");
    assert!(warning.ends_with(", before any pause"), "{warning}");
    assert!(!warnings("0s").iter().any(|warning| warning.contains("pause_storm")));
}

fn warnings_of(text: &str) -> Vec<String> {
    results::run(text, &[], 1).unwrap_or_else(|error| panic!("{error}")).summary.warnings
}

/// Sixteen windows of 1 MiB do not fit into a buffer of 4 MB; PFC loses nothing of them.
#[test]
fn losses_of_full_queues_are_named_where_nothing_slows_senders() {
    let is_named = |flow_control: &str| {
        let text = format!(
            "interconnect.profile = \"efa-100\"\n{flow_control}\nswitch.buffer = \"4MB\"\nrun.end = \"1ms\"\n\
             topology.single_switch.hosts = 17\n[[job]]\nname = \"in\"\n\
             workload.incast = {{ sources = 16, message = \"1MB\" }}"
        );
        warnings_of(&text).iter().any(|warning| warning.starts_with("flow_control.none: full queues dropped"))
    };
    assert!(is_named(""));
    assert!(!is_named("flow_control.pfc = {}"));
}

/// A failure that no run reaches makes shortest paths a decision for every packet.
#[test]
fn packets_that_others_overtake_are_named_where_tables_follow_failures() {
    let text = r#"
routing = "shortest_path"
topology.fat_tree = { leaves = 4, hosts_per_leaf = 4, cores = 4, links_per_core = 1 }
flow_control.pfc.priorities = [0, 1, 2, 3]
transport.roce.reliability = "selective_repeat"
faults = { reroute_after = "50us", down = [{ link = "leaf0 - core0", from = "1000s" }] }
run.end = "2ms"
[[job]]
name = "a"
workload.incast = { sources = 12, message = "1MB" }
placement.hosts = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15]
[[job]]
name = "b"
workload.incast = { sources = 2, message = "4MB" }
placement.hosts = [11, 13, 14]
"#;
    let warnings = warnings_of(text);
    let resent = warnings.iter().find(|warning| warning.contains("that were not lost")).expect("packets sent again");
    assert!(resent.contains("others overtook them"), "{resent}");
}
