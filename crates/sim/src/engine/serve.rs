//! The main loop: dispatches one event after the other.

use std::ops::Range;

use etherweave_kernel::LocalIndex;
use etherweave_primitives::Time;

use super::event::{Event, Kind};
use super::memory::{prefer_huge_pages, prefetch, prefetch_lines};
use super::shard::{Shard, Switch};
use crate::frame::pause::PauseFrame;
use crate::host::{Host, RankState, Role, Thread, lines};
use crate::indices::{EndpointIndex, PortIndex, ReceiveQueueIndex, ThreadIndex};
use crate::packet::Handle;
use crate::switch::buffer::Group;
use crate::switch::port::{Owner, Port};

/// Ports [B] that a processor's own cache holds together with their packets.
const CACHED: usize = 1 << 18;
/// Packets for which there is room from the start: twice as many as a permutation has under way. Room that is never
/// used takes no memory, and what is used then lies in huge pages from its first touch on.
const PACKETS_PER_PORT: usize = 4;

impl Shard {
    /// Makes room, and asks for huge pages, under what packets touch at random.
    pub fn prepare_memory(&mut self) {
        let packets = PACKETS_PER_PORT * self.ports.len();
        self.packets.reserve(packets);
        self.queue.reserve(packets + self.endpoints.len());
        prefer_huge_pages(&self.ports);
        prefer_huge_pages(&self.groups);
        prefer_huge_pages(&self.endpoints);
        prefer_huge_pages(&self.hosts);
    }

    /// Serves all events before `end`, and takes the samples that are due until then.
    pub fn serve(&mut self, end: Time) {
        while let Some(time) = self.next_sample(end) {
            self.serve_events(time);
            self.take_sample(time);
        }
        self.serve_events(end);
    }

    fn serve_events(&mut self, end: Time) {
        let is_cached = size_of_val(self.ports.as_slice()) <= CACHED;
        while self.queue.next_time().is_some_and(|next| next < end) {
            if !is_cached {
                self.fetch();
            }
            while let Some(event) = self.queue.pop_current(end) {
                debug_assert!(event.time >= self.now, "time does not go back: {event:?} at {:?}", self.now);
                self.now = event.time;
                self.totals.events += 1;
                self.dispatch(event);
            }
        }
    }

    /// Begins to fetch what events to come will need, in three steps from bucket to bucket: what an event names, what
    /// is found there, and what is found there in turn. Changes nothing; see `docs/models/engine.md` for what it gains.
    fn fetch(&self) {
        let [near, far] = self.queue.next_buckets();
        far.flatten().for_each(|event| self.fetch_first(event));
        near.flatten().for_each(|event| self.fetch_second(event));
        self.queue.bucket().iter().for_each(|event| self.fetch_third(event));
    }

    #[inline(always)]
    fn fetch_first(&self, event: &Event) {
        let place = event.key.place();
        match event.key.kind() {
            Kind::Arrive => {
                let (egress, priority) = event.hint.as_egress();
                self.packets.prefetch(event.packet());
                prefetch(&self.ports, egress.place(), size_of::<Port>());
                self.fetch_group(place, priority);
            }
            Kind::Deliver => {
                self.packets.prefetch(event.packet());
                prefetch(&self.ports, place.place(), size_of::<Port>());
                let (endpoint, is_data) = event.hint.as_endpoint();
                if is_data {
                    self.fetch_endpoint(endpoint, lines::COMMON);
                    self.fetch_endpoint(endpoint, lines::RESPONDER);
                } else {
                    self.fetch_endpoint(endpoint, lines::REQUESTER);
                }
            }
            Kind::Announce => {
                self.packets.prefetch(event.packet());
                self.fetch_endpoint(event.hint.as_endpoint().0, lines::MESSAGES);
            }
            Kind::TransmitterFree => prefetch(&self.ports, place.place(), size_of::<Port>()),
            Kind::ThreadDone => {
                prefetch(&self.threads, event.key.index() as usize, size_of::<Thread>());
                if let (endpoint, true) = event.hint.as_endpoint() {
                    prefetch(&self.ports, place.place(), size_of::<Port>());
                    self.fetch_endpoint(endpoint, lines::REQUESTER);
                    self.fetch_endpoint(endpoint, lines::MESSAGES);
                }
            }
            _ => {}
        }
    }

    #[inline(always)]
    fn fetch_second(&self, event: &Event) {
        match event.key.kind() {
            Kind::Arrive => {
                let (egress, _) = event.hint.as_egress();
                let port = &self.ports[egress];
                self.packets.prefetch(port.ends_of_queue().1);
                if let Owner::Switch(switch) = port.owner {
                    prefetch(&self.switches, switch.place(), size_of::<Switch>());
                }
                self.fetch_route(event.packet(), 1);
            }
            Kind::Deliver => self.fetch_host(event.key.place()),
            Kind::TransmitterFree => {
                let place = event.key.place();
                self.packets.prefetch(self.ports[place].ends_of_queue().0);
                self.fetch_host(place);
            }
            Kind::ThreadDone => {
                if let Role::Rank(rank) = &self.threads[ThreadIndex::new(event.key.index())].role {
                    prefetch(std::slice::from_ref(&**rank), 0, size_of::<RankState>());
                }
                if event.hint.as_endpoint().1 {
                    self.fetch_host(event.key.place());
                }
            }
            _ => {}
        }
    }

    #[inline(always)]
    fn fetch_third(&self, event: &Event) {
        match event.key.kind() {
            Kind::TransmitterFree => {
                let port = &self.ports[event.key.place()];
                let first = port.ends_of_queue().0;
                self.fetch_route(first, 0);
                if let Some(packet) = self.packets.get(first) {
                    self.fetch_group(packet.ingress, packet.priority);
                }
                if let Owner::Host(host) = port.owner {
                    self.fetch_endpoint(self.hosts[host].first_ready(), lines::REQUESTER);
                }
            }
            Kind::ThreadDone => self.threads[ThreadIndex::new(event.key.index())].prefetch_next(),
            _ => {}
        }
    }

    #[inline(always)]
    fn fetch_endpoint(&self, endpoint: EndpointIndex, lines: Range<usize>) {
        prefetch_lines(&self.endpoints, endpoint.place(), lines);
    }

    #[inline(always)]
    fn fetch_group(&self, port: PortIndex, priority: u8) {
        prefetch(&self.groups, self.constants.group(port, priority), size_of::<Group>());
    }

    /// The entry of the route table that a packet needs after `further` others.
    #[inline(always)]
    fn fetch_route(&self, handle: Handle, further: usize) {
        if let Some(packet) = self.packets.get(handle) {
            prefetch(&self.constants.routes, packet.route as usize + further, size_of::<u32>());
        }
    }

    /// The host of a port, if it has one.
    #[inline(always)]
    fn fetch_host(&self, port: PortIndex) {
        if let Owner::Host(host) = self.ports[port].owner {
            prefetch(&self.hosts, host.place(), size_of::<Host>());
        }
    }

    /// The two kinds that every packet-hop needs stay in the loop; the others are calls.
    #[inline(always)]
    fn dispatch(&mut self, event: Event) {
        match event.key.kind() {
            Kind::Arrive => self.arrive(event.key.place(), event),
            Kind::TransmitterFree => self.transmitter_free(event.key.place()),
            _ => self.dispatch_other(event),
        }
    }

    #[inline(never)]
    fn dispatch_other(&mut self, event: Event) {
        let (place, index) = (event.key.place(), event.key.index());
        match event.key.kind() {
            Kind::Arrive | Kind::TransmitterFree => unreachable!("served in the loop"),
            Kind::Deliver => self.deliver_packet(place, event.packet()),
            Kind::PauseArrive => self.pause_arrive(place, PauseFrame::unpack(event.bits)),
            Kind::PauseExpire => self.pause_expire(place, index as usize),
            Kind::PauseRefresh => self.pause_refresh(place, index as u8),
            Kind::NicResume => self.nic_resume(place),
            Kind::Announce => self.announce(event.packet()),
            Kind::TransportTimer => self.transport_timer(EndpointIndex::new(index)),
            Kind::Softirq => self.softirq(ReceiveQueueIndex::new(index)),
            Kind::ThreadDone => self.thread_done(ThreadIndex::new(index)),
            Kind::Pacing if event.bits > 0 => self.probe_tail(EndpointIndex::new(index), event.bits as u8),
            Kind::Pacing => self.pacing(EndpointIndex::new(index)),
            Kind::Start => self.thread_start(ThreadIndex::new(index)),
            Kind::ArriveDamaged => self.arrive_damaged(place, event.packet()),
            Kind::CreditsArrive => self.credits_arrive(place, index),
            Kind::CrossbarFree => self.crossbar_free(place, index),
            Kind::FluidDue => self.fluid_due(),
            Kind::FluidArrive => self.fluid_arrive(EndpointIndex::new(index)),
            Kind::FluidAcknowledged => self.fluid_acknowledged(EndpointIndex::new(index), event.bits),
            Kind::Handover => self.handover(ThreadIndex::new(index), event.packet()),
            Kind::Written => self.hand_over(event.packet()),
            Kind::Stored => {
                self.note_arrival(place, event.packet());
                self.stored(place, event.packet());
            }
            Kind::PauseArriveDamaged => self.pause_arrive_damaged(place, PauseFrame::unpack(event.bits)),
        }
    }

    #[inline(always)]
    fn arrive(&mut self, port: PortIndex, event: Event) {
        self.note_arrival(port, event.packet());
        if cfg!(debug_assertions) {
            self.packets.set_tail(event.packet(), self.tail_time(port, event.packet()));
        }
        if self.constants.packet_routing.is_some() {
            return self.arrive_undecided(port, event.packet());
        }
        let (egress, priority) = event.hint.as_egress();
        self.arrive_at_switch(port, egress, priority, event.packet());
    }

    #[inline]
    fn deliver_packet(&mut self, port: PortIndex, handle: Handle) {
        self.note_arrival(port, handle);
        let Owner::Host(host) = self.ports[port].owner else { unreachable!("only hosts are delivered to") };
        self.arrive_at_host(host, handle);
    }

    #[inline]
    fn note_arrival(&mut self, port: PortIndex, handle: Handle) {
        if let Some(fingerprint) = &mut self.fingerprint {
            fingerprint.add(self.now, self.channels[port], &self.packets[handle]);
        }
    }

    #[inline(always)]
    fn transmitter_free(&mut self, port_index: PortIndex) {
        let port = &mut self.ports[port_index];
        port.free_scheduled = false;
        if port.busy_until > self.now {
            // A pause frame slipped in between.
            self.expect_free(port_index);
        } else {
            self.transmit(port_index);
        }
    }
}
