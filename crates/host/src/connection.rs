//! Functions of connections that all transports share: announcements, received bytes, control packets.

use std::collections::VecDeque;

use etherweave_engine::{Wires, event::Kind, packet::Handle, packet::Packet};
use etherweave_kernel::indices::{EndpointIndex, HostIndex};

use super::message::Message;
use crate::{Hosts, Nics};

/// Answers of a connection to READs, whose ends in the stream are known once they have been sent.
#[derive(Default)]
pub struct OpenAnswers {
    /// Those not sent whole, each with its row among [`super::RankRecords::posted`] if it has one.
    open: VecDeque<(Message, Option<u32>)>,
    /// End of the last that has been.
    sent: u64,
}

impl Nics {
    pub(super) fn expect_answer(&mut self, endpoint: EndpointIndex, answer: Message, row: Option<u32>) {
        self.answers.entry(endpoint).or_default().open.push_back((answer, row));
    }

    /// The last packet of an answer that ends there has been sent, maybe again: announces it the first time.
    #[cold]
    #[inline(never)]
    pub(super) fn answer_sent(&mut self, wires: &mut Wires, endpoint: EndpointIndex, end: u64) {
        let Some(answers) = self.answers.get_mut(&endpoint).filter(|answers| answers.sent < end) else { return };
        let Some((answer, row)) = answers.open.pop_front() else { return };
        answers.sent = end;
        self.answer_ends.extend(row.map(|row| (row, end)));
        self.announce_to_peer(wires, endpoint, Message { end, ..answer });
    }

    /// Announces a message to the other end.
    pub fn announce_to_peer(&mut self, wires: &mut Wires, endpoint: EndpointIndex, message: Message) {
        let end = &self.endpoints[endpoint];
        let (remote, peer) = (end.remote, end.peer());
        if !end.protocol.is_in_packets() {
            // All hosts of flow-level mode share a shard.
            return self.endpoints[remote].incoming.insert_by_key(message, |message| message.end);
        }
        let handle = wires.packets.insert(message.announcement(remote));
        let time = wires.now + wires.constants.lookahead;
        wires.post(peer, Kind::Announce, remote.get(), time, handle);
    }

    /// An announcement has arrived. Simultaneous ones may arrive in any order: they are sorted by their end offset.
    pub fn announce(&mut self, wires: &mut Wires, handle: Handle) {
        let packet = wires.packets.remove(handle);
        let message = Message::announced(&packet);
        let end = &mut self.endpoints[packet.endpoint];
        end.incoming.insert_by_key(message, |message| message.end);
    }

    /// Puts a finished control packet in the NIC's queue.
    pub fn send_control(&mut self, wires: &mut Wires, endpoint: EndpointIndex, mut packet: Packet) {
        let host = match self.ports.are_several() {
            false => self.endpoints[endpoint].host,
            true => self.ports.choose_for(wires.now, endpoint, &mut packet),
        };
        let port = self.hosts[host].port;
        let class = wires.constants.scheduler.class(packet.priority);
        let handle = wires.packets.insert(packet);
        self.start_route(wires, endpoint, handle);
        wires.totals.created += 1;
        if self.is_passed_at_once(wires, host, class) {
            let stored = wires.packets[handle].stored();
            wires.constants.scheduler.pass(&mut wires.ports[port], class, stored);
            return wires.start_towards(port, handle, None, |_, packet| packet.ingress);
        }
        wires.ports[port].enqueue(class, &mut wires.packets, handle);
        self.kick(wires, port);
    }

    /// Whether a packet of a class need not wait at a host: nothing else does or is sent, and nothing stops it.
    #[inline]
    fn is_passed_at_once(&self, wires: &Wires, host: HostIndex, class: usize) -> bool {
        let (host, port) = (&self.hosts[host], &wires.ports[self.hosts[host].port]);
        let is_idle = port.busy_until <= wires.now && !port.free_scheduled && port.waiting | host.ready == 0;
        // Under credits all classes are marked as paused. The interface of a host counts what it reads.
        is_idle && port.paused_classes & 1 << class == 0 && self.times.interface.is_none()
    }
}

impl Nics {
    /// A message all of which is there beyond bytes that are missing, if messages complete in any order.
    fn take_ahead(&mut self, endpoint: EndpointIndex) -> Option<Message> {
        let protocol = self.endpoints[endpoint].protocol;
        let ahead = self.states.of(protocol, endpoint).received_ahead()?;
        self.endpoints[endpoint].take_ahead(ahead)
    }

    /// Has the owner notified when the message that ends at `end` is acknowledged, with others that it waits for.
    pub fn wait_for(&mut self, endpoint: EndpointIndex, end: u64) {
        let from = if self.state(endpoint).acknowledged_ahead().is_some() { 0 } else { end };
        let waits_for = &mut self.endpoints[endpoint].owner_waits_for;
        *waits_for = from.min(*waits_for);
    }
}

impl Hosts {
    pub(super) fn job_of(&self, endpoint: EndpointIndex) -> u32 {
        self.processors.threads[self.nics.endpoints[endpoint].thread].job
    }

    /// Bytes have come beyond some that are missing: where messages complete in any order, one may be complete.
    pub(super) fn take_ahead(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        self.processors.progress_of(wires, self.nics.endpoints[endpoint].thread);
        while let Some(message) = self.nics.take_ahead(endpoint) {
            self.deliver(wires, endpoint, message);
        }
    }

    /// Bytes have reached the owner of an endpoint, which now has all of its stream below `received`: messages that end
    /// there are complete.
    #[inline]
    pub(super) fn take_bytes(&mut self, wires: &mut Wires, endpoint: EndpointIndex, bytes: u64, received: u64) {
        self.processors.progress_of(wires, self.nics.endpoints[endpoint].thread);
        let end = &mut self.nics.endpoints[endpoint];
        end.intake.bytes += bytes;
        end.intake.last = wires.now;
        if wires.now < wires.constants.warm_up {
            end.warm_up_intake = end.intake.bytes;
        }
        let (thread, arrived) = (end.thread, end.intake.bytes);
        if !self.processors.followers.is_empty() && self.processors.has_flow(thread, arrived) {
            self.processors.start_followers(wires, thread);
        }
        while let Some(message) = self.nics.endpoints[endpoint].take_complete(received) {
            self.deliver(wires, endpoint, message);
        }
    }
}
