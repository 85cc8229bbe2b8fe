//! Routing packet by packet: a switch decides on arrival where a packet leaves and on which priority, from the load of
//! its own ports.
//!
//! A routing's virtual channel `c` is the priority of the packet's job plus `c`: what PFC keeps apart. A packet keeps
//! the priority by which it came in until it leaves the buffer, as the ingress accounting is by that one.
//!
//! The routing is behind one virtual call per packet and switch. Runs whose paths are chosen per flow make none.

use std::sync::Arc;

use etherweave_primitives::{ChannelId, InputError, Time, mix};
use etherweave_routing::{
    FabricOf, HashScope, InputChannel, LoadView, NextHop, PacketRouting, PacketRoutingKind, RoutedPacket, Visit,
};
use etherweave_topology::LinkClass;

use super::credits::PortCredits;
use super::port::{ImpairedLink, Port};
use crate::engine::Shard;
use crate::packet::{Handle, PacketRoute, flags};

/// A routing whose decisions see the load of a switch of this simulation.
trait SwitchRouting: Send + Sync {
    fn channels(&self) -> u8;
    fn hash_scope(&self) -> HashScope;
    fn start(&self, packet: &mut RoutedPacket);
    fn decide(&self, at: InputChannel, packet: &mut RoutedPacket, load: SwitchLoad<'_>) -> NextHop;
}

impl<R: PacketRouting> SwitchRouting for R {
    fn channels(&self) -> u8 {
        PacketRouting::channels(self)
    }

    fn hash_scope(&self) -> HashScope {
        PacketRouting::hash_scope(self)
    }

    fn start(&self, packet: &mut RoutedPacket) {
        PacketRouting::start(self, packet);
    }

    fn decide(&self, at: InputChannel, packet: &mut RoutedPacket, load: SwitchLoad<'_>) -> NextHop {
        PacketRouting::decide(self, at, packet, load)
    }
}

/// A routing that decides for every packet, made for a fabric.
#[derive(Clone)]
pub struct PreparedRouting {
    kind: PacketRoutingKind,
    routing: Arc<dyn SwitchRouting>,
}

impl std::fmt::Debug for PreparedRouting {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("PreparedRouting").field(&self.kind).finish()
    }
}

/// Makes a routing that may be kept.
struct Keep;

impl Visit for Keep {
    type Output = Option<Arc<dyn SwitchRouting>>;

    fn visit<R: PacketRouting>(self, routing: R) -> Self::Output {
        let looks_elsewhere = routing.sees_other_switches();
        (!looks_elsewhere).then(|| Arc::new(routing) as Arc<dyn SwitchRouting>)
    }
}

impl PreparedRouting {
    /// The routing on a fabric.
    ///
    /// # Errors
    /// When it does not work on the fabric, or needs the load of other switches, which Ethernet switches do not
    /// exchange.
    pub fn new<'a>(kind: PacketRoutingKind, fabric: impl Into<FabricOf<'a>>) -> Result<PreparedRouting, InputError> {
        let routing = kind.with(fabric, Keep)?.ok_or_else(|| {
            let found = format!("{}, which compares the load of other switches or knows the traffic", kind.name());
            InputError::new("routing", found, "a routing that decides by the load of the own switch")
        })?;
        Ok(PreparedRouting { kind, routing })
    }

    /// What a scenario calls the routing.
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// Priorities that packets of a job travel with: its own and the following ones.
    pub fn priorities(&self) -> u8 {
        self.routing.channels()
    }
}

/// The load of one Ethernet switch: its own output queues, in bytes, and what its peers have paused.
#[derive(Clone, Copy)]
pub(crate) struct SwitchLoad<'a> {
    ports: &'a [Port],
    impaired_links: &'a [ImpairedLink],
    credits: &'a [PortCredits],
    class_of_priority: &'a [u8; 8],
    base: u8,
    now: Time,
}

impl SwitchLoad<'_> {
    fn class(&self, channel: u8) -> usize {
        usize::from(self.class_of_priority[usize::from(self.base + channel)])
    }
}

impl LoadView for SwitchLoad<'_> {
    fn now_ns(&self) -> u64 {
        self.now.as_ps() / 1_000
    }

    fn occupancy(&self, port: u8, channel: u8) -> u32 {
        self.ports[usize::from(port)].class_states[self.class(channel)].queue.bytes
    }

    fn queued(&self, port: u8) -> u32 {
        let port = &self.ports[usize::from(port)];
        crate::frame::pause::priorities(port.waiting).map(|class| port.class_states[class].queue.bytes).sum()
    }

    fn occupancy_at(&self, _switch: u32, _port: u8, _channel: u8) -> u32 {
        unreachable!("such routings are rejected")
    }

    fn is_saturated(&self, _switch: u32, _port: u8) -> bool {
        unreachable!("such routings are rejected")
    }

    fn is_down(&self, port: u8) -> bool {
        let link = self.ports[usize::from(port)].peer.link;
        link.resolve().is_err_and(|number| self.impaired_links[number].is_down(self.now, self.now))
    }

    fn is_paused(&self, port: u8, channel: u8) -> bool {
        // Under credits, all classes are marked as paused: see `super::credits`.
        let stopped = match self.credits.get(usize::from(port)) {
            None => self.ports[usize::from(port)].paused_classes,
            Some(credits) => credits.blocked_classes,
        };
        self.is_down(port) || stopped & 1 << self.class(channel) != 0
    }
}

/// The last packet of a connection end, and how many flowlets there were.
#[derive(Clone, Copy, Default)]
pub(crate) struct Flowlet {
    last: Time,
    count: u32,
}

impl Shard {
    /// Gives a packet that `endpoint` sends what its routing needs.
    pub(crate) fn start_route(&mut self, endpoint: u32, handle: Handle) {
        let Some(scope) = self.constants.packet_routing.as_ref().map(|prepared| prepared.routing.hash_scope()) else {
            return;
        };
        let end = &self.endpoints[endpoint as usize];
        let ((src, dst), base, number) = (end.hosts, end.priority, end.number);
        let seed = self.constants.params.seed;
        let hash = match scope {
            HashScope::PerPacket => mix(seed ^ u64::from(number) << 32 ^ mix(self.now.as_ps())),
            HashScope::PerFlow => mix(seed ^ !u64::from(number)),
            HashScope::PerFlowlet { gap_ns } => {
                mix(seed ^ !u64::from(number) ^ u64::from(self.flowlet(endpoint, gap_ns)) << 32)
            }
        };
        let mut routed = RoutedPacket { src, dst, hash: hash as u16, ..RoutedPacket::default() };
        self.packet_routing().routing.start(&mut routed);
        self.packets.set_route(handle, PacketRoute { routed, base, ..PacketRoute::default() });
    }

    /// The number of the flowlet of a packet that is sent now.
    fn flowlet(&mut self, endpoint: u32, gap_ns: u32) -> u32 {
        if self.flowlets.len() < self.endpoints.len() {
            self.flowlets.resize(self.endpoints.len(), Flowlet::default());
        }
        let flowlet = &mut self.flowlets[endpoint as usize];
        flowlet.count += u32::from(self.now.since(flowlet.last).as_ps() > u64::from(gap_ns) * 1_000);
        flowlet.last = self.now;
        flowlet.count
    }

    /// The port and priority by which a packet leaves that has come in by `ingress`; decided once.
    #[inline(never)]
    pub(crate) fn decide_egress(&mut self, ingress: u32, handle: Handle) -> (u32, u8) {
        let mut route = *self.packets.route(handle);
        if !self.packets[handle].has(flags::STORED) {
            self.decide(ingress, &mut route);
            *self.packets.route_mut(handle) = route;
        }
        (route.egress, route.base + route.channel)
    }

    fn decide(&self, ingress: u32, route: &mut PacketRoute) {
        let switch = &self.switches[self.switch_of_port(ingress)];
        let ports = &self.ports[switch.first_port as usize..][..usize::from(switch.ports)];
        let credits = self.credits.ports.get(switch.first_port as usize..).unwrap_or_default();
        let class_of_priority = &self.constants.scheduler.class_of_priority;
        let impaired_links = &self.impaired_links;
        let load = SwitchLoad { ports, impaired_links, credits, class_of_priority, base: route.base, now: self.now };
        let port = (ingress - switch.first_port) as u8;
        let class = self.link_class(ingress);
        let at = InputChannel { switch: switch.number, port, channel: route.channel, class };
        let prepared = self.packet_routing();
        let hop = prepared.routing.decide(at, &mut route.routed, load);
        route.egress = switch.first_port + u32::from(hop.port);
        // A host takes its packets from every priority: they keep theirs.
        if self.link_class(route.egress) != LinkClass::Host {
            route.channel = hop.channel;
            route.routed.hops += 1;
        }
    }

    fn packet_routing(&self) -> &PreparedRouting {
        self.constants.packet_routing.as_ref().expect("packets are routed one by one")
    }

    fn link_class(&self, port: u32) -> LinkClass {
        self.constants.link_classes[self.channels[port as usize].index()]
    }

    /// The priority with which a packet travels on from a switch.
    #[inline]
    pub(crate) fn change_priority(&mut self, handle: Handle) {
        if self.constants.packet_routing.is_some() {
            let route = self.packets.route(handle);
            self.packets[handle].priority = route.next_priority();
        }
    }
}

/// The class of every channel.
pub(crate) fn link_classes(topology: &etherweave_topology::Topology) -> Vec<LinkClass> {
    (0..topology.channels().len()).map(|id| topology.channel(ChannelId::from_index(id)).class).collect()
}
