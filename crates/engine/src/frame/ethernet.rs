//! Ethernet, 802.1Q and IPv4 headers, and the frames of flow control.

use etherweave_primitives::HostId;

use super::checksum::internet;
use super::size::{ETHERNET, SHORTEST_FRAME};
use crate::frame::pause::{PauseFrame, priorities};

/// 802.1Q tag.
const VLAN: u16 = 0x8100;
/// MAC control.
const CONTROL: u16 = 0x8808;
/// Where pause frames go: no bridge passes them on (IEEE 802.3, Annex 31B.1).
const PAUSE_ADDRESS: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x01];
/// 802.3x and PFC.
const PAUSE: u16 = 0x0001;
const PFC: u16 = 0x0101;

/// A locally administered address for each host.
pub(super) fn mac(host: HostId) -> [u8; 6] {
    let [a, b, c, d] = host.get().to_be_bytes();
    [0x02, 0x00, a, b, c, d]
}

/// An address of 10.0.0.0/8 for each host, from 10.0.0.1 on.
pub fn ip(host: HostId) -> [u8; 4] {
    let [_, b, c, d] = (host.get() + 1).to_be_bytes();
    [10, b, c, d]
}

/// Addresses, tag and type.
pub(crate) fn header(source: HostId, destination: HostId, priority: u8, kind: u16) -> Vec<u8> {
    let mut frame = Vec::with_capacity(4600);
    frame.extend(mac(destination));
    frame.extend(mac(source));
    frame.extend(VLAN.to_be_bytes());
    frame.extend((u16::from(priority) << 13).to_be_bytes());
    frame.extend(kind.to_be_bytes());
    frame
}

/// Zeros up to the shortest frame; the check sequence, which captures leave out, counts.
pub(crate) fn pad(frame: &mut Vec<u8>) {
    let shortest = (SHORTEST_FRAME - 4) as usize;
    frame.resize(frame.len().max(shortest), 0);
}

/// An IPv4 header for `payload` bytes, its two ECN bits as given (RFC 791, RFC 3168).
pub(super) fn ipv4(source: HostId, destination: HostId, protocol: u8, payload: usize, ecn: u8) -> [u8; 20] {
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

/// A pause frame, 802.3x or PFC.
pub(super) fn pause(frame: PauseFrame, source: [u8; 6], is_pfc: bool) -> Vec<u8> {
    let mut octets = Vec::with_capacity(SHORTEST_FRAME as usize);
    octets.extend(PAUSE_ADDRESS);
    octets.extend(source);
    octets.extend(CONTROL.to_be_bytes());
    if is_pfc {
        octets.extend(PFC.to_be_bytes());
        octets.extend(u16::from(frame.enable).to_be_bytes());
        let stops: Vec<usize> = priorities(frame.stop).collect();
        (0..8).for_each(|priority| {
            let time = if stops.contains(&priority) { frame.quanta } else { 0 };
            octets.extend(time.to_be_bytes());
        });
    } else {
        octets.extend(PAUSE.to_be_bytes());
        octets.extend((if frame.stop == 0 { 0 } else { frame.quanta }).to_be_bytes());
    }
    pad(&mut octets);
    debug_assert_eq!(octets.len() as u32 + 4, SHORTEST_FRAME.max(ETHERNET));
    octets
}
