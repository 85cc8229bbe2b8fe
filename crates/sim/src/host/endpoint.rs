//! One end of a connection.

use std::collections::VecDeque;

use etherweave_primitives::Time;

use super::message::Message;
use super::protocol::Protocol;
use crate::packet::{NO_PACKET, Packet, PacketKind};
use crate::switch::port::Peer;

/// See the module. What every packet of either direction needs is in the first cache line.
#[repr(C, align(64))]
pub(crate) struct Endpoint {
    /// Host, numbered in the shard.
    pub host: u32,
    /// Thread that owns it, numbered in the shard.
    pub thread: u32,
    /// The other end: its number there.
    pub remote: u32,
    /// First entry of its path in the route table.
    pub route: u32,
    /// What stands there, if routes are known beforehand.
    pub first_egress: u32,
    /// The next endpoint in the NIC's ring of senders.
    pub behind: u32,
    /// 802.1Q priority of all its packets.
    pub priority: u8,
    /// Whether it waits in the NIC's ring of senders.
    pub is_in_ring: bool,
    /// Number in the run; the other end's differs in the last bit.
    pub number: u32,
    /// The owner is notified of acknowledgements from this offset on.
    pub owner_waits_for: u64,
    /// Where the first of `incoming` ends; the largest number when nothing is announced.
    pub message_end: u64,
    /// Bytes that have reached the owner.
    pub intake: Intake,
    /// Transport.
    pub protocol: Protocol,
    /// Messages that will arrive, first end first.
    pub incoming: VecDeque<Message>,
    /// Shard and port of the remote host.
    pub remote_port: Peer,
    /// Global hosts of this end and the other: for reports.
    pub hosts: (u32, u32),
    /// What of the intake came before the end of the warm-up [B].
    pub warm_up_intake: u64,
    /// When a packet that was sent again last arrived here; 0 if none did.
    pub resent_last: Time,
}

/// Bytes that have reached the owner of an endpoint.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Intake {
    /// In all [B].
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
            side: NO_PACKET,
            sender: self.number,
            kind,
            priority: self.priority,
            flags: 0,
            is_damaged: false,
        }
    }

    /// The first message, if it is complete once `received` bytes of the stream are there.
    #[inline]
    pub fn take_complete(&mut self, received: u64) -> Option<Message> {
        if self.message_end <= received { self.take_first() } else { None }
    }

    fn take_first(&mut self) -> Option<Message> {
        let message = self.incoming.pop_front();
        self.find_message_end();
        message
    }

    pub(super) fn find_message_end(&mut self) {
        self.message_end = self.incoming.front().map_or(u64::MAX, |message| message.end);
    }
}
