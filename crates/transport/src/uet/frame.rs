//! Packets over UDP and IPv4: headers of packet delivery and of standard requests, payloads of zeros.
//!
//! Layouts after the structures of the reference provider (`uet_pkt_hdr.h`). Fields that the simulator does not know,
//! such as addresses of memory, are zero. Lengths of a trimmed packet are those of what is left.

use super::header::{AckHeader, answer, control, credits, entropy, request};
use super::params::{Delivery, PDS_CONTROL, RANGE_UNIT, SES_REQUEST, UetParams};
use crate::frame::size::{IPV4 as IPV4_HEADER, UDP as UDP_HEADER, wire_overhead};
use crate::packet::{FrameEnds, PacketKind, TransportPacket, flags};
use crate::{frame::ethernet::ip, frame::ethernet::ipv4, frame::internet};

const IPV4: u16 = 0x0800;
const UDP: u8 = 17;
/// Destination port of UDP (IANA: uet).
const PORT: u16 = 4793;
/// Types of packet delivery.
const RUD_REQUEST: u16 = 2;
const ROD_REQUEST: u16 = 3;
const RUDI_REQUEST: u16 = 4;
const RUDI_RESPONSE: u16 = 5;
const UUD_REQUEST: u16 = 6;
const ACK_CC: u16 = 8;
const NACK: u16 = 10;
const NACK_CCX: u16 = 12;
const CONTROL: u16 = 11;
const RUD_CC_REQUEST: u16 = 13;
const ROD_CC_REQUEST: u16 = 14;
/// Types of control packets.
const ACK_REQUESTED: u16 = 1;
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
/// Bit of control packets whose context delivers in order.
const IS_ROD: u16 = 0x20;
/// Bit of negative acknowledgements of packets of RUDI, which have no context.
const OF_RUDI: u16 = 0x08;
/// Operations of a request.
const WRITE: u8 = 0x01;
const READ: u8 = 0x02;
const FETCHING_ATOMIC: u8 = 0x04;
/// Flags of a request: last and first packet of a message.
const EOM: u8 = 0x02;
const SOM: u8 = 0x01;
/// Reasons of a negative acknowledgement.
const TRIMMED: u8 = 0x01;
const TRIMMED_LAST_HOP: u8 = 0x02;
const OUT_OF_ORDER: u8 = 0x0d;

pub(super) fn octets(ends: &FrameEnds, packet: &TransportPacket, params: &UetParams) -> (u16, Vec<u8>) {
    let body = match packet.kind {
        PacketKind::Data => request_octets(ends, packet, params),
        PacketKind::Cnp => control_octets(ends, packet, params),
        _ => answer_octets(ends, packet, params),
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

fn request_octets(ends: &FrameEnds, packet: &TransportPacket, params: &UetParams) -> Vec<u8> {
    let (number, bits) = packet.header;
    let has_credits = params.rccc.is_some();
    let kind = match (params.delivery, has_credits) {
        (Delivery::Rud, false) => RUD_REQUEST,
        (Delivery::Rud, true) => RUD_CC_REQUEST,
        (Delivery::Rod, false) => ROD_REQUEST,
        (Delivery::Rod, true) => ROD_CC_REQUEST,
        (Delivery::Rudi, _) => RUDI_REQUEST,
        (Delivery::Uud, _) => UUD_REQUEST,
    };
    let bit = |is_set: bool, bit: u16| if is_set { bit } else { 0 };
    let flags = bit(packet.has(flags::RETRANSMISSION), RETRANSMITTED)
        | bit(bits & request::ACK != 0, ACK_REQUEST)
        | bit(bits & request::SYN != 0, SYN);
    let has_context = matches!(params.delivery, Delivery::Rud | Delivery::Rod);
    let mut octets = prologue(kind, STANDARD_REQUEST, if has_context { flags } else { flags & RETRANSMITTED }).to_vec();
    octets.extend(if has_context { ((packet.acknowledged >> 16) as u16).to_be_bytes() } else { [0; 2] });
    if params.delivery != Delivery::Uud {
        octets.extend(number.to_be_bytes());
    }
    if has_context {
        octets.extend(context(ends.queue));
        octets.extend(if bits & request::SYN != 0 {
            ((number & 0xfff) as u16).to_be_bytes()
        } else {
            context(ends.queue ^ 1)
        });
    }
    if has_credits {
        octets.extend((credits(packet) & 0xff_ffff).to_be_bytes());
    }
    let length = match packet.has(flags::TRIMMED) {
        true => packet.wire.saturating_sub(wire_overhead(true) + IPV4_HEADER + UDP_HEADER) as usize,
        false => octets.len() + SES_REQUEST as usize + packet.payload as usize,
    };
    octets.extend(semantics(packet));
    octets.resize(length, 0);
    octets
}

/// The standard request: operation, flags, and but on the first packet of a message the length of the payload.
fn semantics(packet: &TransportPacket) -> [u8; SES_REQUEST as usize] {
    let bits = packet.header.1;
    let bit = |asked: u8, bit: u8| if bits & asked != 0 { bit } else { 0 };
    let mut octets = [0; SES_REQUEST as usize];
    octets[0] = match bits & (request::READ | request::ATOMIC) {
        request::READ => READ,
        request::ATOMIC => FETCHING_ATOMIC,
        _ => WRITE,
    };
    octets[1] = bit(request::LAST, EOM) | bit(request::FIRST, SOM);
    if octets[1] & SOM == 0 {
        octets[34..36].copy_from_slice(&(packet.payload as u16).to_be_bytes());
    }
    octets
}

/// A grant of credits, a request for them, or one for an acknowledgement.
fn control_octets(ends: &FrameEnds, packet: &TransportPacket, params: &UetParams) -> Vec<u8> {
    let kind = match packet.header.1 {
        0 => CREDIT,
        control::ACK_REQUEST => ACK_REQUESTED,
        _ => CREDIT_REQUEST,
    };
    let last = if kind == ACK_REQUESTED { packet.header.0.wrapping_sub(1) } else { 0 };
    let mut octets = prologue(CONTROL, kind, if params.delivery == Delivery::Rod { IS_ROD } else { 0 }).to_vec();
    octets.extend([0; 2]);
    octets.extend(last.to_be_bytes());
    octets.extend(context(ends.queue));
    octets.extend(context(ends.queue ^ 1));
    octets.extend((credits(packet) & 0xff_ffff).to_be_bytes());
    octets
}

fn answer_octets(ends: &FrameEnds, packet: &TransportPacket, params: &UetParams) -> Vec<u8> {
    let ack = AckHeader::read(packet);
    let is_single = ack.has(answer::SINGLE);
    if is_single && packet.kind == PacketKind::Ack {
        return [&prologue(RUDI_RESPONSE, NONE, flags_of(&ack))[..], &[0; 2], &(ack.bitmap as u32).to_be_bytes()]
            .concat();
    }
    let mut octets = if packet.kind == PacketKind::Nak { negative(ends, &ack) } else { positive(ends, &ack, params) };
    if is_single {
        octets.resize(PDS_CONTROL as usize, 0);
        return octets;
    }
    // State of congestion control: service time, pending window, received bytes, packets out of order.
    octets.extend([0; 3]);
    octets.extend(&ack.received.to_be_bytes()[1..]);
    octets.extend([0xff; 2]);
    octets.resize(super::params::PDS_ACK as usize, 0);
    octets
}

fn flags_of(ack: &AckHeader) -> u16 {
    let bit = |is_set: bool, bit: u16| if is_set { bit } else { 0 };
    bit(ack.has(answer::ECN_ECHO), MARKED) | bit(ack.has(answer::RETRANSMITTED), RETRANSMITTED)
}

fn positive(ends: &FrameEnds, ack: &AckHeader, params: &UetParams) -> Vec<u8> {
    let mut octets = prologue(ACK_CC, NONE, flags_of(ack)).to_vec();
    octets.extend((ack.answered + 1).to_be_bytes());
    octets.extend(ack.cumulative.wrapping_sub(1).to_be_bytes());
    octets.extend(context(ends.queue));
    octets.extend(context(ends.queue ^ 1));
    // Type NSCC, and the range that the receiver allows.
    octets.extend([0, (params.psn_range / RANGE_UNIT) as u8]);
    octets.extend((ack.bitmap_offset() + 1).to_be_bytes());
    octets.extend(ack.bitmap.to_be_bytes());
    octets
}

fn negative(ends: &FrameEnds, ack: &AckHeader) -> Vec<u8> {
    let code = match (ack.has(answer::OUT_OF_ORDER), ack.has(answer::LAST_HOP)) {
        (true, _) => OUT_OF_ORDER,
        (false, true) => TRIMMED_LAST_HOP,
        (false, false) => TRIMMED,
    };
    let (kind, flag) = if ack.has(answer::SINGLE) { (NACK, OF_RUDI) } else { (NACK_CCX, 0) };
    let mut octets = prologue(kind, NONE, flags_of(ack) | flag).to_vec();
    octets.extend([code, 0]);
    octets.extend((ack.bitmap as u32).to_be_bytes());
    if flag != 0 {
        return octets;
    }
    octets.extend(context(ends.queue));
    octets.extend(context(ends.queue ^ 1));
    // Ordered delivery names the packet that it expects.
    octets.extend(if code == OUT_OF_ORDER { ack.cumulative } else { 0 }.to_be_bytes());
    octets
}
