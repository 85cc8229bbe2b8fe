//! DCTCP over RoCE in whole simulations.

use etherweave_primitives::{Bytes, ChannelId, Duration, Length};
use etherweave_sim::params::{Dctcp, EcnMarking, MarkAt, Transport};
use etherweave_sim::{Report, Sampling};
use etherweave_topology::{Family, SingleSwitch};
use etherweave_workload::{Incast, Workload};

use crate::common::{experiment, job, roce, run_for, selective};

/// Threshold of marking [packets].
const THRESHOLD: u64 = 60;
/// A packet in a buffer [B]: 4 KiB and its headers, with an address each, without preamble and gap.
const PACKET: u64 = 4_096 + 82;

/// `sources` send without end to one host over a switch that marks from [`THRESHOLD`] packets on, on cables of 1 km; a
/// sample of all ports each microsecond from 2 ms on.
fn incast(sources: u32) -> Report {
    let mut params = selective(roce());
    let Transport::Roce(roce) = &mut params.transport else { unreachable!("RoCE is asked for") };
    (roce.dctcp, roce.window) = (Some(Dctcp {}), Bytes::new(512 << 10));
    let threshold = Bytes::new(THRESHOLD * PACKET);
    params.switch.ecn = Some(EcnMarking {
        queue_min: threshold,
        queue_max: threshold,
        share_max: 1.0,
        mark_at: MarkAt::Enqueue,
        last_hop: true,
    });
    let cable = Length::from_m(1_000).into();
    let topology = SingleSwitch { hosts: sources + 1, cable, ..SingleSwitch::default() }.generate().unwrap();
    let incast = Incast { sources, message: Bytes::new(1 << 20), outstanding: 4, messages: None, ..Incast::default() };
    let mut experiment = experiment(topology, params, vec![job(&Workload::Incast(incast))]);
    let ports = (0..experiment.topology.channels().len()).map(ChannelId::from_index).collect();
    let (period, from) = (Duration::from_us(1), Duration::from_ms(2));
    let (flows, hosts) = (Vec::new(), Vec::new());
    experiment.sampling = Some(Sampling { period, from, until: None, ports, busiest: None, flows, hosts });
    run_for(&experiment, Duration::from_ms(6))
}

/// The queue of the port that all share, in packets, sample by sample.
fn queue(report: &Report) -> Vec<f64> {
    let samples = report.samples.as_ref().expect("they are asked for");
    let bytes = |port: u32| samples.ports.iter().filter(move |row| row.port == port);
    let most = |port: u32| bytes(port).map(|row| row.occupancy_bytes).max().unwrap_or(0);
    let shared = (0..samples.port_names.len() as u32).max_by_key(|&port| most(port)).unwrap();
    bytes(shared).map(|row| f64::from(row.occupancy_bytes as u32) / PACKET as f64).collect()
}

/// The paper, section 3.3: N flows in step saw between K + N and A less, A = √(2 N (C RTT + K)) / 2 packets. Four
/// cables of 5 us and four packets of 336 ns are a round trip of 64 packets. What flows out of step add to the depth is
/// up to a third, and the link never idles.
#[test]
fn the_queue_saws_below_the_threshold_by_what_the_paper_derives() {
    for sources in [2_u32, 4, 8] {
        let queue = queue(&incast(sources));
        let most = queue.iter().copied().fold(0.0, f64::max);
        let least = queue.iter().copied().fold(f64::MAX, f64::min);
        let highest = f64::from(sources) + THRESHOLD as f64;
        assert!((most - highest).abs() < 2.0, "{most} of {highest} packets with {sources}");
        let depth = (2.0 * f64::from(sources) * (64.0 + THRESHOLD as f64)).sqrt() / 2.0;
        let ratio = (most - least) / depth;
        assert!((0.9..1.33).contains(&ratio), "{ratio} of {depth} packets with {sources}");
        assert!(least > 0.0);
    }
}
