//! One end of a connection of the alternating-bit protocol: a transport of the tests.

use etherweave_engine::Wires;
use etherweave_engine::constants::RunConstants;
use etherweave_engine::event::Kind;
use etherweave_engine::packet::{Packet, PacketKind, flags};
use etherweave_engine::params::{AlternatingBitParams, Fidelity, SimParams, Transport};
use etherweave_kernel::indices::EndpointIndex;
use etherweave_primitives::{BitRate, Time};

use super::{SendState, SentCounts, TransportState};
use crate::message::MessageKind;
use crate::{Endpoint, Hosts, Nics, Protocol};

/// Both directions. All offsets are of the stream.
#[derive(Default)]
pub struct AlternatingBitState {
    posted: u64,
    acknowledged: u64,
    received: u64,
    /// When the packet that is in flight was last sent, if one is; whether it is due again.
    sent_at: Option<Time>,
    is_due: bool,
    packets: u64,
    retransmissions: u64,
}

fn state(end: &mut Endpoint) -> &mut AlternatingBitState {
    if let Protocol::AlternatingBit { state, .. } = &mut end.protocol {
        return state;
    }
    unreachable!("asked for the state of another transport")
}

fn params(constants: &RunConstants) -> &AlternatingBitParams {
    let mut transports = constants.params.transports();
    transports.find_map(Transport::alternating_bit).expect("a connection has the transport")
}

impl TransportState for AlternatingBitState {
    fn begin(_: &SimParams, transport: &Transport, fidelity: Fidelity, _: BitRate) -> Option<Self> {
        transport.alternating_bit().filter(|_| fidelity.is_packet()).map(|_| Self::default())
    }

    fn memory(transport: &Transport) -> Option<u64> {
        transport.alternating_bit().map(|_| 0)
    }

    fn sent(&self) -> SentCounts {
        let &AlternatingBitState { packets, retransmissions, acknowledged: bytes, .. } = self;
        SentCounts { bytes, packets, retransmissions, timeouts: retransmissions }
    }

    fn send_state(&self, _now: Time, transport: &Transport) -> SendState {
        let window = transport.payload().get();
        SendState { window, in_flight: if self.sent_at.is_some() { window } else { 0 }, rate: None }
    }

    fn next_packet(end: &mut Endpoint, now: Time, constants: &RunConstants) -> (Option<Packet>, bool) {
        let own = state(end);
        let length = params(constants).payload.get().min(own.posted - own.acknowledged) as u32;
        let is_again = own.sent_at.is_some();
        if length == 0 || is_again && !own.is_due {
            return (None, false);
        }
        (own.sent_at, own.is_due) = (Some(now), false);
        own.packets += 1;
        own.retransmissions += u64::from(is_again);
        let offset = own.acknowledged;
        let mut packet = end.packet(PacketKind::Data, AlternatingBitParams::wire(length), length);
        (packet.offset, packet.sent) = (offset, now);
        packet.flags = if is_again { flags::RETRANSMISSION } else { 0 };
        (Some(packet), false)
    }

    fn after_sending(nics: &mut Nics, wires: &mut Wires, endpoint: EndpointIndex) {
        let place = nics.hosts[nics.endpoints[endpoint].host].port;
        wires.schedule(params(&wires.constants).timeout, place, Kind::TransportTimer, endpoint.get());
    }

    fn on_timer(nics: &mut Nics, wires: &mut Wires, endpoint: EndpointIndex) {
        let (now, timeout) = (wires.now, params(&wires.constants).timeout);
        let own = state(&mut nics.endpoints[endpoint]);
        own.is_due = own.sent_at.is_some_and(|sent_at| sent_at + timeout <= now);
        if own.is_due {
            nics.activate(wires, endpoint);
        }
    }

    fn post(hosts: &mut Hosts, wires: &mut Wires, endpoint: EndpointIndex, _: MessageKind, length: u64) -> u64 {
        let own = state(&mut hosts.nics.endpoints[endpoint]);
        own.posted += length;
        let posted = own.posted;
        hosts.nics.activate(wires, endpoint);
        posted
    }

    fn receive(hosts: &mut Hosts, wires: &mut Wires, endpoint: EndpointIndex, packet: &Packet) {
        match packet.kind {
            PacketKind::Data => hosts.take_alternating(wires, endpoint, packet),
            PacketKind::Ack => hosts.alternate(wires, endpoint, packet.acknowledged),
            PacketKind::Nak | PacketKind::Cnp | PacketKind::Announcement => {
                unreachable!("the protocol has data and acknowledgements")
            }
        }
    }
}

impl Hosts {
    fn take_alternating(&mut self, wires: &mut Wires, endpoint: EndpointIndex, packet: &Packet) {
        let own = state(&mut self.nics.endpoints[endpoint]);
        let bytes = if packet.offset == own.received { u64::from(packet.payload) } else { 0 };
        own.received += bytes;
        let received = own.received;
        let mut answer = self.nics.endpoints[endpoint].packet(PacketKind::Ack, AlternatingBitParams::wire(0), 0);
        answer.acknowledged = received;
        self.nics.send_control(wires, endpoint, answer);
        if bytes > 0 {
            self.take_bytes(wires, endpoint, bytes, received);
        }
    }

    fn alternate(&mut self, wires: &mut Wires, endpoint: EndpointIndex, acknowledged: u64) {
        let own = state(&mut self.nics.endpoints[endpoint]);
        if acknowledged <= own.acknowledged {
            return;
        }
        (own.acknowledged, own.sent_at, own.is_due) = (acknowledged, None, false);
        self.acknowledged(wires, endpoint, acknowledged);
        self.nics.activate(wires, endpoint);
    }
}
