//! Frames that have an outer header between switches.

use etherweave_primitives::{Bytes, Duration, HostId, Priority};
use etherweave_sim::params::{Credits, FlowControl, OuterHeader, Pfc, SimParams};
use etherweave_sim::{Experiment, Report};
use etherweave_topology::{Family, FatTree, Topology};
use etherweave_workload::{Permutation, Traffic, Workload};
use proptest::prelude::*;

use crate::common::{experiment, job, job_of, one_message, roce, run, tcp};
use crate::credits::{BYTE, MODELS, MTU, data_arrivals, frames, ideal, line, stream, streams, with_credits};
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
    let stream = one_message(0, to, packets * 4_096);
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
fn a_queue_holds_frames_as_they_came_in() {
    // Two hosts send 32 frames each to one on another leaf. When the last two come in, 31 have left, and 33 wait.
    let more = |leaves, hosts_per_leaf, node: &str, peer: &str| {
        let tree = FatTree { leaves, hosts_per_leaf, cores: 1, links_per_core: 1, ..FatTree::default() };
        let topology = tree.generate().unwrap();
        let queued = |params| {
            let sources = vec![stream(0, 2, 32 * MTU, Some(1)), stream(1, 2, 32 * MTU, Some(1))];
            let report = run(&streams(sources, 3, topology.clone(), params), 1);
            let mut rows = report.ports.iter().filter(|row| row.node == node && row.peer == peer);
            rows.next().map(|row| row.occupancy_bytes_max).expect("it has sent")
        };
        queued(with_header(ideal(), 1, 0)) - queued(ideal())
    };
    // From two leaves they meet in the core, with headers; from one leaf, before its uplink, without.
    assert_eq!((more(3, 1, "core0", "leaf2"), more(2, 2, "leaf0", "core0")), (33, 0));
}

#[test]
fn credits_cover_frames_with_their_headers() {
    // A header of 64 B takes one unit more: room for four frames without it is room for three with it.
    let plain = frames(4).buffer.unwrap();
    for (buffer, count) in [(plain, 3), (plain + Bytes::new(4 * 64), 4)] {
        for model in MODELS {
            let credits = Credits { buffer: Some(buffer), ..Credits::default() };
            let (latency, mut params) = (credits.return_latency, with_header(with_credits(ideal(), credits), 64, 0));
            params.switch.model = model;
            let mut experiment = streams(vec![stream(0, 1, 40 * MTU, Some(1))], 2, line(1_000), params);
            experiment.capture = vec![experiment.topology.host_channel(HostId::new(1))];
            let arrivals = data_arrivals(&run(&experiment, 1));
            let gaps: Vec<u64> =
                arrivals.windows(count + 1).map(|times| times[count].since(times[0]).as_ps()).collect();
            // 1,000 m are 5 us, there and back; 128 B of both headers come in and take 300 ns.
            let cycle = 10_300_000 + 128 * BYTE + latency.as_ps();
            assert_eq!(gaps[8..30], [cycle; 22], "{buffer} {model:?}");
        }
    }
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
