//! Header of a TCP segment, in the word and the byte that a packet keeps for its transport.

/// Bits of the byte.
const WINDOW_REDUCED: u8 = 1;
const ECN_ECHO: u8 = 2;

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TcpHeader {
    /// Receive window [B].
    pub window: u32,
    /// The sender reduced its window (CWR, RFC 3168).
    pub window_reduced: bool,
    /// The receiver saw congestion marks (ECE).
    pub ecn_echo: bool,
}

impl TcpHeader {
    /// Word and byte of a packet.
    #[inline]
    pub fn pack(self) -> (u32, u8) {
        let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        (self.window, bit(self.window_reduced, WINDOW_REDUCED) | bit(self.ecn_echo, ECN_ECHO))
    }

    /// Reads the word and the byte of a packet.
    #[inline]
    pub fn unpack((window, bits): (u32, u8)) -> TcpHeader {
        TcpHeader { window, window_reduced: bits & WINDOW_REDUCED != 0, ecn_echo: bits & ECN_ECHO != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_what_was_packed() {
        for (window_reduced, ecn_echo) in [(false, false), (true, false), (false, true), (true, true)] {
            let header = TcpHeader { window: u32::MAX, window_reduced, ecn_echo };
            assert_eq!(TcpHeader::unpack(header.pack()), header);
        }
    }
}
