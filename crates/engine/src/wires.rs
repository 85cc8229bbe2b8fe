//! Links and what moves over them: time, events, packets, ports as transmitters, and the way to other shards.
//!
//! Switches and hosts own what lies behind their ports, and change wires that they are lent.

use std::sync::Arc;

use etherweave_fluid::Fluid;
use etherweave_kernel::indices::{HostIndex, PortIndex, SwitchIndex};
use etherweave_kernel::memory::prefetch;
use etherweave_kernel::{IndexVec, LocalIndex};
use etherweave_primitives::{ChannelId, Duration, Time};

use super::event::{Event, EventKey, Kind, PrefetchHint};
use super::port::{Owner, Peer, PeerLink, Port};
use super::{
    credits::CreditCounters, decided_ahead::FarEnd, impaired_link::ImpairedLinks, outbox::RemoteOutbox,
    queue::EventQueue, totals::EventTotals,
};
use crate::packet::{Handle, Packet, PacketKind, Packets};
use crate::{
    captured_port::CapturedPort, constants::RunConstants, fingerprint::Fingerprint, losses::ResentData, trace::Trace,
};

/// See the module.
pub struct Wires {
    /// Its number in the run.
    pub id: u32,
    /// Time of the present event.
    pub now: Time,
    /// Events to come.
    pub queue: EventQueue,
    /// Packets on links, in switches and NICs.
    pub packets: Packets,
    /// Ports of switches and hosts, as transmitters.
    pub ports: IndexVec<PortIndex, Port>,
    /// The channel that each port sends into.
    pub channels: IndexVec<PortIndex, ChannelId>,
    /// The switch at the far end of each port, where routes are decided ahead; otherwise empty.
    pub far_ends: IndexVec<PortIndex, FarEnd>,
    /// Credits of the ports, under flow control by credits.
    pub credits: CreditCounters,
    /// Parameters and tables of the run.
    pub constants: Arc<RunConstants>,
    /// Events for other shards.
    pub outboxes: Vec<RemoteOutbox>,
    /// Counts of the shard.
    pub totals: EventTotals,
    /// Hash of all arrivals, if it is wanted.
    pub fingerprint: Option<Fingerprint>,
    /// Time from which the fingerprint counts: the start of the run, or of a part of it that is compared with others.
    pub fingerprint_from: Time,
    /// Packets that switches have marked or not by a random number.
    pub marking_draws: u64,
    /// Ports whose frames are captured.
    pub captures: Vec<CapturedPort>,
    /// Whether departing packets are captured, given telemetry or traced.
    pub observes_departures: bool,
    /// Waits of chosen messages, where a run is traced.
    pub trace: Option<Box<Trace>>,
    /// Links out of this shard that damage frames, have a shaper or sleep.
    pub impaired_links: ImpairedLinks,
    /// Packets that have arrived after they were sent again, where links fail.
    pub resent: Vec<ResentData>,
    /// Active connections, in flow-level mode.
    pub fluid: Option<Box<Fluid>>,
}

impl Wires {
    /// Wires without ports, of a shard of `shards`.
    pub fn new(id: u32, shards: usize, constants: &Arc<RunConstants>) -> Wires {
        Wires {
            id,
            now: Time::ZERO,
            queue: EventQueue::new(1),
            packets: Packets::default(),
            ports: IndexVec::default(),
            channels: IndexVec::default(),
            far_ends: IndexVec::default(),
            credits: CreditCounters::default(),
            constants: Arc::clone(constants),
            outboxes: (0..shards).map(|_| RemoteOutbox::default()).collect(),
            totals: EventTotals::default(),
            fingerprint: None,
            fingerprint_from: Time::ZERO,
            marking_draws: 0,
            captures: Vec::new(),
            observes_departures: false,
            trace: None,
            impaired_links: ImpairedLinks::default(),
            resent: Vec::new(),
            fluid: None,
        }
    }

    /// Whether a port can transmit now; one that is busy will be free later, and be asked again, with a hint at what it
    /// sends `next`.
    #[inline(always)]
    pub fn may_transmit(&mut self, port_index: PortIndex, next: impl FnOnce() -> PrefetchHint) -> bool {
        let port = &self.ports[port_index];
        if port.free_scheduled {
            return false;
        }
        let is_idle = port.busy_until <= self.now;
        if !is_idle {
            self.expect_free(port_index, next());
        }
        is_idle
    }

    /// Has a port asked for its next packet now or when it is free, by an event of its own.
    pub fn ask_again(&mut self, port_index: PortIndex) {
        let port = &mut self.ports[port_index];
        if !port.free_scheduled {
            port.busy_until = port.busy_until.max(self.now);
            self.expect_free(port_index, PrefetchHint::default());
        }
    }

    /// Sees to it that a busy port is asked for its next packet when it becomes free.
    #[inline(always)]
    pub fn expect_free(&mut self, port_index: PortIndex, hint: PrefetchHint) {
        let key = self.key(port_index, Kind::TransmitterFree, 0);
        let port = &mut self.ports[port_index];
        port.free_scheduled = true;
        self.queue.push(Event { time: port.busy_until, key, bits: 0, hint });
    }

    /// Puts a packet on the wire now; if `others_wait`, sees to it that the next one follows.
    #[inline(always)]
    pub fn start(&mut self, port_index: PortIndex, handle: Handle, others_wait: bool) {
        let others = others_wait.then(PrefetchHint::default);
        self.start_towards(port_index, handle, others, |routes, packet| routes[packet.route as usize]);
    }

    /// The same; `others`, if any wait, is a hint at what the next one will touch. `egress` gives the port by which the
    /// packet leaves the next switch, if routes are known beforehand.
    #[inline(always)]
    pub fn start_towards(
        &mut self,
        port_index: PortIndex,
        handle: Handle,
        others: Option<PrefetchHint>,
        egress: impl FnOnce(&[PortIndex], &Packet) -> PortIndex,
    ) {
        self.start_with(port_index, handle, others, |_| {}, egress);
    }

    /// Puts a packet on the wire behind which none waits; `change` gives it what it has from here on, so that it is
    /// looked up once.
    #[inline(always)]
    pub fn start_changed(&mut self, port_index: PortIndex, handle: Handle, change: impl FnOnce(&mut Packet)) {
        self.start_with(port_index, handle, None, change, |routes, packet| routes[packet.route as usize]);
    }

    #[inline(always)]
    fn start_with(
        &mut self,
        port_index: PortIndex,
        handle: Handle,
        others: Option<PrefetchHint>,
        change: impl FnOnce(&mut Packet),
        egress: impl FnOnce(&[PortIndex], &Packet) -> PortIndex,
    ) {
        let tail = self.packets.tail(handle);
        // All is looked up before anything is written: where it stands stays in registers then.
        let packet = &mut self.packets[handle];
        let port = &mut self.ports[port_index];
        change(packet);
        let (peer, duration) = (port.peer, port.serialization_time(packet.wire));
        let (wire, priority) = (packet.wire, usize::from(packet.priority));
        let (free, arrival) = (self.now + duration, self.now + duration.min(port.header_time) + port.delay);
        debug_assert!(port.busy_until <= self.now, "one packet at a time on a wire");
        debug_assert!(tail <= free, "no byte is sent before it is there");
        let key = EventKey::new(peer.port, if peer.is_host { Kind::Deliver } else { Kind::Arrive }, 0);
        let hint = match &self.constants.decisions_ahead {
            Some(ahead) if key.is(Kind::Arrive) && ahead.cover(&peer) => {
                let routing = self.constants.packet_routing.as_deref().expect("the routing decides for every packet");
                let (far, route) = (&self.far_ends[port_index], self.packets.route_mut(handle));
                routing.decide_ahead(far, &port.peer, route, ahead.hops_max)
            }
            Some(_) | None => hint(&self.constants, key, packet, egress),
        };
        port.busy_until = free;
        port.free_scheduled |= others.is_some();
        let counters = port.counters_mut(priority);
        counters.tx_packets += 1;
        counters.tx_bytes += u64::from(wire);
        self.totals.hops += 1;
        if self.observes_departures {
            self.observe_departure(port_index, handle);
        }
        if let Some(hint) = others {
            let key = self.key(port_index, Kind::TransmitterFree, 0);
            self.queue.push(Event { time: free, key, bits: 0, hint });
        }
        if peer.link == PeerLink::to_shard(self.id) {
            self.queue.push(Event { time: arrival, key, bits: handle.get(), hint });
        } else {
            self.post_over(peer.link, arrival, key, handle);
        }
    }

    /// Telemetry, captures and traces of a packet that begins to leave.
    #[cold]
    #[inline(never)]
    fn observe_departure(&mut self, port: PortIndex, handle: Handle) {
        if self.constants.telemetry_switches > 0 {
            self.write_telemetry(port, handle);
        }
        if !self.captures.is_empty() {
            self.capture_packet(port, handle, true);
        }
        if self.trace.is_some() {
            self.trace_departure(port, handle);
        }
    }

    /// A job or finite stream ends.
    pub fn count_end(&mut self) {
        self.totals.unfinished -= 1;
        self.totals.last_end = self.now;
    }

    /// Schedules an event of this shard after a delay.
    #[inline]
    pub fn schedule(&mut self, delay: Duration, place: PortIndex, kind: Kind, index: u32) {
        self.schedule_at(self.now + delay, place, kind, index);
    }

    /// Schedules an event of this shard.
    #[inline]
    pub fn schedule_at(&mut self, time: Time, place: PortIndex, kind: Kind, index: u32) {
        debug_assert!(time >= self.now, "event in the past: {kind:?} {index} at {time:?}, now {:?}", self.now);
        let key = self.key(place, kind, index);
        self.queue.push(Event::new(time, key, 0));
    }

    /// Sends a packet to a port that may lie in another shard.
    #[inline]
    pub fn post(&mut self, peer: Peer, kind: Kind, index: u32, time: Time, handle: Handle) {
        let key = self.key(peer.port, kind, index);
        if peer.link == PeerLink::to_shard(self.id) {
            self.expect_packet(time, key, handle);
        } else {
            self.post_over(peer.link, time, key, handle);
        }
    }

    #[inline(never)]
    fn post_over(&mut self, link: PeerLink, mut time: Time, key: EventKey, handle: Handle) {
        if key.kind() != Kind::Announce {
            time += self.wake_link(link);
            let until = self.tail_leaves(link).max(time);
            if self.impaired_links.is_cut(link, self.now, until) {
                return self.lose(link, until, handle);
            }
        }
        let (time, key) = self.cross_link(link, time, key, handle);
        match self.impaired_links.shard_at(link) {
            shard if shard == self.id => self.expect_packet(time, key, handle),
            shard => self.post_remote(shard, time, key, handle),
        }
    }

    fn post_remote(&mut self, shard: u32, time: Time, key: EventKey, handle: Handle) {
        let mut packet = self.packets.remove(handle);
        let outbox = &mut self.outboxes[shard as usize];
        if self.constants.packet_routing.is_some() {
            outbox.routes.push(self.packets.route_if_any(handle));
        }
        if let Some(blocks) = self.packets.remove_side(packet.side) {
            if self.constants.telemetry_switches > 0 {
                outbox.paths.push(self.packets.path(packet.side).copied().unwrap_or_default());
            }
            packet.side = outbox.sides.len() as u32;
            outbox.sides.push(blocks);
        }
        outbox.events.push(Event::new(time, key, outbox.packets.len() as u32));
        outbox.packets.push(packet);
    }

    /// Sends an event without a packet.
    #[inline(always)]
    pub fn post_bits(&mut self, peer: Peer, kind: Kind, index: u32, time: Time, bits: u32) {
        let event = Event::new(time, self.key(peer.port, kind, index), bits);
        if peer.link == PeerLink::to_shard(self.id) {
            self.queue.push(event);
        } else {
            self.post_bits_over(peer.link, event);
        }
    }

    #[inline(never)]
    fn post_bits_over(&mut self, link: PeerLink, event: Event) {
        match self.impaired_links.shard_at(link) {
            shard if shard == self.id => self.queue.push(event),
            shard => self.outboxes[shard as usize].events.push(event),
        }
    }

    /// Schedules an event with a packet, with a hint at what the packet will touch.
    #[inline(always)]
    pub fn expect_packet(&mut self, time: Time, key: EventKey, handle: Handle) {
        let packet = &self.packets[handle];
        let is_ahead = key.is(Kind::Arrive) && self.constants.decisions_ahead.is_some();
        let hint = match is_ahead && self.packets.route(handle).is_decided() {
            true => PrefetchHint::egress(self.packets.route(handle).egress, packet.priority),
            false => hint(&self.constants, key, packet, |routes, packet| routes[packet.route as usize]),
        };
        self.queue.push(Event { time, key, bits: handle.get(), hint });
    }

    /// The key of an event of the shard.
    #[inline]
    pub fn key(&self, place: PortIndex, kind: Kind, index: u32) -> EventKey {
        EventKey::new(place, kind, index)
    }

    /// Asserts that every port has sent packets no faster than its rate; in flow-level mode, that no link has carried
    /// more than that.
    ///
    /// # Panics
    /// When one has.
    pub fn assert_ports_within_capacity(&self, end: Time) {
        match &self.fluid {
            None => {
                self.ports.iter().for_each(|port| port.assert_within_capacity(end, self.constants.largest_on_wire()))
            }
            Some(fluid) => assert!(fluid.are_links_within_capacity(end), "no link carries more than its capacity"),
        }
    }

    /// The switch that a port belongs to.
    ///
    /// # Panics
    /// When it belongs to a host.
    #[inline]
    pub fn switch_of_port(&self, port: PortIndex) -> SwitchIndex {
        match self.ports[port].owner {
            Owner::Switch(switch) => switch,
            Owner::Host(_) => unreachable!("a host has no shared buffer"),
        }
    }

    /// The host that a port belongs to, if it does.
    #[inline]
    pub fn host_of_port(&self, port: PortIndex) -> Option<HostIndex> {
        match self.ports[port].owner {
            Owner::Switch(_) => None,
            Owner::Host(host) => Some(host),
        }
    }

    /// Whether packets are forwarded as soon as they come to a switch, by the port alone that their route names, and
    /// enter no fingerprint.
    pub fn has_plain_arrivals(&self) -> bool {
        let constants = &self.constants;
        self.fingerprint.is_none()
            && (constants.packet_routing.is_none() || constants.decisions_ahead.is_some_and(|ahead| ahead.are_all()))
            && !constants.may_underrun
            && constants.connection_hosts.is_empty()
            && constants.watchdog.is_none()
            && constants.trees.is_none()
    }

    /// Begins to fetch what a decision about a packet behind `port` needs.
    #[inline]
    pub fn prefetch_far_end(&self, port: PortIndex) {
        prefetch(&self.far_ends, port.place(), size_of::<FarEnd>());
    }

    /// Adds an arrival to the fingerprint of the run, where there is one.
    #[inline]
    pub fn note_arrival(&mut self, port: PortIndex, handle: Handle) {
        if let Some(fingerprint) = &mut self.fingerprint {
            let time = self.now.since(self.fingerprint_from);
            fingerprint.add(time, self.channels[port], &self.packets[handle]);
        }
    }
}

/// Hint at the memory that an event with a packet will touch; `egress` gives its port at the next switch.
#[inline(always)]
fn hint(
    constants: &RunConstants,
    key: EventKey,
    packet: &Packet,
    egress: impl FnOnce(&[PortIndex], &Packet) -> PortIndex,
) -> PrefetchHint {
    if key.is(Kind::Arrive) {
        match constants.packet_routing {
            None => PrefetchHint::egress(egress(&constants.routes, packet), packet.priority),
            Some(_) => PrefetchHint::NO_EGRESS,
        }
    } else if key.is(Kind::Deliver) || key.is(Kind::Announce) {
        PrefetchHint::endpoint(packet.endpoint, packet.kind == PacketKind::Data)
    } else {
        PrefetchHint::default()
    }
}
