//! Hosts with several ports, from the file to the tables.

use std::{fs, path::Path};

use etherweave_scenario::{Design, Fabric, Outcome, PointChoice, Processes, Run};

use super::results::{numbers, overrides, texts};

const BYTES: f64 = 8_388_608.0;
const RATE_GBPS: f64 = 100.0;

fn scenario() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/two_planes.toml")).unwrap()
}

/// The shipped scenario, and what differs.
fn start(changed: &[(&str, &str)], threads: usize) -> Result<Run, String> {
    let run = Run::start(&scenario(), "two_planes.toml", &overrides(changed), threads, &[]);
    run.map_err(|error| error.to_string())
}

fn run(changed: &[(&str, &str)], threads: usize) -> Outcome {
    start(changed, threads).unwrap_or_else(|error| panic!("{error}")).finish(&mut |_| true).0
}

/// Bytes that each of two ports of a host has sent.
fn sent_by(outcome: &Outcome, host: &str) -> [f64; 2] {
    let nodes = texts(&outcome.tables, "ports", "node");
    let (port, bytes) = (numbers(&outcome.tables, "ports", "port"), numbers(&outcome.tables, "ports", "tx_bytes"));
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
        let durations = numbers(&outcome.tables, "iterations", "duration_ns");
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
        (numbers(&outcome.tables, "iterations", "start_ns"), numbers(&outcome.tables, "iterations", "duration_ns"));
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
    let failing =
        "host_ports.planes = 2\n[topology.fat_tree]\n[[faults.down]]\nlink = \"plane1.leaf0 - plane1.core0\"\n";
    let observed = Fabric::parse(failing, "x.toml", &[]).unwrap().observe(&PointChoice::default(), 1, None);
    let error = observed.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("faults.down: links that differ between 2 planes"), "{error}");
    let captured = Run::start(&scenario(), "two_planes.toml", &[], 1, &["host0".to_owned()]);
    let error = captured.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("no port of a host host0 to capture; expected a port of a host of"), "{error}");
}

/// Planes share nothing: where the same link fails in each, a curve is that of one plane with it.
#[test]
fn the_same_link_may_fail_in_every_plane_under_open_loops() {
    let loads = "[topology.fat_tree]\n[open_loop]\nroutings = [\"ecmp\"]\nloads = [0.6]\n\
                 warm_up = \"20us\"\nmeasured = \"40us\"\n";
    let curve = |planes: &str, links: &[&str]| {
        let down = |link: &&str| format!("[[faults.down]]\nlink = \"{link}\"\nfrom = \"30us\"\n");
        let text = format!("{planes}{loads}{}", links.iter().map(down).collect::<String>());
        let fabric = Fabric::parse(&text, "x.toml", &[]).unwrap();
        let points = fabric.curve(&Processes::ALONE, 1, None, &mut |_| true).unwrap().0;
        // The time that a point takes differs.
        let columns = points.columns.iter().filter(|(name, _)| *name != "wall_s");
        columns.map(|column| format!("{column:?}")).collect::<Vec<String>>()
    };
    let two = "host_ports.planes = 2\n";
    let both = curve(two, &["plane1.leaf0 - plane1.core0", "plane0.core0 - plane0.leaf0"]);
    assert_eq!(both, curve("", &["leaf0 - core0"]));
    assert_ne!(both, curve(two, &[]));
}

#[test]
fn messages_in_flow_level_mode_take_the_ports_that_packets_take() {
    let spray = [("routing", "\"spray\"")];
    let leaves = [("host_ports", "{ leaves = 2, choice = \"per_packet\" }"), ("job.0.placement.hosts", "[0, 1]")];
    let first = [("host_ports.choice", "\"first_working\"")];
    let dragonfly = [
        ("topology", "{ dragonfly = { p = 1, a = 2, h = 1 } }"),
        ("routing", "\"ugal_local\""),
        ("host_ports.choice", "\"by_hash\""),
        ("job.0.placement.hosts", "[0, 5]"),
    ];
    let queues = [
        ("topology", "{ dragonfly = { p = 1, a = 2, h = 1 } }"),
        ("routing", "\"ugal_local\""),
        ("host_ports", "{ planes = 2, choice = \"per_packet\" }"),
        ("job.0.placement.hosts", "[0, 5]"),
    ];
    let queues_of_leaves = [
        ("topology", "{ fat_tree = { leaves = 4, hosts_per_leaf = 2, cores = 2, links_per_core = 1 } }"),
        ("routing", "\"adaptive_up\""),
        ("host_ports", "{ leaves = 2, choice = \"per_packet\" }"),
        ("job.0.placement.hosts", "[0, 2]"),
    ];
    let cases: [(&[(&str, &str)], f64); 8] = [
        (&[], 2.0),
        (&[("host_ports.planes", "4")], 4.0),
        (&spray, 2.0),
        (&leaves, 2.0),
        (&first, 1.0),
        (&dragonfly, 1.0),
        (&queues, 2.0),
        (&queues_of_leaves, 2.0),
    ];
    for (case, planes) in cases {
        let keys = [&[NO_FAULT, ("job.0.workload.osu_latency.iterations", "2")][..], case].concat();
        let [packets, messages] =
            [&[][..], &[("run.fidelity", "\"flow\"")]].map(|mode| run(&[&keys, mode].concat(), 1));
        let [of_packets, of_messages] =
            [&packets, &messages].map(|outcome| numbers(&outcome.tables, "iterations", "duration_ns"));
        for (packets, messages) in of_packets.into_iter().zip(of_messages) {
            check_round_trip(messages, planes);
            assert!((messages / packets - 1.0).abs() < 0.02, "{case:?}: {messages} ns, {packets} ns in packets");
        }
        let [sent, carried] = [&packets, &messages].map(|outcome| sent_by(outcome, "host0"));
        for (sent, carried) in sent.into_iter().zip(carried) {
            // Acknowledgements are no load in flow-level mode, and parts of packets are counted by whole ones.
            assert!((carried - sent).abs() <= 0.02 * sent + 5_000.0, "{case:?}: {carried} B, {sent} B in packets");
        }
    }
}

/// Planes share nothing: over two of them messages of twice the bytes take as long as over one, but for latencies,
/// whatever decides in each plane. Every host sends to the next group, so that links between groups are full.
#[test]
fn two_planes_carry_twice_the_bytes_in_the_time_of_one_in_flow_level_mode() {
    for routing in ["minimal", "valiant_group", "ugal_local", "progressive_adaptive"] {
        let routing = format!("\"{routing}\"");
        let fabrics = [("{ planes = 1 }", "2MiB"), ("{ planes = 2, choice = \"per_packet\" }", "4MiB")];
        let ends = fabrics.map(|(ports, bytes)| {
            let jobs = format!(
                "[{{ name = \"shift\", workload = {{ permutation = {{ ranks = 20, bytes = \"{bytes}\", iterations = 2, \
                 partner = {{ shift = 4 }} }} }} }}]"
            );
            let keys = [
                ("topology", "{ dragonfly = { p = 2, a = 2, h = 2 } }"),
                ("routing", routing.as_str()),
                ("host_ports", ports),
                ("run.fidelity", "\"flow\""),
                ("job", jobs.as_str()),
                NO_FAULT,
            ];
            let durations = numbers(&run(&keys, 1).tables, "iterations", "duration_ns");
            durations.into_iter().fold(0.0, f64::max)
        });
        assert!((ends[1] / ends[0] - 1.0).abs() < 0.01, "{routing}: {ends:?} ns");
    }
}

#[test]
fn each_port_of_a_host_is_captured_by_its_name() {
    let frames = |port: &str| {
        let file = std::env::temp_dir().join(format!("etherweave-{}-{port}.pcapng", std::process::id()));
        let keys = [
            NO_FAULT,
            ("job.0.workload.osu_latency.bytes", "\"64KiB\""),
            ("job.0.workload.osu_latency.iterations", "1"),
        ];
        let mut run = Run::start(&scenario(), "two_planes.toml", &overrides(&keys), 1, &[port.to_owned()]).unwrap();
        run.capture_to(port, fs::File::create(&file).unwrap()).unwrap();
        let (outcome, captured) = run.finish(&mut |_| true);
        captured.unwrap();
        let octets = fs::read(&file).unwrap();
        fs::remove_file(file).unwrap();
        // Enhanced packet blocks of pcapng begin with their type and length.
        let (mut at, mut blocks) = (0, 0.0);
        while at < octets.len() {
            let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|octet| octets[at + octet]));
            blocks += f64::from(u8::from(word(at) == 6));
            at += word(at + 4) as usize;
        }
        let nodes = texts(&outcome.tables, "ports", "node");
        let (number, [sent, came]) = (
            numbers(&outcome.tables, "ports", "port"),
            ["tx_packets", "rx_packets"].map(|name| numbers(&outcome.tables, "ports", name)),
        );
        let own = (0..nodes.len()).filter(|&row| port == format!("{}.{}", &nodes[row], number[row]));
        (blocks, own.map(|row| sent[row] + came[row]).sum::<f64>())
    };
    for port in ["host0.0", "host0.1", "host2.1"] {
        let (captured, carried) = frames(port);
        assert!(captured > 0.0 && captured == carried, "{port}: {captured} frames of {carried}");
    }
}

#[test]
fn an_open_loop_has_a_source_for_each_port_and_a_plane_for_all() {
    let observed = |ports: &str| {
        let tree = "[topology.fat_tree]\nleaves = 4\nhosts_per_leaf = 2\ncores = 2\nlinks_per_core = 1\n";
        let text = format!("{ports}{tree}[open_loop]\nloads = [0.3]\nwarm_up = \"2us\"\nmeasured = \"10us\"\n");
        let choice = PointChoice { routing: Some("spray".to_owned()), ..PointChoice::default() };
        let tables = Fabric::parse(&text, "x.toml", &[]).unwrap().observe(&choice, 1, None).unwrap();
        ["load_accepted", "latency_ns_mean"].map(|name| numbers(&tables, "points", name)[0])
    };
    let single = observed("");
    assert!(single[0] > 0.25, "{single:?}");
    assert_eq!(observed("host_ports.planes = 2\n"), single);
    assert_eq!(observed("host_ports.leaves = 2\n"), single);
}

/// Counts of published fabrics. DeepSeek-V3 (ISCA 2025), table of networks, MPFT: 16,384 endpoints, 768 switches and
/// 16,384 links between switches. HPN (SIGCOMM 2024): 15,360 accelerators in a pod, 240 leaves and 120 aggregation
/// switches, and 60 links up of each leaf, 1.067:1. Rail-only: a switch for each rail.
#[test]
fn planes_of_published_systems_have_the_published_counts() {
    let topology = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../scenarios/planes/{name}.toml"));
        let fabric = Fabric::parse(&fs::read_to_string(&path).unwrap(), name, &[]).unwrap();
        fabric.topology().clone()
    };
    let counts = |name: &str| {
        let topology = topology(name);
        let ports: usize = topology.host_ports().count();
        let links = topology.channels().len() / 2 - ports;
        (topology.hosts(), ports, topology.switches(), links)
    };
    assert_eq!(counts("eight_planes"), (2_048, 16_384, 768, 16_384));
    assert_eq!(counts("dual_plane_pod"), (15_360, 30_720, 240 + 120, 240 * 60));
    assert_eq!(counts("rail_only"), (64, 512, 8, 0));
    let taper: f64 = 128.0 * 200.0 / (60.0 * 400.0);
    assert!((taper - 1.067).abs() < 5e-4);
}

/// A server of HPN with 16 ports loses one, and a sixteenth of its bandwidth: -6.25 %, as published.
#[test]
fn a_server_of_sixteen_ports_loses_a_sixteenth_with_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/planes.toml");
    let outcome = Run::start(&fs::read_to_string(path).unwrap(), "planes.toml", &[], 1, &[]).unwrap();
    let outcome = outcome.finish(&mut |_| true).0;
    let [ranks, iterations, durations] =
        ["rank", "iteration", "duration_ns"].map(|column| numbers(&outcome.tables, "iterations", column));
    let rate = |iteration: f64| -> f64 {
        let rows = (0..ranks.len()).filter(|&row| ranks[row] < 8.0 && iterations[row] == iteration);
        rows.map(|row| durations[row].recip()).sum()
    };
    let share = rate(3.0) / rate(0.0);
    assert!((share - 15.0 / 16.0).abs() < 1e-3, "{share}");
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
    let cables = |design: &Design| design.fabric.cables.iter().map(|cables| cables.cables).sum::<u64>();
    assert_eq!(cables(&two), 2 * cables(&one));
    assert_eq!(two.fabric.bisection_gbps, 2.0 * one.fabric.bisection_gbps);
    assert_eq!(two.fabric.bisection_share, one.fabric.bisection_share);
    assert_eq!(two.routings, one.routings);
    let cost = |design: &Design| design.cost.as_ref().map(|bill| bill.total);
    assert_eq!(cost(&two), cost(&one).map(|total| 2.0 * total));
}
