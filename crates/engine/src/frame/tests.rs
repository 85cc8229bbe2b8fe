//! Octets against the sizes that the simulation reckons with, and against what the standards spell out.

use etherweave_kernel::indices::{EndpointIndex, PortIndex};
use etherweave_primitives::{BitRate, HostId, Time};
use etherweave_transport::telemetry::{PathTelemetry, PortTelemetry, header_bytes};
use etherweave_transport::uet::{Delivery, Rccc, UetParams};
use etherweave_transport::{ByteRange, SackBlocks, roce::header::bits, tcp::TcpParams};

use super::size::{PREAMBLE_AND_GAP, RoceSizes, tcp_wire_bytes};
use super::{octets, pcapng};
use crate::capture::{Captured, CapturedFrame, SideContent};
use crate::frame::pause::PauseFrame;
use crate::packet::{NO_PACKET, NO_SIDE, Packet, PacketKind, flags};
use crate::params::{FlowControl, GlobalPause, Hpcc, Pfc, RoceParams, RoceVersion, SimParams, Transport, Trimming};

/// Frame check sequence, which captures leave out [B].
const CHECK: u32 = 4;
/// Where the base transport header starts: Ethernet 14, tag 4, IPv4 20, UDP 8.
const BASE_TRANSPORT: usize = 14 + 4 + 20 + 8;

fn packet(kind: PacketKind, header_bits: u8, payload: u32) -> Packet {
    Packet {
        next: NO_PACKET,
        endpoint: EndpointIndex::NONE,
        route: 0,
        ingress: PortIndex::NONE,
        offset: 0,
        acknowledged: 0,
        sent: Time::ZERO,
        wire: 0,
        payload,
        word: 0,
        side: NO_SIDE,
        sender: 0,
        kind,
        priority: 0,
        flags: 0,
        header_bits,
    }
}

/// Frame from host 1 to host 2.
fn captured(content: Captured) -> CapturedFrame {
    let (source, destination) = (HostId::new(1), HostId::new(2));
    CapturedFrame { time: Time::ZERO, is_outgoing: true, source, destination, queue: 0, transport: 0, content }
}

fn roce(version: RoceVersion) -> SimParams {
    SimParams { transport: Transport::Roce(RoceParams { version, ..RoceParams::default() }), ..SimParams::default() }
}

fn tcp() -> SimParams {
    SimParams { transport: Transport::Tcp(TcpParams::default()), ..SimParams::default() }
}

fn packet_octets(packet: Packet, side: Option<SackBlocks>, params: &SimParams) -> Vec<u8> {
    let side = side.map(|blocks| Box::new(SideContent { blocks, path: PathTelemetry::default() }));
    octets(&captured(Captured::Packet(packet, side)), params)
}

fn pause_octets(flow_control: FlowControl, enable: u8, stop: u8, quanta: u16) -> Vec<u8> {
    let params = SimParams { flow_control, ..SimParams::default() };
    octets(&captured(Captured::Pause(PauseFrame { enable, stop, quanta })), &params)
}

fn on_the_wire(octets: &[u8]) -> u32 {
    octets.len() as u32 + CHECK + PREAMBLE_AND_GAP
}

/// Header and sequence number of a RoCE v2 packet: bytes 4-11 of the base transport header.
fn numbers(packet: Packet) -> (u32, u32) {
    let octets = packet_octets(packet, None, &roce(RoceVersion::V2));
    let word = |at: usize| u32::from_be_bytes(octets[at..at + 4].try_into().unwrap());
    (word(BASE_TRANSPORT + 4), word(BASE_TRANSPORT + 8))
}

#[test]
fn every_roce_frame_is_as_long_as_the_simulation_reckons() {
    for version in [RoceVersion::V1, RoceVersion::V2] {
        let sizes = RoceSizes::new(version, true);
        let check = |kind, flags, payload: u32, overhead: u32| {
            let octets = packet_octets(packet(kind, flags, payload), None, &roce(version));
            let expected = overhead + payload.next_multiple_of(4);
            assert_eq!(on_the_wire(&octets), expected, "{version:?} {kind:?} {flags} {payload}");
        };
        for payload in [1, 2, 3, 4, 1000, 4095, 4096] {
            check(PacketKind::Data, bits::FIRST, payload, sizes.first_overhead());
            check(PacketKind::Data, bits::FIRST | bits::LAST, payload, sizes.first_overhead());
            check(PacketKind::Data, 0, payload, sizes.middle_overhead());
            check(PacketKind::Data, bits::LAST, payload, sizes.middle_overhead());
            check(PacketKind::Data, bits::READ | bits::FIRST, payload, sizes.read_edge_overhead());
            check(PacketKind::Data, bits::READ | bits::LAST, payload, sizes.read_edge_overhead());
            check(PacketKind::Data, bits::READ, payload, sizes.middle_overhead());
        }
        check(PacketKind::Ack, 0, 0, sizes.acknowledgement());
        check(PacketKind::Nak, 0, 0, sizes.acknowledgement());
        check(PacketKind::Cnp, 0, 0, sizes.congestion_notification());
    }
}

#[test]
fn every_frame_of_ultra_ethernet_is_as_long_as_the_simulation_reckons() {
    // Ethernet 18, tag 4, preamble and gap 20, IPv4 20, UDP 8, then packet delivery and a standard request of 44, or an
    // acknowledgement. RUDI answers by 8 or 16, which name the packet; nobody answers UUD.
    let single = 32;
    let cases = [(Delivery::Rud, 2, 12, 32, 32), (Delivery::Rod, 3, 12, 32, 32), (Delivery::Rudi, 4, 8, 8, 16)];
    for (delivery, kind, request, ack, nak) in [cases.to_vec(), vec![(Delivery::Uud, 6, 4, 32, 32)]].concat() {
        let transport = Transport::Uet(UetParams { delivery, ..UetParams::default() });
        let headers = transport.headers();
        let params = SimParams { transport, ..SimParams::default() };
        assert_eq!((headers.other, headers.ack), (42 + 28 + request + 44, (42 + 28 + ack).max(84)));
        for payload in [1, 1000, 4096] {
            let octets = packet_octets(packet(PacketKind::Data, 0, payload), None, &params);
            assert_eq!((on_the_wire(&octets), octets[14 + 4 + 28] >> 3), (headers.other + payload, kind));
        }
        let bits = if delivery == Delivery::Rudi { single } else { 0 };
        for (kind, length) in [(PacketKind::Ack, ack), (PacketKind::Nak, nak)] {
            let octets = packet_octets(packet(kind, bits, 0), None, &params);
            assert_eq!(on_the_wire(&octets), (42 + 28 + length).max(84), "{delivery:?} {kind:?}");
        }
    }
    let params = SimParams { transport: Transport::Uet(UetParams::default()), ..SimParams::default() };
    let trimmed = Packet { wire: 128 + PREAMBLE_AND_GAP, flags: flags::TRIMMED, ..packet(PacketKind::Data, 0, 0) };
    assert_eq!(on_the_wire(&packet_octets(trimmed, None, &params)), 148);
}

/// Trimmed packets have DSCP 50 of priority 6, or the code points of the scenario. Checksums are right: the words of a
/// header add up to ffff.
#[test]
fn a_trimmed_packet_has_the_code_point_of_its_hop() {
    let mut params = SimParams { transport: Transport::Uet(UetParams::default()), ..SimParams::default() };
    let mut trimming = Trimming::default();
    let mut check = |trimming: Trimming, expected: [u8; 2]| {
        params.switch.trimming = Some(trimming);
        let octets = [flags::TRIMMED, flags::LAST_HOP].map(|flags| {
            let packet = Packet { wire: 128 + PREAMBLE_AND_GAP, flags, ..packet(PacketKind::Data, 0, 0) };
            packet_octets(packet, None, &params)
        });
        for frame in &octets {
            let words = frame[18..38].chunks(2).map(|word| u64::from(word[0]) << 8 | u64::from(word[1]));
            assert_eq!(words.sum::<u64>() % 0xffff, 0);
        }
        assert_eq!(octets.map(|frame| frame[19] >> 2), expected);
    };
    check(trimming, [50, 50]);
    trimming.code_point = Some(48);
    check(trimming, [48, 48]);
    trimming.last_hop_code_point = Some(49);
    check(trimming, [48, 49]);
}

/// A request with number 7 and entropy value 0x1234 that asks for an acknowledgement of a new context, the last of its
/// message; 5 is the last number that its sender knows to be acknowledged.
#[test]
fn a_request_has_its_fields_where_the_reference_provider_has_them() {
    let params = SimParams { transport: Transport::Uet(UetParams::default()), ..SimParams::default() };
    let request = Packet { word: 7, acknowledged: 0xfffe_1234, ..packet(PacketKind::Data, 1 | 2 | 8, 64) };
    let octets = packet_octets(request, None, &params);
    let udp = 14 + 4 + 20;
    assert_eq!(octets[udp..][..4], [0x12, 0x34, 0x12, 0xb9], "the entropy value, and port 4793");
    // Type 2 in five bits, next header 3 in four, flags 0x08 and 0x04 in seven; number; context 1, and offset 7.
    assert_eq!(octets[udp + 8..][..12], [0x11, 0x8c, 0xff, 0xfe, 0, 0, 0, 7, 0, 1, 0, 7]);
    // A write that ends a message; 64 B of payload stand 34 B behind.
    assert_eq!((&octets[udp + 20..][..2], &octets[udp + 54..][..2]), (&[1, 2][..], &[0, 64][..]));
}

/// Packets below 100 and 103 to 105 have arrived, 2,560 B in all; the answer is to a marked one with that number that
/// was sent again. Cumulative is 99; octets by hand from `uet_pds_ack_cc` and `uet_pds_nack` of the reference provider.
#[test]
fn acknowledgements_have_their_fields_where_the_reference_provider_has_them() {
    let fields = |kind, delivery, answered: i16, bits, bitmap| {
        let uet = UetParams { delivery, psn_range: 256, ..UetParams::default() };
        let params = SimParams { transport: Transport::Uet(uet), ..SimParams::default() };
        let word = u32::from(answered as u16) << 16 | 0x1234;
        let answer = Packet { word, acknowledged: 100 << 32 | 10, offset: bitmap, ..packet(kind, bits, 0) };
        let octets = packet_octets(answer, None, &params);
        octets[14 + 4 + 20 + 8..octets.len()].to_vec()
    };
    // Type 8, no next header, flags 0x20 and 0x10; 105 is 6 beyond 99; contexts; NSCC, two units of 128; the bitmap
    // begins with 101, 2 beyond, and has 103 to 105; no service time and no penalty, ten units of 256 B, no count.
    let rest = [0, 1, 0, 2, 0, 2, 0, 2, 0, 0, 0, 0, 0, 0, 0, 28, 0, 0, 0, 0, 0, 10, 0xff, 0xff];
    for (answered, offset) in [(5, [0, 6]), (-3, [0xff, 0xfe])] {
        let expected = [&[0x40, 0x30][..], &offset, &[0, 0, 0, 99], &rest].concat();
        assert_eq!(fields(PacketKind::Ack, Delivery::Rud, answered, 1 | 2, 28), expected, "{answered}");
    }
    // A packet 70 beyond the first missing one is the last of the bitmap: 64 packets from the eighth one on.
    let far = fields(PacketKind::Ack, Delivery::Rud, 70, 0, 1 << 63);
    assert_eq!((&far[2..4], &far[14..24]), (&[0, 71][..], &[0, 8, 0x80, 0, 0, 0, 0, 0, 0, 0][..]));
    // Type 12, trimmed at the last hop, its number; of ordered delivery out of order, with the number expected.
    let trimmed = fields(PacketKind::Nak, Delivery::Rud, 5, 1 | 2 | 4, 105);
    assert_eq!(trimmed[..16], [0x60, 0x30, 2, 0, 0, 0, 0, 105, 0, 1, 0, 2, 0, 0, 0, 0]);
    let ordered = fields(PacketKind::Nak, Delivery::Rod, 5, 8, 105);
    assert_eq!(ordered[..16], [0x60, 0, 0x0d, 0, 0, 0, 0, 105, 0, 1, 0, 2, 0, 0, 0, 100]);
    // RUDI has no contexts: type 10 with the flag of RUDI, and a response of type 5.
    let single = fields(PacketKind::Nak, Delivery::Rudi, 5, 32, 105);
    assert_eq!(single[..16], [0x50, 0x08, 1, 0, 0, 0, 0, 105, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(fields(PacketKind::Ack, Delivery::Rudi, 5, 32 | 1, 105)[..8], [0x28, 0x20, 0, 0, 0, 0, 0, 105]);
}

/// A grant of 64 quanta and a request for acknowledgements up to number 64 are control packets of 16 B, and data of a
/// source with credits has a target of 4 B.
#[test]
fn grants_and_requests_are_control_packets() {
    let transport = Transport::Uet(UetParams { rccc: Some(Rccc::default()), ..UetParams::default() });
    let headers = transport.headers();
    let params = SimParams { transport, ..SimParams::default() };
    assert_eq!((headers.other, headers.notification), (42 + 28 + 16 + 44, 42 + 28 + 16));
    let grant = packet_octets(Packet { acknowledged: 64 << 32, ..packet(PacketKind::Cnp, 0, 0) }, None, &params);
    assert_eq!(on_the_wire(&grant), headers.notification);
    // Type 11 in five bits, control type 7 in four.
    assert_eq!(grant[14 + 4 + 20 + 8..][..2], [0x5b, 0x80]);
    assert_eq!(grant[grant.len() - 4..], [0, 0, 0, 64]);
    let request = packet_octets(Packet { word: 64, ..packet(PacketKind::Cnp, 2, 0) }, None, &params);
    assert_eq!(on_the_wire(&request), headers.notification);
    assert_eq!(request[14 + 4 + 20 + 8..][..8], [0x58, 0x80, 0, 0, 0, 0, 0, 63]);
    let data = packet_octets(Packet { acknowledged: 64 << 32, ..packet(PacketKind::Data, 0, 64) }, None, &params);
    assert_eq!((on_the_wire(&data), data[14 + 4 + 20 + 8]), (headers.other + 64, 13 << 3 | 1));
}

/// Two switches wrote: rate 100 Gb/s (2^6 and more), at 5 us, 1,280 B sent, 800 B waiting.
#[test]
fn telemetry_has_room_for_five_switches() {
    let hpcc = Hpcc::default();
    let transport = Transport::Roce(RoceParams { hpcc: Some(hpcc.clone()), ..RoceParams::default() });
    let params = SimParams { transport, ..SimParams::default() };
    let sizes = RoceSizes::new(RoceVersion::V2, true).with_telemetry(header_bytes(hpcc.switches));
    assert_eq!(header_bytes(hpcc.switches), 42);
    let (rate, time) = (BitRate::from_gbps(100), Time::from_ps(5_000_000));
    let mut side = SideContent::default();
    [3, 5].into_iter().for_each(|port| side.path.push(PortTelemetry { time, sent: 1_280, queued: 800, port, rate }, 5));
    let octets = |kind, side| octets(&captured(Captured::Packet(packet(kind, 0, 0), side)), &params);
    assert_eq!(on_the_wire(&octets(PacketKind::Data, None)), sizes.middle_overhead());
    let ack = octets(PacketKind::Ack, Some(Box::new(side)));
    assert_eq!(on_the_wire(&ack), sizes.acknowledgement());
    // Behind 12 B of base header and 4 B of acknowledgement.
    let telemetry = &ack[BASE_TRANSPORT + 12 + 4..][..42];
    assert_eq!(telemetry[..2], [0x20, 3 ^ 5]);
    let port = 6 << 60 | 5_000 << 36 | 10 << 16 | 10_u64;
    assert_eq!([&telemetry[2..10], &telemetry[10..18]], [port.to_be_bytes(); 2].each_ref());
    assert_eq!(telemetry[18..], [0; 24]);
}

#[test]
fn a_read_request_is_an_address_and_nothing_else() {
    // RETH, 16 B, is the request's payload; nothing is left to fill up.
    let request = packet(PacketKind::Data, bits::REQUEST | bits::FIRST | bits::LAST, 16);
    let octets = packet_octets(request, None, &roce(RoceVersion::V2));
    assert_eq!(on_the_wire(&octets), RoceSizes::new(RoceVersion::V2, true).first_overhead());
    assert_eq!(octets[BASE_TRANSPORT..][..2], [0x0c, 0]);
}

/// AtomicETH, 28 B, is the request's payload; what comes back is the word of 8 B behind AETH.
#[test]
fn an_atomic_operation_is_a_request_and_a_word() {
    let both = bits::FIRST | bits::LAST;
    let octets = |flags, payload| packet_octets(packet(PacketKind::Data, flags, payload), None, &roce(RoceVersion::V2));
    let sizes = RoceSizes::new(RoceVersion::V2, true);
    let request = octets(bits::REQUEST | both, 28);
    assert_eq!(on_the_wire(&request), sizes.middle_overhead() + 28);
    assert_eq!(request[BASE_TRANSPORT], 0x14);
    let answer = octets(bits::REQUEST | bits::READ | both, 8);
    assert_eq!(on_the_wire(&answer), sizes.read_edge_overhead() + 8);
    assert_eq!(answer[BASE_TRANSPORT], 0x12);
}

#[test]
fn every_tcp_frame_is_as_long_as_the_simulation_reckons() {
    let block = |start| ByteRange { start, end: start + 10 };
    for payload in [1, 1448, 4448] {
        let octets = packet_octets(packet(PacketKind::Data, 0, payload), None, &tcp());
        assert_eq!(on_the_wire(&octets), tcp_wire_bytes(true, payload, 0));
    }
    for count in 0..=3 {
        let mut blocks = SackBlocks::default();
        (0..count).for_each(|place| blocks[place] = block(100 * place as u64));
        let side = (count > 0).then_some(blocks);
        let octets = packet_octets(packet(PacketKind::Ack, 0, 0), side, &tcp());
        assert_eq!(on_the_wire(&octets), tcp_wire_bytes(true, 0, count as u32));
    }
}

#[test]
fn an_ack_names_the_last_packet_that_arrived_and_a_nak_the_one_that_is_missing() {
    // Packets 0-15 are there; 16 is expected.
    let answer = |kind| Packet { word: 16, ..packet(kind, 0, 0) };
    assert_eq!(numbers(answer(PacketKind::Ack)).1, 15);
    assert_eq!(numbers(answer(PacketKind::Nak)).1, 16);
    // Numbers have 24 bits: before 0 comes 2^24 - 1.
    assert_eq!(numbers(packet(PacketKind::Ack, 0, 0)).1, (1 << 24) - 1);
}

#[test]
fn only_a_congestion_notification_says_that_there_is_congestion_behind() {
    // FECN and BECN are the two highest bits beside the queue pair: 1, the other end of 0, after 16 reserved ones.
    assert_eq!(numbers(packet(PacketKind::Cnp, 0, 0)), (0x4000_0011, 0));
    assert_eq!(numbers(packet(PacketKind::Data, 0, 4)).0, 0x11);
}

#[test]
fn the_ecn_bits_of_ipv4_distinguish_capable_from_marked() {
    let ecn = |flags| {
        let packet = Packet { flags, ..packet(PacketKind::Data, 0, 4) };
        packet_octets(packet, None, &roce(RoceVersion::V2))[19]
    };
    // Not-ECT, ECT(0), CE (RFC 3168, section 5).
    assert_eq!(ecn(0), 0b00);
    assert_eq!(ecn(flags::ECN_CAPABLE), 0b10);
    assert_eq!(ecn(flags::ECN_CAPABLE | flags::CONGESTION), 0b11);
}

#[test]
fn a_pfc_frame_has_a_vector_and_eight_times() {
    let octets = pause_octets(FlowControl::Pfc(Pfc::default()), 0b1001, 0b1000, 0xffff);
    let mut expected = vec![0x01, 0x80, 0xc2, 0, 0, 1, 0x02, 0, 0, 0, 0, 1, 0x88, 0x08, 0x01, 0x01];
    // Priorities 0 and 3 are meant; 3 stops, 0 goes on.
    expected.extend([0, 0b1001]);
    expected.extend([0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0]);
    expected.resize(60, 0);
    assert_eq!(octets, expected);
}

#[test]
fn a_pause_frame_has_one_time() {
    let check = |stop, quanta, time: [u8; 2]| {
        let octets = pause_octets(FlowControl::GlobalPause(GlobalPause::default()), 0xff, stop, quanta);
        assert_eq!(octets[12..18], [0x88, 0x08, 0x00, 0x01, time[0], time[1]]);
        assert_eq!(octets.len(), 60);
    };
    check(0xff, 0x1234, [0x12, 0x34]);
    check(0, 0, [0, 0]);
}

#[test]
fn a_capture_file_is_a_section_an_interface_and_a_block_per_frame() {
    let frame = CapturedFrame {
        time: Time::from_ps(0x0123_4567_89ab),
        ..captured(Captured::Pause(PauseFrame { enable: 1, stop: 1, quanta: 1 }))
    };
    let mut file = Vec::new();
    pcapng::begin(&mut file, "host1", None).unwrap();
    pcapng::frame(&mut file, &frame, &SimParams::default(), None).unwrap();
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    // Type 4, length 4, body, length 4. Section: 16. Interface: 8, name 4 + 8, resolution 4 + 4, end 4.
    let (section, interface) = (12 + 16, 12 + 8 + 12 + 8 + 4);
    assert_eq!((word(0), word(4)), (0x0a0d_0d0a, section as u32));
    assert_eq!((word(section), word(section + 4)), (1, interface as u32));
    // Frame: five words, 60 octets, flags 4 + 4, end 4.
    let block = section + interface;
    assert_eq!((word(block), word(block + 4)), (6, 12 + 20 + 60 + 8 + 4));
    assert_eq!((word(block + 12), word(block + 16)), (0x0123, 0x4567_89ab));
    // Outbound.
    assert_eq!(word(block + 8 + 20 + 60 + 4), 2);
    assert_eq!(file.len(), block + 12 + 20 + 60 + 8 + 4);
}

#[test]
fn a_snap_length_keeps_the_first_bytes_of_a_frame_and_its_length() {
    let frame = captured(Captured::Pause(PauseFrame { enable: 1, stop: 1, quanta: 1 }));
    let octets = super::octets(&frame, &SimParams::default());
    // What is longer than the frame keeps all of it.
    for (snap_length, kept) in [(17, 17), (60, 60), (128, 60)] {
        let mut file = Vec::new();
        pcapng::begin(&mut file, "host1", Some(snap_length)).unwrap();
        let block = file.len();
        pcapng::frame(&mut file, &frame, &SimParams::default(), Some(snap_length)).unwrap();
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
        // The field of the interface, behind its type, its length, the link type and two reserved octets.
        assert_eq!(word(28 + 12), snap_length);
        assert_eq!((word(block + 20), word(block + 24)), (kept as u32, 60), "kept, and of how much");
        assert_eq!(file[block + 28..block + 28 + kept], octets[..kept]);
        assert_eq!(word(block + 4) as usize, 12 + 20 + kept.next_multiple_of(4) + 8 + 4);
        assert_eq!(file.len(), block + word(block + 4) as usize);
    }
}
