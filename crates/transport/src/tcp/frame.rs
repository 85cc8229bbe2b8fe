//! TCP segments over IPv4, with timestamps and SACK blocks (RFC 9293, 7323, 2018). Payloads are zeros.

use super::TcpHeader;
use crate::packet::{FrameEnds, PacketKind, TransportPacket};
use crate::{SackBlocks, frame::ethernet::ip, frame::ethernet::ipv4, frame::internet};

const IPV4: u16 = 0x0800;
const TCP: u8 = 6;
/// Control bits.
const ACK: u8 = 0x10;
const PUSH: u8 = 0x08;
const ECN_ECHO: u8 = 0x40;
const WINDOW_REDUCED: u8 = 0x80;
/// The stream's first byte: the number after the one that the handshake took.
const FIRST_BYTE: u64 = 1;
/// Windows are captured in units of 128 bytes, as if the handshake had agreed on it.
const WINDOW_SHIFT: u32 = 7;

/// The EtherType of a TCP segment, and the octets above.
pub(super) fn octets(ends: &FrameEnds, packet: &TransportPacket, side: Option<SackBlocks>) -> (u16, Vec<u8>) {
    let segment = segment(ends, packet, side);
    let mut octets = ipv4(ends.source, ends.destination, TCP, segment.len(), packet.ecn()).to_vec();
    octets.extend(segment);
    (IPV4, octets)
}

fn segment(ends: &FrameEnds, packet: &TransportPacket, side: Option<SackBlocks>) -> Vec<u8> {
    let options = options(ends, packet, side);
    let tcp = TcpHeader::unpack(packet.header);
    let is_data = packet.kind == PacketKind::Data;
    let sequence = if is_data { packet.offset + FIRST_BYTE } else { FIRST_BYTE };
    let acknowledged = if is_data { FIRST_BYTE } else { packet.acknowledged + FIRST_BYTE };
    let window = if is_data { u16::MAX } else { (tcp.window >> WINDOW_SHIFT).min(u16::MAX.into()) as u16 };
    let mut octets = Vec::with_capacity(20 + options.len() + packet.payload as usize);
    octets.extend(port(ends.queue).to_be_bytes());
    octets.extend(port(ends.queue ^ 1).to_be_bytes());
    octets.extend((sequence as u32).to_be_bytes());
    octets.extend((acknowledged as u32).to_be_bytes());
    octets.extend([((20 + options.len()) as u8 / 4) << 4, control(tcp, is_data)]);
    octets.extend(window.to_be_bytes());
    octets.extend([0; 4]);
    octets.extend(options);
    octets.resize(octets.len() + packet.payload as usize, 0);
    let (source, destination) = (ip(ends.source), ip(ends.destination));
    let length = (octets.len() as u32).to_be_bytes();
    let sum = internet(&[&source, &destination, &[0, TCP], &length, &octets]);
    octets[16..18].copy_from_slice(&sum.to_be_bytes());
    octets
}

fn control(tcp: TcpHeader, is_data: bool) -> u8 {
    let mut bits = if is_data { ACK | PUSH } else { ACK };
    if is_data && tcp.window_reduced {
        bits |= WINDOW_REDUCED;
    }
    if tcp.ecn_echo {
        bits |= ECN_ECHO;
    }
    bits
}

/// One end listens, the other has a port of its own. `queue`: number of the endpoint.
pub fn port(queue: u32) -> u16 {
    if queue & 1 == 1 { 5001 } else { 32_768 + (queue / 2 % 28_000) as u16 }
}

/// Timestamps in microseconds, and SACK blocks.
fn options(ends: &FrameEnds, packet: &TransportPacket, side: Option<SackBlocks>) -> Vec<u8> {
    let micros = |picoseconds: u64| ((picoseconds / 1_000_000) as u32).to_be_bytes();
    let (value, echo) = match packet.kind {
        PacketKind::Data => (micros(packet.sent.as_ps()), [0; 4]),
        _ => (micros(ends.time.as_ps()), micros(packet.sent.as_ps())),
    };
    let mut octets = vec![1, 1, 8, 10];
    octets.extend(value);
    octets.extend(echo);
    let blocks: Vec<_> = side.iter().flatten().filter(|block| !block.is_empty()).collect();
    if !blocks.is_empty() {
        octets.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
        for block in blocks {
            octets.extend(((block.start + FIRST_BYTE) as u32).to_be_bytes());
            octets.extend(((block.end + FIRST_BYTE) as u32).to_be_bytes());
        }
    }
    octets
}
