//! Packets over UDP and IPv4: headers of packet delivery and of standard requests, payloads of zeros.
//!
//! Layouts after the structures of the reference provider (`uet_pkt_hdr.h`). Fields that the simulator does not know,
//! such as addresses of memory, are zero. Lengths of a trimmed packet are those of what is left.

use super::header::{AckHeader, answer, credit, credits, entropy, request};
use super::params::SES_REQUEST;
use crate::frame::ethernet::{ip, ipv4};
use crate::frame::internet;
use crate::frame::size::{IPV4 as IPV4_HEADER, UDP as UDP_HEADER, wire_overhead};
use crate::packet::{FrameEnds, PacketKind, TransportPacket, flags};

const IPV4: u16 = 0x0800;
const UDP: u8 = 17;
/// Destination port of UDP (IANA: uet).
const PORT: u16 = 4793;
/// Types of packet delivery.
const RUD_REQUEST: u16 = 2;
const ACK_CC: u16 = 8;
const NACK_CCX: u16 = 12;
const CONTROL: u16 = 11;
const RUD_CC_REQUEST: u16 = 13;
/// Types of control packets.
const CREDIT: u16 = 7;
const CREDIT_REQUEST: u16 = 8;
/// Next headers: a standard request, or none.
const STANDARD_REQUEST: u16 = 3;
const NONE: u16 = 0;
/// Flags of the prologue.
const RETRANSMITTED: u16 = 0x10;
const ACK_REQUEST: u16 = 0x08;
const SYN: u16 = 0x04;
const MARKED: u16 = 0x20;
/// Reasons of a negative acknowledgement.
const TRIMMED: u8 = 0x01;
const TRIMMED_LAST_HOP: u8 = 0x02;
const OUT_OF_ORDER: u8 = 0x0d;

/// The EtherType of a packet, and the octets above.
pub(super) fn octets(ends: &FrameEnds, packet: &TransportPacket, has_credits: bool) -> (u16, Vec<u8>) {
    let body = match packet.kind {
        PacketKind::Data => request_octets(ends, packet, has_credits),
        PacketKind::Cnp => control_octets(ends, packet),
        _ => answer_octets(ends, packet),
    };
    let mut udp = Vec::with_capacity(8 + body.len());
    udp.extend(entropy(packet).to_be_bytes());
    udp.extend(PORT.to_be_bytes());
    udp.extend(((8 + body.len()) as u16).to_be_bytes());
    udp.extend([0; 2]);
    udp.extend(body);
    let (source, destination) = (ip(ends.source), ip(ends.destination));
    let length = (udp.len() as u32).to_be_bytes();
    let sum = internet(&[&source, &destination, &[0, UDP], &length, &udp]);
    udp[6..8].copy_from_slice(&sum.to_be_bytes());
    let mut octets = ipv4(ends.source, ends.destination, UDP, udp.len(), packet.ecn()).to_vec();
    octets.extend(udp);
    (IPV4, octets)
}

fn prologue(kind: u16, next: u16, bits: u16) -> [u8; 2] {
    (kind << 11 | next << 7 | bits).to_be_bytes()
}

/// Identifier of a context at an end: 0 is reserved.
fn context(queue: u32) -> [u8; 2] {
    ((queue % u32::from(u16::MAX)) as u16 + 1).to_be_bytes()
}

fn request_octets(ends: &FrameEnds, packet: &TransportPacket, has_credits: bool) -> Vec<u8> {
    let (number, bits) = packet.header;
    let bit = |is_set: bool, bit: u16| if is_set { bit } else { 0 };
    let flags = bit(packet.has(flags::RETRANSMISSION), RETRANSMITTED)
        | bit(bits & request::ACK != 0, ACK_REQUEST)
        | bit(bits & request::SYN != 0, SYN);
    let mut octets = prologue(if has_credits { RUD_CC_REQUEST } else { RUD_REQUEST }, STANDARD_REQUEST, flags).to_vec();
    octets.extend([0; 2]);
    octets.extend(number.to_be_bytes());
    octets.extend(context(ends.queue));
    octets.extend(if bits & request::SYN != 0 {
        ((number & 0xfff) as u16).to_be_bytes()
    } else {
        context(ends.queue ^ 1)
    });
    if has_credits {
        octets.extend((credits(packet) & 0xff_ffff).to_be_bytes());
    }
    let length = match packet.has(flags::TRIMMED) {
        true => packet.wire.saturating_sub(wire_overhead(true) + IPV4_HEADER + UDP_HEADER) as usize,
        false => octets.len() + SES_REQUEST as usize + packet.payload as usize,
    };
    octets.resize(length, 0);
    octets
}

/// A grant of credits, or a request for them.
fn control_octets(ends: &FrameEnds, packet: &TransportPacket) -> Vec<u8> {
    let control = if packet.header.1 & credit::REQUEST == 0 { CREDIT } else { CREDIT_REQUEST };
    let mut octets = prologue(CONTROL, control, 0).to_vec();
    octets.extend([0; 6]);
    octets.extend(context(ends.queue));
    octets.extend(context(ends.queue ^ 1));
    octets.extend((credits(packet) & 0xff_ffff).to_be_bytes());
    octets
}

fn answer_octets(ends: &FrameEnds, packet: &TransportPacket) -> Vec<u8> {
    let ack = AckHeader::read(packet);
    let mut octets = if packet.kind == PacketKind::Nak { negative(ends, &ack) } else { positive(ends, &ack) };
    // State of congestion control: service time, pending window, received bytes, packets out of order.
    octets.extend([0; 3]);
    octets.extend(&ack.received.to_be_bytes()[1..]);
    octets.extend([0xff; 2]);
    octets.resize(super::params::PDS_ACK as usize, 0);
    octets
}

fn positive(ends: &FrameEnds, ack: &AckHeader) -> Vec<u8> {
    let bit = |is_set: bool, bit: u16| if is_set { bit } else { 0 };
    let flags = bit(ack.has(answer::ECN_ECHO), MARKED) | bit(ack.has(answer::RETRANSMITTED), RETRANSMITTED);
    let mut octets = prologue(ACK_CC, NONE, flags).to_vec();
    octets.extend([0; 2]);
    octets.extend(ack.cumulative.wrapping_sub(1).to_be_bytes());
    octets.extend(context(ends.queue));
    octets.extend(context(ends.queue ^ 1));
    octets.extend([0, 8]);
    octets.extend(ack.bitmap_offset.wrapping_add(1).to_be_bytes());
    octets.extend(ack.bitmap.to_be_bytes());
    octets
}

fn negative(ends: &FrameEnds, ack: &AckHeader) -> Vec<u8> {
    let code = match (ack.has(answer::OUT_OF_ORDER), ack.has(answer::LAST_HOP)) {
        (true, _) => OUT_OF_ORDER,
        (false, true) => TRIMMED_LAST_HOP,
        (false, false) => TRIMMED,
    };
    let flags = if ack.has(answer::ECN_ECHO) { MARKED } else { 0 };
    let mut octets = prologue(NACK_CCX, NONE, flags).to_vec();
    octets.extend([code, 0]);
    octets.extend((ack.bitmap as u32).to_be_bytes());
    octets.extend(context(ends.queue));
    octets.extend(context(ends.queue ^ 1));
    octets.extend([0; 4]);
    octets
}
