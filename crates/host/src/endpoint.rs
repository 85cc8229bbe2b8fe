//! One end of a connection.

use etherweave_engine::packet::{NO_PACKET, NO_SIDE, Packet, PacketKind};
use etherweave_engine::port::{Peer, PeerLink};
use etherweave_kernel::indices::{EndpointIndex, HostIndex, PortIndex, ThreadIndex};
use etherweave_primitives::Time;
use etherweave_topology::LinkClass;
use etherweave_transport::{ByteRange, Ranges, ShortQueue};

use super::{message::Message, protocol::Protocol};

/// See the module. Whoever sends needs the first cache line, whoever receives data both, and each a part of the state
/// of its transport.
#[repr(C, align(64))]
pub struct Endpoint {
    /// Host, numbered in the shard.
    pub host: HostIndex,
    /// Thread that owns it, numbered in the shard.
    pub thread: ThreadIndex,
    /// The other end: its number there.
    pub remote: EndpointIndex,
    /// First entry of its path in the route table.
    pub route: u32,
    /// Egress that stands there, if routes are known beforehand.
    pub first_egress: PortIndex,
    /// The next endpoint in the NIC's ring of senders.
    pub behind: EndpointIndex,
    /// Number in the run; the other end's differs in the last bit.
    pub number: u32,
    /// 802.1Q priority of all its packets.
    pub priority: u8,
    /// Whether it waits in the NIC's ring of senders.
    pub is_in_ring: bool,
    /// How many endpoints before it the first connection of its pair of ranks stands.
    pub behind_first: u16,
    /// The owner is notified of acknowledgements from this offset on: of all, where messages complete in any order.
    pub owner_waits_for: u64,
    /// Bytes that have reached the owner.
    pub intake: Intake,
    /// Transport, whose state is beside the endpoint.
    pub protocol: Protocol,
    /// Port of the remote host, numbered in its shard.
    pub remote_port: PortIndex,
    /// Messages that will arrive, first end first.
    pub incoming: ShortQueue<Message>,
    /// Link to the remote host.
    pub remote_link: PeerLink,
    /// Messages with numbers.
    pub numbers: MessageNumbers,
    /// Global hosts of this end and the other: for reports.
    pub hosts: (u32, u32),
    /// Bytes of the intake that came before the end of the warm-up [B].
    pub warm_up_intake: u64,
    /// When a packet that was sent again last arrived here; 0 if none did.
    pub resent_last: Time,
}

/// Numbers of the next messages that receives take, modulo 2^16.
#[derive(Clone, Copy, Default, Debug)]
pub struct MessageNumbers {
    /// Number of the next message that is sent.
    pub sent: u16,
    /// Number of the next message that matches a receive.
    pub matched: u16,
}

/// Cache lines that a packet or a message will need of an endpoint.
pub mod lines {
    use std::ops::Range;

    /// Lines that all kinds of packets need.
    pub const COMMON: Range<usize> = 0..1;
    /// Lines to announce a message, or to take an announcement.
    pub const MESSAGES: Range<usize> = 1..2;
    /// Both.
    pub const ALL: Range<usize> = 0..2;
}

/// Bytes that have reached the owner of an endpoint.
#[derive(Clone, Copy, Default, Debug)]
pub struct Intake {
    /// Bytes in all [B].
    pub bytes: u64,
    /// When the last arrived.
    pub last: Time,
}

impl Endpoint {
    /// A packet of this endpoint; the caller fills in the rest.
    pub fn packet(&self, kind: PacketKind, wire: u32, payload: u32) -> Packet {
        Packet {
            next: NO_PACKET,
            endpoint: self.remote,
            route: self.route,
            ingress: self.first_egress,
            offset: 0,
            acknowledged: 0,
            sent: Time::ZERO,
            wire,
            payload,
            word: 0,
            side: NO_SIDE,
            sender: self.number,
            kind,
            priority: self.priority,
            flags: 0,
            header_bits: 0,
        }
    }

    /// The next message that is complete once `received` bytes of the stream are there, and that the owner has not yet.
    #[inline]
    pub fn take_complete(&mut self, received: u64) -> Option<Message> {
        loop {
            self.incoming.first().filter(|message| message.end <= received)?;
            let message = self.incoming.pop_front()?;
            if !message.is_taken {
                return Some(message);
            }
        }
    }

    /// A message all of which is there `ahead`, beyond bytes that are missing. The first message has the first byte
    /// that is missing.
    pub fn take_ahead(&mut self, ahead: &Ranges) -> Option<Message> {
        // Nothing is complete before the first: most have no other.
        let mut start = self.incoming.get(1).and(self.incoming.first())?.end;
        for message in self.incoming.iter_mut().skip(1) {
            let range = ByteRange::new(start, message.end);
            start = message.end;
            if !message.is_taken && ahead.contain(range) {
                message.is_taken = true;
                return Some(*message);
            }
        }
        None
    }

    /// The port of the remote host.
    pub fn peer(&self) -> Peer {
        Peer { link: self.remote_link, port: self.remote_port, is_host: true, link_class: LinkClass::Host }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;
    use crate::fluid::FluidState;
    use etherweave_transport::roce::RoceEnd;

    #[test]
    fn an_endpoint_takes_two_cache_lines_beside_its_transport() {
        assert_eq!(size_of::<Endpoint>(), 2 * 64);
        assert_eq!(offset_of!(Endpoint, incoming), 64 * lines::MESSAGES.start);
        assert_eq!((size_of::<RoceEnd>(), size_of::<FluidState>()), (3 * 64, 32));
    }
}
