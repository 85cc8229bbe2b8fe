//! The alternating-bit protocol, as others see it: a transport of the tests.

use etherweave_primitives::{Bytes, Duration};
use etherweave_transport::params::{Checked, check_timer, require_within};

use super::{ConnectionWindow, TransportParams};
use crate::capture::{CapturedFrame, SideContent};
use crate::frame::{ethernet, size};
use crate::packet::Packet;
use crate::params::EcnMarking;

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

impl AlternatingBitParams {
    /// A packet with so much payload [B on the wire].
    pub fn wire(payload: u32) -> u32 {
        size::wire_bytes(true, HEADER + payload)
    }
}

impl TransportParams for AlternatingBitParams {
    fn payload(&self) -> Bytes {
        self.payload
    }

    fn frame_max(&self) -> u32 {
        AlternatingBitParams::wire(self.payload.get() as u32)
    }

    fn window(&self) -> ConnectionWindow {
        ConnectionWindow { key: "transport.alternating_bit.payload", bytes: self.payload }
    }

    fn first_timeout(&self) -> Duration {
        self.timeout
    }

    fn check(&self, _ecn: Option<&EcnMarking>) -> Checked {
        require_within(Bytes::new(1)..=Bytes::new(8_192), "transport.alternating_bit.payload", self.payload)?;
        check_timer("transport.alternating_bit.timeout", self.timeout)
    }

    fn frame(&self, captured: &CapturedFrame, packet: &Packet, _side: Option<&SideContent>) -> Vec<u8> {
        let mut octets = ethernet::header(captured.source, captured.destination, packet.priority, EXPERIMENTAL);
        octets.push((packet.offset / self.payload.get()) as u8 & 1);
        octets.extend(packet.offset.max(packet.acknowledged).to_be_bytes());
        octets.resize(octets.len() + packet.payload as usize, 0);
        ethernet::pad(&mut octets);
        octets
    }
}
