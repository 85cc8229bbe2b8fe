//! Credits: throughput by buffer and round trip, losslessness, fairness, deadlock.

use etherweave_primitives::{BitRate, Bytes, ChannelId, Duration, HostId, Length, Priority, Rank, Time};
use etherweave_sim::frame::size::{PREAMBLE_AND_GAP, RoceSizes};
use etherweave_sim::params::{
    Credits, FlowControl, Forwarding, RoceVersion, SimParams, SwitchModel, SwitchParams, TokenBucket, Transport,
};
use etherweave_sim::{Captured, DegradedLink, Experiment, Finish, PacketKind, PortRow, Report, Simulation};
use etherweave_topology::{Custom, Family, FatTree, Topology};
use etherweave_workload::{Permutation, StreamSpec, Traffic, Workload};
use proptest::prelude::*;

use crate::common::{experiment, job, job_of, one_switch, roce, run, run_for, tcp};
use crate::threads::assert_same_on_any_threads;

/// Time of a byte at 100 Gb/s [ps/B].
pub const BYTE: u64 = 80;
pub const MTU: u64 = 4_096;

fn sizes() -> RoceSizes {
    RoceSizes::new(RoceVersion::V2, true)
}

/// The first packet of a message, the largest there is [B on the wire].
pub fn largest() -> u64 {
    MTU + u64::from(sizes().first_overhead())
}

/// Another packet of a message [B on the wire].
fn middle() -> u64 {
    MTU + u64::from(sizes().middle_overhead())
}

/// Buffers of so many largest frames, in units of 64 B.
pub fn frames(count: u64) -> Credits {
    let frame = (largest() - u64::from(PREAMBLE_AND_GAP)).next_multiple_of(64);
    Credits { buffer: Some(Bytes::new(count * frame)), ..Credits::default() }
}

pub fn with_credits(mut params: SimParams, credits: Credits) -> SimParams {
    params.flow_control = FlowControl::Credits(credits);
    params
}

/// NICs that are never the bottleneck, and windows that never close.
pub fn ideal() -> SimParams {
    let mut params = roce();
    params.nic.drain_rate = BitRate::from_gbps(1_000);
    params.nic.context_switch = Duration::ZERO;
    if let Transport::Roce(roce) = &mut params.transport {
        roce.window = Bytes::new(64 << 20);
    }
    params
}

pub fn stream(src: u32, dst: u32, bytes: u64, messages: Option<u64>) -> StreamSpec {
    let (src_rank, dst_rank) = (Rank::new(src), Rank::new(dst));
    StreamSpec { src_rank, dst_rank, stream: 0, bytes_per_message: bytes, outstanding: 64, messages, flow_start: None }
}

pub fn streams(list: Vec<StreamSpec>, hosts: u32, topology: Topology, params: SimParams) -> Experiment {
    let mut job = job_of(Traffic::Streams(list), Priority::new(0));
    job.hosts = (0..hosts).map(HostId::new).collect();
    experiment(topology, params, vec![job])
}

pub const MODELS: [SwitchModel; 2] = [SwitchModel::SharedBuffer, SwitchModel::InputQueued];

/// A host on each of two switches with a cable of so many metres between them.
pub fn line(cable: u64) -> Topology {
    let links = format!("h0,s0,100Gb/s,1m\nh1,s1,100Gb/s,1m\ns0,s1,100Gb/s,{cable}m\n");
    Custom { hosts: 2, links, ..Custom::default() }.generate().unwrap()
}

fn row<'a>(report: &'a Report, node: &str, peer: &str) -> &'a PortRow {
    report.ports.iter().find(|row| row.node == node && row.peer == peer).expect("a port that counted something")
}

/// Returns the time from the first bit of a packet on the cable between the switches to the return of its credits.
fn round_trip(params: &SimParams, credits: &Credits, cable: u64) -> Duration {
    let before_service = match params.switch.forwarding {
        Forwarding::StoreAndForward => middle() * BYTE,
        Forwarding::CutThrough => params.switch.header.get() * BYTE,
    };
    let propagation = Length::from_m(cable).propagation_time();
    let update = Duration::from_ps(credits.update_spacing.map_or(0, |spacing| spacing.get() * BYTE));
    Duration::from_ps(before_service) + propagation * 2 + params.switch.latency + credits.return_latency + update
}

#[test]
fn k_frames_of_buffer_carry_k_frames_a_round_trip_but_no_more_than_the_rate() {
    for forwarding in [Forwarding::StoreAndForward, Forwarding::CutThrough] {
        for (cable, k) in [(1_000, 1), (1_000, 2), (1_000, 7), (300, 3), (300, 12), (50, 2), (50, 8)] {
            // Some links send credits in messages, one in 2 KiB.
            let credits = Credits { update_spacing: (k % 2 == 0).then_some(Bytes::new(2_048)), ..frames(k) };
            let mut params = with_credits(ideal(), credits.clone());
            params.switch.forwarding = forwarding;
            let packets = 40 * k;
            let mut experiment = streams(vec![stream(0, 1, packets * MTU, Some(1))], 2, line(cable), params.clone());
            experiment.capture = vec![experiment.topology.host_channel(HostId::new(1))];
            let report = run(&experiment, 1);
            let arrivals: Vec<Time> = data_arrivals(&report);
            let cycle = round_trip(&params, &credits, cable).max(Duration::from_ps(k * middle() * BYTE));
            let k = k as usize;
            for later in 2 * k + 1..arrivals.len() {
                let gap = arrivals[later].since(arrivals[later - k]);
                assert_eq!(gap, cycle, "packet {later}, {k} frames, {cable} m, {forwarding:?}");
            }
        }
    }
}

/// When data packets arrived at the captured host.
pub fn data_arrivals(report: &Report) -> Vec<Time> {
    let is_data =
        |content: &Captured| matches!(content, Captured::Packet(packet, _) if packet.kind == PacketKind::Data);
    let frames = report.captured[0].frames.iter();
    frames.filter(|frame| !frame.is_outgoing && is_data(&frame.content)).map(|frame| frame.time).collect()
}

#[test]
fn the_wait_for_credits_is_what_the_round_trip_leaves_of_the_rate() {
    let (cable, k, rounds) = (1_000, 4, 50);
    let credits = frames(k);
    let params = with_credits(ideal(), credits.clone());
    let all = streams(vec![stream(0, 1, k * rounds * MTU, Some(1))], 2, line(cable), params.clone());
    let report = run(&all, 1);
    // Every k packets but the last, the port waits for the rest of the round trip.
    let idle = round_trip(&params, &credits, cable) - Duration::from_ps(k * middle() * BYTE);
    let wait = row(&report, "s0", "s1").credit_wait_duration;
    let first = Duration::from_ps((largest() - middle()) * BYTE);
    assert!(idle * (rounds - 1) - first <= wait && wait <= idle * (rounds - 1) + first, "{wait}");
    assert_eq!(row(&report, "s1", "s0").credit_wait_duration, Duration::ZERO);
}

#[test]
fn the_default_buffer_carries_the_rate_over_any_cable() {
    for forwarding in [Forwarding::StoreAndForward, Forwarding::CutThrough] {
        for cable in [1, 17, 300, 2_000] {
            let mut params = ideal();
            params.switch.forwarding = forwarding;
            let end = |params| {
                let message = vec![stream(0, 1, 500 * MTU, Some(1))];
                run(&streams(message, 2, line(cable), params), 1).streams[0].end
            };
            // Where nothing blocks, the time under PFC is the time under credits.
            let by_credits = end(with_credits(params.clone(), Credits::default()));
            assert_eq!(by_credits, end(params), "{cable} m, {forwarding:?}");
        }
    }
}

#[test]
fn n_to_one_takes_as_long_as_under_pfc_and_is_fair() {
    for sources in [2, 3, 7] {
        let params = with_credits(ideal(), Credits::default());
        let all = |messages, bytes| (1..=sources).map(|source| stream(source, 0, bytes, messages)).collect();
        let once = streams(all(Some(1), 40 * MTU), sources + 1, one_switch(sources + 1), params.clone());
        let report = run(&once, 1);
        // The last link never waits: n messages cross it one after another.
        let message = 40 * middle() + largest() - middle();
        let fixed = params.host.mpi_roce.send_overhead
            + params.nic.transmit_latency
            + params.switch.latency
            + params.nic.receive_latency
            + Length::from_m(10).propagation_time() * 2;
        let wire = Duration::from_ps((params.switch.header.get() + u64::from(sources) * message) * BYTE);
        let last = report.streams.iter().map(|row| row.end).max().unwrap();
        assert_eq!(last, Time::ZERO + fixed + wire);
        assert_eq!(report.totals.dropped, 0);

        let endless = streams(all(None, 1 << 20), sources + 1, one_switch(sources + 1), params);
        let report = run_for(&endless, Duration::from_ms(1));
        let bytes: Vec<u64> = report.streams.iter().map(|row| row.bytes).collect();
        let spread = bytes.iter().max().unwrap() - bytes.iter().min().unwrap();
        assert!(spread <= 2 * MTU, "{bytes:?}");
        assert_eq!(report.totals.dropped, 0);
    }
}

/// Switches in a circle, a host at each.
pub fn circle(hosts: u32) -> Topology {
    let link = |i| format!("h{i},s{i},100Gb/s,3m\ns{i},s{},40Gb/s,20m\n", (i + 1) % hosts);
    let links: String = (0..hosts).map(link).collect();
    Custom { hosts, links, ..Custom::default() }.generate().unwrap()
}

#[test]
fn a_cyclic_dependency_is_found_and_its_ports_are_named() {
    // Every host sends nearly half the circle on, so that each link waits for the next.
    for (model, (hosts, links)) in MODELS.into_iter().zip([(5, 2), (9, 4)]) {
        let across = (0..hosts).map(|i| stream(i, (i + links) % hosts, 10_000_000, Some(1))).collect();
        let mut params = with_credits(roce(), frames(4));
        params.switch.model = model;
        let cyclic = streams(across, hosts, circle(hosts), params);
        let Finish::Stuck(report) = Simulation::build(&cyclic, 1).unwrap().run(Time::MAX, &mut |_| true) else {
            panic!("a cycle of full buffers stops")
        };
        for i in 0..hosts {
            let (at, next) = (format!("s{i} port"), format!("priority 0 has no credits from s{}", (i + 1) % hosts));
            let line = report.lines().find(|line| line.starts_with(&at) && line.contains(&next));
            assert!(line.is_some_and(|line| !line.contains(", 0 B wait")), "{model:?}: {report}");
        }
    }
}

#[test]
fn two_priorities_break_no_rule_of_the_scheduler() {
    // Shares of 30 and 70 % hold where both priorities are under credits.
    let priorities = vec![Priority::new(0), Priority::new(1)];
    let mut params = with_credits(ideal(), Credits { priorities, ..Credits::default() });
    params.ets.weights = [30, 70, 0, 0, 0, 0, 0, 0];
    let of = |source: u32, priority: u8| {
        let mut job = job_of(Traffic::Streams(vec![stream(1, 0, 1 << 20, None)]), Priority::new(priority));
        job.hosts[1] = HostId::new(source);
        job
    };
    let report = run_for(&experiment(one_switch(3), params, vec![of(1, 0), of(2, 1)]), Duration::from_ms(1));
    let sent = |priority: u8| {
        let is_it = |row: &&PortRow| row.peer == "host0" && row.priority.get() == priority;
        report.ports.iter().find(is_it).map_or(0.0, |row| row.tx_bytes as f64)
    };
    let share = sent(0) / (sent(0) + sent(1));
    assert!((share - 0.3).abs() < 0.01, "{share}");
}

#[test]
fn a_priority_without_credits_loses_packets_beside_one_that_loses_none() {
    let mut params = with_credits(tcp(), Credits { priorities: vec![Priority::new(3)], ..Credits::default() });
    params.switch.buffer = Bytes::new(400_000);
    params.switch.reserve = Bytes::new(5_000);
    let incast = |priority| {
        let list = (1..=3).map(|source| stream(source, 0, 2 << 20, Some(1))).collect();
        job_of(Traffic::Streams(list), Priority::new(priority))
    };
    let report = run(&experiment(one_switch(4), params, vec![incast(3), incast(0)]), 1);
    let drops = |priority| -> u64 {
        report.ports.iter().filter(|row| row.priority.get() == priority).map(|row| row.drops_packets).sum()
    };
    assert!(drops(0) > 0, "the shared pool is small");
    assert_eq!(drops(3), 0);
}

/// The end of a run asserts that all credits are somewhere.
#[test]
fn frames_that_a_full_receive_ring_loses_keep_no_credits() {
    let mut params = with_credits(tcp(), frames(4));
    params.host.receive.ring = 1;
    let streams = Traffic::Streams(vec![stream(0, 1, 200_000, Some(1))]);
    let report = run(&experiment(one_switch(2), params, vec![job_of(streams, Priority::new(0))]), 1);
    assert!(report.ports.iter().any(|port| port.rx_out_of_buffer > 0), "the ring is full");
}

#[test]
fn damaged_packets_and_shaped_ports_keep_no_credits() {
    let forwardings = [Forwarding::StoreAndForward, Forwarding::CutThrough];
    for (forwarding, model) in forwardings.into_iter().flat_map(|forwarding| MODELS.map(|model| (forwarding, model))) {
        let mut params = with_credits(ideal(), frames(3));
        params.switch.forwarding = forwarding;
        params.switch.model = model;
        params.nic.shaper = Some(TokenBucket { rate: BitRate::from_gbps(60), burst: Bytes::new(10_000) });
        if let Transport::Roce(roce) = &mut params.transport {
            roce.retransmission_timeout = Duration::from_us(100);
        }
        let mut damaged = streams(vec![stream(0, 1, 400 * MTU, Some(1))], 2, line(100), params);
        let every = |number: usize| DegradedLink {
            channel: ChannelId::from_index(2 * number),
            bit_error_rate: 1e-6,
            fec: None,
            from: Duration::ZERO,
            until: None,
            retry: None,
        };
        damaged.degraded = (0..3).map(every).collect();
        // The end of a run asserts that all credits are accounted for.
        let report = run(&damaged, 1);
        assert!(
            report.totals.damaged > 0 && report.totals.dropped == 0,
            "{forwarding:?}, {model:?}: {:?}",
            report.totals
        );
    }
}

/// A small tapered tree.
fn tree(cable: u64, slow: bool) -> Topology {
    let uplink_rate = BitRate::from_gbps(if slow { 40 } else { 100 });
    let uplink_cable = Length::from_m(cable).into();
    let tree =
        FatTree { leaves: 3, hosts_per_leaf: 4, links_per_core: 1, uplink_cable, uplink_rate, ..FatTree::default() };
    tree.generate().unwrap()
}

pub fn exchange(ranks: u32, bytes: u64) -> Workload {
    Workload::Permutation(Permutation { ranks, bytes: Bytes::new(bytes), ..Permutation::default() })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn credits_never_drop_and_keep_order(
        bytes in 1u64..400_000, cable in 1u64..200, slow: bool, cut: bool, is_tcp: bool, buffer in 0u64..6,
        unit in 1u64..3_000, is_input_queued: bool, speed_up in 1u32..4, output_queue in 0u64..3,
    ) {
        let mut params = if is_tcp { tcp() } else { roce() };
        if is_input_queued {
            let output_queue = Bytes::new(output_queue * 10_000);
            let model = SwitchModel::InputQueued;
            params.switch = SwitchParams { model, speed_up, output_queue, ..params.switch };
        }
        params.switch.forwarding = if cut { Forwarding::CutThrough } else { Forwarding::StoreAndForward };
        // A frame of up to 9,000 B may be padded by a unit.
        let buffer = (buffer > 0).then(|| Bytes::new(buffer * 12_000));
        let credits = Credits { buffer, unit: Bytes::new(unit), ..Credits::default() };
        let params = with_credits(params, credits);
        let report = run(&experiment(tree(cable, slow), params, vec![job(&exchange(12, bytes))]), 1);
        prop_assert_eq!(report.totals.dropped, 0);
        prop_assert!(report.lossless_drops.is_empty());
        prop_assert!(is_tcp || report.flows.iter().all(|flow| flow.retransmissions == 0));
    }
}

#[test]
fn credits_are_the_same_on_any_threads() {
    let permutation =
        |params| experiment(FatTree::default().generate().unwrap(), params, vec![job(&exchange(96, 200_000))]);
    let report = assert_same_on_any_threads(&permutation(with_credits(roce(), frames(2))));
    assert_eq!(report.totals.dropped, 0);
    assert!(report.ports.iter().any(|row| !row.credit_wait_duration.is_zero()));
    assert_same_on_any_threads(&permutation(with_credits(tcp(), Credits::default())));
}

#[test]
fn buffers_that_memory_cannot_hold_are_rejected_with_what_they_need() {
    let rejected = |credits: Credits, change: fn(&mut SimParams)| {
        let mut params = with_credits(roce(), credits);
        change(&mut params);
        let Err(errors) = Simulation::build(&experiment(one_switch(4), params, vec![job(&exchange(4, 1))]), 1) else {
            panic!("it is rejected")
        };
        errors.to_string()
    };
    // Four ports of 100,032 B and four reserves of 10 KiB are 441,088 B.
    let large = Credits { buffer: Some(Bytes::new(100_032)), ..Credits::default() };
    let error = rejected(large.clone(), |params| params.switch.buffer = Bytes::new(441_087));
    assert!(error.starts_with("switch.buffer: 441087 B; buffers under credits of switch0 take 400128 B"), "{error}");
    assert!(error.contains("at least 441088 B with reserves"), "{error}");
    let error = rejected(large, |params| params.nic.receive_buffer = Bytes::new(100_000));
    assert!(error.starts_with("nic.receive_buffer: "), "{error}");
    let small = Credits { buffer: Some(Bytes::new(4_096)), ..Credits::default() };
    let error = rejected(small, |_| ());
    assert!(error.starts_with("flow_control.credits.buffer: "), "{error}");
}
