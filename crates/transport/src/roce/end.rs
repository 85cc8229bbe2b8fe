//! Both directions of a reliable connection at one end.

use std::mem::offset_of;

use etherweave_primitives::{BitRate, Time, mix};

use super::header::{RoceHeader, bits, entropy, with_sum};
use super::{Acknowledgement, DataArrival, DataPacket, Operation, Reception, Requester, Responder, SelectiveReport};
use crate::connection::{
    Alarm, Alarms, AnswerPacket, ConnectionEnd, ConnectionState, OpenMessage, ReceivedCounts, SendState, SentCounts,
};
use crate::packet::{PacketKind, TransportPacket, flags, sums};
use crate::{
    Headers, Ranges, SackBlocks, Transport, frame::size::SELECTIVE_BLOCK, params::RoceParams, telemetry::PathTelemetry,
};

/// See the module. In cache lines: who sends needs the first two, who receives data the last.
#[derive(Default)]
#[repr(C, align(64))]
pub struct RoceEnd {
    /// Its sending half.
    pub requester: Requester,
    /// Its receiving half.
    pub responder: Responder,
}

/// Bits of the packet's header, and what headers add to its payload [B on the wire]. A request's address is its
/// payload.
#[inline]
fn dress(data: &DataPacket, headers: &Headers) -> (u8, u32) {
    let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
    let place = bit(data.is_first, bits::FIRST) | bit(data.is_last, bits::LAST);
    match data.operation {
        Operation::Write | Operation::SumListen | Operation::SumGive if data.is_first => (place, headers.first),
        Operation::Write | Operation::SumListen | Operation::SumGive => (place, headers.later),
        Operation::ReadRequest => (place | bits::REQUEST, headers.other),
        Operation::AtomicRequest => (place | bits::REQUEST, headers.other),
        Operation::AtomicResponse => (place | bits::READ | bits::REQUEST, headers.edge),
        _ if place != 0 => (place | bits::READ, headers.edge),
        _ => (place | bits::READ, headers.other),
    }
}

impl ConnectionState for RoceEnd {
    // The counters of what went wrong stand behind all that a requester needs otherwise.
    const SENDING: Option<usize> = Some(offset_of!(RoceEnd, responder) - 2 * size_of::<u32>());

    fn apart(&self, is_data: bool) -> [*const u8; 4] {
        if is_data { self.responder.apart() } else { self.requester.apart() }
    }

    fn beside(&self, is_data: bool) -> [(*const u8, usize); 2] {
        if is_data { [self.responder.beside(), (std::ptr::null(), 0)] } else { self.requester.beside() }
    }

    fn sent(&self) -> SentCounts {
        SentCounts {
            bytes: self.requester.acknowledged(),
            packets: self.requester.packets(),
            retransmissions: self.requester.retransmitted_packets(),
            timeouts: self.requester.timeouts(),
            acknowledged_at: self.requester.last_progress(),
        }
    }

    fn received(&self) -> ReceivedCounts {
        let (out_of_order, naks) = (self.responder.out_of_order_packets(), self.responder.naks());
        ReceivedCounts { out_of_order, naks, resent_last: Time::ZERO }
    }

    fn send_state(&self, now: Time, transport: &Transport) -> SendState {
        SendState {
            window: Self::params(transport).map_or(0, |params| self.requester.window(params)),
            in_flight: self.requester.in_flight(),
            rate: self.requester.rate(now),
        }
    }

    fn repeatable_state(&self, now: Time, left: u64) -> Result<u64, &'static str> {
        let RoceEnd { requester, responder } = self;
        Ok(mix(requester.repeatable_state(now, left)?) ^ responder.word(now))
    }

    fn open_message(&self) -> Result<Option<OpenMessage>, &'static str> {
        self.requester.open_message()
    }

    fn shorten(&mut self, bytes: u64) {
        self.requester.shorten(bytes);
    }

    fn received_ahead(&self) -> Option<&Ranges> {
        self.responder.ahead()
    }

    fn acknowledged_ahead(&self) -> Option<&Ranges> {
        self.requester.acknowledged_ahead()
    }

    fn moves_answers(&self) -> bool {
        self.requester.moves_answers()
    }

    fn longest_message(&self) -> Option<u64> {
        Some(self.requester.longest_message())
    }
}

impl ConnectionEnd for RoceEnd {
    type Params = RoceParams;

    #[inline]
    fn params(transport: &Transport) -> Option<&RoceParams> {
        transport.roce()
    }

    fn begin(_params: &RoceParams, _rate: BitRate) -> RoceEnd {
        RoceEnd { requester: Requester::default(), responder: Responder::default() }
    }

    fn memory(params: &RoceParams) -> u64 {
        Requester::memory(params)
    }

    fn open(&mut self, params: &RoceParams, rate: BitRate) {
        self.requester.open(params, rate);
    }

    fn finish(&mut self) {
        self.requester.finish();
    }

    fn hold(&mut self) -> bool {
        self.requester.hold()
    }

    #[inline]
    fn post(&mut self, now: Time, bytes: u64, operation: Operation, params: &RoceParams) -> u64 {
        self.requester.post(now, bytes, operation, params)
    }

    #[inline]
    fn may_send(&self, params: &RoceParams) -> bool {
        self.requester.may_send(params)
    }

    #[inline]
    fn next_packet(&mut self, now: Time, params: &RoceParams, headers: &Headers) -> Option<TransportPacket> {
        let data = self.requester.next_packet(now, params)?;
        let (bits, header) = dress(&data, headers);
        let (sum, payload) = match data.operation {
            Operation::SumListen => (sums::BARE, 0),
            Operation::SumGive => (sums::GIVES, data.payload),
            _ => (0, data.payload),
        };
        let wire = header + payload.next_multiple_of(4);
        let is_ecn = self.requester.charge(now, wire, params);
        let resent = if data.is_retransmission { flags::RETRANSMISSION } else { 0 };
        let capable = if is_ecn { flags::ECN_CAPABLE } else { 0 };
        Some(TransportPacket {
            flags: headers.telemetry | resent | capable,
            header: RoceHeader { sequence: data.sequence, restarts: data.restarts, bits }.pack(),
            offset: data.offset,
            acknowledged: with_sum(data.entropy, sum),
            sent: now,
            ..TransportPacket::new(PacketKind::Data, wire, data.payload)
        })
    }

    #[inline]
    fn after_sending(&mut self, now: Time, params: &RoceParams) -> Alarms {
        let timeout = self.requester.start_timer(now, params);
        let (pacing, tail) = (self.requester.paced_until(), self.requester.tail_check(now, params));
        Alarms { timeout, pacing, tail, answered: self.requester.answered() }
    }

    fn on_alarm(&mut self, now: Time, alarm: Alarm, params: &RoceParams) -> Option<Time> {
        match alarm {
            Alarm::Timeout => self.requester.on_timer(now, params),
            Alarm::Pacing => {
                self.requester.resume(now);
                self.requester.paced_until()
            }
            Alarm::Tail(restarts) => self.requester.probe_tail(now, restarts, params),
        }
    }

    #[inline]
    fn on_data(&mut self, packet: &TransportPacket, keeps_order: bool, params: &RoceParams) -> Reception {
        let header = RoceHeader::unpack(packet.header);
        let &TransportPacket { offset, payload, sent, .. } = packet;
        let restarts = if keeps_order { header.restarts } else { 0 };
        let (sequence, is_last) = (header.sequence, header.has(bits::LAST));
        let entropy = entropy(packet);
        self.responder.on_data(&DataArrival { offset, payload, sequence, is_last, sent, restarts, entropy }, params)
    }

    #[inline]
    fn arrived(&self) -> u64 {
        self.responder.received()
    }

    #[inline]
    fn answer(&mut self, kind: PacketKind, headers: &Headers) -> AnswerPacket {
        let answer = self.responder.acknowledge(kind == PacketKind::Nak);
        let mut packet = TransportPacket::new(kind, headers.ack, 0);
        packet.acknowledged = answer.cumulative;
        let mut header = RoceHeader { sequence: answer.sequence, ..RoceHeader::default() };
        let blocks = answer.report.map(|report| {
            (packet.sent, packet.offset) = (report.sent, report.entropy.into());
            header.bits = if report.is_marked { bits::ECN_ECHO } else { 0 };
            packet.wire += report.blocks.iter().filter(|block| !block.is_empty()).count() as u32 * SELECTIVE_BLOCK;
            report.blocks
        });
        packet.header = header.pack();
        AnswerPacket { packet, blocks }
    }

    #[inline]
    fn on_answer(
        &mut self,
        now: Time,
        packet: &TransportPacket,
        blocks: Option<SackBlocks>,
        params: &RoceParams,
    ) -> Option<Time> {
        let header = RoceHeader::unpack(packet.header);
        let (is_marked, is_selective) = (header.has(bits::ECN_ECHO), self.requester.repeats_selectively());
        let report = is_selective.then(|| SelectiveReport {
            blocks: blocks.unwrap_or_default(),
            sent: packet.sent,
            entropy: entropy(packet),
            is_marked,
        });
        let is_negative = packet.kind == PacketKind::Nak;
        let answer =
            Acknowledgement { cumulative: packet.acknowledged, sequence: header.sequence, is_negative, report };
        self.requester.on_acknowledgement(now, &answer);
        if is_selective { self.requester.restart_timer(now, params) } else { None }
    }

    #[inline]
    fn acknowledged(&self) -> u64 {
        self.requester.acknowledged()
    }

    fn is_idle(&self) -> bool {
        self.requester.is_idle()
    }

    fn notifies_congestion(&mut self, now: Time, params: &RoceParams) -> bool {
        self.responder.notifies_congestion(now, params)
    }

    fn on_congestion(&mut self, now: Time, _packet: &TransportPacket) {
        self.requester.on_congestion(now);
    }

    #[inline]
    fn entropy(packet: &TransportPacket) -> u16 {
        entropy(packet)
    }

    fn on_telemetry(&mut self, path: &PathTelemetry, acknowledged: u64) {
        self.requester.on_telemetry(path, acknowledged);
    }
}
