//! Pauses of one switch, worked out by hand to the nanosecond.

use etherweave_primitives::{BitRate, Duration, HostId, SwitchId};
use etherweave_routing::{Conditional, DragonflyMinimal, DragonflyPlan, FabricPlan, PacketRouting, RoutedPacket};
use etherweave_topology::{Dragonfly, Family, Topology, reverse};
use etherweave_workload::{Arrival, Pattern};

use crate::params::{ChannelScheduler, FlowControl, SwitchParams};
use crate::{
    links::Links, open_loops::OpenLoops, packet::NONE, packet::Packet, port::Port, run_length::RunParams,
    simulation::Experiment, simulation::Prepared,
};

/// Action of a port, and its time [ns].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// The head of a packet leaves.
    Sends(u32),
    /// Its channel 0 is paused from here on.
    Pauses(u32),
    /// It may send again.
    Resumes(u32),
}

/// Three groups of two switches of two hosts, without traffic of their own. Ports of a switch: two hosts, the other
/// switch, another group.
pub(crate) fn small() -> Topology {
    Dragonfly { p: 2, a: 2, h: 1, ..Dragonfly::default() }.generate().unwrap()
}

/// All at 40 Gb/s.
pub(crate) fn links(topology: &Topology) -> Links {
    Links::alike(topology, BitRate::from_gbps(40), [40, 50, 400].map(Duration::from_ns))
}

pub(crate) const LOCAL: usize = 2;
pub(crate) const GLOBAL: usize = 3;

pub(crate) fn experiment<R: PacketRouting>(topology: &Topology, routing: R, links: Links) -> Experiment<'_, R> {
    let switch = SwitchParams { flow_control: FlowControl::Pauses, local_buffer: 5, ..SwitchParams::default() };
    let run = RunParams::fixed(1e-6, Duration::ZERO, Duration::from_us(10), 1);
    let (pattern, arrival, outages) = (Pattern::default(), Arrival::default(), Vec::new());
    Experiment { topology, links, switch, routing, pattern, arrival, outages, run }
}

/// Puts packets of a host of the first switch into its queue there, at once.
pub(crate) fn offer<R: PacketRouting>(prepared: &mut Prepared<'_, R>, src: u32, dst: u32, packets: u32) {
    let switches = &mut prepared.parts.shards[0].switches;
    for _ in 0..packets {
        let mut route = RoutedPacket { src, dst, ..RoutedPacket::default() };
        prepared.constants.routing.start(&mut route);
        let packet = Packet { born: switches.wires.now, entered: 0, next: NONE, place: src << switches.shift, route };
        let id = switches.wires.slab.insert(packet);
        switches.arrive(&prepared.constants, id);
    }
}

/// Actions of a port of the first switch until a time.
fn trace<R: PacketRouting>(prepared: &mut Prepared<'_, R>, port: usize, until: u32) -> Vec<Step> {
    let shard = &mut prepared.parts.shards[0];
    let mut steps = Vec::new();
    for now in shard.switches.wires.now..until {
        let seen = |OpenLoops { switches, .. }: &OpenLoops| {
            (switches.ports[port].busy, switches.pauses.queues[port << switches.shift].is_paused)
        };
        let (sent, was_paused) = seen(shard);
        shard.run(&prepared.constants, now + 1);
        let (sends, is_paused) = seen(shard);
        steps.extend((sends > sent).then_some(Step::Sends(now)));
        let change = if is_paused { Step::Pauses(now) } else { Step::Resumes(now) };
        steps.extend((is_paused != was_paused).then_some(change));
    }
    steps
}

/// A buffer of 5 packets and 2 · 50 ns of cable: XOFF at 5 − 1 = 4 packets, XON at 2. Host 2 of the second switch takes
/// a packet in 320 ns, the link to that switch in 200.
///
/// ```text
/// leaves the first switch   200 + 200 k   arrives 50 ns later, and is ready for host 2 after another 200
/// leaves for host 2         450 + 320 k
/// held there                …, 1450: 3, 1650: 4 → XOFF, 1700 at the first switch, before the ninth packet
///                           1730: 3, 2050: 2 → XON, 2100 there; the ninth and tenth make 4 again at 2350
/// ```
#[test]
fn a_buffer_pauses_its_sender_at_xoff_and_resumes_it_at_xon_a_cable_later() {
    let topology = small();
    let mut links = links(&topology);
    let up = topology.host_channel(HostId::new(2));
    for channel in [up, reverse(up)] {
        links.rates[channel.index()] = BitRate::from_gbps(25);
    }
    let routing = DragonflyMinimal { plan: DragonflyPlan::of(&topology).unwrap() };
    let experiment = experiment(&topology, routing, links);
    let mut prepared = experiment.prepare().unwrap();
    prepared.start();
    offer(&mut prepared, 0, 2, 12);
    let first = (0..8).map(|packet| Step::Sends(200 + 200 * packet));
    let rest = [
        Step::Pauses(1700),
        Step::Resumes(2100),
        Step::Sends(2100),
        Step::Sends(2300),
        Step::Pauses(2400),
        Step::Resumes(2740),
        Step::Sends(2740),
        Step::Sends(2940),
        Step::Pauses(3040),
        Step::Resumes(3380),
    ];
    let mut seen = trace(&mut prepared, LOCAL, 4_000);
    // A resumed port sends in the same nanosecond.
    seen.sort_by_key(|step| match *step {
        Step::Pauses(at) | Step::Resumes(at) => 2 * at,
        Step::Sends(at) => 2 * at + 1,
    });
    assert_eq!(seen, first.chain(rest).collect::<Vec<_>>());
}

/// When packets leave by the global port of the first switch, and on which channel. Host 0 has three for the group
/// whose link is at the second switch, to which it is paused: they take channel 0 of the global port, a non-minimal
/// path. Host 1 has three for the group at the other end of that port, by channel 1.
fn shared_port(scheduler: ChannelScheduler) -> Vec<(u32, u8)> {
    let topology = small();
    let routing = Conditional { plan: DragonflyPlan::of(&topology).unwrap(), h: 1 };
    let mut experiment = experiment(&topology, routing, links(&topology));
    experiment.switch.scheduler = scheduler;
    let mut prepared = experiment.prepare().unwrap();
    prepared.start();
    let shard = &mut prepared.parts.shards[0];
    let beside = shard.switches.ports[GLOBAL].peer / (2 * shard.switches.radix as u32);
    shard.switches.obey(&prepared.constants, LOCAL << shard.switches.shift, true);
    offer(&mut prepared, 0, 4 * (3 - beside), 3);
    offer(&mut prepared, 1, 4 * beside, 3);
    let mut departures = Vec::new();
    let shard = &mut prepared.parts.shards[0];
    for now in 0..2_000 {
        let sent = shard.switches.ports[GLOBAL].busy;
        shard.run(&prepared.constants, now + 1);
        let channel = 1 - shard.switches.pauses.senders[GLOBAL].turn;
        departures.extend((shard.switches.ports[GLOBAL].busy > sent).then_some((now, channel)));
    }
    departures
}

/// ```text
/// granted            host 0 at 0, 200, 400, host 1 at 100, 300, 500: the crossbar takes 100 ns a packet
/// in the queues      channel 0 from 200, 400, 600 on, channel 1 from 300, 500, 700 on; the link takes 200 ns a packet
/// ```
#[test]
fn packets_of_later_channels_leave_first_or_channels_take_turns() {
    let departures = |channels: [u8; 6]| (1..=6).map(|turn| 200 * turn).zip(channels).collect::<Vec<_>>();
    assert_eq!(shared_port(ChannelScheduler::Strict), departures([0, 1, 1, 1, 0, 0]));
    assert_eq!(shared_port(ChannelScheduler::RoundRobin), departures([0, 1, 0, 1, 0, 1]));
}

/// Packets that leave the first switch by its default and by its alternative port, of 16 that host 0 has at once for a
/// group whose link is at the second switch. A packet takes 320 ns on the default port, whose queue holds three.
fn split(is_paused: bool) -> [u32; 2] {
    let topology = small();
    let mut links = links(&topology);
    let local = topology.out_channels(SwitchId::new(0))[LOCAL];
    for channel in [local, reverse(local)] {
        links.rates[channel.index()] = BitRate::from_gbps(25);
    }
    let routing = Conditional { plan: DragonflyPlan::of(&topology).unwrap(), h: 1 };
    let mut experiment = experiment(&topology, routing, links);
    experiment.switch.output_queue = 3;
    let mut prepared = experiment.prepare().unwrap();
    prepared.start();
    let shard = &mut prepared.parts.shards[0];
    // Four hosts of a group, two switches; the one group of two others that the first switch has no link to.
    let beside = shard.switches.ports[GLOBAL].peer / (2 * shard.switches.radix as u32);
    let dst = 4 * (3 - beside);
    if is_paused {
        shard.switches.obey(&prepared.constants, LOCAL << shard.switches.shift, true);
    }
    offer(&mut prepared, 0, dst, 16);
    trace(&mut prepared, LOCAL, 9_000);
    let sent = |port: &Port| port.busy / prepared.constants.link(port.link).packet;
    [LOCAL, GLOBAL].map(|port| sent(&prepared.parts.shards[0].switches.ports[port]))
}

#[test]
fn while_a_port_is_paused_packets_leave_by_the_port_of_their_host() {
    assert_eq!(split(true), [0, 16]);
}

/// ```text
/// decided by default at 0, 200, 300, 400: three wait, as the first has left at 200; others leave at 520, 840, …
/// 500: full, alternative; 600: default; 700, 800: alternative; 900: default; 1000, 1100: alternative; 1200: default;
/// 1300, 1400: alternative; 1500: default; 1600: alternative
/// ```
#[test]
fn while_the_queue_of_a_port_is_full_packets_leave_by_the_port_of_their_host() {
    assert_eq!(split(false), [8, 8]);
}
