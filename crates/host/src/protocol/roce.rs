//! RoCE at a host: packets of the transport's state machines, their timers, and what reaches the owner.

use etherweave_engine::Wires;
use etherweave_engine::constants::{Overheads, RunConstants};
use etherweave_engine::event::{Event, Kind};
use etherweave_engine::frame::size::SELECTIVE_BLOCK;
use etherweave_engine::packet::{NO_SIDE, Packet, PacketKind, Packets, flags};
use etherweave_engine::params::{Fidelity, Reliability, RoceParams, SimParams, Transport};
use etherweave_kernel::indices::EndpointIndex;
use etherweave_primitives::{BitRate, Bytes, Duration, Time};
use etherweave_transport::Ranges;
use etherweave_transport::roce::header::{RoceHeader, bits};
use etherweave_transport::roce::{
    Acknowledgement, Answer, Congestion, DataArrival, DataPacket, Operation, Reception, Requester, Responder,
    SelectiveReport,
};

use super::{ALLOCATION, ReceivedCounts, SendState, SentCounts, TransportState};
use crate::Endpoint;
use crate::message::MessageKind;
use crate::mpi::operation;
use crate::{Hosts, Nics};

/// Both directions of a reliable connection at one host.
#[repr(C)]
pub struct RoceState {
    pub requester: Requester,
    pub responder: Responder,
}

impl TransportState for RoceState {
    fn begin(_: &SimParams, transport: &Transport, fidelity: Fidelity, rate: BitRate) -> Option<RoceState> {
        let params = transport.roce().filter(|_| fidelity.is_packet())?;
        Some(RoceState { requester: Requester::new(params, rate), responder: Responder::new(params) })
    }

    fn memory(transport: &Transport) -> Option<u64> {
        let has_control = !transport.roce()?.congestion_controls().is_empty();
        Some(if has_control { size_of::<Congestion>() as u64 + ALLOCATION } else { 0 })
    }

    fn sent(&self) -> SentCounts {
        SentCounts {
            bytes: self.requester.acknowledged(),
            packets: self.requester.packets(),
            retransmissions: self.requester.retransmitted_packets(),
            timeouts: self.requester.timeouts(),
        }
    }

    fn received(&self) -> ReceivedCounts {
        let (out_of_order, naks) = (self.responder.out_of_order_packets(), self.responder.naks());
        ReceivedCounts { out_of_order, naks, resent_last: Time::ZERO }
    }

    fn send_state(&self, now: Time, transport: &Transport) -> SendState {
        SendState {
            window: self.requester.window(transport.roce().expect(IS_ROCE)),
            in_flight: self.requester.in_flight(),
            rate: self.requester.rate(now),
        }
    }

    fn received_ahead(&self) -> Option<&Ranges> {
        self.responder.ahead()
    }

    fn acknowledged_ahead(&self) -> Option<&Ranges> {
        self.requester.acknowledged_ahead()
    }

    fn longest_message(&self) -> Option<u64> {
        Some(self.requester.longest_message())
    }

    #[inline]
    fn next_packet(end: &mut Endpoint, now: Time, constants: &RunConstants) -> (Option<Packet>, bool) {
        end.next_roce_packet(now, constants)
    }

    #[inline]
    fn after_sending(nics: &mut Nics, wires: &mut Wires, endpoint: EndpointIndex) {
        nics.after_sending_roce(wires, endpoint);
    }

    fn on_timer(nics: &mut Nics, wires: &mut Wires, endpoint: EndpointIndex) {
        nics.roce_timer(wires, endpoint);
    }

    fn post(hosts: &mut Hosts, wires: &mut Wires, endpoint: EndpointIndex, kind: MessageKind, length: u64) -> u64 {
        hosts.nics.roce_post(wires, endpoint, length, operation(kind))
    }

    #[inline]
    fn receive(hosts: &mut Hosts, wires: &mut Wires, endpoint: EndpointIndex, packet: &Packet) {
        hosts.roce_receive(wires, endpoint, packet);
    }
}

/// The first parameters of RoCE, where jobs use it.
pub(crate) fn params_if_any(constants: &RunConstants) -> Option<&RoceParams> {
    constants.params.transports().find_map(Transport::roce)
}

/// The parameters of RoCE that a connection has, by the number of its transport.
#[inline]
pub(crate) fn params(constants: &RunConstants, number: u8) -> &RoceParams {
    constants.params.transport_of(number).roce().expect(IS_ROCE)
}

const IS_ROCE: &str = "a RoCE endpoint exists only under the RoCE transport";

/// Bits of the packet's header, and what headers add to its payload [B on the wire]. A request's address is its
/// payload. A packet that may arrive out of order names its place itself.
fn dress(data: &DataPacket, reliability: Reliability, overheads: &Overheads) -> (u8, u32) {
    let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
    let place = bit(data.is_first, bits::FIRST) | bit(data.is_last, bits::LAST);
    match data.operation {
        Operation::Write if data.is_first || reliability == Reliability::SelectiveRepeat => (place, overheads.first),
        Operation::Write => (place, overheads.other),
        Operation::ReadRequest => (place | bits::REQUEST, overheads.other),
        Operation::ReadResponse if place != 0 => (place | bits::READ, overheads.edge),
        Operation::ReadResponse => (place | bits::READ, overheads.other),
        Operation::AtomicRequest => (place | bits::REQUEST, overheads.other),
        Operation::AtomicResponse => (place | bits::READ | bits::REQUEST, overheads.edge),
    }
}

impl Endpoint {
    /// The next packet, and whether more can follow at once.
    pub(crate) fn next_roce_packet(&mut self, now: Time, constants: &RunConstants) -> (Option<Packet>, bool) {
        let number = self.protocol.transport();
        let (params, overheads) = (params(constants, number), constants.overheads_of(number));
        let requester = &mut self.roce().requester;
        let Some(data) = requester.next_packet(now, params) else { return (None, false) };
        let (bits, overhead) = dress(&data, params.reliability, overheads);
        let wire = overhead + data.payload.next_multiple_of(4);
        let is_ecn = requester.charge(now, wire);
        let has_more = requester.may_send(params);
        let mut packet = self.packet(PacketKind::Data, wire, data.payload);
        packet.offset = data.offset;
        packet.set_header(RoceHeader { sequence: data.sequence, restarts: data.restarts, bits }.pack());
        packet.sent = now;
        packet.flags = overheads.telemetry;
        packet.flags |= if data.is_retransmission { flags::RETRANSMISSION } else { 0 };
        packet.flags |= if is_ecn { flags::ECN_CAPABLE } else { 0 };
        (Some(packet), has_more)
    }
}

impl Nics {
    /// Time until the NIC has the first packet of a message. A processor writes short messages with the doorbell; a NIC
    /// reads responses from memory.
    pub(crate) fn fetch(&self, bytes: u64, operation: Operation, path_mtu: Bytes) -> Option<Duration> {
        let may_be_inline = !matches!(operation, Operation::ReadResponse | Operation::AtomicResponse);
        self.times.interface.as_ref()?.fetch(bytes, may_be_inline, path_mtu)
    }

    /// Hands a message to a connection and announces it.
    pub fn roce_post(&mut self, wires: &mut Wires, endpoint: EndpointIndex, bytes: u64, operation: Operation) -> u64 {
        let number = self.endpoints[endpoint].protocol.transport();
        let fetch = self.fetch(bytes, operation, params(&wires.constants, number).path_mtu);
        let end = &mut self.endpoints[endpoint];
        let place = self.hosts[end.host].port;
        let is_held = fetch.is_some() && end.roce().requester.hold();
        let posted = end.roce().requester.post(wires.now, bytes, operation);
        if wires.fluid.is_some() {
            self.packets_posted(wires, endpoint, bytes, operation);
        }
        match fetch.filter(|_| is_held) {
            Some(fetch) => wires.schedule(fetch, place, Kind::Pacing, endpoint.get()),
            None => self.roce_wake(wires, endpoint),
        }
        posted
    }

    /// Puts the endpoint in the ring if it can send.
    fn roce_wake(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        let number = self.endpoints[endpoint].protocol.transport();
        if self.endpoints[endpoint].roce().requester.may_send(params(&wires.constants, number)) {
            self.activate(wires, endpoint);
        }
    }

    /// Timers that a sent packet needs.
    pub fn after_sending_roce(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        let number = self.endpoints[endpoint].protocol.transport();
        let place = self.hosts[self.endpoints[endpoint].host].port;
        let (requester, params) = (&mut self.endpoints[endpoint].roce().requester, params(&wires.constants, number));
        let timer = requester.start_timer(wires.now, params);
        let pacing = requester.paced_until();
        let tail = requester.tail_check(wires.now, params);
        if let Some((time, restarts)) = tail.filter(|_| wires.constants.packet_routing.is_none()) {
            self.expect_tail(wires, endpoint, time, restarts);
        }
        if let Some(time) = timer {
            wires.schedule_at(time, place, Kind::TransportTimer, endpoint.get());
        }
        if let Some(time) = pacing {
            wires.schedule_at(time, place, Kind::Pacing, endpoint.get());
        }
    }

    /// A while ago a connection that had gone back so often sent its last packet.
    pub fn probe_tail(&mut self, wires: &mut Wires, endpoint: EndpointIndex, restarts: u8) {
        let number = self.endpoints[endpoint].protocol.transport();
        let requester = &mut self.endpoints[endpoint].roce().requester;
        match requester.probe_tail(wires.now, restarts, params(&wires.constants, number)) {
            Some(time) => self.expect_tail(wires, endpoint, time, restarts),
            None => self.roce_wake(wires, endpoint),
        }
    }

    /// Schedules a look at the tail of a connection that has gone back so often.
    fn expect_tail(&mut self, wires: &mut Wires, endpoint: EndpointIndex, time: Time, restarts: u8) {
        let place = self.hosts[self.endpoints[endpoint].host].port;
        let key = wires.key(place, Kind::Pacing, endpoint.get());
        wires.queue.push(Event::new(time, key, restarts.into()));
    }

    /// A paced connection may send again, or its rate has changed.
    pub fn pacing(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        let requester = &mut self.endpoints[endpoint].roce().requester;
        requester.resume(wires.now);
        if let Some(time) = requester.paced_until() {
            let place = self.hosts[self.endpoints[endpoint].host].port;
            return wires.schedule_at(time, place, Kind::Pacing, endpoint.get());
        }
        self.roce_wake(wires, endpoint);
    }

    /// The timer of a connection is due.
    pub fn roce_timer(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        let number = self.endpoints[endpoint].protocol.transport();
        let place = self.hosts[self.endpoints[endpoint].host].port;
        let requester = &mut self.endpoints[endpoint].roce().requester;
        if let Some(time) = requester.on_timer(wires.now, params(&wires.constants, number)) {
            wires.schedule_at(time, place, Kind::TransportTimer, endpoint.get());
        }
        self.roce_wake(wires, endpoint);
    }

    /// Sets the timer of selective repeat after an acknowledgement.
    fn restart_roce_timer(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        let number = self.endpoints[endpoint].protocol.transport();
        let place = self.hosts[self.endpoints[endpoint].host].port;
        let requester = &mut self.endpoints[endpoint].roce().requester;
        if let Some(time) = requester.restart_timer(wires.now, params(&wires.constants, number)) {
            wires.schedule_at(time, place, Kind::TransportTimer, endpoint.get());
        }
    }

    /// Answers a packet; `side` is its entry in the side slab.
    fn roce_answer(&mut self, wires: &mut Wires, endpoint: EndpointIndex, kind: PacketKind, side: u32) {
        let number = self.endpoints[endpoint].protocol.transport();
        let end = &mut self.endpoints[endpoint];
        let mut packet = end.packet(kind, wires.constants.overheads_of(number).ack, 0);
        let answer = end.roce().responder.acknowledge(kind == PacketKind::Nak);
        packet.acknowledged = answer.cumulative;
        packet.set_header(RoceHeader { sequence: answer.sequence, ..RoceHeader::default() }.pack());
        if let Some(report) = &answer.report {
            packet.side = side;
            attach(&mut wires.packets, report, &mut packet);
        }
        self.send_control(wires, endpoint, packet);
    }

    /// Takes the report of selective repeat off an acknowledgement. Congestion control takes what switches wrote.
    #[inline]
    fn detach(&mut self, wires: &mut Wires, endpoint: EndpointIndex, packet: &Packet) -> Option<SelectiveReport> {
        let requester = &mut self.endpoints[endpoint].roce().requester;
        if !requester.repeats_selectively() {
            return None;
        }
        if let Some(path) = wires.packets.path(packet.side) {
            requester.on_telemetry(path, packet.acknowledged);
        }
        let blocks = wires.packets.remove_side(packet.side).unwrap_or_default();
        let is_marked = RoceHeader::unpack(packet.header()).has(bits::ECN_ECHO);
        Some(SelectiveReport { blocks, sent: packet.sent, is_marked })
    }

    /// The responder saw a mark.
    fn notify_congestion(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        let number = self.endpoints[endpoint].protocol.transport();
        let end = &mut self.endpoints[endpoint];
        if end.roce().responder.notifies_congestion(wires.now, params(&wires.constants, number)) {
            let packet = end.packet(PacketKind::Cnp, wires.constants.overheads_of(number).cnp, 0);
            self.send_control(wires, endpoint, packet);
        }
    }
}

impl Hosts {
    /// A packet for this endpoint.
    #[inline]
    pub fn roce_receive(&mut self, wires: &mut Wires, endpoint: EndpointIndex, packet: &Packet) {
        match packet.kind {
            PacketKind::Data => self.roce_data(wires, endpoint, packet),
            PacketKind::Ack => self.roce_acknowledged(wires, endpoint, packet, false),
            PacketKind::Nak => self.roce_acknowledged(wires, endpoint, packet, true),
            PacketKind::Cnp => self.nics.endpoints[endpoint].roce().requester.on_congestion(wires.now),
            PacketKind::Announcement => unreachable!("announcements do not cross the network"),
        }
    }

    fn roce_data(&mut self, wires: &mut Wires, endpoint: EndpointIndex, packet: &Packet) {
        let number = self.nics.endpoints[endpoint].protocol.transport();
        if packet.has(flags::CONGESTION) {
            self.nics.notify_congestion(wires, endpoint);
        }
        let &Packet { offset, payload, sent, .. } = packet;
        let header = RoceHeader::unpack(packet.header());
        let keeps_order = wires.constants.packet_routing.is_none();
        let restarts = if keeps_order { header.restarts } else { 0 };
        let (sequence, is_last) = (header.sequence, header.has(bits::LAST));
        let arrival = DataArrival { offset, payload, sequence, is_last, sent, restarts };
        let responder = &mut self.nics.endpoints[endpoint].roce().responder;
        let Reception { answer, bytes, is_new } = responder.on_data(&arrival, params(&wires.constants, number));
        let received = responder.received();
        match answer {
            Answer::None => {}
            Answer::Positive => self.nics.roce_answer(wires, endpoint, PacketKind::Ack, packet.side),
            Answer::Negative => self.nics.roce_answer(wires, endpoint, PacketKind::Nak, packet.side),
        }
        if is_new && bytes == 0 {
            self.take_ahead(wires, endpoint);
        }
        if bytes > 0 {
            self.take_bytes(wires, endpoint, bytes, received);
        }
    }

    fn roce_acknowledged(&mut self, wires: &mut Wires, endpoint: EndpointIndex, packet: &Packet, is_negative: bool) {
        let report = self.nics.detach(wires, endpoint, packet);
        let requester = &mut self.nics.endpoints[endpoint].roce().requester;
        let RoceHeader { sequence, .. } = RoceHeader::unpack(packet.header());
        let answer = Acknowledgement { cumulative: packet.acknowledged, sequence, is_negative, report };
        requester.on_acknowledgement(wires.now, &answer);
        let acknowledged = requester.acknowledged();
        if wires.fluid.is_some() && self.nics.endpoints[endpoint].roce().requester.is_idle() {
            self.nics.packets_acknowledged(wires, endpoint);
        }
        if self.nics.endpoints[endpoint].roce().requester.repeats_selectively() {
            self.nics.restart_roce_timer(wires, endpoint);
        }
        self.nics.roce_wake(wires, endpoint);
        self.acknowledged(wires, endpoint, acknowledged);
    }
}

/// Puts what selective repeat reports on an acknowledgement, which takes over the side entry of the packet that it
/// answers.
fn attach(packets: &mut Packets, report: &SelectiveReport, packet: &mut Packet) {
    packet.sent = report.sent;
    packet.header_bits |= if report.is_marked { bits::ECN_ECHO } else { 0 };
    let blocks = report.blocks.iter().filter(|block| !block.is_empty()).count() as u32;
    if blocks > 0 {
        packet.wire += blocks * SELECTIVE_BLOCK;
        if packet.side == NO_SIDE {
            packet.side = packets.insert_side(report.blocks);
        } else {
            *packets.side_mut(packet.side) = report.blocks;
        }
    }
}
