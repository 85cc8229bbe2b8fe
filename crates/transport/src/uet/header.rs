//! Fields of packets in the words that a packet keeps for its transport.

use etherweave_primitives::Time;

use crate::packet::{PacketKind, TransportPacket};

/// Bits of the byte of a data packet.
pub mod request {
    /// The receiver acknowledges at once (ar).
    pub const ACK: u8 = 1;
    /// The context is not established yet (syn).
    pub const SYN: u8 = 2;
    /// First of a message.
    pub const FIRST: u8 = 4;
    /// Last of a message.
    pub const LAST: u8 = 8;
    /// A request to read, and to read and change a word.
    pub const READ: u8 = 16;
    pub const ATOMIC: u8 = 32;
}

/// Bits of the byte of an acknowledgement.
pub mod answer {
    /// The packet that it answers was marked.
    pub const ECN_ECHO: u8 = 1;
    /// That packet was sent again.
    pub const RETRANSMITTED: u8 = 2;
    /// That packet was trimmed by the switch of the receiver.
    pub const LAST_HOP: u8 = 4;
    /// That packet came behind a gap of ordered delivery.
    pub const OUT_OF_ORDER: u8 = 8;
    /// It answers a control packet, which has no round trip of data.
    pub const REQUESTED: u8 = 16;
    /// It is about that packet alone, as answers of RUDI are.
    pub const SINGLE: u8 = 32;
}

/// Packets of the bitmap of an acknowledgement.
pub const BITMAP: u64 = 64;
/// Units in which an acknowledgement counts received bytes: 2^8 (table 3-74).
pub const RECEIVED_SHIFT: u32 = 8;
/// Bits of that count.
const RECEIVED_BITS: u32 = 24;

/// An acknowledgement, positive or negative.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct AckHeader {
    /// All packets below have arrived (CACK_PSN and one).
    pub cumulative: u32,
    /// Distance of the packet that it answers from there.
    pub answered: i16,
    /// Packets that have arrived; of a negative acknowledgement, and of one about a single packet, which that is.
    pub bitmap: u64,
    /// Entropy value of the packet that it answers.
    pub entropy: u16,
    /// Bytes received, in units of 256, modulo 2^24.
    pub received: u32,
    /// See [`answer`].
    pub bits: u8,
    /// When the packet left that it answers.
    pub sent: Time,
}

impl AckHeader {
    /// Units of so many bytes.
    pub fn units(bytes: u64) -> u32 {
        (bytes.div_ceil(1 << RECEIVED_SHIFT) & ((1 << RECEIVED_BITS) - 1)) as u32
    }

    /// Bytes by which this count is ahead of an earlier one.
    pub fn received_since(&self, earlier: u32) -> u64 {
        u64::from(self.received.wrapping_sub(earlier) & ((1 << RECEIVED_BITS) - 1)) << RECEIVED_SHIFT
    }

    /// Distance of the first packet of the bitmap from `cumulative`: it ends with the packet answered, or later.
    pub fn bitmap_offset(&self) -> u16 {
        self.answered.saturating_sub(BITMAP as i16 - 1).max(1) as u16
    }

    /// Whether all of `bits` are set.
    pub fn has(&self, bits: u8) -> bool {
        self.bits & bits == bits
    }

    /// Writes the fields into a packet.
    pub fn write(self, packet: &mut TransportPacket) {
        packet.header = (u32::from(self.answered as u16) << 16 | u32::from(self.entropy), self.bits);
        packet.acknowledged = u64::from(self.cumulative) << 32 | u64::from(self.received);
        (packet.offset, packet.sent) = (self.bitmap, self.sent);
    }

    /// Reads the fields of a packet.
    pub fn read(packet: &TransportPacket) -> AckHeader {
        let (word, bits) = packet.header;
        AckHeader {
            cumulative: (packet.acknowledged >> 32) as u32,
            answered: (word >> 16) as i16,
            bitmap: packet.offset,
            entropy: word as u16,
            received: packet.acknowledged as u32,
            bits,
            sent: packet.sent,
        }
    }
}

/// Bits of the byte of a control packet; without any it grants credits.
pub mod control {
    /// It asks for credits.
    pub const CREDIT_REQUEST: u8 = 1;
    /// It asks for an acknowledgement.
    pub const ACK_REQUEST: u8 = 2;
}

/// Credits that a data packet or a request asks for, or that a grant gives [quanta].
#[inline]
pub fn credits(packet: &TransportPacket) -> u32 {
    (packet.acknowledged >> 32) as u32
}

/// The field of a data packet, a request or a grant with its credits and an entropy value.
#[inline]
pub fn with_credits(credits: u32, entropy: u16) -> u64 {
    u64::from(credits) << 32 | u64::from(entropy)
}

/// The bits of that field with the distance of the last packet known to be acknowledged with all before it.
#[inline]
pub fn clear_offset(offset: i16) -> u64 {
    u64::from(offset as u16) << 16
}

/// Entropy value of a packet.
#[inline]
pub fn entropy(packet: &TransportPacket) -> u16 {
    match packet.kind {
        PacketKind::Data => packet.acknowledged as u16,
        _ => packet.header.0 as u16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_is_what_was_written() {
        let header = AckHeader {
            cumulative: u32::MAX,
            answered: -32_768,
            bitmap: 1 << 63 | 5,
            entropy: 4_660,
            received: (1 << 24) - 1,
            bits: answer::ECN_ECHO | answer::LAST_HOP,
            sent: Time::from_ps(77),
        };
        let mut packet = TransportPacket::new(PacketKind::Ack, 100, 0);
        header.write(&mut packet);
        assert_eq!((AckHeader::read(&packet), entropy(&packet)), (header, 4_660));
        assert!(header.has(answer::ECN_ECHO) && !header.has(answer::OUT_OF_ORDER));
    }

    #[test]
    fn received_bytes_are_counted_in_rounded_units_across_their_end() {
        assert_eq!([0, 1, 256, 257].map(AckHeader::units), [0, 1, 1, 2]);
        let full = (1u64 << 32) - 256;
        let header = AckHeader { received: AckHeader::units(full + 512), ..AckHeader::default() };
        assert_eq!(header.received_since(AckHeader::units(full)), 512);
    }
}
