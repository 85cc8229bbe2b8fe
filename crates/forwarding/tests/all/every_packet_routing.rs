//! Paths of packets of every routing on small fabrics, under any queues: the shared test suite of routings that decide
//! packet by packet. Runs are in `crates/openloop/tests/all/every_routing.rs`.

use crate::small;
use std::collections::{BTreeMap, BTreeSet};

use etherweave_forwarding::{FabricTables, TableParams};
use etherweave_primitives::{Duration, HostId, InputError, Port, Purpose, Stream, SwitchId};
use etherweave_routing::bounds::host_groups;
use etherweave_routing::{InputChannel, KnownTraffic, LoadView, PacketRouting, RoutedPacket, RoutingKind, Visit};
use etherweave_topology::{LinkClass, Node, Topology};
use etherweave_workload::{Pattern, pattern::Adversarial};

use crate::small::Small;

/// Far ends with room for so many packets.
const ROOM: u16 = 32;
/// Hashes of the packets between two hosts.
const HASHES: u64 = 6;

/// A channel of a switch's port: switch, port, channel.
type OutputChannelId = (u32, u8, u8);

struct Queues {
    /// Packets by switch, port and channel.
    held: Vec<u16>,
    is_saturated: Vec<bool>,
    radix: usize,
    channels: usize,
}

impl Queues {
    /// Every queue holds what `held` says.
    fn new(topology: &Topology, channels: u8, mut held: impl FnMut() -> u16) -> Queues {
        let switches = (0..topology.switches()).map(SwitchId::from_index);
        let radix = switches.map(|at| topology.out_channels(at).len()).max().unwrap();
        let (ports, channels) = (topology.switches() * radix, usize::from(channels));
        let is_saturated = (0..ports).map(|_| held() > ROOM / 2).collect();
        Queues { held: (0..ports * channels).map(|_| held()).collect(), is_saturated, radix, channels }
    }
}

#[derive(Clone, Copy)]
struct QueueView<'a> {
    queues: &'a Queues,
    switch: u32,
}

impl QueueView<'_> {
    fn port(&self, switch: u32, port: u8) -> usize {
        switch as usize * self.queues.radix + usize::from(port)
    }
}

impl LoadView for QueueView<'_> {
    fn now_ns(&self) -> u64 {
        1_000
    }

    fn occupancy(&self, port: u8, channel: u8) -> u32 {
        self.occupancy_at(self.switch, port, channel)
    }

    fn queued(&self, port: u8) -> u32 {
        let first = self.port(self.switch, port) * self.queues.channels;
        self.queues.held[first..first + self.queues.channels].iter().map(|&held| u32::from(held)).sum()
    }

    fn occupancy_at(&self, switch: u32, port: u8, channel: u8) -> u32 {
        let channel = usize::from(channel).min(self.queues.channels - 1);
        u32::from(self.queues.held[self.port(switch, port) * self.queues.channels + channel])
    }

    fn is_saturated(&self, switch: u32, port: u8) -> bool {
        self.queues.is_saturated[self.port(switch, port)]
    }

    fn is_paused(&self, port: u8, channel: u8) -> bool {
        self.occupancy(port, channel) == u32::from(ROOM)
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

    fn visit<R: PacketRouting>(self, mut routing: R) -> ObservedPaths {
        let topology = self.0;
        routing.learn(|| worst(topology)).unwrap();
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
                seen.walk(&routing, topology, RoutedPacket { src, dst, hash, ..RoutedPacket::default() }, || {
                    &queues[pick(&mut stream)]
                });
            }
        }
        seen
    }
}

/// All of a group to the next, of which a controller knows at once.
fn worst(topology: &Topology) -> Result<KnownTraffic, InputError> {
    let destinations = Pattern::Adversarial(Adversarial::default()).plan(&host_groups(topology)?, 1)?;
    Ok(KnownTraffic { destinations, load: 1.0, reaction: Duration::ZERO })
}

impl ObservedPaths {
    fn walk<'a, R: PacketRouting>(
        &mut self,
        routing: &R,
        topology: &Topology,
        mut packet: RoutedPacket,
        mut queues: impl FnMut() -> &'a Queues,
    ) {
        routing.start(&mut packet);
        let start = topology.channel(topology.host_channel(HostId::new(packet.src)));
        let (mut end, mut channel, mut class, mut output_channel) = (start.to, 0, LinkClass::Host, None);
        while let Node::Switch(at) = end.node {
            let place = InputChannel { switch: at.get(), port: end.port.get() as u8, channel, class };
            let hop = routing.decide(place, &mut packet, QueueView { queues: queues(), switch: at.get() });
            let out = topology.channel(topology.out_channel(at, Port::new(u16::from(hop.port))));
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

impl ObservedPaths {
    /// The order that is proved without a run covers what was seen.
    fn assert_in_order(&self, tables: &FabricTables<'_>, routing: RoutingKind, diameter: u32) {
        let name = format!("{} on {} switches", routing.name(), tables.topology.switches());
        let order = routing.channel_order(tables, None, diameter).unwrap();
        assert_eq!(order.problem, None, "{name}");
        assert_eq!((order.channels_per_port, order.hops_max), (self.channels, self.links), "{name}");
        let dependencies: usize = self.next.values().map(BTreeSet::len).sum();
        let is_by_rules = order.dependencies == 0;
        assert!(is_by_rules || dependencies as u64 <= order.dependencies, "{name}: {dependencies}");
        assert!(self.next.len() as u64 <= order.channels && order.decisions > 0, "{name}");
        let fewer = self.channels - 1;
        if fewer > 0 {
            let shared = routing.channel_order(tables, Some(fewer), diameter).unwrap();
            let expected = format!("not proved: hops share channels, {fewer} of {}", self.channels);
            assert_eq!(shared.problem, Some(expected), "{name}");
        }
    }
}

/// Links between switches on the longest path of a routing.
fn links_most(routing: RoutingKind, topology: &Topology, diameter: u32) -> u32 {
    match routing {
        // Local, global, local.
        RoutingKind::Minimal => 3,
        RoutingKind::UgalGlobal(_) if topology.axes() == ["half", "row", "place"] => 2 * diameter,
        // A local and a global link more.
        RoutingKind::ValiantGroup
        | RoutingKind::UgalGlobal(_)
        | RoutingKind::Piggyback(_)
        | RoutingKind::Controller => 5,
        RoutingKind::MinimalTables if topology.axes() == ["group", "switch"] => 3,
        // A global link more.
        RoutingKind::Conditional | RoutingKind::ConditionalTables if topology.axes() == ["group", "switch"] => 4,
        // A link more, where the most significant dimension has another place, by a single link to each.
        RoutingKind::Conditional | RoutingKind::ConditionalTables
            if topology.axes().last().is_some_and(|axis| axis == "x") =>
        {
            diameter + u32::from(has_third_place(topology))
        }
        RoutingKind::Conditional => unreachable!("for dragonflies and butterflies"),
        // To the switch drawn, or to a gateway after the mind was changed.
        RoutingKind::ValiantSwitch | RoutingKind::ProgressiveAdaptive(_) => 6,
        RoutingKind::UgalLocal(_) if topology.axes() == ["group", "switch"] => 5,
        // There and back.
        RoutingKind::UgalLocal(_) | RoutingKind::Valiant => 2 * diameter,
        RoutingKind::DimensionAdaptive => diameter + rows_above_two(topology),
        RoutingKind::DimensionOrder
        | RoutingKind::AdaptiveMinimal
        | RoutingKind::Ecmp
        | RoutingKind::Spray
        | RoutingKind::Flowlet(_)
        | RoutingKind::AdaptiveUp
        | RoutingKind::GlobalLoadBalancing
        | RoutingKind::ElasticTree(_)
        | RoutingKind::ShortestPath
        | RoutingKind::MinimalTables
        | RoutingKind::ConditionalTables => diameter,
        RoutingKind::UpDown | RoutingKind::UpStarDownStar => unreachable!("decides for no packet"),
        RoutingKind::DisjointTrees => unreachable!("as far as its trees are deep"),
    }
}

/// Whether the most significant dimension has more than two places, and single links.
fn has_third_place(topology: &Topology) -> bool {
    let first = SwitchId::new(0);
    let coordinates = |at: SwitchId| topology.coordinates(at);
    let along = topology.out_channels(first).iter().filter_map(|&channel| match topology.channel(channel).to.node {
        Node::Switch(far) if coordinates(far)[0] != coordinates(first)[0] => Some(coordinates(far)[0]),
        Node::Switch(_) | Node::Host(_) => None,
    });
    let (ends, mut places): (usize, BTreeSet<u32>) = along.fold(Default::default(), |(ends, mut places), place| {
        places.insert(place);
        (ends + 1, places)
    });
    places.insert(0);
    places.len() > 2 && ends + 1 == places.len()
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
        let tables = FabricTables { kind: &kind, topology: &topology, params: &params };
        let suited: Vec<_> = RoutingKind::all().into_iter().filter(|routing| routing.works_on(&tables)).collect();
        assert!(suited.len() >= 4, "{suited:?}");
        for &routing in &suited {
            let seen = routing.with(&tables, PathWalk(&topology)).unwrap();
            let most = match routing {
                RoutingKind::DisjointTrees => routing.channel_order(&tables, None, diameter).unwrap().hops_max,
                other => links_most(other, &topology, diameter),
            };
            assert_eq!(seen.links, most, "{} on {} switches: links", routing.name(), topology.switches());
            assert!(!seen.has_cycle(), "{} on {} switches", routing.name(), topology.switches());
            let used = seen.next.keys().map(|&(_, _, channel)| channel + 1).max().unwrap();
            assert_eq!(used, seen.channels, "{}: channels", routing.name());
            seen.assert_in_order(&tables, routing, diameter);
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
