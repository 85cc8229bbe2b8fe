//! Deadlock freedom of decisions per packet, at any size: the order of channels that a routing states
//! ([`PacketRouting::rank`]), and packets that keep to it.
//!
//! If every packet goes from each channel to one of a higher rank, dependencies are acyclic, whatever queues it sees.
//! So all that may follow a channel by its rank are counted as dependencies: more than packets have, never fewer.
//! Decisions are compared with the order for packets between many hosts, or all, at switches with random queues; debug
//! builds compare every decision of every simulation.
//!
//! Flow tables with one channel order ports, not channels. Their rules are followed one by one instead.

use std::collections::BTreeSet;

use etherweave_primitives::{ChannelId, Duration, HostId, InputError, Port, Purpose, Stream, SwitchId};
use etherweave_topology::{LinkClass, Node, Topology};
use etherweave_workload::{Pattern, pattern::Adversarial};

use crate::bounds::host_groups;
use crate::{
    FabricOf, InputChannel, KnownTraffic, LoadView, OutputChannel, PacketRouting, RoutedPacket, RoutingKind, Visit,
};

/// Packets whose decisions are compared with the order.
const PACKETS: u64 = 1 << 16;
/// Random queues hold at most so much.
const QUEUE_MAX: u64 = 32;
/// Links of a path that goes nowhere.
const LINKS_MAX: u8 = 64;

/// The order of the channels that packets take which are decided for one by one.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct ChannelOrder {
    /// Virtual channels of each port: priorities of a packet.
    pub channels_per_port: u8,
    /// Links between switches on the longest path, at most.
    pub hops_max: u32,
    /// Channels of all ports between switches.
    pub channels: u64,
    /// Pairs of those of which the second follows the first in the order, at most as many as packets have.
    pub dependencies: u64,
    /// Decisions that were compared with the order.
    pub decisions: u64,
    /// Problem of the order; absent: no channel can wait for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl RoutingKind {
    /// The order of channels of its decisions on a fabric whose hosts are at most `diameter` links between switches
    /// apart, with no more than `channels_max` virtual channels.
    ///
    /// # Errors
    /// When it makes no decisions, or does not work on the fabric.
    pub fn channel_order<'a>(
        self,
        fabric: impl Into<FabricOf<'a>>,
        channels_max: Option<u8>,
        diameter: u32,
    ) -> Result<ChannelOrder, InputError> {
        let fabric = fabric.into();
        self.with(fabric, OrderOf { topology: fabric.topology, channels_max, diameter })?
    }
}

struct OrderOf<'a> {
    topology: &'a Topology,
    channels_max: Option<u8>,
    diameter: u32,
}

impl Visit for OrderOf<'_> {
    type Output = Result<ChannelOrder, InputError>;

    fn visit<R: PacketRouting>(self, mut routing: R) -> Self::Output {
        let OrderOf { topology, channels_max, diameter } = self;
        if routing.knows_traffic() {
            routing.learn(|| worst(topology))?;
        }
        let needed = routing.channels();
        let channels = channels_max.unwrap_or(needed).clamp(1, needed);
        let ranks = Ranks::of(topology, &routing);
        let (decisions, departure) = follow_packets(topology, &routing, ranks.are_stated());
        let links_max = routing.links_max().unwrap_or(ranks.distinct.len() as u32);
        let problem = departure.or_else(|| match channels == needed {
            false => Some(format!("not proved: hops share channels, {channels} of {needed}")),
            true if ranks.are_stated() => None,
            true => rules_problem(topology, &routing),
        });
        Ok(ChannelOrder {
            channels_per_port: needed,
            hops_max: if ranks.are_stated() { links_max } else { diameter },
            channels: ranks.channels,
            dependencies: ranks.dependencies,
            decisions,
            problem,
        })
    }
}

/// All hosts of a group send to the next group, of which a controller knows at once.
fn worst(topology: &Topology) -> Result<KnownTraffic, InputError> {
    let destinations = Pattern::Adversarial(Adversarial::default()).plan(&host_groups(topology)?, 1)?;
    Ok(KnownTraffic { destinations, load: 1.0, reaction: Duration::ZERO })
}

/// The ranks of all channels between switches.
#[derive(Default)]
struct Ranks {
    distinct: BTreeSet<u32>,
    channels: u64,
    dependencies: u64,
}

impl Ranks {
    fn of<R: PacketRouting>(topology: &Topology, routing: &R) -> Ranks {
        let mut ranks = Ranks::default();
        for at in (0..topology.switches()).map(SwitchId::from_index) {
            let out: Vec<ChannelId> = between_switches(topology, at).collect();
            let ranked =
                |id: ChannelId| (0..routing.channels()).filter_map(move |channel| rank(topology, routing, id, channel));
            let into = |id: &ChannelId| ranked(etherweave_topology::reverse(*id));
            let mut before: Vec<u32> = out.iter().flat_map(into).collect();
            let after: Vec<u32> = out.iter().flat_map(|&id| ranked(id)).collect();
            before.sort_unstable();
            ranks.dependencies +=
                after.iter().map(|&rank| before.partition_point(|&held| held < rank) as u64).sum::<u64>();
            ranks.channels += if after.is_empty() { out.len() } else { after.len() } as u64;
            ranks.distinct.extend(after);
        }
        ranks
    }

    fn are_stated(&self) -> bool {
        !self.distinct.is_empty()
    }
}

fn between_switches(topology: &Topology, at: SwitchId) -> impl Iterator<Item = ChannelId> {
    let leaving = topology.out_channels(at).iter().copied();
    leaving.filter(|&id| topology.channel(id).class != LinkClass::Host)
}

/// Where a channel of a port stands; none if packets never take it.
fn rank<R: PacketRouting>(topology: &Topology, routing: &R, id: ChannelId, channel: u8) -> Option<u32> {
    let link = topology.channel(id);
    let Node::Switch(switch) = link.from.node else { return None };
    routing.rank(OutputChannel { switch: switch.get(), port: link.from.port.get() as u8, channel, class: link.class })
}

/// Follows packets from host to host; counts decisions, and says which one left the order.
fn follow_packets<R: PacketRouting>(topology: &Topology, routing: &R, is_ordered: bool) -> (u64, Option<String>) {
    let hosts = topology.hosts() as u64;
    let mut stream = Stream::new(1, Purpose::Traffic, 0);
    let mut decisions = 0;
    for number in 0..PACKETS {
        let (src, dst) = match hosts * hosts <= PACKETS {
            true => (number / hosts % hosts, number % hosts),
            false => (stream.below(hosts), stream.below(hosts)),
        };
        let packet =
            RoutedPacket { src: src as u32, dst: dst as u32, hash: stream.bits() as u16, ..RoutedPacket::default() };
        if src != dst
            && let Err(departure) = follow(topology, routing, packet, is_ordered, &mut stream, &mut decisions)
        {
            return (decisions, Some(departure));
        }
    }
    (decisions, None)
}

fn follow<R: PacketRouting>(
    topology: &Topology,
    routing: &R,
    mut packet: RoutedPacket,
    is_ordered: bool,
    stream: &mut Stream,
    decisions: &mut u64,
) -> Result<(), String> {
    routing.start(&mut packet);
    let first = topology.channel(topology.host_channel(HostId::new(packet.src)));
    let (mut end, mut channel, mut class, mut last) = (first.to, 0, LinkClass::Host, None);
    while let Node::Switch(at) = end.node {
        let place = InputChannel { switch: at.get(), port: end.port.get() as u8, channel, class };
        let hop = routing.decide(place, &mut packet, RandomQueues { seed: stream.bits() });
        *decisions += 1;
        let id = topology.out_channel(at, Port::new(u16::from(hop.port)));
        let link = topology.channel(id);
        if link.class != LinkClass::Host {
            let then = rank(topology, routing, id, hop.channel);
            let rises = !is_ordered || then.is_some() && last.is_none_or(|last| last < then);
            packet.hops += 1;
            if !rises || packet.hops == LINKS_MAX {
                let [src, dst] = [packet.src, packet.dst].map(|host| topology.name(Node::Host(HostId::new(host))));
                return Err(format!("a packet from {src} to {dst} leaves the order at {}", topology.switch_name(at)));
            }
            last = Some(then);
        }
        (end, channel, class) = (link.to, hop.channel, link.class);
    }
    Ok(())
}

/// Returns the problem of rules that state no order; none when they were followed without a cycle.
fn rules_problem<R: PacketRouting>(topology: &Topology, routing: &R) -> Option<String> {
    let unstated = || Some("not proved: no order is stated".to_owned());
    routing.tables().map_or_else(unstated, |tables| tables.deadlock(topology))
}

/// Queues that differ from packet to packet and switch to switch.
#[derive(Clone, Copy)]
struct RandomQueues {
    seed: u64,
}

impl RandomQueues {
    fn queue(self, switch: u32, port: u8, channel: u8) -> u32 {
        let place = u64::from(switch) << 16 | u64::from(port) << 8 | u64::from(channel);
        (etherweave_primitives::mix(self.seed ^ place) % (QUEUE_MAX + 1)) as u32
    }
}

impl LoadView for RandomQueues {
    /// After any reaction of a controller.
    fn now_ns(&self) -> u64 {
        1_000_000
    }

    fn occupancy(&self, port: u8, channel: u8) -> u32 {
        self.queue(0, port, channel)
    }

    fn queued(&self, port: u8) -> u32 {
        self.queue(0, port, 0)
    }

    fn occupancy_at(&self, switch: u32, port: u8, channel: u8) -> u32 {
        self.queue(switch, port, channel)
    }

    fn is_saturated(&self, switch: u32, port: u8) -> bool {
        self.queue(switch, port, 0).is_multiple_of(2)
    }

    fn is_paused(&self, port: u8, channel: u8) -> bool {
        self.queue(0, port, channel).is_multiple_of(2)
    }
}
