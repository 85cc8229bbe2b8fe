//! Frames that have an outer header between switches.

use etherweave_primitives::{Bytes, Duration, Priority, Rank};
use etherweave_sim::params::{FlowControl, OuterHeader, Pfc, SimParams};
use etherweave_sim::{Experiment, Report};
use etherweave_topology::{Family, FatTree, Topology};
use etherweave_workload::{Permutation, StreamSpec, Traffic, Workload};
use proptest::prelude::*;

use crate::common::{experiment, job, job_of, roce, run, tcp};
use crate::threads::assert_same_on_any_threads;

fn with_header(mut params: SimParams, bytes: u64, latency: u64) -> SimParams {
    params.switch.outer_header = Some(OuterHeader { bytes: Bytes::new(bytes), latency: Duration::from_ns(latency) });
    params
}

/// Two leaves with two hosts each below a core, all links of 100 Gb/s.
fn leaves() -> Topology {
    let tree = FatTree { leaves: 2, hosts_per_leaf: 2, cores: 1, links_per_core: 1, ..FatTree::default() };
    tree.generate().unwrap()
}

/// A message of so many packets of 4 KiB from host 0 to another.
fn message(to: u32, packets: u64, params: SimParams) -> Experiment {
    let stream = StreamSpec {
        src_rank: Rank::new(0),
        dst_rank: Rank::new(to),
        stream: 0,
        bytes_per_message: packets * 4_096,
        outstanding: 1,
        messages: Some(1),
        flow_start: None,
    };
    experiment(leaves(), params, vec![job_of(Traffic::Streams(vec![stream]), Priority::new(0))])
}

/// How much later the message ends with a header than without [ns].
fn later(to: u32, packets: u64, bytes: u64, latency: u64) -> u64 {
    let end = |params| run(&message(to, packets, params), 1).streams[0].end;
    end(with_header(roce(), bytes, latency)).since(end(roce())).as_ps() / 1_000
}

#[test]
fn a_frame_takes_longer_on_links_between_switches_by_its_header() {
    // 50 B at 100 Gb/s are 4 ns. Host 3 is behind two links between switches, host 1 on the leaf of host 0.
    assert_eq!(later(3, 1, 50, 0), 2 * 4);
    assert_eq!(later(1, 1, 50, 0), 0);
    // Every packet keeps the leaf's uplink for 4 ns more; the last one waits for all before it.
    assert_eq!(later(3, 100, 50, 0), 99 * 4 + 2 * 4);
}

#[test]
fn the_header_is_added_behind_the_link_from_a_host_and_taken_away_before_the_one_to_a_host() {
    assert_eq!(later(3, 1, 50, 100), 2 * 4 + 2 * 100);
    assert_eq!(later(1, 1, 50, 100), 2 * 100);
}

#[test]
fn ports_between_switches_count_the_bytes_of_headers() {
    let sent = |params, node: &str, peer: &str| {
        let report: Report = run(&message(3, 10, params), 1);
        let mut ports = report.ports.iter().filter(|port| port.node == node && port.peer == peer);
        ports.next().map(|port| (port.tx_packets, port.tx_bytes)).expect("it has sent")
    };
    let (packets, bytes) = sent(roce(), "leaf0", "core0");
    assert_eq!(sent(with_header(roce(), 50, 0), "leaf0", "core0"), (packets, bytes + 50 * packets));
    assert_eq!(sent(with_header(roce(), 50, 0), "host0", "leaf0"), sent(roce(), "host0", "leaf0"));
}

#[test]
fn a_fat_tree_with_headers_is_the_same_on_any_threads() {
    let tree = FatTree { leaves: 3, hosts_per_leaf: 4, links_per_core: 1, ..FatTree::default() };
    let workload =
        Workload::Permutation(Permutation { ranks: 12, bytes: Bytes::new(1 << 20), ..Permutation::default() });
    for params in [roce(), tcp()] {
        assert_same_on_any_threads(&experiment(
            tree.generate().unwrap(),
            with_header(params, 50, 20),
            vec![job(&workload)],
        ));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn pfc_loses_nothing_with_headers(bytes in 1u64..400_000, header in 1u64..256) {
        let mut params = with_header(roce(), header, 10);
        params.flow_control = FlowControl::Pfc(Pfc::default());
        params.switch.buffer = Bytes::new(2_000_000);
        let tree = FatTree { leaves: 3, hosts_per_leaf: 4, links_per_core: 1, ..FatTree::default() };
        let permutation = Permutation { ranks: 12, bytes: Bytes::new(bytes), ..Permutation::default() };
        let jobs = vec![job(&Workload::Permutation(permutation))];
        let report = run(&experiment(tree.generate().unwrap(), params, jobs), 1);
        prop_assert_eq!(report.totals.dropped, 0);
    }
}
