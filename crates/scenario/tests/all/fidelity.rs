//! Flow-level mode against packets, and what it rejects.

use etherweave_scenario::{Column, Outcome, Run, ScenarioError};

fn run(text: &str, fidelity: &str, threads: usize) -> Result<Outcome, ScenarioError> {
    let changes = [("run.fidelity".to_owned(), format!("{fidelity:?}"))];
    Ok(Run::start(text, "x.toml", &changes, threads, &[])?.finish(&mut |_| true).0)
}

/// End of the run in flow-level mode over that with packets.
fn ratio(text: &str) -> f64 {
    let [packet, flow] = ["packet", "flow"].map(|fidelity| run(text, fidelity, 1).unwrap().summary);
    assert_eq!((packet.finished, flow.finished), ("complete", "complete"));
    // As many data packets; acknowledgements are not made.
    assert!(flow.packets_created < packet.packets_created);
    assert_eq!((flow.packets_created, flow.packets_in_flight), (flow.packets_delivered, 0));
    flow.end_ns / packet.end_ns
}

const PAIR: &str = "topology.single_switch = { hosts = 2, rate = \"100Gb/s\" }\n[[job]]\nname = \"pair\"\n";

#[test]
fn without_contention_both_take_the_same_time_within_three_percent() {
    let fabrics = [
        "topology.single_switch = { hosts = 16 }",
        "switch.forwarding = \"store_and_forward\"\n[topology.k_ary_fat_tree]\nk = 4",
        "[topology.dragonfly]",
    ];
    let workloads = [
        "osu_latency = { bytes = \"8B\", iterations = 100 }",
        "osu_latency = { bytes = \"4KiB\", iterations = 100 }",
        "osu_latency = { bytes = \"1MiB\", iterations = 10 }",
        "osu_bw = { bytes = \"8MiB\", iterations = 4 }",
    ];
    // On one switch every rank has its links for itself.
    let collective = "osu_collective = { operation.allreduce.bytes = \"256KiB\", ranks = 8, iterations = 3 }";
    let pairs = fabrics.iter().flat_map(|fabric| workloads.iter().map(move |workload| (*fabric, *workload)));
    for (fabric, workload) in pairs.chain([(fabrics[0], collective)]) {
        let ratio = ratio(&format!("{fabric}\n[[job]]\nname = \"job\"\nworkload.{workload}\n"));
        assert!((0.97..1.03).contains(&ratio), "{fabric} {workload}: {ratio}");
    }
}

/// Seven senders share a link: each message takes seven times as long as alone.
#[test]
fn senders_to_one_host_get_equal_shares() {
    let text = "topology.single_switch = { hosts = 8, rate = \"100Gb/s\" }\nrun.end = \"20ms\"\nrun.warm_up = \"5ms\"\n\
                [flow_control.pfc]\n[[job]]\nname = \"incast\"\nworkload.incast = { sources = 7 }\n";
    let [packet, flow] = ["packet", "flow"].map(|fidelity| run(text, fidelity, 1).unwrap());
    let goodput = |outcome: &Outcome| -> Vec<f64> {
        let streams = outcome.tables.iter().find(|table| table.name == "streams").unwrap();
        let (_, column) = streams.columns.iter().find(|(name, _)| *name == "goodput_gbps").unwrap();
        let Column::Numbers(values) = column else { panic!("goodput is a number") };
        values.clone()
    };
    let (packet, flow) = (goodput(&packet), goodput(&flow));
    assert_eq!((packet.len(), flow.len()), (7, 7));
    for rate in flow {
        assert!((rate / packet[0] - 1.0).abs() < 0.03, "{rate} {}", packet[0]);
    }
}

#[test]
fn a_run_is_the_same_on_any_number_of_threads() {
    let text = "[topology.k_ary_fat_tree]\nk = 4\n[[job]]\nname = \"job\"\nworkload.all_to_all = { ranks = 16 }\n";
    let [one, three] = [1, 3].map(|threads| run(text, "flow", threads).unwrap().summary);
    assert_eq!((one.end_ns, &one.fingerprint, one.events), (three.end_ns, &three.fingerprint, three.events));
    assert!(one.fingerprint.is_some_and(|fingerprint| fingerprint.t != "0"));
}

#[test]
fn what_needs_packets_is_rejected_with_its_key() {
    let refused =
        |more: &str| run(&format!("{more}\n{PAIR}workload.osu_latency = {{}}\n"), "flow", 1).err().unwrap().to_string();
    let cases = [
        ("transport.tcp = {}", "transport: tcp; expected run.fidelity = \"packet\""),
        ("switch.shaper = { rate = \"10Gb/s\", burst = \"16KiB\" }", "nic.shaper"),
        ("observe = { period = \"1us\", until = \"1ms\", ports = [\"switches\"] }", "observe: time series"),
    ];
    for (more, expected) in cases {
        let error = refused(more);
        assert!(error.contains(expected), "{error}");
    }
}
