//! Switches that trim, under Ultra Ethernet's transport.

use etherweave_primitives::{BitRate, Bytes, Duration, Priority};
use etherweave_sim::params::{
    EcnMarking, FlowControl, Forwarding, MarkAt, SimParams, SwitchParams, Threshold, Transport, Trimming,
};
use etherweave_sim::{Experiment, FlowRow, Report};
use etherweave_topology::{Family, SingleSwitch};
use etherweave_transport::uet::{Delivery, Nscc, UetParams};
use etherweave_workload::{StreamSpec, Traffic};

use crate::common::{experiment, job_of, one_message, one_switch, run};
use crate::path_choice::by_ecmp;

/// Switches with queues of 100 kB that trim, and acknowledgements in the priority of trimmed packets.
fn params(uet: UetParams) -> SimParams {
    let (queue_min, queue_max) = (Bytes::new(20_000), Bytes::new(80_000));
    let ecn = EcnMarking { queue_min, queue_max, share_max: 1.0, mark_at: MarkAt::Dequeue, last_hop: true };
    let switch = SwitchParams {
        reserve: Bytes::new(0),
        egress_threshold: Threshold::Static(Bytes::new(100_000)),
        ecn: uet.nscc.is_some().then_some(ecn),
        trimming: Some(Trimming::default()),
        ..SwitchParams::default()
    };
    let transport = Transport::Uet(UetParams { control_priority: Some(Priority::new(6)), ..uet });
    let mut params = SimParams { switch, transport, flow_control: FlowControl::None {}, ..SimParams::default() };
    params.ets.weights = [100, 0, 0, 0, 0, 0, 0, 0];
    // Trimmed packets of all connections come in turn, faster than NICs change between these.
    params.nic.context_switch = Duration::ZERO;
    params
}

fn incast(senders: u32, bytes: u64) -> Traffic {
    let stream = |src: u32| StreamSpec { stream: src, outstanding: 4, messages: Some(4), ..one_message(src, 0, bytes) };
    Traffic::Streams((1..=senders).map(stream).collect())
}

fn trimmed(report: &Report) -> u64 {
    report.ports.iter().map(|row| row.trimmed_packets).sum()
}

fn naks(report: &Report) -> u64 {
    report.flows.iter().map(|row| row.naks).sum()
}

fn checked(experiment: &Experiment, bytes: u64) -> Report {
    let report = run(experiment, 1);
    assert_eq!(report.ports, run(experiment, 3).ports);
    let timeouts: u64 = report.flows.iter().map(|row| row.timeouts).sum();
    let resent: u64 = report.flows.iter().map(|row| row.retransmissions).sum();
    assert!(trimmed(&report) > 0);
    assert_eq!((report.totals.dropped, timeouts), (0, 0));
    assert_eq!((naks(&report), resent), (trimmed(&report), trimmed(&report)), "each is reported and sent again once");
    assert_eq!(report.flows.iter().map(|row| row.bytes).sum::<u64>(), bytes);
    report
}

#[test]
fn each_trimmed_packet_is_reported_and_sent_again_and_nothing_is_dropped() {
    for forwarding in [Forwarding::CutThrough, Forwarding::StoreAndForward] {
        for nscc in [None, Some(Nscc::default())] {
            let mut params = params(UetParams { nscc, psn_range: 64, ..UetParams::default() });
            params.switch.forwarding = forwarding;
            let job = job_of(incast(8, 200_000), Priority::new(0));
            checked(&experiment(one_switch(9), params, vec![job]), 4 * 8 * 200_000);
        }
    }
}

/// A static queue of class 5, strict beside the shared class 7 of acknowledgements and priority 6 by its map, trims as
/// many packets as one by the map: class 5 holds nothing else, and data waits for it alike. Tables have its occupancy
/// beside the priority of trimmed packets.
#[test]
fn trimmed_packets_may_join_a_static_queue() {
    let [by_map, fixed] = [None, Some(5)].map(|queue| {
        let mut params = params(UetParams { psn_range: 64, ..UetParams::default() });
        let Transport::Uet(uet) = &mut params.transport else { unreachable!("uet") };
        uet.control_priority = Some(Priority::new(7));
        params.switch.trimming = Some(Trimming { queue, ..Trimming::default() });
        checked(&experiment(one_switch(9), params, vec![job_of(incast(8, 200_000), Priority::new(0))]), 6_400_000)
    });
    assert!(fixed.flows == by_map.flows && trimmed(&fixed) == trimmed(&by_map));
    let [of_fixed, of_map] = [&fixed, &by_map].map(|report| {
        let own = report.ports.iter().filter(|row| row.priority == Priority::new(6) && row.node == "switch0");
        own.map(|row| row.occupancy_bytes_max).max()
    });
    assert!(of_map > Some(0) && of_fixed == of_map, "{of_fixed:?} {of_map:?}");
}

/// A static queue that has a hundredth of the link delays reports, which a strict one does not.
#[test]
fn the_weight_of_a_static_queue_is_that_of_trimmed_packets() {
    let ends = [None, Some(1)].map(|queue| {
        let mut params = params(UetParams { psn_range: 1024, ..UetParams::default() });
        params.ets.weights = [99, 1, 0, 0, 0, 0, 0, 0];
        params.switch.trimming = Some(Trimming { queue, ..Trimming::default() });
        let report = run(&experiment(one_switch(9), params, vec![job_of(incast(8, 200_000), Priority::new(0))]), 1);
        report.ports.iter().filter(|row| row.priority == Priority::new(6)).map(|row| row.drops_packets).sum::<u64>()
    });
    assert_eq!(ends[0], 0);
    assert!(ends[1] > 0, "a hundredth of the link has no room for the headers of seven eighths of the packets");
}

/// Windows of 31 senders close below what is out, and less than the receiver waits for may come of that: control
/// packets ask for it, and nothing waits for a timer.
#[test]
fn no_window_that_closes_waits_for_a_timer() {
    for delivery in [Delivery::Rud, Delivery::Rudi] {
        let params = params(UetParams { nscc: Some(Nscc::default()), delivery, ..UetParams::default() });
        let job = job_of(incast(31, 200_000), Priority::new(0));
        checked(&experiment(one_switch(32), params, vec![job]), 4 * 31 * 200_000);
    }
}

/// Ordered delivery goes back by reports alone: its incast takes as long as the unordered one, give or take a tenth.
#[test]
fn ordered_delivery_goes_back_to_what_is_trimmed_without_a_timer() {
    let [unordered, ordered] = [Delivery::Rud, Delivery::Rod].map(|delivery| {
        let params = params(UetParams { nscc: Some(Nscc::default()), delivery, ..UetParams::default() });
        run(&experiment(one_switch(17), params, vec![job_of(incast(16, 200_000), Priority::new(0))]), 1)
    });
    let sum = |count: fn(&FlowRow) -> u64| ordered.flows.iter().map(count).sum::<u64>();
    assert!(trimmed(&ordered) > 0);
    assert_eq!((ordered.totals.dropped, sum(|row| row.timeouts), sum(|row| row.bytes)), (0, 0, 4 * 16 * 200_000));
    let ratio = ordered.totals.end.as_ps() as f64 / unordered.totals.end.as_ps() as f64;
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
}

/// Thresholds for 100 Gb/s are a quarter at ports of 25 Gb/s.
#[test]
fn thresholds_are_in_proportion_to_the_rate_of_a_port() {
    let [mut own, mut scaled] =
        [(); 2].map(|()| params(UetParams { nscc: Some(Nscc::default()), ..UetParams::default() }));
    scaled.switch.threshold_rate = Some(BitRate::from_gbps(100));
    own.switch.ingress_threshold = Threshold::Alpha(2.0);
    own.switch.egress_threshold = Threshold::Static(Bytes::new(25_000));
    let ecn = own.switch.ecn.as_mut().unwrap();
    (ecn.queue_min, ecn.queue_max) = (Bytes::new(5_000), Bytes::new(20_000));
    let [own, scaled] = [own, scaled].map(|params| {
        let topology = SingleSwitch { hosts: 9, rate: BitRate::from_gbps(25), ..SingleSwitch::default() };
        let job = job_of(incast(8, 200_000), Priority::new(0));
        checked(&experiment(topology.generate().unwrap(), params, vec![job]), 4 * 8 * 200_000).ports
    });
    assert_eq!(scaled, own);
}

/// Nobody repeats the datagrams of UUD that find no room: a message with such never completes, and its sender goes on.
#[test]
fn datagrams_that_are_lost_are_not_repeated() {
    let mut params = params(UetParams { delivery: Delivery::Uud, ..UetParams::default() });
    params.switch.trimming = None;
    let job = job_of(incast(8, 200_000), Priority::new(0));
    let report = run(&experiment(one_switch(9), params, vec![job]), 1);
    let sum = |count: fn(&FlowRow) -> u64| report.flows.iter().map(count).sum::<u64>();
    assert!(report.totals.dropped > 0);
    assert_eq!(
        (sum(|row| row.retransmissions), sum(|row| row.timeouts), sum(|row| row.bytes)),
        (0, 0, 4 * 8 * 200_000)
    );
}

#[test]
fn trimmed_packets_keep_their_priority_where_switches_decide_for_every_packet() {
    let params = params(UetParams { psn_range: 64, ..UetParams::default() });
    checked(&by_ecmp(params, incast(8, 200_000)), 4 * 8 * 200_000);
}
