//! What all transports share: announcements, received bytes, control packets.

use super::message::Message;
use crate::engine::Shard;
use crate::engine::event::Kind;
use crate::indices::EndpointIndex;
use crate::packet::{Handle, Packet};

impl Shard {
    /// Announces a message to the other end.
    pub(crate) fn announce_to_peer(&mut self, endpoint: EndpointIndex, message: Message) {
        let end = &self.endpoints[endpoint];
        let (remote, peer) = (end.remote, end.peer());
        let handle = self.packets.insert(message.announcement(remote));
        let time = self.now + self.constants.lookahead;
        self.post(peer, Kind::Announce, remote.get(), time, handle);
    }

    /// An announcement has arrived. Simultaneous ones may arrive in any order: they are sorted by their end offset.
    pub(crate) fn announce(&mut self, handle: Handle) {
        let packet = self.packets.remove(handle);
        let message = Message::announced(&packet);
        let end = &mut self.endpoints[packet.endpoint];
        end.incoming.insert_by_key(message, |message| message.end);
    }

    /// Bytes have reached the owner of an endpoint.
    #[inline]
    pub(crate) fn received(&mut self, endpoint: EndpointIndex, bytes: u64) {
        self.progress_of(self.endpoints[endpoint].thread);
        let end = &mut self.endpoints[endpoint];
        end.intake.bytes += bytes;
        end.intake.last = self.now;
        if self.now < self.constants.warm_up {
            end.warm_up_intake = end.intake.bytes;
        }
    }

    /// Puts a finished control packet in the NIC's queue.
    pub(crate) fn send_control(&mut self, endpoint: EndpointIndex, packet: Packet) {
        let host = self.endpoints[endpoint].host;
        let port = self.hosts[host].port;
        let class = self.constants.scheduler.class(packet.priority);
        let handle = self.packets.insert(packet);
        self.start_route(endpoint, handle);
        self.totals.created += 1;
        self.ports[port].enqueue(class, &mut self.packets, handle);
        self.kick(port);
    }
}
