//! Header of a RoCE packet, in the word and the byte that a packet keeps for its transport.

use crate::packet::{PacketKind, TransportPacket};

/// Bits of a packet sequence number in the word; how often the requester has gone back stands above it.
const SEQUENCE_BITS: u32 = 24;

/// Bits of [`RoceHeader::bits`].
pub mod bits {
    /// First of a message.
    pub const FIRST: u8 = 1;
    /// Last of a message.
    pub const LAST: u8 = 2;
    /// The message is a request of RDMA READ or of an atomic operation; with [`READ`], what an atomic operation gives.
    pub const REQUEST: u8 = 4;
    /// The message is an RDMA READ response.
    pub const READ: u8 = 8;
    /// An acknowledgement echoes a mark.
    pub const ECN_ECHO: u8 = 16;
}

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RoceHeader {
    /// Packet sequence number; of an answer the one that it names.
    pub sequence: u32,
    /// How often the requester had gone back.
    pub restarts: u8,
    /// See [`bits`].
    pub bits: u8,
}

impl RoceHeader {
    /// Whether all bits of `bits` are set.
    #[inline]
    pub fn has(&self, bits: u8) -> bool {
        self.bits & bits == bits
    }

    /// Word and byte of a packet.
    #[inline]
    pub fn pack(self) -> (u32, u8) {
        (self.sequence | u32::from(self.restarts) << SEQUENCE_BITS, self.bits)
    }

    /// Reads the word and the byte of a packet.
    #[inline]
    pub fn unpack((word, bits): (u32, u8)) -> RoceHeader {
        RoceHeader { sequence: word & ((1 << SEQUENCE_BITS) - 1), restarts: (word >> SEQUENCE_BITS) as u8, bits }
    }
}

/// Place of the entropy value of a data packet in [`TransportPacket::acknowledged`], above the bits of sums.
const ENTROPY_SHIFT: u32 = 16;

/// The field of a data packet with its entropy value and the bits of [`crate::packet::sums`].
#[inline]
pub fn with_sum(entropy: u16, sum: u64) -> u64 {
    u64::from(entropy) << ENTROPY_SHIFT | sum
}

/// Entropy value of a packet; of an acknowledgement that of the packet that it answers.
#[inline]
pub fn entropy(packet: &TransportPacket) -> u16 {
    match packet.kind {
        PacketKind::Data => (packet.acknowledged >> ENTROPY_SHIFT) as u16,
        PacketKind::Ack | PacketKind::Nak => packet.offset as u16,
        PacketKind::Cnp | PacketKind::Announcement => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entropy_value_stands_beside_the_bits_of_a_sum_and_in_an_acknowledgement() {
        let mut packet = TransportPacket::new(PacketKind::Data, 100, 0);
        packet.acknowledged = with_sum(0xffff, 7);
        assert_eq!((entropy(&packet), packet.acknowledged & 7), (0xffff, 7));
        packet = TransportPacket { kind: PacketKind::Ack, offset: 77, ..packet };
        assert_eq!(entropy(&packet), 77);
    }

    #[test]
    fn a_header_is_what_was_packed() {
        let header = RoceHeader { sequence: 0xff_fffe, restarts: 255, bits: bits::LAST | bits::READ };
        assert_eq!(RoceHeader::unpack(header.pack()), header);
        assert!(header.has(bits::READ) && !header.has(bits::READ | bits::FIRST));
    }
}
