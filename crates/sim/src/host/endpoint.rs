//! One end of a connection.

use std::collections::VecDeque;

use super::message::Message;
use super::{RoceState, TcpState};
use crate::engine::Shard;
use crate::engine::event::Kind;
use crate::packet::{Handle, NO_PACKET, Packet, PacketKind};
use crate::switch::port::Peer;

/// See the module.
pub(crate) struct Endpoint {
    /// Number in the run; the other end's differs in the last bit.
    pub number: u32,
    /// Host, numbered in the shard.
    pub host: u32,
    /// Thread that owns it, numbered in the shard.
    pub thread: u32,
    /// The other end: its number there, and its host's port.
    pub remote: u32,
    /// Shard and port of the remote host.
    pub remote_port: Peer,
    /// First entry of its path in the route table.
    pub route: u32,
    /// 802.1Q priority of all its packets.
    pub priority: u8,
    /// Whether it waits in the card's ring of senders.
    pub is_in_ring: bool,
    /// Messages that will arrive, first end first.
    pub incoming: VecDeque<Message>,
    /// Transport.
    pub protocol: Protocol,
    /// Global hosts of this end and the other: for reports.
    pub hosts: (u32, u32),
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
            sent: etherweave_primitives::Time::ZERO,
            wire,
            payload,
            word: 0,
            side: NO_PACKET,
            kind,
            priority: self.priority,
            flags: 0,
            reserved: 0,
        }
    }

    /// The messages that are complete once `received` bytes of the stream are there.
    pub fn take_complete(&mut self, received: u64) -> Option<Message> {
        let is_complete = self.incoming.front().is_some_and(|message| message.end <= received);
        if is_complete { self.incoming.pop_front() } else { None }
    }
}

impl Shard {
    /// Announces a message to the other end.
    pub(crate) fn announce_to_peer(&mut self, endpoint: u32, message: Message) {
        let end = &self.endpoints[endpoint as usize];
        let (remote, remote_port) = (end.remote, end.remote_port);
        let handle = self.packets.insert(message.announcement(remote));
        let time = self.now + self.rules.lookahead;
        self.post(remote_port, Kind::Announce, remote, time, handle);
    }

    /// An announcement has come. Simultaneous ones may come in any order: the end offset puts them right.
    pub(crate) fn announce(&mut self, handle: Handle) {
        let packet = self.packets.remove(handle);
        let message = Message::announced(&packet);
        let incoming = &mut self.endpoints[packet.endpoint as usize].incoming;
        let place = incoming.partition_point(|other| other.end < message.end);
        incoming.insert(place, message);
    }

    /// Puts a finished control packet in the card's queue.
    pub(crate) fn send_control(&mut self, endpoint: u32, packet: Packet) {
        let host = self.endpoints[endpoint as usize].host as usize;
        let port = self.hosts[host].port;
        let class = self.rules.scheduler.class(packet.priority);
        let handle = self.packets.insert(packet);
        self.totals.created += 1;
        self.ports[port as usize].enqueue(class, &mut self.packets, handle);
        self.kick(port);
    }
}
