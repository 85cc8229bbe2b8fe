//! A shard: some entities, their events and packets, and the main loop, which serves one event after the other.

use std::{any::Any, sync::Arc};

use etherweave_engine::{
    Wires, constants::RunConstants, event::Event, event::Kind, event::PrefetchHint, frame::pause::PauseFrame,
    outbox::RemoteOutbox, packet::Handle, packet::NO_SIDE, port::Owner,
};
use etherweave_host::Hosts;
use etherweave_kernel::indices::{EndpointIndex, PortIndex, ReceiveQueueIndex, ThreadIndex};
use etherweave_kernel::memory::prefer_huge_pages;
use etherweave_primitives::Time;
use etherweave_switch::Switches;
use etherweave_transport::connection::Alarm;

use crate::{
    fetch::fetch, fetch::fetch_ahead, loop_watch::LoopWatch, sampling::Owners, sampling::Sampler,
    skipped_work::SkippedWork,
};

/// Ports [B] that a processor's own cache holds together with their packets.
const CACHED: usize = 1 << 18;
/// Ends of connections [B] that it holds beside them. An all-to-all touches each of them about once a message.
const ENDPOINTS_CACHED: usize = 1 << 20;
/// Packets of a message on average, acknowledgements included, from which on few connections are active at a time.
const PACKETS_OF_LONG: u64 = 32;
/// Events of a bucket whose memory no processor's own cache holds at once.
const LONG: usize = 64;
/// Packets for which there is room from the start: twice as many as a permutation has under way. Room that is never
/// used takes no memory, and what is used then lies in huge pages from its first touch on.
const PACKETS_PER_PORT: usize = 4;

/// Path of packets that arrive at switches, decided once for many events.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arrivals {
    /// They leave by the port that their route names.
    Plain,
    /// They join the queue of an input.
    AtCrossbar,
    /// Their switch decides where they leave, unless it was decided ahead.
    Routed,
    /// Every possibility is looked at.
    Any,
}

pub(crate) struct Shard {
    /// Time, events, packets and links.
    pub wires: Wires,
    /// Switches behind their ports.
    pub switches: Switches,
    /// Hosts behind their ports.
    pub hosts: Hosts,
    /// Time series, where they are asked for.
    pub sampler: Option<Box<Sampler>>,
    /// The loop of a rank here whose turns are awaited, if there is one.
    pub watch: Option<LoopWatch>,
    /// Iterations here that are not simulated.
    pub skipped_work: SkippedWork,
    /// Flows that exist only while they are needed.
    pub late_flows: Option<Box<dyn StartWatch>>,
}

/// Effects of starting threads on their shard.
pub(crate) trait StartWatch: Any + Send {
    /// Whether the start of a thread does.
    fn are_due(&self, thread: u32) -> bool;

    fn advance(&mut self, shard: &mut Shard);
}

impl Shard {
    /// A shard without entities, one of `shards`.
    pub fn new(id: u32, shards: usize, constants: &Arc<RunConstants>) -> Shard {
        Shard {
            wires: Wires::new(id, shards, constants),
            switches: Switches::default(),
            hosts: Hosts::new(constants),
            sampler: None,
            watch: None,
            skipped_work: SkippedWork::default(),
            late_flows: None,
        }
    }

    /// Whether a processor's own cache holds all ports.
    pub fn has_cached_ports(&self) -> bool {
        size_of_val(self.wires.ports.as_slice()) <= CACHED
    }

    /// Whether a processor's own cache holds the ends of connections beside the ports: all of them, or those that are
    /// active, which are few where messages are long.
    fn has_cached_endpoints(&self) -> bool {
        let (all, totals) = (size_of_val(self.hosts.nics.endpoints.as_slice()), &self.wires.totals);
        let has_long_messages = totals.posted > 0 && totals.created >= PACKETS_OF_LONG * totals.posted;
        all <= ENDPOINTS_CACHED || has_long_messages
    }

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
        while let Some(time) = self.sampler.as_ref().and_then(|sampler| sampler.due(end)) {
            self.serve_events(time);
            self.sample(|sampler, owners| sampler.take(time, owners));
        }
        self.serve_events(end);
    }

    fn serve_events(&mut self, end: Time) {
        let is_cached = self.has_cached_ports() && self.has_cached_endpoints();
        let arrivals = self.arrivals();
        while self.wires.queue.next_time().is_some_and(|next| next < end) {
            if !is_cached {
                if self.wires.queue.bucket().len() > LONG && self.wires.fluid.is_some() {
                    self.serve_long_bucket(end);
                    continue;
                }
                fetch(&self.wires, &self.switches, &self.hosts);
            }
            while let Some(event) = self.wires.queue.pop_current(end) {
                debug_assert!(event.time >= self.wires.now, "time does not go back: {event:?} at {:?}", self.wires.now);
                self.wires.now = event.time;
                self.wires.totals.events += 1;
                self.dispatch(event, arrivals);
            }
        }
    }

    fn arrivals(&self) -> Arrivals {
        let (wires, switches) = (&self.wires, &self.switches);
        let is_observed = wires.fingerprint.is_some() || wires.constants.watchdog.is_some();
        if is_observed || switches.aggregation.is_some() || switches.learning.is_some() {
            Arrivals::Any
        } else if switches.crossbars.are_used() {
            Arrivals::AtCrossbar
        } else if wires.has_plain_arrivals() {
            Arrivals::Plain
        } else if wires.constants.packet_routing.is_some() {
            Arrivals::Routed
        } else {
            Arrivals::Any
        }
    }

    /// Serves a bucket of many events, mostly of ranks that do the same at one time.
    #[inline(never)]
    fn serve_long_bucket(&mut self, end: Time) {
        let arrivals = self.arrivals();
        while let Some(event) = self.wires.queue.pop_current(end) {
            fetch_ahead(&self.wires, &self.hosts);
            self.wires.now = event.time;
            self.wires.totals.events += 1;
            self.dispatch(event, arrivals);
        }
    }

    /// The two kinds that every packet-hop needs stay in the loop, and those of crossbars and credits, which are as
    /// many; the others are calls, deliveries one of their own.
    #[inline(always)]
    fn dispatch(&mut self, event: Event, arrivals: Arrivals) {
        if event.key.is(Kind::Arrive) {
            self.arrive(event.key.place(), event, arrivals);
        } else if event.key.is(Kind::TransmitterFree) {
            self.transmitter_free(event.key.place());
        } else if event.key.is(Kind::CreditsArrive) {
            self.credits_arrive(event.key.place(), event.key.index());
        } else if event.key.is(Kind::CrossbarFree) {
            self.switches.crossbar_free(&mut self.wires, event.key.place(), event.key.index());
        } else if event.key.is(Kind::Deliver) {
            self.deliver_packet(event.key.place(), event.packet());
        } else {
            self.dispatch_other(event);
        }
    }

    /// Something is due for an endpoint, if it still exists.
    fn transport_alarm(&mut self, endpoint: u32, alarm: Alarm) {
        let endpoint = EndpointIndex::new(endpoint);
        if self.hosts.nics.endpoints.get(endpoint).is_some() {
            self.hosts.transport_alarm(&mut self.wires, endpoint, alarm);
        }
    }

    /// A thread has started: it may be the first of the newest flows.
    fn advance_flows(&mut self, thread: u32) {
        if let Some(mut late) = self.late_flows.take_if(|late| late.are_due(thread)) {
            late.advance(self);
            self.late_flows = Some(late);
        }
    }

    #[inline(never)]
    fn dispatch_other(&mut self, event: Event) {
        let (place, index) = (event.key.place(), event.key.index());
        match event.key.kind() {
            Kind::Arrive | Kind::TransmitterFree | Kind::CreditsArrive | Kind::CrossbarFree | Kind::Deliver => {
                unreachable!("served in the loop")
            }
            Kind::PauseArrive => {
                self.wires.pause_arrive(place, PauseFrame::unpack(event.bits));
                self.switches.expect_poll(&mut self.wires, place);
                self.kick(place);
            }
            Kind::PauseExpire => {
                if self.wires.pause_expire(place, index as usize) {
                    self.kick(place);
                }
            }
            Kind::PauseRefresh => self.wires.pause_refresh(place, self.owners().held_pauses(place) & index as u8),
            Kind::NicResume => self.hosts.nics.nic_resume(&mut self.wires, place),
            Kind::Announce => self.hosts.nics.announce(&mut self.wires, event.packet()),
            Kind::TransportTimer => self.transport_alarm(index, Alarm::Timeout),
            Kind::Softirq => self.hosts.softirq(&mut self.wires, ReceiveQueueIndex::new(index)),
            Kind::ThreadDone => self.hosts.thread_done(&mut self.wires, ThreadIndex::new(index)),
            Kind::Pacing if event.bits > 0 => self.transport_alarm(index, Alarm::Tail(event.bits as u8)),
            Kind::Pacing => self.transport_alarm(index, Alarm::Pacing),
            Kind::Start => {
                self.hosts.thread_start(&mut self.wires, ThreadIndex::new(index));
                self.advance_flows(index);
            }
            Kind::ArriveDamaged => self.wires.arrive_damaged(place, event.packet()),
            Kind::FluidDue => self.hosts.nics.fluid_due(&mut self.wires),
            Kind::FluidArrive => self.hosts.fluid_arrive(&mut self.wires, EndpointIndex::new(index)),
            Kind::FluidAcknowledged => {
                self.hosts.fluid_acknowledged(&mut self.wires, EndpointIndex::new(index), event.bits)
            }
            Kind::Handover => self.hosts.handover(&mut self.wires, ThreadIndex::new(index), event.packet()),
            Kind::Wake => self.hosts.wake(&mut self.wires, ThreadIndex::new(index)),
            Kind::Written => self.hosts.hand_over(&mut self.wires, event.packet()),
            Kind::Stored => {
                self.wires.note_arrival(place, event.packet());
                self.switches.stored(&mut self.wires, place, event.packet());
                self.switches.discard_blocked(&mut self.wires);
            }
            Kind::WatchdogPoll => self.switches.poll(&mut self.wires, place),
            Kind::PauseStorm => match index as u8 {
                0 => self.hosts.nics.send_ignored_pauses(&mut self.wires, place, event.bits),
                mask => self.hosts.nics.pause_storm(&mut self.wires, place, mask, event.bits != 0),
            },
            Kind::PauseArriveDamaged => self.wires.pause_arrive_damaged(place, PauseFrame::unpack(event.bits)),
        }
    }

    #[inline(always)]
    fn arrive(&mut self, port: PortIndex, event: Event, arrivals: Arrivals) {
        if cfg!(debug_assertions) {
            self.wires.packets.set_tail(event.packet(), self.wires.tail_time(port, event.packet()));
        }
        let ((egress, priority), handle) = (event.hint.as_egress(), event.packet());
        match arrivals {
            Arrivals::Plain => self.switches.forward(&mut self.wires, port, egress, priority, handle),
            Arrivals::AtCrossbar => self.switches.arrive_at_crossbar(&mut self.wires, port, handle),
            Arrivals::Routed => self.switches.arrive_routed(&mut self.wires, port, handle),
            Arrivals::Any => {
                self.wires.note_arrival(port, handle);
                if self.switches.has_storm() {
                    return self.switches.arrive_in_storm(&mut self.wires, port, egress, priority, handle);
                }
                self.switches.arrive_at_switch(&mut self.wires, port, egress, priority, handle);
            }
        }
    }

    #[inline(never)]
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
            self.wires.expect_free(port_index, PrefetchHint::default());
        } else {
            self.transmit(port_index);
        }
    }

    /// Credits have come back to a port; the event's index says how many. Mostly nothing waits for them.
    #[inline(always)]
    fn credits_arrive(&mut self, port: PortIndex, index: u32) {
        let (priority, is_awaited) = self.wires.take_back_credits(port, index);
        if is_awaited || self.switches.crossbars.is_awaited(port) || self.switches.neighbour_loads.is_some() {
            self.serve_credits(port, priority, is_awaited);
        }
    }

    #[inline(never)]
    fn serve_credits(&mut self, port: PortIndex, priority: u8, is_awaited: bool) {
        if self.switches.crossbars.are_used() && self.wires.host_of_port(port).is_none() {
            self.switches.credits_at_output(&mut self.wires, port, priority, is_awaited);
        } else if is_awaited && self.wires.unblock_with_credits(port, priority) {
            self.kick(port);
        }
    }

    fn owners(&self) -> Owners<'_> {
        Owners { wires: &self.wires, switches: &self.switches, hosts: &self.hosts }
    }

    fn sample(&mut self, sample: impl FnOnce(&mut Sampler, Owners<'_>)) {
        let owners = Owners { wires: &self.wires, switches: &self.switches, hosts: &self.hosts };
        if let Some(sampler) = &mut self.sampler {
            sample(sampler, owners);
        }
    }

    /// Adds what still lasts at the end of a run to the counters, and takes the last samples.
    pub fn end(&mut self, end: Time) {
        for port in self.wires.ports.indices() {
            let held = self.owners().held_pauses(port);
            self.wires.settle_pauses(port, held, end);
        }
        self.wires.credits.settle(end);
        self.switches.crossbars.end(end);
        self.sample(|sampler, owners| sampler.end(end, owners));
        self.wires.assert_ports_within_capacity(end);
    }

    /// Starts the transmitter of a port now if it is idle, or when it becomes free.
    pub fn kick(&mut self, port: PortIndex) {
        if self.wires.may_transmit(port, PrefetchHint::default) {
            self.transmit(port);
        }
    }

    #[inline(always)]
    pub(super) fn transmit(&mut self, port_index: PortIndex) {
        match self.wires.ports[port_index].owner {
            Owner::Switch(_) => self.switches.transmit_from_switch(&mut self.wires, port_index),
            Owner::Host(host) => self.hosts.nics.transmit_from_host(&mut self.wires, host),
        }
    }

    /// Takes in what another shard has sent.
    pub fn receive(&mut self, outbox: &RemoteOutbox) {
        if let Some(neighbours) = &mut self.switches.neighbour_loads {
            neighbours.receive(&outbox.loads);
        }
        if let Some(traffic) = &mut self.switches.group_traffic {
            traffic.receive(&outbox.loads);
        }
        for &event in &outbox.events {
            if event.key.kind().has_packet() {
                let mut packet = outbox.packets[event.bits as usize];
                if packet.side != NO_SIDE {
                    let sent = packet.side as usize;
                    packet.side = self.wires.packets.insert_side(outbox.sides[sent]);
                    if let Some(&path) = outbox.paths.get(sent) {
                        self.wires.packets.set_path(packet.side, path);
                    }
                }
                let handle = self.wires.packets.insert(packet);
                if let Some(&route) = outbox.routes.get(event.bits as usize) {
                    self.wires.packets.set_route(handle, route);
                }
                self.wires.expect_packet(event.time, event.key, handle);
            } else {
                self.wires.queue.push(event);
            }
        }
    }
}
