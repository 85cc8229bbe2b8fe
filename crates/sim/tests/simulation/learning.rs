//! Switches that learn addresses, and flood frames for those that they have not learnt.

use etherweave_primitives::{BitRate, Bytes, Duration, HostId, Priority};
use etherweave_sim::params::{AddressLearning, FlowControl, Forwarding, OuterHeader, SimParams};
use etherweave_sim::{Experiment, LearningRow, Report, Simulation};
use etherweave_topology::{Family, FatTree, Topology};
use etherweave_workload::{Permutation, StreamSpec, Traffic, Workload};

use crate::common::{experiment, job, job_of, one_switch, roce, run, selective, tcp};
use crate::{credits::stream, threads::assert_same_on_any_threads};

fn learning(mut params: SimParams, entries: u32) -> SimParams {
    params.switch.learning = Some(AddressLearning { entries, ageing: Duration::from_ms(300_000) });
    params.flow_control = FlowControl::None {};
    params
}

/// Leaves with two hosts each below a core.
fn tree(leaves: u32) -> Topology {
    FatTree { leaves, hosts_per_leaf: 2, cores: 1, links_per_core: 1, ..FatTree::default() }.generate().unwrap()
}

/// So many messages of one packet for each pair of hosts, the next when the one before is acknowledged.
fn messages(topology: Topology, params: SimParams, pairs: &[(u32, u32)], count: u64) -> Experiment {
    let streams = pairs.iter().map(|&(from, to)| StreamSpec { outstanding: 1, ..stream(from, to, 4_096, Some(count)) });
    let mut job = job_of(Traffic::Streams(streams.collect()), Priority::new(0));
    job.hosts = (0..topology.hosts() as u32).map(HostId::new).collect();
    experiment(topology, params, vec![job])
}

/// Frames that switches have flooded, and their copies, by name.
fn flooded(report: &Report) -> Vec<(&str, u64, u64)> {
    report.learning.iter().map(|row| (&*row.node, row.flooded, row.copies)).collect()
}

/// Packets that a port to a host has sent.
fn received(report: &Report, host: &str) -> u64 {
    report.ports.iter().filter(|port| port.peer == host).map(|port| port.tx_packets).sum()
}

#[test]
fn the_first_frame_to_an_address_reaches_all_hosts_and_those_after_it_one() {
    let report = run(&messages(one_switch(4), learning(roce(), 16), &[(0, 1)], 10), 1);
    // The acknowledgement goes to host 0, which the switch has learnt, and teaches it host 1.
    assert_eq!(flooded(&report), [("switch0", 1, 2)]);
    assert_eq!(["host0", "host1", "host2", "host3"].map(|host| received(&report, host)), [10, 10, 1, 1]);
    assert_eq!(report.learning[0].entries_max, 2);
    // Ten packets, ten acknowledgements, two copies; a copy is delivered where it is discarded.
    assert_eq!((report.totals.created, report.totals.delivered, report.totals.dropped), (22, 22, 0));
}

#[test]
fn a_frame_is_flooded_by_every_switch_of_a_tree() {
    let report = run(&messages(tree(3), learning(roce(), 16), &[(0, 5)], 10), 1);
    // Leaf 0 sends a copy to host 1, the core one to leaf 1, which sends copies to both of its hosts; leaf 2 one to
    // host 4.
    let expected = [("leaf0", 1, 1), ("leaf1", 1, 2), ("leaf2", 1, 1), ("core0", 1, 1)];
    assert_eq!(flooded(&report), expected);
    let hosts = ["host0", "host1", "host2", "host3", "host4", "host5"];
    assert_eq!(hosts.map(|host| received(&report, host)), [10, 1, 1, 1, 1, 10]);
}

#[test]
fn a_flooded_frame_is_not_later_than_any_other() {
    let end = |params| run(&messages(tree(3), params, &[(0, 5)], 1), 1).streams[0].end;
    assert_eq!(end(learning(roce(), 16)), end(SimParams { flow_control: FlowControl::None {}, ..roce() }));
}

#[test]
fn frames_for_addresses_without_room_are_always_flooded() {
    let report = run(&messages(one_switch(4), learning(roce(), 2), &[(0, 1), (2, 3)], 50), 1);
    // The senders have both entries. Every packet goes to both other hosts too; no acknowledgement of hosts 1 and 3
    // is learnt from, and all go to known addresses.
    let LearningRow { entries_max, unlearnt, flooded, copies, .. } = report.learning[0];
    assert_eq!((entries_max, unlearnt, flooded, copies), (2, 100, 100, 200));
    assert_eq!(["host0", "host1"].map(|host| received(&report, host)), [100, 100]);
}

#[test]
fn a_switch_that_knows_an_address_discards_copies_that_come_from_there() {
    // Leaf 0 has no room for host 1, but the core has learnt it from its frame for host 2.
    let report = run(&messages(tree(2), learning(roce(), 3), &[(0, 1), (1, 2), (3, 0)], 20), 1);
    assert_eq!(report.totals.created, report.totals.delivered);
    assert!(report.learning.iter().all(|row| row.entries_max <= 3), "{:?}", report.learning);
}

#[test]
fn a_tree_that_learns_is_the_same_on_any_threads() {
    let workload =
        Workload::Permutation(Permutation { ranks: 8, bytes: Bytes::new(1 << 18), ..Permutation::default() });
    for params in [selective(roce()), tcp()] {
        for entries in [1, 3, 16] {
            assert_same_on_any_threads(&experiment(tree(4), learning(params.clone(), entries), vec![job(&workload)]));
        }
    }
}

#[test]
fn learning_is_rejected_where_frames_could_circle_or_would_not_find_room() {
    let with_cores = |cores, uplink_rate| {
        let tree =
            FatTree { leaves: 2, hosts_per_leaf: 2, cores, links_per_core: 1, uplink_rate, ..FatTree::default() };
        tree.generate().unwrap()
    };
    let (slow, fast) = (BitRate::from_gbps(100), BitRate::from_gbps(400));
    let header = OuterHeader { bytes: Bytes::new(50), latency: Duration::ZERO };
    let set = |change: &dyn Fn(&mut SimParams)| {
        let mut params = learning(roce(), 16);
        change(&mut params);
        params
    };
    let none = AddressLearning { entries: 0, ageing: Duration::from_us(1) };
    let cases = [
        (2, slow, set(&|_| ()), "switch.learning: beside a fabric of 8 links; expected one without loops, 7 links"),
        (1, fast, set(&|_| ()), "switch.learning: beside cut_through and links of several rates"),
        (1, slow, set(&|params| params.switch.learning = Some(none)), "switch.learning.entries: 0; expected 1 to"),
        (
            1,
            slow,
            set(&|params| params.flow_control = FlowControl::default()),
            "switch.learning: beside flow_control.pfc; expected flow_control.none",
        ),
        (
            1,
            slow,
            set(&|params| params.switch.outer_header = Some(header)),
            "switch.learning: beside switch.outer_header",
        ),
    ];
    for (cores, rate, params, expected) in cases {
        let built = Simulation::build(&messages(with_cores(cores, rate), params, &[(0, 1)], 1), 1);
        let error = built.err().expect("it is rejected").to_string();
        assert!(error.contains(expected), "{error}");
    }
    let stored = set(&|params| params.switch.forwarding = Forwarding::StoreAndForward);
    let report = run(&messages(with_cores(1, fast), stored, &[(0, 3)], 5), 1);
    assert_eq!(received(&report, "host1"), 1);
}
