//! Ranks and streams over the alternating-bit protocol, a transport of the tests.

use etherweave_primitives::{BitRate, Bytes, Length, Time};
use etherweave_routing::RoutingKind;
use etherweave_sim::params::{FlowControl, SimParams, Transport};
use etherweave_sim::{Experiment, Finish, Job, Paths, Report, Simulation};
use etherweave_topology::{Family, SingleSwitch};
use etherweave_transport::alternating_bit::AlternatingBitParams;
use etherweave_workload::{Incast, OsuLatency, Workload};

fn run(workload: &Workload) -> Report {
    let (rate, cable) = (BitRate::from_gbps(100), Length::from_m(10));
    let topology = SingleSwitch { hosts: 3, rate, cable: cable.into(), ..SingleSwitch::default() }.generate().unwrap();
    let traffic = workload.traffic(1).unwrap();
    let paths = Paths::per_flow(RoutingKind::ShortestPath, &topology).unwrap();
    let transport = Transport::AlternatingBit(AlternatingBitParams::default());
    let params = SimParams { transport, flow_control: FlowControl::None {}, ..SimParams::default() };
    let experiment = Experiment::new(topology, paths, params, vec![Job::of_first_hosts(traffic)]);
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
