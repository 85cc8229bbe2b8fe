//! Ethernet, 802.1Q and IPv4 headers.

use etherweave_primitives::HostId;

use super::{checksum::internet, size::SHORTEST_FRAME};

/// 802.1Q tag.
const VLAN: u16 = 0x8100;
/// Addresses, tag and type [B].
const HEADER: usize = 18;

/// A locally administered address for each host.
pub fn mac(host: HostId) -> [u8; 6] {
    let [a, b, c, d] = host.get().to_be_bytes();
    [0x02, 0x00, a, b, c, d]
}

/// An address of 10.0.0.0/8 for each host, from 10.0.0.1 on.
pub fn ip(host: HostId) -> [u8; 4] {
    let [_, b, c, d] = (host.get() + 1).to_be_bytes();
    [10, b, c, d]
}

/// Addresses, tag and type.
pub fn header(source: HostId, destination: HostId, priority: u8, kind: u16) -> Vec<u8> {
    let mut frame = Vec::with_capacity(4600);
    frame.extend(mac(destination));
    frame.extend(mac(source));
    frame.extend(VLAN.to_be_bytes());
    frame.extend((u16::from(priority) << 13).to_be_bytes());
    frame.extend(kind.to_be_bytes());
    frame
}

/// Zeros up to the shortest frame; the check sequence, which captures leave out, counts.
pub fn pad(frame: &mut Vec<u8>) {
    let shortest = (SHORTEST_FRAME - 4) as usize;
    frame.resize(frame.len().max(shortest), 0);
}

/// Sets the code point (RFC 2474) of a frame whose IPv4 header follows [`header`], and its checksum.
pub fn set_code_point(frame: &mut [u8], code_point: u8) {
    let header = &mut frame[HEADER..HEADER + 20];
    header[1] = code_point << 2 | header[1] & 3;
    header[10..12].fill(0);
    let sum = internet(&[header]);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// An IPv4 header for `payload` bytes, its two ECN bits as given (RFC 791, RFC 3168).
pub(crate) fn ipv4(source: HostId, destination: HostId, protocol: u8, payload: usize, ecn: u8) -> [u8; 20] {
    let length = (payload + 20) as u16;
    let mut header = [0; 20];
    header[..2].copy_from_slice(&[0x45, ecn]);
    header[2..4].copy_from_slice(&length.to_be_bytes());
    // Do not fragment.
    header[6] = 0x40;
    header[8..10].copy_from_slice(&[64, protocol]);
    header[12..16].copy_from_slice(&ip(source));
    header[16..20].copy_from_slice(&ip(destination));
    let sum = internet(&[&header]);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    header
}
