//! Both directions of a context at one end.

use etherweave_primitives::{BitRate, Time, mix};

use super::header::{self, AckHeader};
use super::pace::GrantPace;
use super::params::UetParams;
use super::receiver::UetReceiver;
use super::sender::UetSender;
use crate::connection::{
    Alarm, Alarms, AnswerPacket, ConnectionEnd, ConnectionState, OpenMessage, ReceivedCounts, SendState, SentCounts,
};
use crate::packet::{PacketKind, TransportPacket};
use crate::roce::{Operation, Reception};
use crate::{ALLOCATION, Headers, Ranges, SackBlocks, Transport};

/// One end of a context (PDC). Its halves begin with cache lines.
#[repr(C)]
pub struct UetEnd {
    sender: UetSender,
    receiver: UetReceiver,
}

impl ConnectionState for UetEnd {
    const SENDING: Option<usize> = Some(std::mem::offset_of!(UetEnd, receiver));

    fn apart(&self, is_data: bool) -> [*const u8; 4] {
        if is_data { self.receiver.apart() } else { self.sender.apart() }
    }

    fn sent(&self) -> SentCounts {
        let sender = &self.sender;
        SentCounts {
            bytes: sender.acknowledged(),
            packets: sender.sent_packets,
            retransmissions: sender.retransmitted_packets,
            timeouts: sender.timeouts,
            acknowledged_at: sender.acknowledged_at,
        }
    }

    fn received(&self) -> ReceivedCounts {
        let (out_of_order, naks) = (self.receiver.out_of_order, self.receiver.naks);
        ReceivedCounts { out_of_order, naks, resent_last: Time::ZERO }
    }

    fn send_state(&self, _now: Time, transport: &Transport) -> SendState {
        let window = Self::params(transport).map_or(0, |params| self.sender.window(params));
        SendState { window, in_flight: self.sender.in_flight(), rate: None }
    }

    fn repeatable_state(&self, now: Time, left: u64) -> Result<u64, &'static str> {
        let UetEnd { sender, receiver } = self;
        Ok(mix(sender.repeatable_state(now, left)?) ^ receiver.repeatable_state(now)?)
    }

    fn open_message(&self) -> Result<Option<OpenMessage>, &'static str> {
        self.sender.open_message()
    }

    fn shorten(&mut self, bytes: u64) {
        self.sender.shorten(bytes);
    }

    fn received_ahead(&self) -> Option<&Ranges> {
        Some(self.receiver.ahead())
    }

    fn acknowledged_ahead(&self) -> Option<&Ranges> {
        Some(self.sender.acknowledged_ahead())
    }
}

impl ConnectionEnd for UetEnd {
    type Params = UetParams;
    const HAS_CONTROL_PACKETS: bool = true;

    #[inline]
    fn params(transport: &Transport) -> Option<&UetParams> {
        transport.uet()
    }

    fn begin(params: &UetParams, rate: BitRate) -> UetEnd {
        UetEnd { sender: UetSender::new(params, rate), receiver: UetReceiver::new(params, rate) }
    }

    fn memory(_params: &UetParams) -> u64 {
        size_of::<UetEnd>() as u64 + ALLOCATION
    }

    fn hold(&mut self) -> bool {
        self.sender.hold()
    }

    fn post(&mut self, _now: Time, bytes: u64, operation: Operation, _params: &UetParams) -> u64 {
        self.sender.post(bytes, operation)
    }

    #[inline]
    fn may_send(&self, params: &UetParams) -> bool {
        self.sender.may_send(params)
    }

    fn next_packet(&mut self, now: Time, params: &UetParams, headers: &Headers) -> Option<TransportPacket> {
        self.sender.next_packet(now, params, headers)
    }

    #[inline]
    fn after_sending(&mut self, now: Time, params: &UetParams) -> Alarms {
        Alarms { timeout: self.sender.start_timer(now, params), ..Alarms::default() }
    }

    fn on_alarm(&mut self, now: Time, alarm: Alarm, params: &UetParams) -> Option<Time> {
        match alarm {
            Alarm::Timeout => self.sender.on_timer(now, params),
            Alarm::Pacing => {
                self.sender.resume();
                None
            }
            Alarm::Tail(_) => {
                self.receiver.grants().into_iter().for_each(|grants| grants.fall_due());
                None
            }
        }
    }

    fn on_data(&mut self, packet: &TransportPacket, _keeps_order: bool, params: &UetParams) -> Reception {
        self.receiver.on_data(packet, params)
    }

    fn arrived(&self) -> u64 {
        self.receiver.arrived()
    }

    fn answer(&mut self, kind: PacketKind, headers: &Headers) -> AnswerPacket {
        if kind == PacketKind::Cnp {
            let mut packet = TransportPacket::new(kind, headers.notification, 0);
            match self.sender.asks_ack() {
                true => packet.header = self.sender.ack_request(),
                false => self.receiver.grant(&mut packet),
            }
            return AnswerPacket { packet, blocks: None };
        }
        let ack = self.receiver.acknowledge(kind == PacketKind::Nak);
        let is_short = kind == PacketKind::Nak && ack.has(header::answer::SINGLE);
        let mut packet = TransportPacket::new(kind, if is_short { headers.notification } else { headers.ack }, 0);
        ack.write(&mut packet);
        AnswerPacket { packet, blocks: None }
    }

    fn on_answer(
        &mut self,
        now: Time,
        packet: &TransportPacket,
        _blocks: Option<SackBlocks>,
        params: &UetParams,
    ) -> Option<Time> {
        self.sender.on_answer(now, &AckHeader::read(packet), packet.kind == PacketKind::Nak, params)
    }

    fn acknowledged(&self) -> u64 {
        self.sender.acknowledged()
    }

    fn is_idle(&self) -> bool {
        self.sender.is_idle()
    }

    /// A request of the source, or a grant of the receiver.
    fn on_congestion(&mut self, _now: Time, packet: &TransportPacket) {
        match packet.header.1 {
            0 => self.sender.on_grant(packet),
            _ => self.receiver.on_control(packet),
        }
    }

    #[inline]
    fn grants(params: &UetParams) -> bool {
        params.rccc.is_some()
    }

    fn schedule_grant(
        &mut self,
        now: Time,
        arrival: Option<&TransportPacket>,
        pace: &mut GrantPace,
        params: &UetParams,
    ) -> Option<Time> {
        if let (Some(rccc), Some(packet)) = (&params.rccc, arrival) {
            pace.take(now, packet, rccc.core());
        }
        self.receiver.grants()?.schedule(now, pace)
    }

    fn takes_control(&mut self) -> Option<PacketKind> {
        if self.receiver.takes_ack_request() {
            return Some(PacketKind::Ack);
        }
        let is_granted = self.receiver.grants().is_some_and(|grants| grants.take_due());
        (is_granted || self.sender.asks_ack()).then_some(PacketKind::Cnp)
    }

    #[inline]
    fn entropy(packet: &TransportPacket) -> u16 {
        header::entropy(packet)
    }
}
