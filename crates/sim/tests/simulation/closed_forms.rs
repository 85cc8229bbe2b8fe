//! Cases that one can compute by hand.

use etherweave_primitives::{BitRate, Duration, Priority, Rank, Time};
use etherweave_sim::params::{Forwarding, RoceVersion, SimParams};
use etherweave_sim::{PortRow, Report, frame::size::RoceSizes};
use etherweave_workload::{StreamSpec, Traffic};

use crate::common::{experiment, job_of, one_switch, roce, run, run_for};

/// Time of a byte at 100 Gb/s [ps/B].
const BYTE: u64 = 80;
/// 10 m of cable at 5 ns/m.
const CABLE: Duration = Duration::from_ns(50);

fn wire(bytes: u64) -> Duration {
    Duration::from_ps(bytes * BYTE)
}

fn stream(src: u32, dst: u32, bytes: u64, messages: Option<u64>) -> StreamSpec {
    let (src_rank, dst_rank) = (Rank::new(src), Rank::new(dst));
    StreamSpec { src_rank, dst_rank, stream: 0, bytes_per_message: bytes, outstanding: 64, messages, flow_start: None }
}

/// NICs that are never the bottleneck.
fn ideal_nics() -> SimParams {
    let mut params = roce();
    params.nic.drain_rate = BitRate::from_gbps(1_000);
    params.nic.context_switch = Duration::ZERO;
    params
}

fn first_overhead() -> u64 {
    u64::from(RoceSizes::new(RoceVersion::V2, true).first_overhead())
}

fn middle_overhead() -> u64 {
    u64::from(RoceSizes::new(RoceVersion::V2, true).middle_overhead())
}

fn one_packet(forwarding: Forwarding) -> (SimParams, Time) {
    let mut params = ideal_nics();
    params.switch.forwarding = forwarding;
    let traffic = Traffic::Streams(vec![stream(0, 1, 1_000, Some(1))]);
    let report = run(&experiment(one_switch(2), params.clone(), vec![job_of(traffic, Priority::new(0))]), 1);
    (params, report.streams[0].end)
}

/// Delay of every packet besides serialisation.
fn fixed(params: &SimParams) -> Duration {
    params.host.mpi_roce.send_overhead
        + params.nic.transmit_latency
        + params.switch.latency
        + params.nic.receive_latency
        + CABLE * 2
}

#[test]
fn store_and_forward_serialises_once_per_link() {
    let (params, end) = one_packet(Forwarding::StoreAndForward);
    assert_eq!(end, Time::ZERO + fixed(&params) + wire(1_000 + first_overhead()) * 2);
}

#[test]
fn cut_through_serialises_once_and_reads_the_header_at_the_switch() {
    let (params, end) = one_packet(Forwarding::CutThrough);
    let header = wire(params.switch.header.get());
    assert_eq!(end, Time::ZERO + fixed(&params) + header + wire(1_000 + first_overhead()));
}

#[test]
fn a_long_message_runs_at_line_rate_less_headers() {
    let (packets, payload) = (1_000, 4_096);
    let traffic = Traffic::Streams(vec![stream(0, 1, packets * payload, Some(1))]);
    let params = ideal_nics();
    let report = run(&experiment(one_switch(2), params.clone(), vec![job_of(traffic, Priority::new(0))]), 1);
    let bytes = packets * (payload + middle_overhead()) + first_overhead() - middle_overhead();
    let header = wire(params.switch.header.get());
    assert_eq!(report.streams[0].end, Time::ZERO + fixed(&params) + header + wire(bytes));
}

#[test]
fn n_to_one_finishes_when_n_messages_have_crossed_the_last_link() {
    for sources in [2, 3, 7] {
        let streams = (1..=sources).map(|source| stream(source, 0, 40 * 4_096, Some(1))).collect();
        let params = ideal_nics();
        let job = job_of(Traffic::Streams(streams), Priority::new(0));
        let report = run(&experiment(one_switch(sources + 1), params.clone(), vec![job]), 1);
        let last = report.streams.iter().map(|row| row.end).max().unwrap();
        let message = 40 * (4_096 + middle_overhead()) + first_overhead() - middle_overhead();
        let header = wire(params.switch.header.get());
        assert_eq!(last, Time::ZERO + fixed(&params) + header + wire(u64::from(sources) * message));
        assert_eq!(report.totals.dropped, 0);
    }
}

/// Two endless streams of different priority into host 0, for a millisecond.
fn two_classes(params: SimParams, second: bool) -> Report {
    let job = |source: u32, priority: u8| {
        let traffic = Traffic::Streams(vec![stream(1, 0, 1 << 20, None)]);
        let mut job = job_of(traffic, Priority::new(priority));
        job.hosts[1] = etherweave_primitives::HostId::new(source);
        job
    };
    let jobs = if second { vec![job(1, 0), job(2, 1)] } else { vec![job(1, 0)] };
    run_for(&experiment(one_switch(3), params, jobs), Duration::from_ms(1))
}

/// Bytes of a priority from the switch to host 0.
fn sent(report: &Report, priority: u8) -> f64 {
    let is_it = |row: &&PortRow| row.peer == "host0" && row.priority.get() == priority;
    report.ports.iter().find(is_it).map_or(0.0, |row| row.tx_bytes as f64)
}

fn with_weights(weights: [u8; 8]) -> SimParams {
    let mut params = ideal_nics();
    params.ets.weights = weights;
    params.flow_control = etherweave_sim::params::FlowControl::Pfc(etherweave_sim::params::Pfc {
        priorities: vec![Priority::new(0), Priority::new(1)],
        ..Default::default()
    });
    params
}

#[test]
fn ets_shares_a_congested_link_by_weight() {
    for (first, second) in [(30, 70), (50, 50), (95, 5)] {
        let report = two_classes(with_weights([first, second, 0, 0, 0, 0, 0, 0]), true);
        let share = sent(&report, 0) / (sent(&report, 0) + sent(&report, 1));
        assert!((share - f64::from(first) / 100.0).abs() < 0.01, "{first}:{second} gave {share}");
    }
}

#[test]
fn an_unused_share_goes_to_the_others() {
    let report = two_classes(with_weights([10, 90, 0, 0, 0, 0, 0, 0]), false);
    // One millisecond at 80 ps a byte, less the microsecond until the first packet is there.
    assert!(sent(&report, 0) > 12.5e6 - 20_000.0, "{}", sent(&report, 0));
}

#[test]
fn strict_priority_takes_the_whole_link() {
    let report = two_classes(with_weights([100, 0, 0, 0, 0, 0, 0, 0]), true);
    assert!(sent(&report, 1) > 99.0 * sent(&report, 0));
}
