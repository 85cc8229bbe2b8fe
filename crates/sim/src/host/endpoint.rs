//! One end of a connection.

use std::collections::VecDeque;

use etherweave_primitives::Time;

use super::message::Message;
use super::{RoceState, TcpState};
use crate::engine::Shard;
use crate::engine::event::Kind;
use crate::packet::{Handle, NO_PACKET, Packet, PacketKind};
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
    /// The next endpoint in the NIC's ring of senders.
    pub behind: u32,
    /// 802.1Q priority of all its packets.
    pub priority: u8,
    /// Whether it waits in the NIC's ring of senders.
    pub is_in_ring: bool,
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
    /// Number in the run; the other end's differs in the last bit.
    pub number: u32,
    /// Global hosts of this end and the other: for reports.
    pub hosts: (u32, u32),
}

/// Bytes that have reached the owner of an endpoint.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Intake {
    /// In all [B].
    pub bytes: u64,
    /// Before the end of the warm-up [B].
    pub before: u64,
    /// When the last arrived.
    pub last: Time,
}

/// The transport of an endpoint.
pub(crate) enum Protocol {
    /// Reliable connection.
    Roce(RoceState),
    /// Kernel TCP.
    Tcp(Box<TcpState>),
}

impl Endpoint {
    /// A packet of this endpoint; the caller fills in the rest.
    pub fn packet(&self, kind: PacketKind, wire: u32, payload: u32) -> Packet {
        Packet {
            next: NO_PACKET,
            endpoint: self.remote,
            route: self.route,
            ingress: 0,
            offset: 0,
            acknowledged: 0,
            sent: Time::ZERO,
            wire,
            payload,
            word: 0,
            side: NO_PACKET,
            kind,
            priority: self.priority,
            flags: 0,
            is_damaged: false,
        }
    }

    /// Reads something of what a packet will need.
    #[inline]
    pub fn touch(&self) -> u32 {
        self.route
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

    fn find_message_end(&mut self) {
        self.message_end = self.incoming.front().map_or(u64::MAX, |message| message.end);
    }
}

impl Shard {
    /// Announces a message to the other end.
    pub(crate) fn announce_to_peer(&mut self, endpoint: u32, message: Message) {
        let end = &self.endpoints[endpoint as usize];
        let (remote, remote_port) = (end.remote, end.remote_port);
        let handle = self.packets.insert(message.announcement(remote));
        let time = self.now + self.constants.lookahead;
        self.post(remote_port, Kind::Announce, remote, time, handle);
    }

    /// An announcement has arrived. Simultaneous ones may arrive in any order: they are sorted by their end offset.
    pub(crate) fn announce(&mut self, handle: Handle) {
        let packet = self.packets.remove(handle);
        let message = Message::announced(&packet);
        let end = &mut self.endpoints[packet.endpoint as usize];
        let place = end.incoming.partition_point(|other| other.end < message.end);
        end.incoming.insert(place, message);
        end.find_message_end();
    }

    /// Bytes have reached the owner of an endpoint.
    #[inline]
    pub(crate) fn received(&mut self, endpoint: u32, bytes: u64) {
        let intake = &mut self.endpoints[endpoint as usize].intake;
        intake.bytes += bytes;
        intake.last = self.now;
        if self.now < self.constants.warm_up {
            intake.before = intake.bytes;
        }
    }

    /// Puts a finished control packet in the NIC's queue.
    pub(crate) fn send_control(&mut self, endpoint: u32, packet: Packet) {
        let host = self.endpoints[endpoint as usize].host as usize;
        let port = self.hosts[host].port;
        let class = self.constants.scheduler.class(packet.priority);
        let handle = self.packets.insert(packet);
        self.totals.created += 1;
        self.ports[port as usize].enqueue(class, &mut self.packets, handle);
        self.kick(port);
    }
}
