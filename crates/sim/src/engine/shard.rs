//! A shard: some entities, their events and packets, and the loop that serves them.

use std::ops::Range;
use std::sync::Arc;

use etherweave_kernel::{IndexVec, LocalIndex};
use etherweave_primitives::{ChannelId, Duration, Time};

use super::event::{Event, EventKey, Kind, PrefetchHint};
use super::outbox::ShardOutbox;
use super::queue::EventQueue;
use crate::captured_port::CapturedPort;
use crate::constants::RunConstants;
use crate::fingerprint::Fingerprint;
use crate::fluid::Fluid;
use crate::host::{Core, Endpoint, Host, ReceiveQueue, Thread};
use crate::indices::{CoreIndex, EndpointIndex, HostIndex, PortIndex, ReceiveQueueIndex, SwitchIndex, ThreadIndex};
use crate::losses::ResentData;
use crate::packet::{Handle, NO_SIDE, Packet, PacketKind, Packets};
use crate::sampling::Sampler;
use crate::switch::buffer::{Group, SharedBuffer};
use crate::switch::contention::Contention;
use crate::switch::credits::CreditCounters;
use crate::switch::group_traffic::GroupTraffic;
use crate::switch::impaired_link::ImpairedLinks;
use crate::switch::input_queued::Crossbars;
use crate::switch::neighbour_loads::NeighbourLoads;
use crate::switch::per_packet::Flowlet;
use crate::switch::port::{Owner, Peer, PeerLink, Port};

/// A switch: its buffer. Ports and counters lie in the shard's flat vectors.
pub(crate) struct Switch {
    /// Its number in the fabric.
    pub number: u32,
    /// The first of its ports.
    pub first_port: PortIndex,
    /// How many ports it has.
    pub ports: u16,
    /// Shared by all its ports.
    pub buffer: SharedBuffer,
}

impl Switch {
    /// The port that has a number at the switch.
    pub fn port(&self, number: u16) -> PortIndex {
        PortIndex::new(self.first_port.get() + u32::from(number))
    }

    /// The number of one of its ports at the switch.
    pub fn number_of(&self, port: PortIndex) -> u16 {
        (port.get() - self.first_port.get()) as u16
    }

    /// Where its ports stand.
    pub fn places(&self) -> Range<usize> {
        self.first_port.place()..self.port(self.ports).place()
    }
}

/// What a shard has counted. Sums over shards are totals of the run.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ShardTotals {
    /// Packets made by hosts, acknowledgements included.
    pub created: u64,
    /// Packets that reached their host.
    pub delivered: u64,
    /// Packets dropped in switches or full NICs.
    pub dropped: u64,
    /// Packets discarded because of bit errors on a link.
    pub damaged: u64,
    /// Packets lost on links that were down.
    pub lost: u64,
    /// Transmissions: one packet over one link.
    pub hops: u64,
    /// Events served.
    pub events: u64,
    /// Jobs and finite streams that are not finished.
    pub unfinished: u64,
    /// Messages between ranks of different hosts that were handed to a connection of RoCE.
    pub messages: u64,
    /// Those that waited behind one of at least eight times their length.
    pub messages_behind: u64,
    /// When a job other than one in the background last made progress: new bytes at their receiver, or a task done.
    pub last_progress: Time,
}

etherweave_kernel::wire! {
    ShardTotals {
        created, delivered, dropped, damaged, lost, hops, events, unfinished, messages, messages_behind, last_progress
    }
}

impl ShardTotals {
    /// The sum over shards.
    pub fn sum<'a>(all: impl Iterator<Item = &'a ShardTotals>) -> ShardTotals {
        let mut sum = ShardTotals::default();
        for totals in all {
            sum.created += totals.created;
            sum.delivered += totals.delivered;
            sum.dropped += totals.dropped;
            sum.damaged += totals.damaged;
            sum.lost += totals.lost;
            sum.hops += totals.hops;
            sum.events += totals.events;
            sum.unfinished += totals.unfinished;
            sum.messages += totals.messages;
            sum.messages_behind += totals.messages_behind;
            sum.last_progress = sum.last_progress.max(totals.last_progress);
        }
        sum
    }
}

/// See the module.
pub(crate) struct Shard {
    pub id: u32,
    pub now: Time,
    pub queue: EventQueue,
    pub packets: Packets,
    pub ports: IndexVec<PortIndex, Port>,
    pub groups: Vec<Group>,
    pub credits: CreditCounters,
    pub crossbars: Crossbars,
    pub switches: IndexVec<SwitchIndex, Switch>,
    pub hosts: IndexVec<HostIndex, Host>,
    pub endpoints: IndexVec<EndpointIndex, Endpoint>,
    /// Receive queues of the kernel that connections use.
    pub receive_queues: IndexVec<ReceiveQueueIndex, ReceiveQueue>,
    pub threads: IndexVec<ThreadIndex, Thread>,
    /// Cores of all hosts, where ranks and receive queues share them.
    pub cores: IndexVec<CoreIndex, Core>,
    /// When the memory of each host has copied all that was begun, where that has a rate.
    pub memory_free_at: IndexVec<HostIndex, Time>,
    pub constants: Arc<RunConstants>,
    pub outboxes: Vec<ShardOutbox>,
    pub totals: ShardTotals,
    pub fingerprint: Option<Fingerprint>,
    pub captures: Vec<CapturedPort>,
    /// Whether departing packets are captured or given telemetry.
    pub observes_departures: bool,
    /// Time series, where they are asked for.
    pub sampler: Option<Box<Sampler>>,
    /// The channel that each port sends into.
    pub channels: IndexVec<PortIndex, ChannelId>,
    /// Of endpoints, where a routing distinguishes flowlets.
    pub flowlets: IndexVec<EndpointIndex, Flowlet>,
    /// Queues of other switches, where a routing compares them.
    pub neighbour_loads: Option<Box<NeighbourLoads>>,
    /// Traffic between groups, where a controller measures it.
    pub group_traffic: Option<Box<GroupTraffic>>,
    /// Packets that have arrived after they were sent again, where links fail.
    pub resent: Vec<ResentData>,
    /// Active connections, in flow-level mode.
    pub fluid: Option<Box<Fluid>>,
    /// Of connections in packets: their places among those, where both exist.
    pub places_in_packets: IndexVec<EndpointIndex, u32>,
    /// Links out of this shard that damage frames, have a shaper or sleep.
    pub impaired_links: ImpairedLinks,
    /// Of each output, once a packet was dropped: which input goes before others.
    pub contentions: IndexVec<PortIndex, Contention>,
}

impl Shard {
    /// A shard without entities, one of `shards`.
    pub fn new(id: u32, shards: usize, constants: &Arc<RunConstants>) -> Shard {
        Shard {
            id,
            now: Time::ZERO,
            queue: EventQueue::new(1),
            packets: Packets::default(),
            ports: IndexVec::default(),
            groups: Vec::new(),
            credits: CreditCounters::default(),
            crossbars: Crossbars::default(),
            switches: IndexVec::default(),
            hosts: IndexVec::default(),
            endpoints: IndexVec::default(),
            receive_queues: IndexVec::default(),
            cores: IndexVec::default(),
            memory_free_at: IndexVec::default(),
            threads: IndexVec::default(),
            constants: Arc::clone(constants),
            outboxes: (0..shards).map(|_| ShardOutbox::default()).collect(),
            totals: ShardTotals::default(),
            fingerprint: None,
            captures: Vec::new(),
            observes_departures: false,
            sampler: None,
            channels: IndexVec::default(),
            flowlets: IndexVec::default(),
            neighbour_loads: None,
            group_traffic: None,
            resent: Vec::new(),
            fluid: None,
            places_in_packets: IndexVec::default(),
            impaired_links: ImpairedLinks::default(),
            contentions: IndexVec::default(),
        }
    }

    /// A job has made progress. Of one in the background that says nothing where others may be stuck.
    #[inline]
    pub fn progress_of(&mut self, thread: ThreadIndex) {
        let constants = &self.constants;
        if !constants.has_background || !constants.is_background[self.threads[thread].job as usize] {
            self.totals.last_progress = self.now;
        }
    }

    /// Starts the transmitter now if it is idle, or when it becomes free.
    #[inline(never)]
    pub fn kick(&mut self, port_index: PortIndex) {
        let port = &self.ports[port_index];
        if port.free_scheduled {
            return;
        }
        if port.busy_until <= self.now {
            self.transmit(port_index);
        } else {
            self.expect_free(port_index);
        }
    }

    #[inline(always)]
    pub(super) fn transmit(&mut self, port_index: PortIndex) {
        match self.ports[port_index].owner {
            Owner::Switch(_) => self.transmit_from_switch(port_index),
            Owner::Host(host) => self.transmit_from_host(host),
        }
    }

    #[inline(always)]
    pub(super) fn expect_free(&mut self, port_index: PortIndex) {
        let key = self.key(port_index, Kind::TransmitterFree, 0);
        let port = &mut self.ports[port_index];
        port.free_scheduled = true;
        self.queue.push(Event::new(port.busy_until, key, 0));
    }

    /// Puts a packet on the wire now; if `others_wait`, sees to it that the next one follows.
    #[inline(always)]
    pub fn start(&mut self, port_index: PortIndex, handle: Handle, others_wait: bool) {
        self.start_towards(port_index, handle, others_wait, |routes, packet| routes[packet.route as usize]);
    }

    /// The same; `egress` gives the port by which the packet leaves the next switch, if routes are known beforehand.
    #[inline(always)]
    pub fn start_towards(
        &mut self,
        port_index: PortIndex,
        handle: Handle,
        others_wait: bool,
        egress: impl FnOnce(&[PortIndex], &Packet) -> PortIndex,
    ) {
        let Packet { wire, priority, .. } = self.packets[handle];
        let port = &mut self.ports[port_index];
        debug_assert!(port.busy_until <= self.now, "one packet at a time on a wire");
        let duration = port.serialization_time(wire);
        port.busy_until = self.now + duration;
        debug_assert!(self.packets.tail(handle) <= port.busy_until, "no byte is sent before it is there");
        let counters = port.counters_mut(usize::from(priority));
        counters.tx_packets += 1;
        counters.tx_bytes += u64::from(wire);
        let (peer, arrival) = (port.peer, self.now + duration.min(port.header_time) + port.delay);
        self.totals.hops += 1;
        if self.observes_departures {
            self.observe_departure(port_index, handle);
        }
        if others_wait {
            self.expect_free(port_index);
        }
        let kind = if peer.is_host { Kind::Deliver } else { Kind::Arrive };
        let key = self.key(peer.port, kind, 0);
        if peer.link == PeerLink::to_shard(self.id) {
            self.expect_packet_towards(arrival, key, handle, egress);
        } else {
            self.post_over(peer.link, arrival, key, handle);
        }
    }

    /// Telemetry and captures of a packet that begins to leave.
    #[cold]
    #[inline(never)]
    fn observe_departure(&mut self, port: PortIndex, handle: Handle) {
        if self.constants.telemetry_switches > 0 {
            self.write_telemetry(port, handle);
        }
        if !self.captures.is_empty() {
            self.capture_packet(port, handle, true);
        }
    }

    /// Schedules an event of this shard after a delay.
    #[inline]
    pub fn schedule(&mut self, delay: Duration, place: PortIndex, kind: Kind, index: u32) {
        self.schedule_at(self.now + delay, place, kind, index);
    }

    /// Schedules an event of this shard.
    #[inline]
    pub fn schedule_at(&mut self, time: Time, place: PortIndex, kind: Kind, index: u32) {
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
    pub fn post_bits(&mut self, peer: Peer, kind: Kind, index: u32, time: Time, bits: u32) {
        let key = self.key(peer.port, kind, index);
        match self.impaired_links.shard_at(peer.link) {
            shard if shard == self.id => self.queue.push(Event::new(time, key, bits)),
            shard => self.outboxes[shard as usize].events.push(Event::new(time, key, bits)),
        }
    }

    /// Takes in what another shard has sent.
    pub fn receive(&mut self, outbox: &ShardOutbox) {
        if let Some(neighbours) = &mut self.neighbour_loads {
            neighbours.receive(&outbox.loads);
        }
        if let Some(traffic) = &mut self.group_traffic {
            traffic.receive(&outbox.loads);
        }
        for &event in &outbox.events {
            if event.key.kind().has_packet() {
                let mut packet = outbox.packets[event.bits as usize];
                if packet.side != NO_SIDE {
                    let sent = packet.side as usize;
                    packet.side = self.packets.insert_side(outbox.sides[sent]);
                    if let Some(&path) = outbox.paths.get(sent) {
                        self.packets.set_path(packet.side, path);
                    }
                }
                let handle = self.packets.insert(packet);
                if let Some(&route) = outbox.routes.get(event.bits as usize) {
                    self.packets.set_route(handle, route);
                }
                self.expect_packet(event.time, event.key, handle);
            } else {
                self.queue.push(event);
            }
        }
    }

    /// Schedules an event with a packet, with a hint at what the packet will touch.
    #[inline(always)]
    pub fn expect_packet(&mut self, time: Time, key: EventKey, handle: Handle) {
        self.expect_packet_towards(time, key, handle, |routes, packet| routes[packet.route as usize]);
    }

    #[inline(always)]
    fn expect_packet_towards(
        &mut self,
        time: Time,
        key: EventKey,
        handle: Handle,
        egress: impl FnOnce(&[PortIndex], &Packet) -> PortIndex,
    ) {
        let packet = &self.packets[handle];
        let hint = match key.kind() {
            Kind::Arrive if self.constants.packet_routing.is_none() => {
                PrefetchHint::egress(egress(&self.constants.routes, packet), packet.priority)
            }
            Kind::Deliver | Kind::Announce => PrefetchHint::endpoint(packet.endpoint, packet.kind == PacketKind::Data),
            _ => PrefetchHint::default(),
        };
        self.queue.push(Event { time, key, bits: handle.get(), hint });
    }

    #[inline]
    pub fn key(&self, place: PortIndex, kind: Kind, index: u32) -> EventKey {
        EventKey::new(place, kind, index)
    }

    /// Asserts that every port has sent packets no faster than its rate. Messages of flow-level mode are not sent by
    /// ports.
    ///
    /// # Panics
    /// When one has.
    pub(super) fn assert_ports_within_capacity(&self, end: Time) {
        if self.fluid.is_none() {
            self.ports.iter().for_each(|port| port.assert_within_capacity(end, self.constants.largest_frame));
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
    pub fn host_of_port(&self, port: PortIndex) -> Option<HostIndex> {
        match self.ports[port].owner {
            Owner::Switch(_) => None,
            Owner::Host(host) => Some(host),
        }
    }
}
