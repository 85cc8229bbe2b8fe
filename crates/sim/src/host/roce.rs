//! RoCE at a host: packets of the transport's state machines, their timers, and what reaches the owner.

use etherweave_primitives::Time;

use super::Endpoint;
use crate::constants::{Overheads, RunConstants};
use crate::engine::Shard;
use crate::engine::event::{Event, Kind};
use crate::frame::size::SELECTIVE_BLOCK;
use crate::indices::EndpointIndex;
use crate::packet::{NO_SIDE, Packet, PacketKind, flags};
use crate::params::{Reliability, RoceParams};
use crate::transport::roce::{
    Acknowledgement, Answer, DataArrival, DataPacket, Operation, Reception, Requester, Responder, SelectiveReport,
};

/// Bits of a packet sequence number; how often the requester has gone back stands above it in [`Packet::word`].
const SEQUENCE_BITS: u32 = 24;

/// Both directions of a reliable connection at one host.
#[repr(C)]
pub(crate) struct RoceState {
    pub requester: Requester,
    pub responder: Responder,
}

impl RoceState {
    /// A connection of a NIC of `rate` bits per second.
    pub fn new(params: &RoceParams, rate: etherweave_primitives::BitRate) -> RoceState {
        RoceState { requester: Requester::new(params, rate), responder: Responder::new(params) }
    }
}

/// The parameters of RoCE.
pub(super) fn params(constants: &RunConstants) -> &RoceParams {
    constants.params.transport.roce().expect("a RoCE endpoint exists only under the RoCE transport")
}

/// The packet's bits, and what headers add to its payload [B on the wire]. A request's address is its payload. A packet
/// that may arrive out of order names its place itself.
fn dress(data: &DataPacket, reliability: Reliability, overheads: &Overheads) -> (u8, u32) {
    let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
    let place = bit(data.is_first, flags::FIRST) | bit(data.is_last, flags::LAST);
    let (bits, overhead) = match data.operation {
        Operation::Write if data.is_first || reliability == Reliability::SelectiveRepeat => (place, overheads.first),
        Operation::Write => (place, overheads.other),
        Operation::ReadRequest => (place | flags::READ_REQUEST, overheads.other),
        Operation::ReadResponse if place != 0 => (place | flags::READ, overheads.edge),
        Operation::ReadResponse => (place | flags::READ, overheads.other),
        Operation::AtomicRequest => (place | flags::READ_REQUEST, overheads.other),
        Operation::AtomicResponse => (place | flags::READ | flags::READ_REQUEST, overheads.edge),
    };
    (bits | bit(data.is_retransmission, flags::RETRANSMISSION), overhead)
}

impl Endpoint {
    /// The next packet, and whether more can follow at once.
    pub(super) fn next_roce_packet(&mut self, now: Time, constants: &RunConstants) -> (Option<Packet>, bool) {
        let params = params(constants);
        let requester = &mut self.roce().requester;
        let Some(data) = requester.next_packet(now, params) else { return (None, false) };
        let (mut bits, overhead) = dress(&data, params.reliability, &constants.overheads);
        let wire = overhead + data.payload.next_multiple_of(4);
        if requester.charge(now, wire) {
            bits |= flags::ECN_CAPABLE;
        }
        let has_more = requester.may_send(params);
        let mut packet = self.packet(PacketKind::Data, wire, data.payload);
        packet.offset = data.offset;
        packet.word = data.sequence | u32::from(data.restarts) << SEQUENCE_BITS;
        packet.sent = now;
        packet.flags = bits;
        (Some(packet), has_more)
    }
}

impl Shard {
    /// Hands a message to a connection and announces it.
    pub(crate) fn roce_post(&mut self, endpoint: EndpointIndex, bytes: u64, operation: Operation) -> u64 {
        let interface = self.constants.nic.interface.as_ref();
        let fetch = interface.and_then(|interface| interface.fetch(bytes, params(&self.constants).path_mtu));
        let end = &mut self.endpoints[endpoint];
        let place = self.hosts[end.host].port;
        let is_held = fetch.is_some() && end.roce().requester.hold();
        let posted = end.roce().requester.post(self.now, bytes, operation);
        if self.fluid.is_some() {
            self.packets_posted(endpoint, bytes, operation);
        }
        match fetch.filter(|_| is_held) {
            Some(fetch) => self.schedule(fetch, place, Kind::Pacing, endpoint.get()),
            None => self.roce_wake(endpoint),
        }
        posted
    }

    /// Puts the endpoint in the ring if it can send.
    fn roce_wake(&mut self, endpoint: EndpointIndex) {
        if self.endpoints[endpoint].roce().requester.may_send(params(&self.constants)) {
            self.activate(endpoint);
        }
    }

    /// Timers that a sent packet needs.
    pub(crate) fn after_sending_roce(&mut self, endpoint: EndpointIndex) {
        let place = self.hosts[self.endpoints[endpoint].host].port;
        let requester = &mut self.endpoints[endpoint].roce().requester;
        let timer = requester.start_timer(self.now, params(&self.constants));
        let pacing = requester.paced_until();
        let tail = requester.tail_check(self.now, params(&self.constants));
        if let Some((time, restarts)) = tail.filter(|_| self.constants.packet_routing.is_none()) {
            self.expect_tail(endpoint, time, restarts);
        }
        if let Some(time) = timer {
            self.schedule_at(time, place, Kind::TransportTimer, endpoint.get());
        }
        if let Some(time) = pacing {
            self.schedule_at(time, place, Kind::Pacing, endpoint.get());
        }
    }

    /// A while ago a connection that had gone back so often sent its last packet.
    pub(crate) fn probe_tail(&mut self, endpoint: EndpointIndex, restarts: u8) {
        let requester = &mut self.endpoints[endpoint].roce().requester;
        match requester.probe_tail(self.now, restarts, params(&self.constants)) {
            Some(time) => self.expect_tail(endpoint, time, restarts),
            None => self.roce_wake(endpoint),
        }
    }

    /// Schedules a look at the tail of a connection that has gone back so often.
    fn expect_tail(&mut self, endpoint: EndpointIndex, time: Time, restarts: u8) {
        let place = self.hosts[self.endpoints[endpoint].host].port;
        let key = self.key(place, Kind::Pacing, endpoint.get());
        self.queue.push(Event::new(time, key, restarts.into()));
    }

    /// A paced connection may send again, or its rate has changed.
    pub(crate) fn pacing(&mut self, endpoint: EndpointIndex) {
        let requester = &mut self.endpoints[endpoint].roce().requester;
        requester.resume(self.now);
        if let Some(time) = requester.paced_until() {
            let place = self.hosts[self.endpoints[endpoint].host].port;
            return self.schedule_at(time, place, Kind::Pacing, endpoint.get());
        }
        self.roce_wake(endpoint);
    }

    /// The timer of a connection is due.
    pub(crate) fn roce_timer(&mut self, endpoint: EndpointIndex) {
        let place = self.hosts[self.endpoints[endpoint].host].port;
        let requester = &mut self.endpoints[endpoint].roce().requester;
        if let Some(time) = requester.on_timer(self.now, params(&self.constants)) {
            self.schedule_at(time, place, Kind::TransportTimer, endpoint.get());
        }
        self.roce_wake(endpoint);
    }

    /// A packet for this endpoint.
    #[inline]
    pub(crate) fn roce_receive(&mut self, endpoint: EndpointIndex, packet: &Packet) {
        match packet.kind {
            PacketKind::Data => self.roce_data(endpoint, packet),
            PacketKind::Ack => self.roce_acknowledged(endpoint, packet, false),
            PacketKind::Nak => self.roce_acknowledged(endpoint, packet, true),
            PacketKind::Cnp => self.endpoints[endpoint].roce().requester.on_congestion(self.now),
            PacketKind::Announcement => unreachable!("announcements do not cross the network"),
        }
    }

    fn roce_data(&mut self, endpoint: EndpointIndex, packet: &Packet) {
        if packet.has(flags::CONGESTION) {
            self.notify_congestion(endpoint);
        }
        let &Packet { offset, payload, word, sent, .. } = packet;
        let keeps_order = self.constants.packet_routing.is_none();
        let restarts = if keeps_order { (word >> SEQUENCE_BITS) as u8 } else { 0 };
        let sequence = word & ((1 << SEQUENCE_BITS) - 1);
        let arrival = DataArrival { offset, payload, sequence, is_last: packet.has(flags::LAST), sent, restarts };
        let responder = &mut self.endpoints[endpoint].roce().responder;
        let Reception { answer, bytes, is_new } = responder.on_data(&arrival, params(&self.constants));
        let received = responder.received();
        match answer {
            Answer::None => {}
            Answer::Positive => self.roce_answer(endpoint, PacketKind::Ack, packet.side),
            Answer::Negative => self.roce_answer(endpoint, PacketKind::Nak, packet.side),
        }
        if is_new && bytes == 0 {
            self.progress_of(self.endpoints[endpoint].thread);
        }
        if bytes > 0 {
            self.received(endpoint, bytes);
            while let Some(message) = self.endpoints[endpoint].take_complete(received) {
                self.deliver(endpoint, message);
            }
        }
    }

    /// Answers a packet; `side` is its entry in the side slab.
    fn roce_answer(&mut self, endpoint: EndpointIndex, kind: PacketKind, side: u32) {
        let end = &mut self.endpoints[endpoint];
        let mut packet = end.packet(kind, self.constants.overheads.ack, 0);
        let answer = end.roce().responder.acknowledge(kind == PacketKind::Nak);
        packet.acknowledged = answer.cumulative;
        packet.word = answer.sequence;
        if let Some(report) = &answer.report {
            packet.side = side;
            self.attach(report, &mut packet);
        }
        self.send_control(endpoint, packet);
    }

    /// Puts what selective repeat reports on an acknowledgement, which takes over the side entry of the packet that it
    /// answers.
    fn attach(&mut self, report: &SelectiveReport, packet: &mut Packet) {
        packet.sent = report.sent;
        packet.flags |= if report.is_marked { flags::ECN_ECHO } else { 0 };
        let blocks = report.blocks.iter().filter(|block| !block.is_empty()).count() as u32;
        if blocks > 0 {
            packet.wire += blocks * SELECTIVE_BLOCK;
            if packet.side == NO_SIDE {
                packet.side = self.packets.insert_side(report.blocks);
            } else {
                *self.packets.side_mut(packet.side) = report.blocks;
            }
        }
    }

    /// What selective repeat reports on an acknowledgement. Congestion control takes what switches wrote.
    fn detach(&mut self, endpoint: EndpointIndex, packet: &Packet) -> Option<SelectiveReport> {
        match params(&self.constants).reliability {
            Reliability::GoBackN => None,
            Reliability::SelectiveRepeat => {
                if let Some(path) = self.packets.path(packet.side) {
                    let requester = &mut self.endpoints[endpoint].roce().requester;
                    requester.on_telemetry(path, packet.acknowledged);
                }
                let blocks = self.packets.remove_side(packet.side).unwrap_or_default();
                Some(SelectiveReport { blocks, sent: packet.sent, is_marked: packet.has(flags::ECN_ECHO) })
            }
        }
    }

    fn roce_acknowledged(&mut self, endpoint: EndpointIndex, packet: &Packet, is_negative: bool) {
        let report = self.detach(endpoint, packet);
        let requester = &mut self.endpoints[endpoint].roce().requester;
        let answer = Acknowledgement { cumulative: packet.acknowledged, sequence: packet.word, is_negative, report };
        requester.on_acknowledgement(self.now, &answer);
        let acknowledged = requester.acknowledged();
        if self.fluid.is_some() && self.endpoints[endpoint].roce().requester.is_idle() {
            self.packets_acknowledged(endpoint);
        }
        let requester = &mut self.endpoints[endpoint].roce().requester;
        if let Some(time) = requester.restart_timer(self.now, params(&self.constants)) {
            let place = self.hosts[self.endpoints[endpoint].host].port;
            self.schedule_at(time, place, Kind::TransportTimer, endpoint.get());
        }
        self.roce_wake(endpoint);
        self.acknowledged(endpoint, acknowledged);
    }

    /// The responder saw a mark.
    fn notify_congestion(&mut self, endpoint: EndpointIndex) {
        let end = &mut self.endpoints[endpoint];
        if end.roce().responder.notifies_congestion(self.now, params(&self.constants)) {
            let packet = end.packet(PacketKind::Cnp, self.constants.overheads.cnp, 0);
            self.send_control(endpoint, packet);
        }
    }
}
