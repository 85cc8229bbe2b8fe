//! Routing packet by packet: a switch decides on arrival where a packet leaves and on which priority, from the load of
//! its own ports.
//!
//! A routing's virtual channel `c` is the priority of the packet's job plus `c`: what PFC keeps apart. A packet keeps
//! the priority by which it came in until it leaves the buffer, as the ingress accounting is by that one.
//!
//! The routing is behind one virtual call per packet and switch. Runs whose paths are chosen per flow make none.

use std::sync::Arc;

use etherweave_engine::{
    Wires, constants::RouteStart, credits::PortCredits, decided_ahead::DecisionsAhead, frame::size::PREAMBLE_AND_GAP,
    packet::Handle, packet::PacketRoute, port::Port,
};
use etherweave_kernel::indices::PortIndex;
use etherweave_primitives::{ChannelId, HostId, InputError, Port as PortNumber, Priority, SwitchId};
use etherweave_routing::{
    ByCaller, FabricOf, FullPorts, HashScope, InputChannel, LoadScope, LoadView, MeasuredGroups, Neighbourhood,
    NextHop, Oblivious, PacketRouting, PortChoiceStart, RoutedPacket, RoutingKind, Saturation, Visit, hops_max,
    tables::Trigger,
};
use etherweave_topology::{LinkClass, Node, Topology};

use super::{group_traffic::GroupTraffic, neighbour_loads::NeighbourLoads};
use crate::{Switch, Switches};

/// A routing whose decisions see the load of a switch of this simulation.
trait SwitchRouting: RouteStart {
    fn channels(&self) -> u8;
    fn neighbourhood(&self) -> Neighbourhood;
    fn saturation(&self) -> Option<Saturation>;
    fn measures(&self) -> Option<MeasuredGroups>;
    fn trigger(&self) -> Option<Trigger>;
    fn is_of_caller(&self) -> bool;
    fn decide(&self, at: InputChannel, packet: &mut RoutedPacket, load: SwitchLoad<'_>) -> NextHop;
    fn oblivious(&self) -> Option<&dyn Oblivious>;
    fn load_scope(&self) -> LoadScope;
}

impl<R: PacketRouting> SwitchRouting for R {
    fn channels(&self) -> u8 {
        PacketRouting::channels(self)
    }

    fn neighbourhood(&self) -> Neighbourhood {
        PacketRouting::neighbourhood(self)
    }

    fn saturation(&self) -> Option<Saturation> {
        PacketRouting::saturation(self)
    }

    fn measures(&self) -> Option<MeasuredGroups> {
        PacketRouting::measures(self)
    }

    fn trigger(&self) -> Option<Trigger> {
        PacketRouting::trigger(self)
    }

    fn is_of_caller(&self) -> bool {
        PacketRouting::is_of_caller(self)
    }

    fn decide(&self, at: InputChannel, packet: &mut RoutedPacket, load: SwitchLoad<'_>) -> NextHop {
        PacketRouting::decide(self, at, packet, load)
    }

    fn oblivious(&self) -> Option<&dyn Oblivious> {
        PacketRouting::oblivious(self)
    }

    fn load_scope(&self) -> LoadScope {
        PacketRouting::load_scope(self)
    }
}

/// A routing that decides for every packet, made for a fabric.
#[derive(Clone)]
pub struct PreparedRouting {
    kind: RoutingKind,
    routing: Arc<dyn SwitchRouting>,
    hops_max: u32,
}

impl std::fmt::Debug for PreparedRouting {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("PreparedRouting").field(&self.kind).finish()
    }
}

/// Makes a routing that may be kept, and counts the links between switches that a packet crosses at most.
struct Keep<'a>(&'a Topology);

impl Visit for Keep<'_> {
    type Output = (Arc<dyn SwitchRouting>, u32);

    fn visit<R: PacketRouting>(self, routing: R) -> Self::Output {
        let hops_max = hops_max(&routing, self.0);
        (Arc::new(routing), hops_max)
    }
}

impl PreparedRouting {
    /// The routing on a fabric.
    ///
    /// # Errors
    /// When it does not work on the fabric.
    pub fn new<'a>(kind: RoutingKind, fabric: impl Into<FabricOf<'a>>) -> Result<PreparedRouting, InputError> {
        let fabric = fabric.into();
        let (routing, hops_max) = kind.with(fabric, Keep(fabric.topology))?;
        Ok(PreparedRouting { kind, routing, hops_max })
    }

    /// The same routing with the choice among ports of the caller.
    ///
    /// # Errors
    /// When the routing is none of a tree.
    pub fn by_caller(self, topology: &Topology, start: &PortChoiceStart) -> Result<PreparedRouting, InputError> {
        let routing = ByCaller::new(topology, self.kind, self.hash_scope(), start)?;
        let (routing, hops_max) = Keep(topology).visit(routing);
        Ok(PreparedRouting { routing, hops_max, ..self })
    }

    /// The routing, as far as hosts know it.
    pub fn start(&self) -> Arc<dyn RouteStart> {
        self.routing.clone()
    }

    /// Returns the name of the routing in a scenario.
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// Priorities that packets of a job travel with: its own and the following ones.
    pub fn priorities(&self) -> u8 {
        self.routing.channels()
    }

    /// Whether packets change their priority on the way, or switches report their loads where they leave.
    pub fn changes_packets(&self) -> bool {
        self.priorities() > 1 || self.neighbourhood() != Neighbourhood::None
    }

    /// Other switches whose loads it compares.
    pub fn neighbourhood(&self) -> Neighbourhood {
        self.routing.neighbourhood()
    }

    /// Returns the threshold that marks a global port as saturated.
    pub fn saturation(&self) -> Option<Saturation> {
        self.routing.saturation()
    }

    /// Whether packets leave minimal paths only where ports are paused.
    pub fn goes_by_pauses_alone(&self) -> bool {
        self.routing.trigger() == Some(Trigger::Pause)
    }

    /// Condition that deactivates its conditional rules, if it has any.
    pub fn trigger(&self) -> Option<Trigger> {
        self.routing.trigger()
    }

    /// Whether it depends on more than where load is: on pauses, on time, or on a class of the caller.
    pub fn needs_packets(&self) -> bool {
        let goes_by_gaps = matches!(self.routing.hash_scope(), HashScope::PerFlowlet { .. });
        goes_by_gaps
            || self.routing.is_of_caller()
            || self.trigger().is_some_and(Trigger::goes_by_pauses)
            || self.routing.measures().is_some()
    }

    /// The routing as one that looks at no queue.
    pub fn oblivious(&self) -> Option<&dyn Oblivious> {
        self.routing.oblivious()
    }

    /// How long packets keep their hash.
    pub fn hash_scope(&self) -> HashScope {
        self.routing.hash_scope()
    }

    /// The path of a packet between the switches of its hosts, on a fabric where the ports in `full` are full and all
    /// else is idle, and whether it is not minimal.
    pub fn path(&self, topology: &Topology, packet: RoutedPacket, full: &[(u32, u8)]) -> SampledPath {
        let mut packet = packet;
        self.routing.start(&mut packet);
        let arrival = topology.channel(topology.host_channel(HostId::new(packet.src))).to;
        let Node::Switch(first) = arrival.node else { unreachable!("a host's link leads to a switch") };
        let mut at =
            InputChannel { switch: first.get(), port: arrival.port.get() as u8, channel: 0, class: LinkClass::Host };
        let mut channels = Vec::new();
        loop {
            let hop = self.routing.decide_beforehand(at, &mut packet, FullPorts { switch: at.switch, full });
            let out = topology.out_channel(SwitchId::new(at.switch), PortNumber::new(hop.port.into()));
            let channel = topology.channel(out);
            let Node::Switch(next) = channel.to.node else {
                return SampledPath { channels, is_misrouted: packet.is_misrouted };
            };
            packet.hops += 1;
            self.assert_hops(&packet);
            channels.push(out);
            let port = channel.to.port.get() as u8;
            at = InputChannel { switch: next.get(), port, channel: hop.channel, class: channel.class };
        }
    }

    /// Asserts that a packet crosses no more links between switches than the routing allows.
    #[inline]
    fn assert_hops(&self, packet: &RoutedPacket) {
        if u32::from(packet.hops) > self.hops_max {
            self.reject_hops(packet);
        }
    }

    #[cold]
    #[inline(never)]
    fn reject_hops(&self, packet: &RoutedPacket) -> ! {
        let (RoutedPacket { src, dst, hops, .. }, max) = (*packet, self.hops_max);
        panic!("{}: hop {hops} from host {src} to {dst}; expected at most {max}", self.name())
    }

    /// Decisions that depend on nothing that changes while a packet is on its way, if there are any: each is made when
    /// the packet leaves for its switch.
    pub fn decisions_ahead(&self) -> Option<DecisionsAhead> {
        let (scope, keeps_priority) = (self.routing.load_scope(), !self.changes_packets());
        let at_first_switch = scope == LoadScope::NoSwitch;
        let ahead = DecisionsAhead { hops_max: self.hops_max, at_first_switch, keeps_priority };
        (scope != LoadScope::EverySwitch).then_some(ahead)
    }

    /// Groups of hosts between which it measures traffic.
    pub fn measures(&self) -> Option<MeasuredGroups> {
        self.routing.measures()
    }
}

/// A path that a routing decided for, without a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SampledPath {
    /// Whether it left the minimal paths.
    pub is_misrouted: bool,
    /// Between switches, in order.
    pub channels: Vec<ChannelId>,
}

/// The load of one switch: its own output queues, in bytes, what its peers have paused, and what it knows of its
/// neighbours' queues. An input-queued switch counts what it has sent towards each far end and has not got credits back
/// for. Nothing is read that a routing does not ask for.
#[derive(Clone, Copy)]
pub struct SwitchLoad<'a> {
    switches: &'a Switches,
    wires: &'a Wires,
    switch: &'a Switch,
    /// The priority of channel 0.
    base: u8,
}

impl SwitchLoad<'_> {
    fn port(&self, port: u8) -> &Port {
        &self.wires.ports[self.switch.port(port.into())]
    }

    /// Credits of an output, under flow control by them.
    fn credits(&self, port: u8) -> Option<&PortCredits> {
        self.wires.credits.ports.get(self.switch.port(port.into()))
    }

    fn has_crossbar(&self) -> bool {
        self.switches.crossbars.are_used()
    }

    fn neighbours(&self) -> Option<&NeighbourLoads> {
        self.switches.neighbour_loads.as_deref()
    }

    fn group_traffic(&self) -> Option<&GroupTraffic> {
        self.switches.group_traffic.as_deref()
    }

    /// Bytes that messages of flow-level mode have queued for an output.
    fn messages(&self, port: u8) -> u32 {
        self.wires.fluid.as_ref().map_or(0, |fluid| fluid.queued(self.switch.port(port.into())))
    }

    fn class(&self, channel: u8) -> usize {
        self.wires.constants.scheduler.class(self.base + channel)
    }

    /// Bytes of a priority in the queue of an output, on their way to the far end, there, or not known to have left it.
    fn ahead(&self, port: u8, priority: usize) -> u32 {
        self.credits(port).map_or(0, |credits| credits.channels[priority].taken() * self.wires.credits.unit)
    }

    /// Whether the far end of an output of a crossbar lacks room for a packet of the largest size.
    fn lacks_credits(&self, port: u8, channel: u8) -> bool {
        self.credits(port).is_some_and(|credits| {
            let available = credits.channels[usize::from(self.base + channel)].available;
            available * self.wires.credits.unit < self.packet_max()
        })
    }
}

impl LoadView for SwitchLoad<'_> {
    fn now_ns(&self) -> u64 {
        self.wires.now.as_ps() / 1_000
    }

    #[inline]
    fn occupancy(&self, port: u8, channel: u8) -> u32 {
        if self.has_crossbar() {
            return self.ahead(port, usize::from(self.base + channel));
        }
        self.port(port).queue(self.class(channel)).bytes + self.messages(port)
    }

    fn queued(&self, port: u8) -> u32 {
        if self.has_crossbar() {
            return (0..Priority::COUNT).map(|priority| self.ahead(port, priority)).sum();
        }
        self.port(port).queued() + self.messages(port)
    }

    fn occupancy_at(&self, switch: u32, port: u8, channel: u8) -> u32 {
        if switch == self.switch.in_plane {
            return self.occupancy(port, channel);
        }
        self.neighbours().map_or(0, |neighbours| neighbours.queued(switch, port, self.class(channel)))
    }

    fn is_saturated(&self, switch: u32, port: u8) -> bool {
        let queued = |port| self.occupancy_at(switch, port, 0);
        self.neighbours().is_some_and(|neighbours| neighbours.is_saturated(switch, port, queued))
    }

    fn sent_percent(&self, from: u16, to: u16) -> u32 {
        self.group_traffic().map_or(0, |traffic| traffic.sent_percent(from, to, self.wires.now))
    }

    fn busiest_percent(&self, level: usize) -> Option<u32> {
        self.group_traffic()?.busiest_percent(level, self.wires.now)
    }

    fn is_large_flow(&self, port: u8, to: u16) -> bool {
        let ingress = self.switch.port(port.into());
        self.group_traffic().is_none_or(|traffic| traffic.is_large_flow(ingress, to, self.wires.now))
    }

    fn is_down(&self, port: u8) -> bool {
        self.wires.impaired_links.is_cut(self.port(port).peer.link, self.wires.now, self.wires.now)
    }

    fn is_paused(&self, port: u8, channel: u8) -> bool {
        if self.has_crossbar() {
            return self.is_down(port) || self.lacks_credits(port, channel);
        }
        // Under credits, all classes are marked as paused: see `etherweave_engine::credits`.
        let stopped = self.credits(port).map_or(self.port(port).paused_classes, |credits| credits.blocked_classes);
        self.is_down(port) || stopped & 1 << self.class(channel) != 0
    }

    /// Before a crossbar, while the queue of the output has no room for a largest frame; in a shared buffer, which
    /// takes what comes, while the queue of the class would hold more than that with one.
    fn is_blocked(&self, port: u8, channel: u8) -> bool {
        let is_full = if self.has_crossbar() {
            !self.switches.crossbars.has_room(self.port(port), self.wires.now)
        } else {
            self.occupancy(port, channel) + self.packet_max()
                > self.wires.constants.params.switch.output_queue.get() as u32
        };
        is_full || self.is_paused(port, channel)
    }

    fn packet_max(&self) -> u32 {
        self.wires.constants.largest_frame - PREAMBLE_AND_GAP
    }
}

impl Switches {
    /// A packet has come in by `ingress`; where it leaves is decided, unless it was when the packet left for here.
    #[inline(always)]
    pub fn arrive_routed(&mut self, wires: &mut Wires, ingress: PortIndex, handle: Handle) {
        let is_decided = wires.constants.decisions_ahead.is_some() && wires.packets.route(handle).is_decided();
        let (egress, priority) = match is_decided {
            true => decided_link(wires, handle),
            false => self.decide_link(wires, ingress, handle),
        };
        if wires.must_wait_for_tail(ingress, egress) {
            return wires.wait_for_tail(ingress, handle);
        }
        self.forward_routed(wires, ingress, egress, priority, handle);
    }

    /// Decides where a packet goes that has come in by `ingress`: its egress port, and its priority there.
    #[inline(never)]
    fn decide_link(&mut self, wires: &mut Wires, ingress: PortIndex, handle: Handle) -> (PortIndex, u8) {
        self.decide_route(wires, ingress, handle).link()
    }

    /// Decides where a packet goes that has come in by `ingress`.
    #[inline(always)]
    pub(super) fn decide_route(&mut self, wires: &mut Wires, ingress: PortIndex, handle: Handle) -> PacketRoute {
        if self.group_traffic.is_some() && wires.ports[ingress].peer.link_class == LinkClass::Host {
            self.count_traffic(wires, ingress, handle);
        }
        if let Some(neighbours) = &mut self.neighbour_loads {
            neighbours.advance(wires.now);
        }
        let mut route = *wires.packets.route(handle);
        if wires.ports[ingress].peer.link_class != LinkClass::Host {
            route.routed.hops += 1;
        }
        self.decide(wires, ingress, &mut route);
        *wires.packets.route_mut(handle) = route;
        route
    }

    #[inline(always)]
    fn decide(&self, wires: &Wires, ingress: PortIndex, route: &mut PacketRoute) {
        let port = &wires.ports[ingress];
        let switch = &self.switches[wires.switch_of_port(ingress)];
        let load = SwitchLoad { switches: self, wires, switch, base: route.base };
        let (number, class) = (switch.number_of(ingress) as u8, port.peer.link_class);
        let at = InputChannel { switch: switch.in_plane, port: number, channel: route.channel, class };
        let prepared = self.routing.as_ref().expect("packets are routed one by one");
        let hop = prepared.routing.decide(at, &mut route.routed, load);
        route.egress = switch.port(hop.port.into());
        prepared.assert_hops(&route.routed);
        // A host takes its packets from every priority: they keep theirs.
        if !wires.ports[route.egress].peer.is_host {
            route.channel = hop.channel;
        }
    }

    /// Gives a packet what it has on the link behind `egress`: its priority there, and an outer header or none.
    #[inline(always)]
    pub fn rewrite(&mut self, wires: &mut Wires, egress: PortIndex, handle: Handle) {
        if !wires.constants.rewrites_packets {
            return;
        }
        if wires.constants.outer_header > 0 || wires.constants.trees.is_some() {
            rewrite_header(wires, egress, handle);
        }
        if wires.constants.packet_routing.is_some() {
            let priority = wires.packets.route(handle).next_priority();
            wires.packets[handle].priority = priority;
            self.report_queue(wires, egress, priority);
        }
    }
}

/// Returns what was decided ahead about a packet, when nothing was known of the port.
#[inline(always)]
fn decided_link(wires: &mut Wires, handle: Handle) -> (PortIndex, u8) {
    let (priority, route) = (wires.packets[handle].priority, wires.packets.route_mut(handle));
    // A host takes its packets from every priority: they keep theirs.
    if wires.ports[route.egress].peer.is_host {
        route.channel = priority - route.base;
    }
    route.link()
}

/// Adds or removes an outer header, or changes the payload of a sum.
#[inline(never)]
fn rewrite_header(wires: &mut Wires, egress: PortIndex, handle: Handle) {
    wires.packets[handle].wire = wires.next_wire(egress, handle);
    if let Some(trees) = &wires.constants.trees {
        trees.leave(&mut wires.packets[handle]);
    }
}

#[cfg(test)]
mod tests {
    use etherweave_topology::{Dragonfly, Family};

    use super::*;

    fn after(hops: u8) {
        let topology = Dragonfly { p: 2, a: 4, h: 2, ..Dragonfly::default() }.generate().unwrap();
        let prepared = PreparedRouting::new(RoutingKind::Minimal, &topology).unwrap();
        prepared.assert_hops(&RoutedPacket { src: 1, dst: 2, hops, ..RoutedPacket::default() });
    }

    #[test]
    fn decisions_are_made_ahead_where_they_look_at_no_load() {
        let topology = Dragonfly { p: 2, a: 4, h: 2, ..Dragonfly::default() }.generate().unwrap();
        let at_first_switch = |kind| {
            let ahead = PreparedRouting::new(kind, &topology).unwrap().decisions_ahead();
            ahead.map(|ahead| ahead.at_first_switch)
        };
        assert_eq!(at_first_switch(RoutingKind::Minimal), Some(true));
        assert_eq!(at_first_switch(RoutingKind::UgalLocal(Default::default())), Some(false));
        assert_eq!(at_first_switch(RoutingKind::ProgressiveAdaptive(Default::default())), None);
    }

    #[test]
    fn a_minimal_path_of_a_dragonfly_has_three_links() {
        after(3);
    }

    #[test]
    #[should_panic(expected = "minimal: hop 4 from host 1 to 2; expected at most 3")]
    fn a_packet_that_crosses_more_links_than_its_routing_allows_ends_the_run() {
        after(4);
    }
}
