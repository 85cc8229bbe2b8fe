//! RoCE packets: network header, base transport header and extensions, payload, invariant check sequence.
//!
//! Opcodes and headers after InfiniBand Architecture vol. 1, 9.2-9.4; encapsulations after its annexes A16 (v1) and
//! A17 (v2). Payloads are zeros. No standard has headers for selective repeat: here every packet of a WRITE has an
//! address, and the blocks of an acknowledgement follow its extension.

use super::header::{RoceHeader, bits, entropy};
use crate::frame::ethernet::{ip, ipv4, mac};
use crate::packet::{FrameEnds, PacketKind, SideContent, TransportPacket, sums};
use crate::params::{Reliability, RoceParams, RoceVersion};
use crate::telemetry::header_bytes;

/// EtherTypes of RoCE v1 and IPv4.
const ROCE: u16 = 0x8915;
const IPV4: u16 = 0x0800;
/// IP protocol UDP, and the destination port of RoCE v2.
const UDP: u8 = 17;
const PORT: u16 = 4791;
/// Operation codes of reliable connections, and of a congestion notification.
const WRITE: [u8; 4] = [0x06, 0x07, 0x08, 0x0a];
const READ_RESPONSE: [u8; 4] = [0x0d, 0x0e, 0x0f, 0x10];
const READ_REQUEST: u8 = 0x0c;
const ATOMIC_ACKNOWLEDGE: u8 = 0x12;
const FETCH_ADD: u8 = 0x14;
/// Extension header of an atomic request [B].
const ATOMIC_EXTENSION: u32 = 28;
const ACKNOWLEDGE: u8 = 0x11;
const CONGESTION_NOTIFICATION: u8 = 0x81;
/// The first queue pairs are reserved.
const FIRST_QUEUE_PAIR: u32 = 16;
/// The bits of a congestion notification besides its operation code: BECN (A17, 17.9.3), beside the queue pair's
/// number.
const BACKWARD_CONGESTION: u32 = 1 << 30;
/// AETH syndromes: ACK without credits, NAK for a sequence error.
const ACK: u8 = 0x1f;
const NAK: u8 = 0x60;

/// The EtherType of a RoCE packet, and the octets above.
pub(super) fn octets(
    ends: &FrameEnds,
    packet: &TransportPacket,
    side: Option<&SideContent>,
    roce: &RoceParams,
) -> (u16, Vec<u8>) {
    let version = roce.version;
    let mut transport = transport(ends, packet, roce.reliability);
    transport.extend(blocks(side));
    let switches = roce.telemetry_switches();
    if switches > 0 && packet.kind != PacketKind::Cnp {
        transport.extend(telemetry(side, switches));
    }
    let (mut octets, kind) = match version {
        RoceVersion::V1 => (global_route(ends, transport.len(), packet.ecn()), ROCE),
        RoceVersion::V2 => (ipv4_udp(ends, transport.len(), packet), IPV4),
    };
    let check = invariant_check(&octets, &transport, version);
    octets.extend(transport);
    octets.extend(check.to_le_bytes());
    (kind, octets)
}

/// Base transport header, extensions and payload.
fn transport(ends: &FrameEnds, packet: &TransportPacket, reliability: Reliability) -> Vec<u8> {
    let roce = RoceHeader::unpack(packet.header);
    let payload = packet.payload as usize;
    let filler = payload.wrapping_neg() % 4;
    let (opcode, extension) = operation(packet, reliability);
    let is_request = opcode == READ_REQUEST || opcode == FETCH_ADD;
    let wants_ack = u32::from(packet.kind == PacketKind::Data && roce.has(bits::LAST)) << 31;
    let mut octets = vec![opcode, (filler as u8) << 4, 0xff, 0xff];
    let congestion = if packet.kind == PacketKind::Cnp { BACKWARD_CONGESTION } else { 0 };
    octets.extend((congestion | ((ends.queue ^ 1) + FIRST_QUEUE_PAIR)).to_be_bytes());
    octets.extend((wants_ack | sequence(packet)).to_be_bytes());
    octets.extend(extension);
    let is_bare = packet.kind == PacketKind::Data && packet.acknowledged & sums::BARE != 0;
    let body = if is_request || is_bare { 0 } else { payload + filler };
    octets.resize(octets.len() + body, 0);
    octets
}

/// Packet sequence number. The responder keeps the one that it expects next: that is what a NAK names, while an ACK
/// names the last one that arrived (9.7.5).
fn sequence(packet: &TransportPacket) -> u32 {
    let passed = u32::from(packet.kind == PacketKind::Ack);
    RoceHeader::unpack(packet.header).sequence.wrapping_sub(passed) & 0xff_ffff
}

/// The operation code, and the extension header that goes with it.
fn operation(packet: &TransportPacket, reliability: Reliability) -> (u8, Vec<u8>) {
    let roce = RoceHeader::unpack(packet.header);
    let place = match (roce.has(bits::FIRST), roce.has(bits::LAST)) {
        (true, false) => 0,
        (false, false) => 1,
        (false, true) => 2,
        (true, true) => 3,
    };
    let is_edge = place != 1;
    match packet.kind {
        PacketKind::Ack => (ACKNOWLEDGE, acknowledge_extension(ACK, roce.sequence)),
        PacketKind::Nak => (ACKNOWLEDGE, acknowledge_extension(NAK, roce.sequence)),
        PacketKind::Cnp => (CONGESTION_NOTIFICATION, vec![0; 16]),
        PacketKind::Data if roce.has(bits::REQUEST | bits::READ) => {
            (ATOMIC_ACKNOWLEDGE, acknowledge_extension(ACK, roce.sequence))
        }
        PacketKind::Data if roce.has(bits::REQUEST) && packet.payload == ATOMIC_EXTENSION => {
            (FETCH_ADD, atomic_extension(packet))
        }
        PacketKind::Data if roce.has(bits::REQUEST) => (READ_REQUEST, address_extension(packet)),
        PacketKind::Data if roce.has(bits::READ) => {
            let extension = if is_edge { acknowledge_extension(ACK, roce.sequence) } else { Vec::new() };
            (READ_RESPONSE[place], extension)
        }
        PacketKind::Data => {
            let has_address = roce.has(bits::FIRST) || reliability == Reliability::SelectiveRepeat;
            (WRITE[place], if has_address { address_extension(packet) } else { Vec::new() })
        }
        PacketKind::Announcement => unreachable!("announcements are no frames"),
    }
}

/// The blocks of a selective acknowledgement: the lower 32 bits of their offsets in the stream.
fn blocks(side: Option<&SideContent>) -> Vec<u8> {
    let blocks = side.map(|side| side.blocks).unwrap_or_default().into_iter().filter(|block| !block.is_empty());
    blocks.flat_map(|block| [block.start, block.end]).flat_map(|offset| (offset as u32).to_be_bytes()).collect()
}

/// Telemetry (HPCC, figure 7): how many switches wrote, 4 bits, and which path, 12; of each its rate, 4, the time [ns],
/// 24, what it sent [128 B], 20, and its queue [80 B], 16. The rate is the binary logarithm of Gb/s, the path the
/// exclusive or of its ports.
fn telemetry(side: Option<&SideContent>, switches: u8) -> Vec<u8> {
    let ports = side.map_or(&[][..], |side| side.path.ports());
    let path = ports.iter().fold(0, |path, port| path ^ port.port) & 0xfff;
    let mut octets = ((ports.len() as u32) << 12 | path).to_be_bytes()[2..].to_vec();
    for port in ports {
        let rate = u64::from((port.rate.as_bps() / 1_000_000_000).max(1).ilog2()) & 0xf;
        let (time, sent) = ((port.time.as_ps() / 1_000) & 0xff_ffff, (port.sent / 128) & 0xf_ffff);
        let queued = u64::from(port.queued / 80) & 0xffff;
        octets.extend((rate << 60 | time << 36 | sent << 16 | queued).to_be_bytes());
    }
    octets.resize(header_bytes(switches) as usize, 0);
    octets
}

/// AETH: syndrome and message sequence number.
fn acknowledge_extension(syndrome: u8, sequence: u32) -> Vec<u8> {
    (u32::from(syndrome) << 24 | sequence & 0xff_ffff).to_be_bytes().to_vec()
}

/// RETH: where to, with which key, how much. The model keeps no lengths of messages: the packet's stands there.
fn address_extension(packet: &TransportPacket) -> Vec<u8> {
    let mut octets = packet.offset.to_be_bytes().to_vec();
    octets.extend([0, 0, 0, 1]);
    octets.extend(packet.payload.to_be_bytes());
    octets
}

/// AtomicETH: where, with which key, what to add, what to compare with.
fn atomic_extension(packet: &TransportPacket) -> Vec<u8> {
    let mut octets = packet.offset.to_be_bytes().to_vec();
    octets.extend([0, 0, 0, 1]);
    octets.extend([1_u64.to_be_bytes(), [0; 8]].concat());
    octets
}

/// Network header and UDP, whose source port is that of the queue pair, changed by the entropy value.
fn ipv4_udp(ends: &FrameEnds, transport: usize, packet: &TransportPacket) -> Vec<u8> {
    let length = 8 + transport + 4;
    let mut octets = ipv4(ends.source, ends.destination, UDP, length, packet.ecn()).to_vec();
    let source_port = 0xc000 | (ends.queue as u16 ^ entropy(packet)) & 0x3fff;
    octets.extend(source_port.to_be_bytes());
    octets.extend(PORT.to_be_bytes());
    octets.extend((length as u16).to_be_bytes());
    // RoCE v2 leaves the UDP checksum out.
    octets.extend([0, 0]);
    octets
}

/// GRH, with IPv4-mapped group identifiers.
fn global_route(ends: &FrameEnds, transport: usize, ecn: u8) -> Vec<u8> {
    let mut octets = vec![0x60, ecn << 4, 0, 0];
    octets.extend(((transport + 4) as u16).to_be_bytes());
    // Next header: base transport header.
    octets.extend([0x1b, 64]);
    for host in [ends.source, ends.destination] {
        octets.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);
        octets.extend(ip(host));
    }
    debug_assert_ne!(mac(ends.source), mac(ends.destination));
    octets
}

/// ICRC: CRC-32 over what no switch changes, all else replaced by ones (7.8.1; A17, 17.9.1).
fn invariant_check(network: &[u8], transport: &[u8], version: RoceVersion) -> u32 {
    let mut masked = network.to_vec();
    match version {
        RoceVersion::V1 => {
            masked[0] |= 0x0f;
            masked[1..4].fill(0xff);
            masked[7] = 0xff;
        }
        RoceVersion::V2 => {
            masked[1] = 0xff;
            masked[8] = 0xff;
            masked[10..12].fill(0xff);
            masked[26..28].fill(0xff);
        }
    }
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[0xff; 8]);
    hasher.update(&masked);
    hasher.update(&transport[..4]);
    // Reserved byte of the base transport header.
    hasher.update(&[0xff]);
    hasher.update(&transport[5..]);
    hasher.finalize()
}
