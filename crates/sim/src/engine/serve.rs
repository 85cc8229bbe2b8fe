//! The main loop: dispatches one event after the other.

use std::ops::Range;

use etherweave_kernel::LocalIndex;
use etherweave_primitives::Time;

use super::event::{Event, Kind};
use super::memory::{prefer_huge_pages, prefetch, prefetch_lines};
use super::shard::Shard;
use crate::engine::Wires;
use crate::frame::pause::PauseFrame;
use crate::host::Nics;
use crate::host::{Host, RankState, Role, Thread, lines};
use crate::indices::{EndpointIndex, PortIndex, ReceiveQueueIndex, ThreadIndex};
use crate::packet::Handle;
use crate::switch::buffer::Group;
use crate::switch::port::{Owner, Port};
use crate::switch::{Switch, Switches};

/// Ports [B] that a processor's own cache holds together with their packets.
const CACHED: usize = 1 << 18;
/// Packets for which there is room from the start: twice as many as a permutation has under way. Room that is never
/// used takes no memory, and what is used then lies in huge pages from its first touch on.
const PACKETS_PER_PORT: usize = 4;

impl Shard {
    /// Makes room, and asks for huge pages, under what packets touch at random.
    pub fn prepare_memory(&mut self) {
        let packets = PACKETS_PER_PORT * self.wires.ports.len();
        self.wires.packets.reserve(packets);
        self.wires.queue.reserve(packets + self.hosts.nics.endpoints.len());
        prefer_huge_pages(&self.wires.ports);
        prefer_huge_pages(&self.switches.groups);
        prefer_huge_pages(&self.hosts.nics.endpoints);
        prefer_huge_pages(&self.hosts.nics.hosts);
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
        let is_cached = size_of_val(self.wires.ports.as_slice()) <= CACHED;
        while self.wires.queue.next_time().is_some_and(|next| next < end) {
            if !is_cached {
                self.fetch();
            }
            while let Some(event) = self.wires.queue.pop_current(end) {
                debug_assert!(event.time >= self.wires.now, "time does not go back: {event:?} at {:?}", self.wires.now);
                self.wires.now = event.time;
                self.wires.totals.events += 1;
                self.dispatch(event);
            }
        }
    }

    /// Begins to fetch what events to come will need, in three steps from bucket to bucket: what an event names, what
    /// is found there, and what is found there in turn. Changes nothing; see `docs/models/engine.md` for what it gains.
    fn fetch(&self) {
        let [near, far] = self.wires.queue.next_buckets();
        far.flatten().for_each(|event| self.fetch_first(event));
        near.flatten().for_each(|event| self.fetch_second(event));
        self.wires.queue.bucket().iter().for_each(|event| self.fetch_third(event));
    }

    #[inline(always)]
    fn fetch_first(&self, event: &Event) {
        let place = event.key.place();
        match event.key.kind() {
            Kind::Arrive => {
                let (egress, priority) = event.hint.as_egress();
                self.wires.packets.prefetch(event.packet());
                prefetch(&self.wires.ports, egress.place(), size_of::<Port>());
                self.switches.fetch_group(&self.wires, place, priority);
            }
            Kind::Deliver => {
                self.wires.packets.prefetch(event.packet());
                prefetch(&self.wires.ports, place.place(), size_of::<Port>());
                let (endpoint, is_data) = event.hint.as_endpoint();
                if is_data {
                    self.hosts.nics.fetch_endpoint(endpoint, lines::COMMON);
                    self.hosts.nics.fetch_endpoint(endpoint, lines::RESPONDER);
                } else {
                    self.hosts.nics.fetch_endpoint(endpoint, lines::REQUESTER);
                }
            }
            Kind::Announce => {
                self.wires.packets.prefetch(event.packet());
                self.hosts.nics.fetch_endpoint(event.hint.as_endpoint().0, lines::MESSAGES);
            }
            Kind::TransmitterFree => prefetch(&self.wires.ports, place.place(), size_of::<Port>()),
            Kind::ThreadDone => {
                prefetch(&self.hosts.processors.threads, event.key.index() as usize, size_of::<Thread>());
                if let (endpoint, true) = event.hint.as_endpoint() {
                    prefetch(&self.wires.ports, place.place(), size_of::<Port>());
                    self.hosts.nics.fetch_endpoint(endpoint, lines::REQUESTER);
                    self.hosts.nics.fetch_endpoint(endpoint, lines::MESSAGES);
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
                let port = &self.wires.ports[egress];
                self.wires.packets.prefetch(port.ends_of_queue().1);
                if let Owner::Switch(switch) = port.owner {
                    prefetch(&self.switches.switches, switch.place(), size_of::<Switch>());
                }
                self.wires.fetch_route(event.packet(), 1);
            }
            Kind::Deliver => self.hosts.nics.fetch_host(&self.wires, event.key.place()),
            Kind::TransmitterFree => {
                let place = event.key.place();
                self.wires.packets.prefetch(self.wires.ports[place].ends_of_queue().0);
                self.hosts.nics.fetch_host(&self.wires, place);
            }
            Kind::ThreadDone => {
                if let Role::Rank(rank) = &self.hosts.processors.threads[ThreadIndex::new(event.key.index())].role {
                    prefetch(std::slice::from_ref(&**rank), 0, size_of::<RankState>());
                }
                if event.hint.as_endpoint().1 {
                    self.hosts.nics.fetch_host(&self.wires, event.key.place());
                }
            }
            _ => {}
        }
    }

    #[inline(always)]
    fn fetch_third(&self, event: &Event) {
        match event.key.kind() {
            Kind::TransmitterFree => {
                let port = &self.wires.ports[event.key.place()];
                let first = port.ends_of_queue().0;
                self.wires.fetch_route(first, 0);
                if let Some(packet) = self.wires.packets.get(first) {
                    self.switches.fetch_group(&self.wires, packet.ingress, packet.priority);
                }
                if let Owner::Host(host) = port.owner {
                    self.hosts.nics.fetch_endpoint(self.hosts.nics.hosts[host].first_ready(), lines::REQUESTER);
                }
            }
            Kind::ThreadDone => self.hosts.processors.threads[ThreadIndex::new(event.key.index())].prefetch_next(),
            _ => {}
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
            Kind::NicResume => self.hosts.nics.nic_resume(&mut self.wires, place),
            Kind::Announce => self.hosts.nics.announce(&mut self.wires, event.packet()),
            Kind::TransportTimer => self.hosts.nics.transport_timer(&mut self.wires, EndpointIndex::new(index)),
            Kind::Softirq => self.hosts.softirq(&mut self.wires, ReceiveQueueIndex::new(index)),
            Kind::ThreadDone => self.hosts.thread_done(&mut self.wires, ThreadIndex::new(index)),
            Kind::Pacing if event.bits > 0 => {
                self.hosts.nics.probe_tail(&mut self.wires, EndpointIndex::new(index), event.bits as u8)
            }
            Kind::Pacing => self.hosts.nics.pacing(&mut self.wires, EndpointIndex::new(index)),
            Kind::Start => self.hosts.thread_start(&mut self.wires, ThreadIndex::new(index)),
            Kind::ArriveDamaged => self.wires.arrive_damaged(place, event.packet()),
            Kind::CreditsArrive => self.credits_arrive(place, index),
            Kind::CrossbarFree => self.switches.crossbar_free(&mut self.wires, place, index),
            Kind::FluidDue => self.hosts.nics.fluid_due(&mut self.wires),
            Kind::FluidArrive => self.hosts.fluid_arrive(&mut self.wires, EndpointIndex::new(index)),
            Kind::FluidAcknowledged => {
                self.hosts.fluid_acknowledged(&mut self.wires, EndpointIndex::new(index), event.bits)
            }
            Kind::Handover => self.hosts.handover(&mut self.wires, ThreadIndex::new(index), event.packet()),
            Kind::Written => self.hosts.hand_over(&mut self.wires, event.packet()),
            Kind::Stored => {
                self.wires.note_arrival(place, event.packet());
                self.switches.stored(&mut self.wires, place, event.packet());
            }
            Kind::PauseArriveDamaged => self.wires.pause_arrive_damaged(place, PauseFrame::unpack(event.bits)),
        }
    }

    #[inline(always)]
    fn arrive(&mut self, port: PortIndex, event: Event) {
        self.wires.note_arrival(port, event.packet());
        if cfg!(debug_assertions) {
            self.wires.packets.set_tail(event.packet(), self.wires.tail_time(port, event.packet()));
        }
        if self.wires.constants.packet_routing.is_some() {
            return self.switches.arrive_undecided(&mut self.wires, port, event.packet());
        }
        let (egress, priority) = event.hint.as_egress();
        self.switches.arrive_at_switch(&mut self.wires, port, egress, priority, event.packet());
    }

    #[inline]
    fn deliver_packet(&mut self, port: PortIndex, handle: Handle) {
        self.wires.note_arrival(port, handle);
        let Owner::Host(host) = self.wires.ports[port].owner else { unreachable!("only hosts are delivered to") };
        self.hosts.arrive_at_host(&mut self.wires, host, handle);
    }

    #[inline(always)]
    fn transmitter_free(&mut self, port_index: PortIndex) {
        let port = &mut self.wires.ports[port_index];
        port.free_scheduled = false;
        if port.busy_until > self.wires.now {
            // A pause frame slipped in between.
            self.wires.expect_free(port_index);
        } else {
            self.transmit(port_index);
        }
    }
}

impl Nics {
    #[inline(always)]
    fn fetch_endpoint(&self, endpoint: EndpointIndex, lines: Range<usize>) {
        prefetch_lines(&self.endpoints, endpoint.place(), lines);
    }

    /// The host of a port, if it has one.
    #[inline(always)]
    fn fetch_host(&self, wires: &Wires, port: PortIndex) {
        if let Owner::Host(host) = wires.ports[port].owner {
            prefetch(&self.hosts, host.place(), size_of::<Host>());
        }
    }
}

impl Switches {
    #[inline(always)]
    fn fetch_group(&self, wires: &Wires, port: PortIndex, priority: u8) {
        prefetch(&self.groups, wires.constants.group(port, priority), size_of::<Group>());
    }
}

impl Wires {
    /// The entry of the route table that a packet needs after `further` others.
    #[inline(always)]
    fn fetch_route(&self, handle: Handle, further: usize) {
        if let Some(packet) = self.packets.get(handle) {
            prefetch(&self.constants.routes, packet.route as usize + further, size_of::<u32>());
        }
    }

    #[inline]
    fn note_arrival(&mut self, port: PortIndex, handle: Handle) {
        if let Some(fingerprint) = &mut self.fingerprint {
            fingerprint.add(self.now, self.channels[port], &self.packets[handle]);
        }
    }
}
