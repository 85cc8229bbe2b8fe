//! Ranks and streams over the alternating-bit protocol, a transport of the tests.

use etherweave_primitives::{BitRate, Bytes, Duration, HostId, Length, Priority, Time};
use etherweave_routing::{RoutingKind, SelectionKind};
use etherweave_sim::params::{Binding, FlowControl, SimParams, Transport};
use etherweave_sim::{Experiment, Finish, Job, PairConnections, Paths, Report, Simulation};
use etherweave_topology::{Family, SingleSwitch};
use etherweave_transport::alternating_bit::AlternatingBitParams;
use etherweave_workload::{Incast, OsuLatency, Workload};

fn run(workload: &Workload) -> Report {
    let (rate, cable) = (BitRate::from_gbps(100), Length::from_m(10));
    let topology = SingleSwitch { hosts: 3, rate, cable: cable.into(), ..SingleSwitch::default() }.generate().unwrap();
    let traffic = workload.traffic(1).unwrap();
    let job = Job {
        name: "job".into(),
        hosts: (0..traffic.ranks()).map(HostId::new).collect(),
        traffic,
        priority: Priority::new(0),
        start: Duration::ZERO,
        is_background: false,
        transport: 0,
        binding: Binding::default(),
        fidelity: None,
        connections: PairConnections::InTurn(1),
    };
    let paths = Paths::PerFlow {
        routing: RoutingKind::ShortestPath.build(&topology).unwrap(),
        selection: SelectionKind::default().build(&topology),
    };
    let transport = Transport::AlternatingBit(AlternatingBitParams::default());
    let experiment = Experiment {
        topology,
        paths,
        params: SimParams { transport, flow_control: FlowControl::None {}, ..SimParams::default() },
        jobs: vec![job],
        degraded: Vec::new(),
        outages: Vec::new(),
        storms: Vec::new(),
        warm_up: Duration::ZERO,
        stall_limit: Duration::from_ms(1_000),
        capture: Vec::new(),
        sampling: None,
        observes_ranks: false,
        fingerprint: true,
        fast_forward: None,
    };
    let mut simulation = Simulation::build(&experiment, 1).unwrap();
    assert_eq!(simulation.run(Time::MAX, &mut |_| true), Finish::Complete);
    simulation.report()
}

/// 64 packets of 1 KiB each way, and requests to send and to read: one packet a round trip, none again.
#[test]
fn a_rendezvous_is_two_requests_the_payload_and_its_end() {
    let bytes = Bytes::new(64 << 10);
    let report = run(&Workload::OsuLatency(OsuLatency { bytes, iterations: 1, warm_up: 0, ..OsuLatency::default() }));
    let packets: Vec<u64> = report.flows.iter().map(|flow| flow.packets).collect();
    assert!(packets.iter().all(|&packets| packets > 64 && packets < 70), "{packets:?}");
    assert!(report.flows.iter().all(|flow| flow.transport == "alternating_bit" && flow.retransmissions == 0));
}

#[test]
fn streams_arrive_whole() {
    let report = run(&Workload::Incast(Incast { sources: 2, messages: Some(3), ..Incast::default() }));
    let sent: u64 = report.flows.iter().map(|flow| flow.bytes).sum();
    assert!(sent >= 2 * 3 * Incast::default().message.get(), "{sent}");
}
