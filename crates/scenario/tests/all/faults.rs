//! What goes wrong during a run, from the file to the tables.

use std::{fs, path::Path};

use etherweave_scenario::{Column, Outcome, Run, Table};

fn run(overrides: &[(&str, &str)]) -> Outcome {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/degraded_link.toml");
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let run = Run::start(&fs::read_to_string(path).unwrap(), "degraded_link.toml", &overrides, 1, &[]);
    run.unwrap_or_else(|error| panic!("{error}")).finish(&mut |_| true).0
}

fn column<'a>(table: &'a Table, name: &str) -> &'a Column {
    &table.columns.iter().find(|(column, _)| *column == name).expect("a column of the table").1
}

/// Node, port and errors of the ports that received damaged packets.
fn errors(outcome: &Outcome) -> Vec<(String, u64, u64)> {
    let ports = outcome.tables.iter().find(|table| table.name == "ports").unwrap();
    let (Column::Texts(nodes), Column::Integers(numbers), Column::Integers(errors)) =
        (column(ports, "node"), column(ports, "port"), column(ports, "fcs_errors"))
    else {
        panic!("names and counts")
    };
    let rows = nodes.iter().zip(numbers).zip(errors).map(|((node, &port), &errors)| (node.to_owned(), port, errors));
    rows.filter(|&(_, _, errors)| errors > 0).collect()
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
