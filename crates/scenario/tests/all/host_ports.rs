//! Hosts with several ports, from the file to the tables.

use std::fs;
use std::path::Path;

use etherweave_scenario::{Column, Fabric, Outcome, PointChoice, Run};

const BYTES: f64 = 8_388_608.0;
const RATE_GBPS: f64 = 100.0;

/// The shipped scenario, and what differs.
fn start(overrides: &[(&str, &str)], threads: usize) -> Result<Run, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/two_planes.toml");
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let run = Run::start(&fs::read_to_string(path).unwrap(), "two_planes.toml", &overrides, threads, &[]);
    run.map_err(|error| error.to_string())
}

fn run(overrides: &[(&str, &str)], threads: usize) -> Outcome {
    start(overrides, threads).unwrap_or_else(|error| panic!("{error}")).finish(&mut |_| true).0
}

fn numbers(outcome: &Outcome, table: &str, column: &str) -> Vec<f64> {
    let table = outcome.tables.iter().find(|known| known.name == table).expect("a table of a run");
    match &table.columns.iter().find(|(name, _)| *name == column).expect("a column of the table").1 {
        Column::Numbers(numbers) => numbers.clone(),
        Column::Integers(numbers) => numbers.iter().map(|&number| number as f64).collect(),
        Column::Texts(_) => panic!("{column} has texts"),
    }
}

/// Bytes that each of two ports of a host has sent.
fn sent_by(outcome: &Outcome, host: &str) -> [f64; 2] {
    let ports = outcome.tables.iter().find(|table| table.name == "ports").expect("ports of a run");
    let Some((_, Column::Texts(nodes))) = ports.columns.first() else { panic!("ports have nodes") };
    let (port, bytes) = (numbers(outcome, "ports", "port"), numbers(outcome, "ports", "tx_bytes"));
    let rows = || (0..nodes.len()).filter(|&row| nodes[row] == host);
    [0.0, 1.0].map(|number| rows().filter(|&row| port[row] == number).map(|row| bytes[row]).sum())
}

/// The round trip of a message each way over so many planes, without headers and latencies [ns].
fn round_trip(planes: f64) -> f64 {
    2.0 * BYTES * 8.0 / (planes * RATE_GBPS)
}

/// Headers take less than 3 % of packets of 4 KiB, and a round trip between idle hosts less than 20 us.
fn check_round_trip(duration: f64, planes: f64) {
    let fastest = round_trip(planes);
    assert!(
        (fastest..fastest * 1.03 + 20_000.0).contains(&duration),
        "{duration} ns over {planes} planes, {fastest} at least"
    );
}

const NO_FAULT: (&str, &str) = ("faults.down", "[]");

#[test]
fn a_message_over_two_planes_takes_half_the_time() {
    for planes in [1.0, 2.0, 4.0] {
        let (count, choice) = (format!("{planes}"), ("host_ports", "{ planes = 1 }"));
        let planes_key = [("host_ports.planes", count.as_str()), NO_FAULT];
        let single = [choice, NO_FAULT];
        let outcome = run(if planes > 1.0 { &planes_key } else { &single }, 1);
        let durations = numbers(&outcome, "iterations", "duration_ns");
        assert!(!durations.is_empty());
        durations.into_iter().for_each(|duration| check_round_trip(duration, planes));
    }
}

#[test]
fn all_arrives_over_the_other_plane_after_one_has_failed() {
    let outcome = run(&[], 1);
    assert_eq!(outcome.summary.finished, "complete");
    assert!(outcome.summary.packets_lost > 0);
    let (starts, durations) =
        (numbers(&outcome, "iterations", "start_ns"), numbers(&outcome, "iterations", "duration_ns"));
    // The plane is down from 3 to 6 ms, and hosts know both 0.1 ms later.
    let mut over = [0, 0];
    for (start, duration) in starts.into_iter().zip(durations) {
        let end = start + duration;
        if end < 3e6 || start > 6.1e6 {
            over[1] += 1;
            check_round_trip(duration, 2.0);
        } else if start > 3.2e6 && end < 6e6 {
            over[0] += 1;
            check_round_trip(duration, 1.0);
        }
    }
    assert!(over[0] > 0 && over[1] > 3, "{over:?}");
}

#[test]
fn any_number_of_threads_gives_the_same_result_where_hosts_have_several_ports() {
    let cases: [&[(&str, &str)]; 4] = [
        &[("job.0.workload.osu_latency.bytes", "\"256KiB\"")],
        &[("routing", "\"spray\""), NO_FAULT, ("host_ports.planes", "4")],
        &[
            ("host_ports", "{ leaves = 2, choice = \"first_working\" }"),
            ("faults.down", "[]"),
            ("job.0.placement.hosts", "[0, 1]"),
        ],
        &[
            ("transport", "{ tcp = {} }"),
            ("host_ports.choice", "\"by_hash\""),
            NO_FAULT,
            ("job.0.workload.osu_latency.bytes", "\"64KiB\""),
        ],
    ];
    for case in cases {
        let alone = run(case, 1);
        assert_eq!(alone.summary.finished, "complete", "{case:?}");
        for threads in [2, 3] {
            let together = run(case, threads);
            assert_eq!(together.summary.fingerprint, alone.summary.fingerprint, "{case:?} on {threads} threads");
        }
    }
}

#[test]
fn connections_take_the_ports_that_the_choice_names() {
    let shares = |choice: &str, more: &[(&str, &str)]| {
        let choice = format!("\"{choice}\"");
        let keys = [&[("host_ports.choice", choice.as_str()), NO_FAULT][..], more].concat();
        let [first, second] = sent_by(&run(&keys, 1), "host0");
        (first / (first + second) * 100.0).round()
    };
    let connections = [("job.0.connections", "2")];
    let ranks = [("job.0", "{ name = \"pairs\", ranks_per_host = 2, workload = { osu_collective = { ranks = 4 } } }")];
    assert_eq!(shares("per_packet", &[]), 50.0);
    assert_eq!(shares("first_working", &connections), 100.0);
    assert_eq!(shares("round_robin", &[]), 100.0, "a single connection");
    assert_eq!(shares("round_robin", &connections), 50.0, "messages of a pair in turn");
    assert_eq!(shares("by_rank", &ranks), 50.0, "each rank of a host by its own port");
    assert_eq!(shares("by_rank", &connections), 100.0, "the only rank of its host");
}

#[test]
fn a_dual_homed_host_goes_on_by_its_other_leaf() {
    let keys = [
        ("host_ports", "{ leaves = 2, choice = \"first_working\", detection = \"50us\" }"),
        ("faults.down", "[{ link = \"host0 - leaf0\", from = \"1ms\" }]"),
        ("job.0.placement.hosts", "[0, 1]"),
        ("job.0.workload.osu_latency.iterations", "3"),
    ];
    let outcome = run(&keys, 1);
    assert_eq!(outcome.summary.finished, "complete");
    assert!(outcome.summary.packets_lost > 0);
    let [first, second] = sent_by(&outcome, "host0");
    assert!(first > 0.0 && second > BYTES, "{first} B and {second} B");
}

#[test]
fn routings_that_decide_per_packet_work_in_every_plane() {
    for routing in ["minimal", "ugal_local", "valiant_group"] {
        let keys = [
            ("topology", "{ dragonfly = { p = 1, a = 2, h = 1 } }"),
            ("routing", &format!("\"{routing}\"")),
            NO_FAULT,
            ("job.0.placement.hosts", "[0, 5]"),
            ("job.0.workload.osu_latency.iterations", "1"),
        ];
        let outcome = run(&keys, 2);
        assert_eq!(outcome.summary.finished, "complete", "{routing}");
        let [first, second] = sent_by(&outcome, "host0");
        assert!((first / second - 1.0).abs() < 0.01, "{routing}: {first} B and {second} B");
    }
}

#[test]
fn what_knows_one_port_of_a_host_refuses_several_with_a_key() {
    let refused = |keys: &[(&str, &str)], expected: &str| {
        let error = start(keys, 1).err().unwrap_or_else(|| panic!("{keys:?} runs"));
        assert!(error.contains(expected), "{error}");
    };
    refused(&[("run.fidelity", "\"flow\""), NO_FAULT], "topology: hosts with several ports");
    refused(&[("host_ports", "{ choice = \"by_hash\" }"), NO_FAULT], "host_ports.choice: by_hash; expected hosts with");
    refused(&[("host_ports.planes", "9")], "host_ports.planes: 9; expected 1 to 8");
    refused(
        &[("host_ports", "{ leaves = 3 }")],
        "host_ports.leaves: 3 on 2 switches with hosts; expected equal numbers",
    );
    let reroute = [("routing", "\"shortest_path\""), ("faults.reroute_after", "\"1us\"")];
    refused(&reroute, "faults.reroute_after");
    let piggyback = [("topology", "{ dragonfly = { p = 1, a = 2, h = 2 } }"), ("routing", "\"piggyback\""), NO_FAULT];
    refused(&piggyback, "routing: piggyback on 2 planes");
    let fabric = Fabric::parse("host_ports.planes = 2\n[open_loop]\n", "x.toml", &[]).unwrap();
    let expected = "x.toml:1:1: host_ports: hosts with several ports; expected one port of every host";
    let observed = fabric.observe(&PointChoice::default(), 1, None).err().map(|error| error.to_string());
    assert!(observed.is_some_and(|error| error.starts_with(expected)));
    let deployed = fabric.deployment(&[]).err().map(|error| error.to_string());
    assert!(deployed.is_some_and(|error| error.starts_with(expected)));
}

#[test]
fn a_design_counts_and_prices_all_planes_and_proves_each() {
    let design = |planes: u32| {
        let fabric = Fabric::parse(&format!("host_ports.planes = {planes}\n[topology.fat_tree]\n"), "x.toml", &[]);
        fabric.unwrap().design(None, &mut |_| true).unwrap().unwrap()
    };
    let (one, two) = (design(1), design(2));
    assert_eq!((two.fabric.hosts, two.fabric.planes, two.fabric.host_ports_max), (96, 2, 2));
    assert_eq!(two.fabric.switches, 2 * one.fabric.switches);
    assert_eq!(two.fabric.cables_all(), 2 * one.fabric.cables_all());
    assert_eq!(two.fabric.bisection_gbps, 2.0 * one.fabric.bisection_gbps);
    assert_eq!(two.fabric.bisection_share, one.fabric.bisection_share);
    assert_eq!(two.routings, one.routings);
    let cost = |design: &etherweave_scenario::Design| design.cost.as_ref().map(|bill| bill.total);
    assert_eq!(cost(&two), cost(&one).map(|total| 2.0 * total));
}
