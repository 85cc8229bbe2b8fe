//! Poisson arrivals at one output: the waiting time of M/D/1; connections of many flows.

use etherweave_engine::{event::EventKey, event::Kind, params::SimParams};
use etherweave_kernel::indices::HostIndex;
use etherweave_primitives::{BitRate, Duration, HostId, Length, Purpose, Rank, Stream, Time};
use etherweave_routing::RoutingKind;
use etherweave_topology::{Family, SingleSwitch};
use etherweave_workload::{FlowStart, IdealTime, StreamSpec, Traffic};

use crate::{Captured, Experiment, Finish, Job, PacketKind, Paths, Simulation};

/// Packets to observe, and bytes of each on the wire.
const PACKETS: u64 = 200_000;
const WIRE: u32 = 1_000;
/// Service time at 100 Gb/s [ps].
const SERVICE: f64 = WIRE as f64 * 80.0;

fn experiment() -> Experiment {
    let (rate, cable) = (BitRate::from_gbps(100), Length::from_m(10));
    let topology = SingleSwitch { rate, cable: cable.into(), ..SingleSwitch::default() }.generate().unwrap();
    // A stream that never starts gives the connection whose path the packets take.
    let (src_rank, dst_rank) = (Rank::new(1), Rank::new(0));
    let (bytes_per_message, outstanding, messages) = (1, 1, Some(1));
    let stream =
        StreamSpec { src_rank, dst_rank, stream: 0, bytes_per_message, outstanding, messages, flow_start: None };
    let (name, start) = ("none".into(), Duration::from_ms(3_600_000));
    let job = Job { name, start, ..Job::of_first_hosts(Traffic::Streams(vec![stream])) };
    let mut params = SimParams::default();
    params.nic.drain_rate = BitRate::from_gbps(1_000);
    let paths = Paths::per_flow(RoutingKind::ShortestPath, &topology).unwrap();
    Experiment {
        capture: vec![topology.host_channel(HostId::new(0))],
        stall_limit: Duration::from_ms(100_000_000),
        fingerprint: false,
        ..Experiment::new(topology, paths, params, vec![job])
    }
}

/// A draw from the exponential distribution of this mean.
fn exponential(random: &mut Stream, mean: f64) -> f64 {
    let uniform = ((random.bits() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    -libm::log(uniform) * mean
}

/// Mean wait [ps] of Poisson arrivals that keep the output busy for `load` of the time.
fn mean_wait(load: f64) -> f64 {
    let mut simulation = Simulation::build(&experiment(), 1).unwrap();
    let shard = &mut simulation.shards[0];
    let (source, _) = shard.hosts.nics.endpoints.entries().find(|(_, end)| end.hosts.0 == 1).unwrap();
    let ingress = shard.wires.ports[shard.hosts.nics.hosts[HostIndex::new(1)].port].peer.port;
    let mut random = Stream::new(1, Purpose::Traffic, 7);
    let mut time = 1e6;
    for _ in 0..PACKETS {
        time += exponential(&mut random, SERVICE / load);
        let mut packet = shard.hosts.nics.endpoints[source].packet(PacketKind::Ack, WIRE, 0);
        packet.sent = Time::from_ps(time as u64);
        let handle = shard.wires.packets.insert(packet);
        shard.wires.totals.created += 1;
        shard.wires.expect_packet(packet.sent, EventKey::new(ingress, Kind::Arrive, handle.get() % (1 << 24)), handle);
    }
    simulation.run(Time::from_ps(time as u64 + 1_000_000_000), &mut |_| true);
    let report = simulation.report();
    assert_eq!(report.totals.delivered, PACKETS);
    let wait = |frame: &crate::CapturedFrame| match frame.content {
        Captured::Packet(packet, _) => frame.time.since(packet.sent).as_ps() as f64,
        Captured::Pause(_) => unreachable!("nobody pauses"),
    };
    let total: f64 = report.captured[0].frames.iter().filter(|frame| !frame.is_outgoing).map(wait).sum();
    // Service, cable and NIC come on top of the wait.
    let fixed = SERVICE + 50_000.0 + SimParams::default().nic.receive_latency.as_ps() as f64;
    total / PACKETS as f64 - fixed
}

#[test]
fn the_wait_is_that_of_m_d_1() {
    for load in [0.3, 0.5, 0.8] {
        // Pollaczek and Khinchine for constant service: rho / (2 (1 - rho)) service times.
        let expected = load / (2.0 * (1.0 - load)) * SERVICE;
        let wait = mean_wait(load);
        assert!((wait / expected - 1.0).abs() < 0.05, "load {load}: {wait} ps, expected {expected} ps");
    }
}

/// An experiment of flows of 1,000 bytes between two hosts, each way one in 200 ns.
fn flows(count: u64) -> Experiment {
    let flow = |number: u64| {
        let (src_rank, dst_rank) = (Rank::new((number % 2) as u32), Rank::new((number % 2) as u32 ^ 1));
        let after = Duration::from_ns(100 * number);
        let flow_start = Some(FlowStart { after, ideal: IdealTime::default(), waits_for: None });
        let (stream, messages) = (number as u32, Some(1));
        StreamSpec { src_rank, dst_rank, stream, bytes_per_message: 1_000, outstanding: 1, messages, flow_start }
    };
    let mut experiment = experiment();
    experiment.capture.clear();
    experiment.jobs[0].start = Duration::ZERO;
    experiment.jobs[0].traffic = Traffic::Streams((0..count).map(flow).collect());
    experiment
}

#[test]
fn connections_of_many_flows_exist_only_while_they_are_needed_and_give_the_same_rows() {
    check_late_flows(Duration::from_ms(1_000), Finish::Complete);
    check_late_flows(Duration::from_ms(2), Finish::TimeLimit);
}

/// Runs 50,000 flows of 5 ms until `end`, where a port is captured, which knows all connections, and where none is.
fn check_late_flows(end: Duration, finish: Finish) {
    let (late, mut early) = (flows(50_000), flows(50_000));
    early.capture = experiment().capture;
    let mut runs = [late, early].map(|experiment| Simulation::build(&experiment, 1).unwrap());
    let [late, early] = runs.each_mut().map(|simulation| {
        assert_eq!(simulation.run(Time::ZERO + end, &mut |_| true), finish);
        let existing_max = simulation.late_flows().map(|late| late.existing_max);
        (existing_max, simulation.report())
    });
    assert_eq!(early.0, None);
    let existing_max = late.0.expect("flows are many");
    assert!(existing_max < 10_000, "{existing_max} connections at once of 50,000, which are created by 4,096");
    assert_eq!((late.1.streams, late.1.flows, late.1.ports), (early.1.streams, early.1.flows, early.1.ports));
    assert_eq!(late.1.totals.events, early.1.totals.events);
}
