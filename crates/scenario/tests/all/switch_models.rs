//! Input-queued switches under hosts carry what those of open loops carry.

use etherweave_openloop::{Arrival, ControllerParams, FlowControl as OpenLoopFlowControl, OfferedTraffic, RunParams};
use etherweave_openloop::{Links, Pattern, SwitchParams as OpenLoopSwitch};
use etherweave_primitives::{BitRate, Bytes, Duration, HostId, Length, Priority, Rank, Time};
use etherweave_routing::RoutingKind;
use etherweave_sim::frame::size::{PREAMBLE_AND_GAP, RoceSizes};
use etherweave_sim::params::{Credits, FlowControl, NicParams, RoceVersion, SimParams, SwitchModel, SwitchParams};
use etherweave_sim::{Experiment, Finish, Job, Paths, PreparedRouting, Simulation};
use etherweave_topology::{Dragonfly, Family, LinkClass, Topology};
use etherweave_workload::pattern::{Adversarial, RandomPermutation, Uniform, host_destinations};
use etherweave_workload::{HostGroups, StreamSpec, Traffic};

const SEED: u64 = 1;
/// Payload of a packet, which has 4,190 B with its headers: a whole number of nanoseconds at 40 Gb/s.
const PAYLOAD: u64 = 4_088;
/// Packets that an input buffer holds, of each channel.
const DEPTH: u32 = 32;
/// Packets that the queue of an output holds.
const OUTPUT: u32 = 10;

fn rate() -> BitRate {
    BitRate::from_gbps(40)
}

/// A packet [B on the wire].
fn wire() -> u64 {
    PAYLOAD + u64::from(RoceSizes::new(RoceVersion::V2, true).first_overhead())
}

/// 72 hosts in 9 groups; cables of 8 m and 80 m.
fn fabric() -> Topology {
    let (host_rate, local_rate, global_rate) = (rate(), rate(), rate());
    let host_cable = Length::from_m(8).into();
    Dragonfly { host_rate, local_rate, global_rate, host_cable, ..Dragonfly::default() }.generate().unwrap()
}

/// Returns the share that open loops accept of all that hosts can send, after `span` and for as long.
fn open_loop(topology: &Topology, routing: RoutingKind, pattern: &Pattern, span: Duration) -> f64 {
    let switch = OpenLoopSwitch {
        packet: Bytes::new(wire()),
        flow_control: OpenLoopFlowControl::Credits,
        local_buffer: DEPTH,
        global_buffer: DEPTH,
        output_queue: OUTPUT,
        ..OpenLoopSwitch::default()
    };
    let run = RunParams::fixed(1.0, span, span, SEED);
    let (pattern, arrival, controller) = (pattern.clone(), Arrival::default(), ControllerParams::default());
    let traffic = OfferedTraffic {
        fabric: topology.into(),
        links: Links::of(topology),
        switch,
        pattern,
        arrival,
        controller,
        run,
    };
    traffic.run_with(routing, 1).unwrap().load_accepted
}

/// The same of hosts with RoCE. Every packet is a message on a connection of its own, so that none waits for another
/// and hosts always have one to send; destinations are those of the open loop.
fn hosts(topology: &Topology, routing: RoutingKind, pattern: &Pattern, span: Duration) -> f64 {
    let prepared = PreparedRouting::new(routing, topology).unwrap();
    let stored = wire() - u64::from(PREAMBLE_AND_GAP);
    let credits = Credits {
        priorities: (0..prepared.priorities()).map(Priority::new).collect(),
        buffer: Some(Bytes::new(u64::from(DEPTH) * stored)),
        unit: Bytes::new(1),
        return_latency: Duration::ZERO,
        ..Credits::default()
    };
    let drain_rate = BitRate::from_gbps(1_000);
    let (context_switch, receive_buffer) = (Duration::ZERO, Bytes::new(8 << 20));
    let params = SimParams {
        switch: SwitchParams {
            model: SwitchModel::InputQueued,
            latency: Duration::from_ns(200),
            speed_up: 2,
            output_queue: Bytes::new(u64::from(OUTPUT) * wire()),
            ..SwitchParams::default()
        },
        flow_control: FlowControl::Credits(credits),
        nic: NicParams { drain_rate, context_switch, receive_buffer, ..NicParams::default() },
        seed: SEED,
        ..SimParams::default()
    };
    let packets = 2 * span.as_ps() / rate().serialization_time(Bytes::new(wire())).as_ps() + 1;
    let job = Job::of_first_hosts(Traffic::Streams(streams(topology, pattern, packets)));
    let paths = Paths::PerPacket(prepared);
    let fingerprint = false;
    let experiment = Experiment { fingerprint, ..Experiment::new(topology.clone(), paths, params, vec![job]) };
    let until = |end: Duration| {
        let mut simulation = Simulation::build(&experiment, 1).unwrap();
        assert_eq!(simulation.run(Time::ZERO + end, &mut |_| true), Finish::TimeLimit);
        let report = simulation.report();
        assert!(report.flows.iter().all(|flow| flow.retransmissions == 0));
        let to_hosts = |row: &&etherweave_sim::PortRow| row.class == LinkClass::Host && row.peer.starts_with("host");
        report.ports.iter().filter(to_hosts).map(|row| row.tx_bytes).sum::<u64>()
    };
    let bytes = until(span * 2) - until(span);
    bytes as f64 / rate().bytes_in(span).get() as f64 / topology.hosts() as f64
}

/// `packets` streams of a packet for each host, one after the other for all hosts.
fn streams(topology: &Topology, pattern: &Pattern, packets: u64) -> Vec<StreamSpec> {
    let groups = HostGroups::new(&[8; 9]).unwrap();
    let destinations = pattern.plan(&groups, SEED).unwrap();
    let mut random: Vec<_> =
        (0..topology.hosts()).map(|host| host_destinations(SEED, HostId::from_index(host))).collect();
    let mut all = Vec::new();
    for _ in 0..packets {
        for (host, random) in random.iter_mut().enumerate() {
            let to = destinations.destination(HostId::from_index(host), Time::ZERO, random).unwrap();
            let (src_rank, dst_rank) = (Rank::from_index(host), Rank::new(to.get()));
            let stream = all.len() as u32;
            let bytes_per_message = PAYLOAD;
            all.push(StreamSpec {
                src_rank,
                dst_rank,
                stream,
                bytes_per_message,
                outstanding: 1,
                messages: Some(1),
                flow_start: None,
            });
        }
    }
    all
}

/// Acknowledgements of 90 B are a part of what is carried here, and none there. A header takes 13 ns to come in here
/// at every switch, and none there; hosts wait for credits of their switch here, and for a queue of 100 packets there.
#[test]
fn hosts_at_saturation_are_served_as_open_loops_are() {
    let (topology, span) = (fabric(), Duration::from_us(150));
    let adversarial = Pattern::Adversarial(Adversarial::default());
    let permutation = Pattern::RandomPermutation(RandomPermutation::default());
    for (routing, pattern) in [
        (RoutingKind::Minimal, Pattern::Uniform(Uniform::default())),
        (RoutingKind::Minimal, permutation.clone()),
        (RoutingKind::ValiantGroup, permutation.clone()),
        (RoutingKind::UgalLocal(Default::default()), permutation),
        (RoutingKind::Minimal, adversarial.clone()),
        (RoutingKind::ValiantGroup, adversarial.clone()),
        (RoutingKind::ProgressiveAdaptive(Default::default()), adversarial.clone()),
        (RoutingKind::UgalLocal(Default::default()), adversarial),
    ] {
        let [open, closed] = [open_loop, hosts].map(|of| of(&topology, routing, &pattern, span));
        println!("{} {}: open loops {open:.4}, hosts {closed:.4}", routing.name(), pattern.name());
        assert!((open - closed).abs() <= 0.02, "{}: {open}, {closed}", routing.name());
    }
}
