//! Bytes of a frame on the wire: what a packet costs a link.
//!
//! Every size includes the preamble with its delimiter and the inter-packet gap (IEEE 802.3-2018, 3.1.1 and 4.4.2), so
//! dividing by the link's rate gives the time until the next frame can start.

use crate::{params::RoceParams, params::RoceVersion, telemetry::header_bytes};

/// Preamble and start delimiter, 8, and gap, 12 [B].
pub const PREAMBLE_AND_GAP: u32 = 8 + 12;
/// Addresses, EtherType and frame check sequence [B].
pub const ETHERNET: u32 = 14 + 4;
/// 802.1Q tag [B].
pub const VLAN_TAG: u32 = 4;
/// Shortest frame, check sequence included (IEEE 802.3-2018, 4.4.2) [B].
pub const SHORTEST_FRAME: u32 = 64;
/// IPv4 header without options [B].
pub const IPV4: u32 = 20;
/// UDP header [B].
pub const UDP: u32 = 8;
/// TCP header, 20, with timestamps padded to a multiple of four, 12 (RFC 7323, appendix A) [B].
pub const TCP_TIMESTAMPS: u32 = 20 + 12;
/// Global route header of RoCE v1, the size of an IPv6 header (InfiniBand Architecture vol. 1, 8.3) [B].
pub const GRH: u32 = 40;
/// Base transport header (same, 9.2) [B].
pub const BTH: u32 = 12;
/// RDMA extended transport header: address, key, length (same, 9.3.3) [B].
pub const RETH: u32 = 16;
/// Acknowledge extended transport header (same, 9.3.5) [B].
pub const AETH: u32 = 4;
/// A block of a selective acknowledgement: its first byte and the one after its last, 32 bits each, as in TCP (RFC
/// 2018,
/// section 3) [B].
pub const SELECTIVE_BLOCK: u32 = 8;
/// Invariant check sequence (same, 7.8.1) [B].
pub const ICRC: u32 = 4;
/// Body of a congestion notification (RoCE v2 annex A17, 17.9.3) [B].
pub const CNP_BODY: u32 = 16;

/// Returns the bytes that a frame adds to what is above Ethernet, unless that is too short.
pub const fn wire_overhead(vlan: bool) -> u32 {
    PREAMBLE_AND_GAP + ETHERNET + if vlan { VLAN_TAG } else { 0 }
}

/// A frame of `payload` bytes above Ethernet, on the wire.
pub const fn wire_bytes(vlan: bool, payload: u32) -> u32 {
    let frame = ETHERNET + payload + if vlan { VLAN_TAG } else { 0 };
    PREAMBLE_AND_GAP + if frame < SHORTEST_FRAME { SHORTEST_FRAME } else { frame }
}

/// A pause frame, 802.3x or PFC: always the shortest there is.
pub const fn pause_wire_bytes() -> u32 {
    PREAMBLE_AND_GAP + SHORTEST_FRAME
}

/// A TCP segment over IPv4 with timestamps and so many SACK blocks (two pad bytes, kind, length, 8 each: RFC 2018).
pub const fn tcp_wire_bytes(vlan: bool, payload: u32, sack_blocks: u32) -> u32 {
    let sack = if sack_blocks == 0 { 0 } else { 4 + 8 * sack_blocks };
    wire_bytes(vlan, IPV4 + TCP_TIMESTAMPS + sack + payload)
}

/// Sizes of one encapsulation of RoCE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoceSizes {
    /// Headers below the transport's own, telemetry, and the check sequence above [B].
    envelope: u32,
    vlan: bool,
}

impl RoceSizes {
    /// Returns the sizes of `version`, with or without an 802.1Q tag.
    pub const fn new(version: RoceVersion, vlan: bool) -> RoceSizes {
        let network = match version {
            RoceVersion::V1 => GRH,
            RoceVersion::V2 => IPV4 + UDP,
        };
        RoceSizes { envelope: network + BTH + ICRC, vlan }
    }

    /// Those of packets with an 802.1Q tag, with room for what switches write into them.
    pub fn of(roce: &RoceParams) -> RoceSizes {
        RoceSizes::new(roce.version, true).with_telemetry(header_bytes(roce.telemetry_switches()))
    }

    /// The same, with room for telemetry [B] in data and acknowledgements.
    pub const fn with_telemetry(self, bytes: u32) -> RoceSizes {
        RoceSizes { envelope: self.envelope + bytes, vlan: self.vlan }
    }

    /// Returns the bytes that the first packet of a message adds to its payload.
    pub const fn first_overhead(self) -> u32 {
        wire_bytes(self.vlan, self.envelope + RETH)
    }

    /// Returns the bytes that the first and the last packet of an RDMA READ response add to their payload.
    pub const fn read_edge_overhead(self) -> u32 {
        wire_bytes(self.vlan, self.envelope + AETH)
    }

    /// Returns the bytes that any other packet adds to its payload: never so short that padding matters.
    pub const fn middle_overhead(self) -> u32 {
        wire_bytes(self.vlan, self.envelope)
    }

    /// An acknowledgement.
    pub const fn acknowledgement(self) -> u32 {
        wire_bytes(self.vlan, self.envelope + AETH)
    }

    /// A congestion notification.
    pub const fn congestion_notification(self) -> u32 {
        wire_bytes(self.vlan, self.envelope + CNP_BODY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_frame_takes_672_bit_times() {
        // 64 B + 8 B preamble + 12 B gap.
        assert_eq!(pause_wire_bytes() * 8, 672);
        assert_eq!(wire_bytes(false, 1), 84);
    }

    #[test]
    fn a_full_rdma_packet_fits_the_testbeds_mtu_of_4500() {
        for (version, network) in [(RoceVersion::V1, 40), (RoceVersion::V2, 28)] {
            let sizes = RoceSizes::new(version, true);
            // preamble and gap, Ethernet, tag, network, BTH, RETH, ICRC
            assert_eq!(sizes.first_overhead(), 20 + 18 + 4 + network + 12 + 16 + 4);
            assert_eq!(sizes.middle_overhead(), sizes.first_overhead() - 16);
            assert!(4096 + network + 12 + 16 + 4 <= 4500);
        }
    }

    #[test]
    fn a_tcp_segment_fills_the_mtu() {
        // MTU 4500 less 20 B IPv4, 20 B TCP, 12 B timestamps: 4448 B.
        assert_eq!(tcp_wire_bytes(false, 4448, 0), 4500 + 18 + 20);
        // Three SACK blocks: 2 pad + 2 + 3 * 8.
        assert_eq!(tcp_wire_bytes(true, 0, 3), 20 + 18 + 4 + 20 + 32 + 28);
    }
}
