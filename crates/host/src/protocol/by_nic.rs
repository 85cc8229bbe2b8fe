//! Transports that NICs carry out: packets and timers of a [`ConnectionEnd`], whichever it is, and what reaches the
//! owner.

use etherweave_engine::Wires;
use etherweave_engine::constants::RunConstants;
use etherweave_engine::event::{Event, Kind};
use etherweave_engine::packet::{NO_SIDE, Packet, PacketKind, Packets, flags};
use etherweave_engine::params::{Fidelity, SimParams, Transport, TransportParams};
use etherweave_kernel::indices::EndpointIndex;
use etherweave_primitives::{BitRate, Bytes, Duration, Time};
use etherweave_transport::connection::{Alarm, Alarms};
use etherweave_transport::packet::TransportPacket;
use etherweave_transport::roce::{Operation, Reception};
use etherweave_transport::{ConnectionEnd, SackBlocks};

use super::{Protocol, ProtocolState, TransportState};
use crate::message::MessageKind;
use crate::mpi::operation;
use crate::{Endpoint, Hosts, Nics};

/// The state of an endpoint's connection, and the parameters of its transport.
#[inline]
fn parts<'a, E: ConnectionEnd + ProtocolState>(
    nics: &'a mut Nics,
    endpoint: EndpointIndex,
    constants: &'a RunConstants,
) -> (&'a mut E, &'a E::Params) {
    let params = params::<E>(nics.endpoints[endpoint].protocol, constants);
    (E::of(&mut nics.states, endpoint), params)
}

#[inline]
fn params<E: ConnectionEnd>(protocol: Protocol, constants: &RunConstants) -> &E::Params {
    let transport = constants.params.transport_of(protocol.transport());
    E::params(transport).expect("an endpoint exists only under its transport")
}

impl<E: ConnectionEnd + ProtocolState> TransportState for E {
    fn begin(_: &SimParams, transport: &Transport, fidelity: Fidelity, rate: BitRate) -> Option<E> {
        let params = E::params(transport).filter(|_| fidelity.is_packet())?;
        Some(ConnectionEnd::begin(params, rate))
    }

    fn memory(transport: &Transport) -> Option<u64> {
        E::params(transport).map(<E as ConnectionEnd>::memory)
    }

    fn finish(&mut self) {
        ConnectionEnd::finish(self);
    }

    #[inline]
    fn next_packet(
        nics: &mut Nics,
        endpoint: EndpointIndex,
        now: Time,
        constants: &RunConstants,
    ) -> (Option<Packet>, bool) {
        let end = &nics.endpoints[endpoint];
        let (params, headers) = (params::<E>(end.protocol, constants), constants.headers_of(end.protocol.transport()));
        let state = E::of(&mut nics.states, endpoint);
        let Some(content) = ConnectionEnd::next_packet(state, now, params, headers) else { return (None, false) };
        let has_more = state.may_send(params);
        (Some(end.packet_of(&content)), has_more)
    }

    #[inline]
    fn entropy(packet: &Packet) -> u16 {
        <E as ConnectionEnd>::entropy(&packet.content())
    }

    #[inline]
    fn after_sending(nics: &mut Nics, wires: &mut Wires, endpoint: EndpointIndex) {
        let (state, params) = parts::<E>(nics, endpoint, &wires.constants);
        let Alarms { timeout, pacing, tail, answered } = ConnectionEnd::after_sending(state, wires.now, params);
        if let Some(end) = answered {
            nics.answer_sent(wires, endpoint, end);
        }
        if let Some((time, restarts)) = tail.filter(|_| wires.constants.packet_routing.is_none()) {
            expect(nics, wires, endpoint, time, Alarm::Tail(restarts));
        }
        if let Some(time) = timeout {
            expect(nics, wires, endpoint, time, Alarm::Timeout);
        }
        if let Some(time) = pacing {
            expect(nics, wires, endpoint, time, Alarm::Pacing);
        }
    }

    fn on_alarm(hosts: &mut Hosts, wires: &mut Wires, endpoint: EndpointIndex, alarm: Alarm) {
        let (state, params) = parts::<E>(&mut hosts.nics, endpoint, &wires.constants);
        let before = state.acknowledged();
        if let Some(time) = ConnectionEnd::on_alarm(state, wires.now, alarm, params) {
            expect(&hosts.nics, wires, endpoint, time, alarm);
        }
        if E::of(&mut hosts.nics.states, endpoint).acknowledged() > before {
            return take_progress::<E>(hosts, wires, endpoint);
        }
        send_control::<E>(&mut hosts.nics, wires, endpoint);
        wake::<E>(&mut hosts.nics, wires, endpoint);
    }

    /// A processor writes short messages with the doorbell; the NIC reads others from memory first.
    fn post(
        hosts: &mut Hosts,
        wires: &mut Wires,
        endpoint: EndpointIndex,
        kind: MessageKind,
        tag: u32,
        bytes: u64,
    ) -> u64 {
        let operation = operation(kind, hosts.nics.sum_role(endpoint, tag));
        let nics = &mut hosts.nics;
        let rate = nics.hosts[nics.endpoints[endpoint].host].rate;
        let (state, params) = parts::<E>(nics, endpoint, &wires.constants);
        state.open(params, rate);
        let payload = params.payload();
        let is_idle = state.is_idle();
        let fetch = nics.fetch(bytes, operation, payload).map(|fetch| wires.now + fetch);
        let ready_at = fetch.max(if is_idle { nics.connected_at(wires.now, endpoint) } else { None });
        let (state, params) = parts::<E>(nics, endpoint, &wires.constants);
        let is_held = ready_at.is_some() && state.hold();
        let posted = ConnectionEnd::post(state, wires.now, bytes, operation, params);
        if wires.fluid.is_some() {
            nics.packets_posted(wires, endpoint, bytes, operation);
        }
        match ready_at.filter(|_| is_held) {
            Some(Time::MAX) => {}
            Some(time) => expect(nics, wires, endpoint, time, Alarm::Pacing),
            None => wake::<E>(nics, wires, endpoint),
        }
        posted
    }

    #[inline]
    fn receive(hosts: &mut Hosts, wires: &mut Wires, endpoint: EndpointIndex, packet: &Packet) {
        match packet.kind {
            PacketKind::Data => take_data::<E>(hosts, wires, endpoint, packet),
            PacketKind::Ack | PacketKind::Nak => take_answer::<E>(hosts, wires, endpoint, packet),
            PacketKind::Cnp => take_notification::<E>(&mut hosts.nics, wires, endpoint, packet),
            PacketKind::Announcement => unreachable!("announcements do not cross the network"),
        }
    }
}

fn expect(nics: &Nics, wires: &mut Wires, endpoint: EndpointIndex, time: Time, alarm: Alarm) {
    let place = nics.hosts[nics.endpoints[endpoint].host].port;
    let (kind, bits) = match alarm {
        Alarm::Timeout => (Kind::TransportTimer, 0),
        Alarm::Pacing => (Kind::Pacing, 0),
        Alarm::Tail(restarts) => (Kind::Pacing, restarts.into()),
    };
    let key = wires.key(place, kind, endpoint.get());
    wires.queue.push(Event::new(time, key, bits));
}

/// Puts the endpoint in the ring if it can send.
#[inline]
fn wake<E: ConnectionEnd + ProtocolState>(nics: &mut Nics, wires: &mut Wires, endpoint: EndpointIndex) {
    let (state, params) = parts::<E>(nics, endpoint, &wires.constants);
    if state.may_send(params) {
        nics.activate(wires, endpoint);
    }
}

#[inline(always)]
fn take_data<E: ConnectionEnd + ProtocolState>(
    hosts: &mut Hosts,
    wires: &mut Wires,
    endpoint: EndpointIndex,
    packet: &Packet,
) {
    if packet.has(flags::CONGESTION) {
        notify_congestion::<E>(&mut hosts.nics, wires, endpoint);
    }
    let keeps_order = wires.constants.packet_routing.is_none();
    let (state, params) = parts::<E>(&mut hosts.nics, endpoint, &wires.constants);
    let Reception { answer, bytes, is_new } = state.on_data(&packet.content(), keeps_order, params);
    let (arrived, grants) = (state.arrived(), E::grants(params));
    if let Some(kind) = answer.kind() {
        send_answer::<E>(&mut hosts.nics, wires, endpoint, kind, packet.side);
    }
    if grants {
        schedule_grant::<E>(&mut hosts.nics, wires, endpoint, Some(&packet.content()));
    }
    if is_new && bytes == 0 {
        hosts.take_ahead(wires, endpoint);
    }
    if bytes > 0 {
        hosts.take_bytes(wires, endpoint, bytes, arrived);
    }
}

fn take_notification<E: ConnectionEnd + ProtocolState>(
    nics: &mut Nics,
    wires: &mut Wires,
    endpoint: EndpointIndex,
    packet: &Packet,
) {
    E::of(&mut nics.states, endpoint).on_congestion(wires.now, &packet.content());
    if E::HAS_CONTROL_PACKETS {
        send_control::<E>(nics, wires, endpoint);
        schedule_grant::<E>(nics, wires, endpoint, None);
        wake::<E>(nics, wires, endpoint);
    }
}

/// Sends the control packet that is due, if there is one.
#[inline]
fn send_control<E: ConnectionEnd + ProtocolState>(nics: &mut Nics, wires: &mut Wires, endpoint: EndpointIndex) {
    if !E::HAS_CONTROL_PACKETS {
        return;
    }
    if let Some(kind) = E::of(&mut nics.states, endpoint).takes_control() {
        send_answer::<E>(nics, wires, endpoint, kind, NO_SIDE);
        schedule_grant::<E>(nics, wires, endpoint, None);
    }
}

/// Has a receiver grant credits when the grants of its host to others leave the link free: sources take turns.
fn schedule_grant<E: ConnectionEnd + ProtocolState>(
    nics: &mut Nics,
    wires: &mut Wires,
    endpoint: EndpointIndex,
    arrival: Option<&TransportPacket>,
) {
    let end = &nics.endpoints[endpoint];
    let (params, pace) = (params::<E>(end.protocol, &wires.constants), &mut nics.hosts[end.host].nic.grants);
    let state = E::of(&mut nics.states, endpoint);
    if let Some(time) = state.schedule_grant(wires.now, arrival, pace, params) {
        expect(nics, wires, endpoint, time, Alarm::Tail(1));
    }
}

/// Notifies the sender of a mark, if its transport does so now.
fn notify_congestion<E: ConnectionEnd + ProtocolState>(nics: &mut Nics, wires: &mut Wires, endpoint: EndpointIndex) {
    let (state, params) = parts::<E>(nics, endpoint, &wires.constants);
    if state.notifies_congestion(wires.now, params) {
        let end = &nics.endpoints[endpoint];
        let wire = wires.constants.headers_of(end.protocol.transport()).notification;
        let packet = end.packet(PacketKind::Cnp, wire, 0);
        nics.send_control(wires, endpoint, packet);
    }
}

/// Answers a packet, whose entry in the side slab goes back with the answer.
fn send_answer<E: ConnectionEnd + ProtocolState>(
    nics: &mut Nics,
    wires: &mut Wires,
    endpoint: EndpointIndex,
    kind: PacketKind,
    side: u32,
) {
    let end = &nics.endpoints[endpoint];
    let headers = wires.constants.headers_of(end.protocol.transport());
    let priority = params::<E>(end.protocol, &wires.constants).control_priority();
    let answer = E::of(&mut nics.states, endpoint).answer(kind, headers);
    let mut packet = end.packet_of(&answer.packet);
    packet.side = side;
    packet.priority = priority.map_or(packet.priority, |priority| priority.get());
    if let Some(blocks) = answer.blocks.filter(|blocks| blocks.iter().any(|block| !block.is_empty())) {
        attach(&mut wires.packets, blocks, &mut packet);
    }
    nics.send_control(wires, endpoint, packet);
}

/// Puts blocks on an answer, which has taken over the side entry of the packet that it answers.
fn attach(packets: &mut Packets, blocks: SackBlocks, packet: &mut Packet) {
    if packet.side == NO_SIDE {
        packet.side = packets.insert_side(blocks);
    } else {
        *packets.side_mut(packet.side) = blocks;
    }
}

#[inline(always)]
fn take_answer<E: ConnectionEnd + ProtocolState>(
    hosts: &mut Hosts,
    wires: &mut Wires,
    endpoint: EndpointIndex,
    packet: &Packet,
) {
    let (state, params) = parts::<E>(&mut hosts.nics, endpoint, &wires.constants);
    if let Some(path) = wires.packets.path(packet.side) {
        state.on_telemetry(path, packet.acknowledged);
    }
    let blocks = wires.packets.remove_side(packet.side);
    if let Some(time) = state.on_answer(wires.now, &packet.content(), blocks, params) {
        expect(&hosts.nics, wires, endpoint, time, Alarm::Timeout);
    }
    send_control::<E>(&mut hosts.nics, wires, endpoint);
    take_progress::<E>(hosts, wires, endpoint);
}

/// Goes on where a connection has learned what has arrived.
#[inline]
fn take_progress<E: ConnectionEnd + ProtocolState>(hosts: &mut Hosts, wires: &mut Wires, endpoint: EndpointIndex) {
    let state = E::of(&mut hosts.nics.states, endpoint);
    let acknowledged = state.acknowledged();
    if wires.fluid.is_some() && state.is_idle() {
        hosts.nics.packets_acknowledged(wires, endpoint);
    }
    wake::<E>(&mut hosts.nics, wires, endpoint);
    if hosts.nics.initiators.is_some() && E::of(&mut hosts.nics.states, endpoint).is_idle() {
        hosts.nics.release_initiator(wires, endpoint);
    }
    hosts.acknowledged(wires, endpoint, acknowledged);
}

impl Endpoint {
    /// A packet of this endpoint with what its transport wrote.
    #[inline]
    fn packet_of(&self, content: &TransportPacket) -> Packet {
        let mut packet = self.packet(content.kind, content.wire, content.payload);
        packet.set_header(content.header);
        (packet.offset, packet.acknowledged, packet.sent) = (content.offset, content.acknowledged, content.sent);
        packet.flags = content.flags;
        packet
    }
}

impl Nics {
    /// Time until the NIC has the first packet of a message. A processor writes short messages with the doorbell; a NIC
    /// reads responses from memory.
    pub(crate) fn fetch(&self, bytes: u64, operation: Operation, payload: Bytes) -> Option<Duration> {
        self.times.interface.as_ref()?.fetch(bytes, !operation.is_answer(), payload)
    }

    /// When a connection that begins to send has an initiator, where that takes any time: never where it waits.
    fn connected_at(&mut self, now: Time, endpoint: EndpointIndex) -> Option<Time> {
        let connect = self.initiators.as_mut()?.take(self.endpoints[endpoint].thread, endpoint);
        connect.map_or(Some(Time::MAX), |connect| (connect > Duration::ZERO).then_some(now + connect))
    }

    /// Gives the initiator of a connection that has nothing more to send to the one that has waited longest.
    #[cold]
    fn release_initiator(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        let thread = self.endpoints[endpoint].thread;
        let Some(initiators) = &mut self.initiators else { return };
        let connect = initiators.connect;
        if let Some(next) = initiators.release(thread, endpoint) {
            expect(self, wires, next, wires.now + connect, Alarm::Pacing);
        }
    }
}
