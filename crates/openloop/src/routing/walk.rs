//! Paths of packets of every routing on small fabrics, under any queues: the shared test suite of routings. Runs are in
//! `tests/every_routing.rs`.

use std::collections::{BTreeMap, BTreeSet};

use etherweave_primitives::{Duration, HostId, Port as PortNumber, Purpose, Stream, SwitchId};
use etherweave_topology::{LinkClass, Node, Topology};
use etherweave_workload::pattern::Adversarial;

use super::tables::TableParams;
use super::{FabricOf, InputChannel, Routing};
use crate::load_view::LoadView;
use crate::outage::Outages;
use crate::packet::{NONE, Packet};
use crate::port::{END, Output, Port};
use crate::{Arrival, ControllerParams, OfferedTraffic, PacketRouting, Pattern, RunParams, SwitchParams, Visit};

#[path = "../../tests/fabric/small.rs"]
mod small;
use small::Small;

/// Far ends with room for so many packets.
const ROOM: u16 = 32;
const NOW: u32 = 1_000;
/// Hashes of the packets between two hosts.
const HASHES: u64 = 6;

/// A channel of a switch's port: switch, port, channel.
type OutputChannelId = (u32, u8, u8);

/// The queues of a whole fabric.
struct Queues {
    ports: Vec<Port>,
    outputs: Vec<Output>,
    radix: usize,
    shift: u32,
    outages: Outages,
}

impl Queues {
    /// Every far end holds what `held` says.
    fn new(topology: &Topology, channels: u8, mut held: impl FnMut() -> u16) -> Queues {
        let switches = || (0..topology.switches()).map(SwitchId::from_index);
        let radix = switches().map(|at| topology.out_channels(at).len()).max().unwrap();
        let shift = u32::from(channels).next_power_of_two().trailing_zeros();
        let mut ports = vec![Port::unused(); topology.switches() * radix];
        for at in switches() {
            for (port, &channel) in topology.out_channels(at).iter().enumerate() {
                let state = &mut ports[at.index() * radix + port];
                state.class = topology.channel(channel).class;
                state.link_free = if held() > ROOM / 2 { 2 * NOW } else { 0 };
                state.is_saturated = held() > ROOM / 2;
                state.seems_saturated = held() > ROOM / 2;
            }
        }
        let output = |_| Output { credits: ROOM - held(), first: END, last: END };
        let outputs = (0..ports.len() << shift).map(output).collect();
        Queues { ports, outputs, radix, shift, outages: Outages::default() }
    }

    fn load(&self, switch: u32) -> LoadView<'_> {
        LoadView {
            ports: &self.ports,
            outputs: &self.outputs,
            base: switch as usize * self.radix,
            radix: self.radix,
            first_switch: 0,
            room: [ROOM; 3],
            queues: &[],
            shift: self.shift,
            channel_last: u8::MAX,
            now: NOW,
            full: 10,
            outages: &self.outages,
        }
    }
}

/// All queues empty, all full, and several at random.
fn several(topology: &Topology, channels: u8) -> Vec<Queues> {
    let mut stream = Stream::new(1, Purpose::Traffic, 0);
    let mut all = vec![Queues::new(topology, channels, || 0), Queues::new(topology, channels, || ROOM)];
    let mut random = || stream.below(u64::from(ROOM) + 1) as u16;
    all.extend((0..6).map(|_| Queues::new(topology, channels, &mut random)));
    all
}

/// What was seen of a routing.
struct ObservedPaths {
    channels: u8,
    /// Channels of ports between switches, and those that their packets wanted next.
    next: BTreeMap<OutputChannelId, BTreeSet<OutputChannelId>>,
    /// Most links between switches that a packet took.
    links: u32,
}

/// Walks from everywhere to everywhere, at every switch with other queues.
struct PathWalk<'a>(&'a Topology);

impl Visit for PathWalk<'_> {
    type Output = ObservedPaths;

    fn visit<R: Routing>(self, mut routing: R) -> ObservedPaths {
        let topology = self.0;
        routing.learn(&worst(topology)).unwrap();
        let queues = several(topology, routing.channels());
        let mut stream = Stream::new(2, Purpose::Traffic, 0);
        let mut seen = ObservedPaths { channels: routing.channels(), next: BTreeMap::new(), links: 0 };
        let hosts = topology.hosts() as u32;
        for (src, dst) in (0..hosts).flat_map(|src| (0..hosts).map(move |dst| (src, dst))).filter(|(a, b)| a != b) {
            for turn in 0..HASHES {
                let hash = stream.bits() as u16;
                // Some packets meet the same queues everywhere.
                let pick = |stream: &mut Stream| match turn {
                    0 | 1 => turn as usize,
                    _ => stream.below(queues.len() as u64) as usize,
                };
                seen.walk(&routing, topology, packet(src, dst, hash), || &queues[pick(&mut stream)]);
            }
        }
        seen
    }
}

/// All of a group to the next, of which a controller knows at once.
fn worst(topology: &Topology) -> OfferedTraffic<'_> {
    let run = RunParams::fixed(1.0, Duration::ZERO, Duration::from_us(1), 1);
    let (pattern, arrival) = (Pattern::Adversarial(Adversarial::default()), Arrival::default());
    let (switch, controller) = (SwitchParams::default(), ControllerParams { reaction: Duration::ZERO });
    let fabric = topology.into();
    OfferedTraffic { fabric, switch, pattern, arrival, controller, run }
}

fn packet(src: u32, dst: u32, hash: u16) -> Packet {
    let (born, entered, next, place) = (0, 0, NONE, 0);
    Packet { born, entered, next, place, dst, src, route_state: [0; 2], hash, hops: 0, is_misrouted: false }
}

impl ObservedPaths {
    fn walk<'a, R: Routing>(
        &mut self,
        routing: &R,
        topology: &Topology,
        mut packet: Packet,
        mut queues: impl FnMut() -> &'a Queues,
    ) {
        routing.start(&mut packet);
        let start = topology.channel(topology.host_channel(HostId::new(packet.src)));
        let (mut end, mut channel, mut class, mut output_channel) = (start.to, 0, LinkClass::Host, None);
        while let Node::Switch(at) = end.node {
            let place = InputChannel { switch: at.get(), port: end.port.get() as u8, channel, class };
            let hop = routing.decide(place, &mut packet, queues().load(at.get()));
            let out = topology.channel(topology.out_channel(at, PortNumber::new(u16::from(hop.port))));
            if out.class != LinkClass::Host {
                assert!(hop.channel < self.channels, "channel {} of {}", hop.channel, self.channels);
                let then = (at.get(), hop.port, hop.channel);
                self.next.entry(then).or_default();
                output_channel.map(|output_channel| self.next.entry(output_channel).or_default().insert(then));
                packet.hops += 1;
                output_channel = Some(then);
            }
            (end, channel, class) = (out.to, hop.channel, out.class);
            assert!(packet.hops < 32, "a packet from {} to {} goes nowhere", packet.src, packet.dst);
        }
        assert_eq!(end.node, Node::Host(HostId::new(packet.dst)), "from host {}", packet.src);
        self.links = self.links.max(u32::from(packet.hops));
    }

    /// Takes away channels that wait for none, again and again; what is left are rings.
    fn has_cycle(&self) -> bool {
        let mut waits: BTreeMap<OutputChannelId, usize> =
            self.next.iter().map(|(&output_channel, next)| (output_channel, next.len())).collect();
        let mut before: BTreeMap<OutputChannelId, Vec<OutputChannelId>> = BTreeMap::new();
        for (&output_channel, next) in &self.next {
            next.iter().for_each(|&then| before.entry(then).or_default().push(output_channel));
        }
        let mut free: Vec<OutputChannelId> =
            waits.iter().filter(|&(_, &count)| count == 0).map(|(&output_channel, _)| output_channel).collect();
        let mut freed = 0;
        while let Some(output_channel) = free.pop() {
            freed += 1;
            for &earlier in before.get(&output_channel).into_iter().flatten() {
                let count = waits.get_mut(&earlier).expect("every channel is counted");
                *count -= 1;
                if *count == 0 {
                    free.push(earlier);
                }
            }
        }
        freed < waits.len()
    }
}

/// Links between switches on the longest path of a routing.
fn links_most(routing: PacketRouting, topology: &Topology, diameter: u32) -> u32 {
    match routing {
        // Local, global, local.
        PacketRouting::Minimal => 3,
        // A local and a global link more.
        PacketRouting::ValiantGroup
        | PacketRouting::UgalGlobal
        | PacketRouting::Piggyback
        | PacketRouting::Controller => 5,
        PacketRouting::MinimalTables if topology.axes() == ["group", "switch"] => 3,
        // A global link more.
        PacketRouting::Conditional => 4,
        PacketRouting::ConditionalTables if topology.axes() == ["group", "switch"] => 4,
        // To the switch drawn, or to a gateway after the mind was changed.
        PacketRouting::ValiantSwitch | PacketRouting::ProgressiveAdaptive => 6,
        PacketRouting::UgalLocal if topology.axes() == ["group", "switch"] => 5,
        // There and back.
        PacketRouting::UgalLocal | PacketRouting::Valiant => 2 * diameter,
        PacketRouting::DimensionAdaptive => diameter + rows_above_two(topology),
        PacketRouting::DimensionOrder
        | PacketRouting::AdaptiveMinimal
        | PacketRouting::Ecmp
        | PacketRouting::Spray
        | PacketRouting::Flowlet
        | PacketRouting::AdaptiveUp
        | PacketRouting::ShortestPath
        | PacketRouting::MinimalTables
        | PacketRouting::ConditionalTables => diameter,
    }
}

/// Dimensions of a grid with more than two places.
fn rows_above_two(topology: &Topology) -> u32 {
    let places =
        |axis: usize| (0..topology.switches()).map(move |at| topology.coordinates(SwitchId::from_index(at))[axis]);
    (0..topology.axes().len()).filter(|&axis| places(axis).any(|place| place >= 2)).count() as u32
}

#[test]
fn every_packet_arrives_within_the_longest_path_and_no_channel_waits_for_itself() {
    let params = TableParams::default();
    for Small { kind, topology, diameter } in small::all() {
        let fabric = FabricOf { topology: &topology, tables: Some((&kind, &params)), ..(&topology).into() };
        let suited: Vec<_> = PacketRouting::ALL.iter().filter(|routing| routing.works_on(fabric)).collect();
        assert!(suited.len() >= 4, "{suited:?}");
        for &&routing in &suited {
            let seen = routing.with(fabric, PathWalk(&topology)).unwrap();
            let most = links_most(routing, &topology, diameter);
            assert_eq!(seen.links, most, "{} on {} switches: links", routing.name(), topology.switches());
            assert!(!seen.has_cycle(), "{} on {} switches", routing.name(), topology.switches());
            let used = seen.next.keys().map(|&(_, _, channel)| channel + 1).max().unwrap();
            assert_eq!(used, seen.channels, "{}: channels", routing.name());
        }
    }
}

#[test]
fn a_cycle_of_channels_is_found() {
    let cycle = |next: &[(OutputChannelId, OutputChannelId)]| {
        let mut seen = ObservedPaths { channels: 1, next: BTreeMap::new(), links: 0 };
        for &(output_channel, then) in next {
            seen.next.entry(output_channel).or_default().insert(then);
            seen.next.entry(then).or_default();
        }
        seen.has_cycle()
    };
    let channels = [0, 1, 2].map(|switch| (switch, 0, 0));
    assert!(!cycle(&[(channels[0], channels[1]), (channels[1], channels[2]), (channels[0], channels[2])]));
    assert!(cycle(&[(channels[0], channels[1]), (channels[1], channels[2]), (channels[2], channels[1])]));
}

#[test]
fn with_fewer_priorities_the_load_of_a_later_channel_is_that_of_the_last() {
    let small = &small::all()[0];
    let mut held = 0;
    let queues = Queues::new(&small.topology, 4, || {
        held = (held + 1) % ROOM;
        held
    });
    let load = LoadView { channel_last: 1, ..queues.load(3) };
    let [first, last, later] = [0, 1, 3].map(|channel| load.occupancy(5, channel));
    assert!(first != last && last == later, "{first} {last} {later}");
    assert_eq!(load.queued(5), (0..4).map(|channel| queues.load(3).occupancy(5, channel)).sum::<u32>());
}
