//! Links that fail and return: what is lost, and who goes round.

use crate::fabric::{Fabric, links, offered};
use etherweave_openloop::{Arrival, FlowControl, OfferedTraffic, Pattern, RunParams, SwitchParams};
use etherweave_primitives::{ChannelId, Duration, HostId, SwitchId};
use etherweave_routing::{Conditional, DragonflyMinimal, FabricOf, Outage, RoutingKind};
use etherweave_topology::{Family, FlattenedButterfly, LinkClass, Node};
use etherweave_workload::{arrival::Periodic, pattern::Listed};

fn to_next_group(fabric: &Fabric, group: u32) -> ChannelId {
    let topology = &fabric.topology;
    let of = |id: ChannelId| topology.channel(id);
    let group_of = |switch: SwitchId| topology.coordinates(switch)[0];
    let links = (0..topology.switches()).map(SwitchId::from_index).filter(|&at| group_of(at) == group).flat_map(|at| {
        let global = topology.out_channels(at).iter().copied().filter(|&id| of(id).class == LinkClass::Global);
        global.filter(|&id| match of(id).to.node {
            Node::Switch(there) => group_of(there) == group + 1,
            Node::Host(_) => false,
        })
    });
    links.collect::<Vec<_>>()[0]
}

fn outage(channel: ChannelId, from: u64, until: u64) -> Outage {
    Outage { channel, from: Duration::from_us(from), until: Some(Duration::from_us(until)) }
}

#[test]
fn what_is_on_a_link_while_it_is_down_is_lost_and_nothing_else() {
    // Hosts 0 to 7 are group 0; all of its traffic takes one link, a packet every 200 ns. Down for 20 us it loses 100,
    // and those on the link when it fails: 400 ns of them.
    let mut fabric = Fabric::balanced(2);
    let pattern = || Pattern::Listed(Listed { pairs: (0..8).map(|host| [host, host + 8]).collect() });
    for flow_control in [FlowControl::Credits, FlowControl::Pauses] {
        let mut run = |outages| {
            fabric.outages = outages;
            let switch = SwitchParams { flow_control, ..SwitchParams::default() };
            let routing = DragonflyMinimal { plan: fabric.plan.clone() };
            fabric.run_with(switch, routing, pattern(), 1.0, 50).unwrap()
        };
        let baseline = run(Vec::new());
        let report = run(vec![outage(to_next_group(&Fabric::balanced(2), 0), 40, 60)]);
        assert!((100..=103).contains(&report.lost), "{flow_control:?}: {} lost", report.lost);
        assert_eq!(baseline.lost, 0);
        assert_eq!(baseline.delivered - report.delivered, report.lost, "the link is as busy before and after");
    }
}

#[test]
fn a_link_of_a_host_loses_what_its_own_cable_carried_while_it_was_down() {
    // Host 0 sends a packet every 200 ns by 8 m (40 ns); answers would take 10 us. Down from 0 to 2 us, its link loses
    // the packets that arrive until then, and no packet arrives before the run begins.
    let fabric = Fabric::balanced(2);
    let channel = fabric.topology.host_channel(HostId::new(0));
    let outages = [outage(channel, 0, 2)];
    let pattern = Pattern::Listed(Listed { pairs: vec![[0, 8]] });
    let run = RunParams::fixed(1.0, Duration::ZERO, Duration::from_us(50), 1);
    let traffic = OfferedTraffic {
        links: links(&fabric.topology).with_ejection(&fabric.topology, Duration::from_us(10)),
        arrival: Arrival::Periodic(Periodic::default()),
        ..offered(FabricOf { outages: &outages, ..(&fabric.topology).into() }, pattern, run)
    };
    let report = traffic.run_with(RoutingKind::Minimal, 1).unwrap();
    assert!((9..=11).contains(&report.lost), "{} lost", report.lost);
}

#[test]
fn conditional_rules_avoid_a_link_that_is_down_and_minimal_paths_do_not() {
    let mut fabric = Fabric::balanced(3);
    fabric.outages = vec![outage(to_next_group(&fabric, 0), 20, 80)];
    let run = |fabric: &Fabric, pattern: Pattern| {
        let conditional = Conditional { plan: fabric.plan.clone(), h: 3 };
        let minimal = fabric.run(DragonflyMinimal { plan: fabric.plan.clone() }, pattern.clone(), 0.02, 50);
        (minimal.lost, fabric.run(conditional, pattern, 0.02, 50).lost)
    };
    // 18 hosts send 0.02 packets in 200 ns for 60 us: 108 on average. Rules are at the switches of hosts, one of which
    // has the link; what comes to it from others is lost.
    let (minimal, conditional) = run(&fabric, fabric.adversarial());
    assert!(minimal > 70 && conditional < minimal, "{minimal} {conditional}");
}

#[test]
fn losses_are_the_same_on_any_number_of_threads() {
    let mut fabric = Fabric::balanced(3);
    fabric.outages = (0..18).map(|group| outage(to_next_group(&fabric, group), 10, 11 + u64::from(group))).collect();
    let mut on = |threads| {
        fabric.threads = threads;
        fabric.run(DragonflyMinimal { plan: fabric.plan.clone() }, Pattern::default(), 0.4, 20)
    };
    let alone = on(1);
    assert!(alone.lost > 0);
    assert_eq!([on(2), on(5)], [alone.clone(), alone]);
}

#[test]
fn tables_that_are_computed_anew_stop_the_losses_after_their_delay() {
    // Four switches, all joined. The 4 hosts of the first send to those of the second, 0.2 of a link each, by the one
    // link between them, down from 20 to 80 us.
    let sizes = vec![4];
    let topology =
        FlattenedButterfly { hosts_per_switch: 4, sizes, ..FlattenedButterfly::default() }.generate().unwrap();
    let direct = topology
        .out_channels(SwitchId::new(0))
        .iter()
        .copied()
        .find(|&id| topology.channel(id).to.node == Node::Switch(SwitchId::new(1)));
    let outages = [outage(direct.unwrap(), 20, 80)];
    let run = |reroute_after: Option<u64>| {
        let reroute_after = reroute_after.map(Duration::from_us);
        let fabric = FabricOf { outages: &outages, reroute_after, ..(&topology).into() };
        let pattern = Pattern::Listed(Listed { pairs: (0..4).map(|host| [host, host + 4]).collect() });
        let traffic = offered(fabric, pattern, RunParams::fixed(0.2, Duration::ZERO, Duration::from_us(100), 1));
        traffic.run_with(RoutingKind::ShortestPath, 2).unwrap()
    };
    // 0.8 of the link, a packet in 250 ns: 240 in 60 us, 40 in 10 us; deviations are below 16 and 7.
    let [never, soon] = [None, Some(10)].map(run);
    assert!((240 - 48..=240 + 48).contains(&never.lost), "{}", never.lost);
    assert!((40 - 21..=40 + 21).contains(&soon.lost), "{}", soon.lost);
    // The non-minimal path passes a third switch, and nothing waits in a ring.
    assert_eq!(never.hops_mean, Some(2.0));
    assert!(soon.hops_mean > Some(2.0));
    assert_eq!((never.deadlock, soon.deadlock), (Vec::new(), Vec::new()));
}
