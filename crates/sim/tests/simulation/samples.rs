//! Time series: exact where a formula is, the same on any number of threads, and without effect on the run.

use std::collections::BTreeMap;

use etherweave_primitives::{BitRate, Bytes, ChannelId, Duration, HostId, Priority, Time};
use etherweave_sim::params::{Dcqcn, EcnMarking, FlowControl, MarkAt, SimParams, Transport};
use etherweave_sim::{Experiment, FlowSelection, HostSampleRow, PortSampleRow, Report, Samples, Sampling};
use etherweave_topology::{Family, FatTree, Topology};
use etherweave_workload::{Incast, OsuLatency, Permutation, StreamSpec, Traffic, Workload};

use crate::common::{experiment, job, job_of, one_message, one_switch, roce, run, run_for, tcp};

/// Every port and every flow.
fn everything(topology: &Topology, period: Duration) -> Sampling {
    let hosts: Vec<HostId> = (0..topology.hosts()).map(HostId::from_index).collect();
    let ports = (0..topology.channels().len()).map(ChannelId::from_index).collect();
    let flows = vec![FlowSelection { sources: hosts.clone(), destinations: hosts.clone() }];
    Sampling { period, from: Duration::ZERO, until: None, ports, busiest: None, flows, hosts }
}

fn sampled(mut experiment: Experiment, period: Duration) -> Experiment {
    experiment.sampling = Some(everything(&experiment.topology, period));
    experiment
}

fn samples(report: &Report) -> &Samples {
    report.samples.as_ref().expect("they are asked for")
}

fn of_port<'a>(report: &'a Report, node: &str, peer: &str) -> Vec<&'a PortSampleRow> {
    let samples = samples(report);
    let number = samples.port_names.iter().position(|port| port.node == node && port.peer == peer).unwrap();
    samples.ports.iter().filter(|row| row.port as usize == number).collect()
}

fn permutation(params: SimParams) -> Experiment {
    let topology = FatTree::default().generate().unwrap();
    let permutation = Permutation { ranks: 96, bytes: Bytes::new(200_000), ..Permutation::default() };
    experiment(topology, params, vec![job(&Workload::Permutation(permutation))])
}

fn lossy_tcp() -> SimParams {
    let mut params = SimParams { flow_control: FlowControl::None {}, ..tcp() };
    params.nic.receive_buffer = Bytes::new(40_000);
    params.nic.xoff = Bytes::new(30_000);
    params.nic.xon = Bytes::new(20_000);
    params
}

/// Sums over all periods are what the run has counted.
fn assert_sums_are_totals(report: &Report) {
    let samples = samples(report);
    let mut ports: BTreeMap<u32, (u64, u64, u64, Duration, Duration)> = BTreeMap::new();
    for row in &samples.ports {
        let sum = ports.entry(row.port).or_default();
        sum.0 += row.tx_bytes;
        sum.1 += row.drops_packets;
        sum.2 += row.ecn_marked_packets;
        sum.3 += row.rx_pause_duration;
        sum.4 += row.tx_pause_duration;
    }
    for (number, name) in samples.port_names.iter().enumerate() {
        let is_same = |row: &&etherweave_sim::PortRow| {
            (&row.node, row.port, row.priority) == (&name.node, name.port, name.priority)
        };
        let row = report.ports.iter().find(is_same).expect("what is sampled is counted");
        let counted =
            (row.tx_bytes, row.drops_packets, row.ecn_marked_packets, row.rx_pause_duration, row.tx_pause_duration);
        assert_eq!(ports[&(number as u32)], counted, "{name:?}");
    }
    let sent = |rows: &[etherweave_sim::PortRow]| rows.iter().map(|row| row.tx_bytes).sum::<u64>();
    assert_eq!(samples.ports.iter().map(|row| row.tx_bytes).sum::<u64>(), sent(&report.ports));
    let flows = |value: fn(&etherweave_sim::FlowRow) -> u64| report.flows.iter().map(value).sum::<u64>();
    assert_eq!(samples.flows.iter().map(|row| row.bytes).sum::<u64>(), flows(|row| row.bytes));
    assert_eq!(samples.flows.iter().map(|row| row.packets).sum::<u64>(), flows(|row| row.packets));
    assert_eq!(samples.flows.iter().map(|row| row.retransmissions).sum::<u64>(), flows(|row| row.retransmissions));
    assert_eq!(samples.flows.iter().map(|row| row.timeouts).sum::<u64>(), flows(|row| row.timeouts));
}

#[test]
fn samples_are_the_same_on_any_threads_and_change_no_event() {
    // Losses of TCP cost timeouts of milliseconds.
    for (params, period) in [(roce(), Duration::from_us(3)), (lossy_tcp(), Duration::from_us(900))] {
        let plain = permutation(params);
        let unsampled = run(&plain, 1);
        assert!(unsampled.samples.is_none());
        let experiment = sampled(plain, period);
        let alone = run(&experiment, 1);
        assert_eq!(alone.fingerprint, unsampled.fingerprint);
        assert_eq!((alone.totals, &alone.ports), (unsampled.totals, &unsampled.ports));
        assert_sums_are_totals(&alone);
        for threads in [2, 3, 7] {
            assert_eq!(run(&experiment, threads).samples, alone.samples, "{threads} threads");
        }
    }
}

#[test]
fn the_busiest_ports_are_those_that_sent_most_on_any_number_of_threads() {
    let mut experiment = sampled(permutation(roce()), Duration::from_us(3));
    let all = run(&experiment, 1);
    experiment.sampling.as_mut().unwrap().busiest = Some(5);
    let busiest = run(&experiment, 1);
    let names = |report: &Report| -> Vec<(String, u16)> {
        samples(report).port_names.iter().map(|port| (port.node.clone(), port.port)).collect()
    };
    let sent = |name: &(String, u16)| -> u64 {
        let rows = all.ports.iter().filter(|row| (&row.node, row.port) == (&name.0, name.1));
        rows.map(|row| row.tx_bytes).sum()
    };
    let (kept, every) = (names(&busiest), names(&all));
    let least = kept.iter().map(sent).min().unwrap();
    assert_eq!(kept.len(), 5);
    assert!(every.iter().filter(|port| !kept.contains(port)).all(|port| sent(port) <= least));
    assert_eq!(samples(&busiest).flows, samples(&all).flows);
    // Their series are those among all.
    let place = every.iter().position(|port| *port == kept[0]).unwrap();
    assert_eq!(samples(&busiest).ports[0].tx_bytes, samples(&all).ports[place].tx_bytes);
    for threads in [2, 7] {
        assert_eq!(run(&experiment, threads).samples, busiest.samples, "{threads} threads");
    }
}

/// A message without end, from each of the first hosts to the last one.
fn endless(sources: u32, params: SimParams) -> Experiment {
    let stream = |source| StreamSpec { stream: source, messages: None, ..one_message(source, sources, 1 << 40) };
    let traffic = Traffic::Streams((0..sources).map(stream).collect());
    experiment(one_switch(sources + 1), params, vec![job_of(traffic, Priority::new(0))])
}

/// Bytes of a data packet on the wire: payload, preamble and gap, tagged Ethernet, IPv4, UDP, BTH, ICRC.
const WIRE: u64 = 4_096 + 20 + 22 + 20 + 8 + 12 + 4;
/// Room that it takes of a buffer: its frame without preamble and gap [B].
const STORED: u64 = WIRE - 20;
/// 100 packets at 100 Gb/s, 80 ps for a byte.
const HUNDRED: Duration = Duration::from_ps(100 * WIRE * 80);

fn large_window(mut params: SimParams) -> SimParams {
    let Transport::Roce(roce) = &mut params.transport else { unreachable!("RoCE is asked for") };
    roce.window = Bytes::new(1 << 34);
    params
}

#[test]
fn a_stream_alone_is_sampled_at_the_rate_of_the_line_and_never_waits() {
    let experiment = sampled(endless(1, large_window(roce())), HUNDRED);
    let report = run_for(&experiment, HUNDRED * 20);
    for (node, peer) in [("host0", "switch0"), ("switch0", "host1")] {
        let series = of_port(&report, node, peer);
        assert_eq!(series.len(), 20);
        for (number, row) in series.iter().enumerate() {
            assert_eq!(row.time.as_ps(), HUNDRED.as_ps() * (number as u64 + 1));
            assert_eq!((row.duration, row.drops_packets, row.ecn_marked_packets), (HUNDRED, 0, 0));
        }
        // The start takes less than a period; from then on each holds 100 packets.
        assert!(series[2..].iter().all(|row| row.tx_bytes == 100 * WIRE), "{series:?}");
    }
    assert!(of_port(&report, "switch0", "host1").iter().all(|row| row.occupancy_bytes <= STORED));
    let flows: Vec<_> = samples(&report).flows.iter().collect();
    assert!(flows[2..].iter().all(|row| (row.bytes, row.packets, row.retransmissions) == (100 * 4_096, 100, 0)));
    assert!(flows.iter().all(|row| row.rate.is_none() && row.window_bytes == 1 << 34));
    assert_sums_are_totals(&report);
}

#[test]
fn the_queue_of_two_streams_into_one_port_grows_by_what_the_port_cannot_send() {
    let mut params = SimParams { flow_control: FlowControl::None {}, ..large_window(roce()) };
    params.switch.buffer = Bytes::new(1 << 30);
    let experiment = sampled(endless(2, params), HUNDRED);
    let report = run_for(&experiment, HUNDRED * 10);
    let queue = of_port(&report, "switch0", "host2");
    for pair in queue[1..].windows(2) {
        // 200 packets arrive in a period, 100 leave.
        assert_eq!(pair[1].occupancy_bytes - pair[0].occupancy_bytes, 100 * STORED);
        assert_eq!(pair[1].tx_bytes, 100 * WIRE);
    }
    let (sent, left) = (of_port(&report, "host0", "switch0"), queue.last().unwrap().occupancy_bytes);
    // What both hosts have sent is queued, sent on, or on the cables: two packets on each at most.
    let sum = |series: &[&PortSampleRow]| series.iter().map(|row| row.tx_bytes).sum::<u64>();
    let on_cables = sum(&sent) + sum(&of_port(&report, "host1", "switch0")) - sum(&queue) - left / STORED * WIRE;
    assert!(on_cables <= 4 * WIRE, "{on_cables} B");
}

#[test]
fn a_congestion_notification_halves_the_sampled_rate_of_dcqcn() {
    let (mut params, queue_min) = (roce(), Bytes::new(50_000));
    let Transport::Roce(roce) = &mut params.transport else { unreachable!("RoCE is asked for") };
    // Notifications are 50 us apart, and the rate rises by the timer alone, after 300 us: a period holds one change.
    let min_time_between_cnps = Duration::from_us(50);
    roce.dcqcn = Some(Dcqcn { min_time_between_cnps, rpg_byte_reset: Bytes::new(10_000_000), ..Dcqcn::default() });
    params.switch.ecn = Some(EcnMarking {
        queue_min,
        queue_max: Bytes::new(200_000),
        share_max: 0.1,
        mark_at: MarkAt::Enqueue,
        last_hop: true,
    });
    let incast = Incast { messages: Some(40), ..Incast::default() };
    let experiment = experiment(one_switch(5), params, vec![job(&Workload::Incast(incast))]);
    let report = run(&sampled(experiment, Duration::from_us(10)), 1);
    let rates: Vec<u64> =
        samples(&report).flows.iter().filter(|row| row.flow == 0).map(|row| row.rate.unwrap().as_bps()).collect();
    let line = BitRate::from_gbps(100).as_bps();
    let first = rates.iter().position(|&rate| rate < line).expect("an incast is marked");
    assert!(first > 0 && rates[..first].iter().all(|&rate| rate == line), "{rates:?}");
    assert_eq!(rates[first], line / 2);
    assert!(samples(&report).ports.iter().any(|row| row.ecn_marked_packets > 0));
    assert_sums_are_totals(&report);
}

#[test]
fn samples_lie_between_from_and_until_and_the_last_is_at_the_end_of_the_run() {
    let times = |from: u64, until: Option<u64>, end: u64| {
        let mut experiment = sampled(endless(1, large_window(roce())), Duration::from_us(10));
        let sampling = experiment.sampling.as_mut().unwrap();
        (sampling.from, sampling.until) = (Duration::from_us(from), until.map(Duration::from_us));
        let report = run_for(&experiment, Duration::from_us(end));
        let rows = of_port(&report, "host0", "switch0").into_iter();
        rows.map(|row| (row.time.as_ps() / 1_000_000, row.duration.as_ps() / 1_000_000)).collect::<Vec<_>>()
    };
    assert_eq!(times(0, None, 35), [(10, 10), (20, 10), (30, 10), (35, 5)]);
    assert_eq!(times(20, None, 40), [(30, 10), (40, 10)]);
    assert_eq!(times(10, Some(30), 45), [(20, 10), (30, 10)]);
}

/// A rank works or waits from its first task to the end of its program; without kernel TCP the kernel does nothing.
#[test]
fn kinds_of_processor_time_add_up_to_the_run_of_a_rank() {
    for (params, is_in_kernel) in [(roce(), false), (tcp(), true)] {
        let latency = OsuLatency { bytes: Bytes::new(20_000), iterations: 5, ..OsuLatency::default() };
        let plain = experiment(one_switch(2), params, vec![job(&Workload::OsuLatency(latency))]);
        let observed = Experiment { observes_ranks: true, ..sampled(plain, Duration::from_us(7)) };
        let report = run(&observed, 1);
        let rows = &samples(&report).hosts;
        assert!(rows.iter().all(|row| row.user + row.system + row.waiting <= row.duration), "a rank has a core");
        let sum = |host, kind: fn(&HostSampleRow) -> Duration| -> Duration {
            rows.iter().filter(|row| row.host == host).map(kind).fold(Duration::ZERO, |sum, time| sum + time)
        };
        let spans = [0, 1].map(|host| sum(host, |row| row.user + row.system + row.waiting));
        let path = &report.observed.as_ref().expect("ranks are observed").path;
        assert_eq!(spans.into_iter().max(), path.last().map(|part| part.end.since(Time::ZERO)));
        let kernel = sum(0, |row| row.system + row.softirq);
        assert_eq!(!kernel.is_zero(), is_in_kernel);
    }
}

/// Interrupts take the time of data frames where a stream ends, and of acknowledgements where it begins.
#[test]
fn time_at_interrupts_is_that_of_frames_and_acknowledgements() {
    let mut params = tcp();
    params.host.cpu.receive_batch = Duration::ZERO;
    let (frame, acknowledgement) = (params.host.cpu.receive_frame, params.host.cpu.acknowledgement);
    let incast = Incast { sources: 1, message: Bytes::new(3_000_000), messages: Some(1), ..Incast::default() };
    let plain = experiment(one_switch(2), params, vec![job(&Workload::Incast(incast))]);
    let report = run(&sampled(plain, Duration::from_us(50)), 1);
    let packets =
        |node: &str| -> u64 { report.ports.iter().filter(|row| row.peer == node).map(|row| row.tx_packets).sum() };
    let softirq = |host: &str| {
        let number = samples(&report).host_names.iter().position(|name| name == host).unwrap() as u32;
        let own = samples(&report).hosts.iter().filter(|row| row.host == number);
        own.fold(Duration::ZERO, |sum, row| sum + row.softirq)
    };
    for (host, cost) in [("host0", frame), ("host1", acknowledgement)] {
        assert_eq!(softirq(host), cost * packets(host), "{host}");
    }
}
