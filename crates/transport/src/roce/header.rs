//! Header of a RoCE packet, in the word and the byte that a packet keeps for its transport.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_what_was_packed() {
        let header = RoceHeader { sequence: 0xff_fffe, restarts: 255, bits: bits::LAST | bits::READ };
        assert_eq!(RoceHeader::unpack(header.pack()), header);
        assert!(header.has(bits::READ) && !header.has(bits::READ | bits::FIRST));
    }
}
