//! The alternating-bit protocol: a transport of the tests.

use etherweave_primitives::{BitRate, Bytes, Duration, Time};

use crate::connection::{Alarm, Alarms, AnswerPacket, ConnectionEnd, ConnectionState, SendState, SentCounts};
use crate::packet::{FrameEnds, PacketKind, SideContent, TransportPacket, flags};
use crate::params::{Checked, check_timer, require_within};
use crate::roce::{Answer, Operation, Reception};
use crate::{ConnectionWindow, Headers, SackBlocks, Transport, TransportParams};

/// EtherType of experiments (IEEE 802-2014, 9.2.3).
const EXPERIMENTAL: u16 = 0x88b5;
/// The bit and where the packet stands in the stream [B].
const HEADER: u32 = 9;

/// Bartlett, Scantlebury and Wilkinson, "A note on reliable full-duplex transmission over half-duplex links", CACM
/// 1969: a packet is sent until it is acknowledged, then the next.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AlternatingBitParams {
    /// Payload of a packet [B], "1B" to "8KiB". Default "1KiB".
    pub payload: Bytes,
    /// Time after which a packet is sent again. Default "1ms".
    pub timeout: Duration,
}

impl Default for AlternatingBitParams {
    fn default() -> Self {
        AlternatingBitParams { payload: Bytes::new(1_024), timeout: Duration::from_ms(1) }
    }
}

impl TransportParams for AlternatingBitParams {
    fn payload(&self) -> Bytes {
        self.payload
    }

    fn headers(&self) -> Headers {
        Headers::equal(HEADER)
    }

    fn window(&self) -> ConnectionWindow {
        ConnectionWindow { key: "transport.alternating_bit.payload", bytes: self.payload }
    }

    fn first_timeout(&self) -> Duration {
        self.timeout
    }

    fn check(&self, _do_switches_mark: bool) -> Checked {
        require_within(Bytes::new(1)..=Bytes::new(8_192), "transport.alternating_bit.payload", self.payload)?;
        check_timer("transport.alternating_bit.timeout", self.timeout)
    }

    fn octets(&self, _: &FrameEnds, packet: &TransportPacket, _: Option<&SideContent>) -> (u16, Vec<u8>) {
        let mut octets = vec![(packet.offset / self.payload.get()) as u8 & 1];
        octets.extend(packet.offset.max(packet.acknowledged).to_be_bytes());
        octets.resize(octets.len() + packet.payload as usize, 0);
        (EXPERIMENTAL, octets)
    }
}

/// Both directions. All offsets are of the stream.
#[derive(Default)]
pub struct AlternatingBitEnd {
    posted: u64,
    acknowledged: u64,
    arrived: u64,
    /// When the packet that is in flight was last sent, if one is; whether it is due again.
    sent_at: Option<Time>,
    is_due: bool,
    acknowledged_at: Time,
    packets: u64,
    retransmissions: u64,
}

impl ConnectionState for AlternatingBitEnd {
    fn sent(&self) -> SentCounts {
        let &AlternatingBitEnd { packets, retransmissions, acknowledged: bytes, acknowledged_at, .. } = self;
        SentCounts { bytes, packets, retransmissions, timeouts: retransmissions, acknowledged_at }
    }

    fn send_state(&self, _now: Time, transport: &Transport) -> SendState {
        let window = transport.payload().get();
        SendState { window, in_flight: if self.sent_at.is_some() { window } else { 0 }, rate: None }
    }
}

impl ConnectionEnd for AlternatingBitEnd {
    type Params = AlternatingBitParams;

    fn params(transport: &Transport) -> Option<&AlternatingBitParams> {
        transport.alternating_bit()
    }

    fn begin(_: &AlternatingBitParams, _: BitRate) -> AlternatingBitEnd {
        AlternatingBitEnd::default()
    }

    fn post(&mut self, _now: Time, bytes: u64, _: Operation, _: &AlternatingBitParams) -> u64 {
        self.posted += bytes;
        self.posted
    }

    fn may_send(&self, _: &AlternatingBitParams) -> bool {
        self.acknowledged < self.posted && (self.sent_at.is_none() || self.is_due)
    }

    fn next_packet(&mut self, now: Time, own: &AlternatingBitParams, headers: &Headers) -> Option<TransportPacket> {
        if !self.may_send(own) {
            return None;
        }
        let payload = own.payload.get().min(self.posted - self.acknowledged) as u32;
        let is_again = self.sent_at.replace(now).is_some();
        self.is_due = false;
        self.packets += 1;
        self.retransmissions += u64::from(is_again);
        let mut packet = TransportPacket::new(PacketKind::Data, headers.packet(payload), payload);
        (packet.offset, packet.sent) = (self.acknowledged, now);
        packet.flags = if is_again { flags::RETRANSMISSION } else { 0 };
        Some(packet)
    }

    fn after_sending(&mut self, now: Time, own: &AlternatingBitParams) -> Alarms {
        Alarms { timeout: self.sent_at.map(|_| now + own.timeout), ..Alarms::default() }
    }

    fn on_alarm(&mut self, now: Time, _: Alarm, own: &AlternatingBitParams) -> Option<Time> {
        self.is_due = self.sent_at.is_some_and(|sent_at| sent_at + own.timeout <= now);
        None
    }

    fn on_data(&mut self, packet: &TransportPacket, _keeps_order: bool, _: &AlternatingBitParams) -> Reception {
        let bytes = if packet.offset == self.arrived { u64::from(packet.payload) } else { 0 };
        self.arrived += bytes;
        Reception { answer: Answer::Positive, bytes, is_new: bytes > 0 }
    }

    fn arrived(&self) -> u64 {
        self.arrived
    }

    fn answer(&mut self, kind: PacketKind, headers: &Headers) -> AnswerPacket {
        let acknowledged = self.arrived;
        AnswerPacket {
            packet: TransportPacket { acknowledged, ..TransportPacket::new(kind, headers.ack, 0) },
            blocks: None,
        }
    }

    fn on_answer(
        &mut self,
        now: Time,
        packet: &TransportPacket,
        _: Option<SackBlocks>,
        _: &AlternatingBitParams,
    ) -> Option<Time> {
        if packet.acknowledged > self.acknowledged {
            (self.acknowledged, self.sent_at, self.is_due) = (packet.acknowledged, None, false);
            self.acknowledged_at = now;
        }
        None
    }

    fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    fn is_idle(&self) -> bool {
        self.acknowledged == self.posted
    }
}
