//! A connection in flow-level mode: its messages go one after another, at rates that [`crate::fluid`] gives.

use std::num::NonZeroU32;

use etherweave_engine::{
    EventTotals, Wires, constants::RunConstants, event::Event, event::Kind, params::FlowWindow, params::Headers,
    port::Port,
};
use etherweave_fluid::{Branch, Departures, Links, PathSet, Window, lateness};
use etherweave_kernel::{IndexVec, indices::EndpointIndex, indices::PortIndex};
use etherweave_primitives::{Bytes, Duration, Time};
use etherweave_topology::reverse;
use etherweave_transport::{ALLOCATION, ShortQueue, roce::Operation};
use etherweave_workload::collective::SumRole;

use super::{message::MessageKind, mpi::operation};
use crate::{Hosts, Nics};

/// The place of a connection that is not active.
pub const NOWHERE: u32 = u32::MAX;

/// Messages that one end of a connection has sent. Most of a run's ends have nothing under way at a time.
#[derive(Default)]
#[repr(align(32))]
pub struct FluidState {
    /// Bytes given to it, and those whose arrival is known here.
    posted: u64,
    acknowledged: u64,
    /// Packets that its messages would take.
    packets: u64,
    /// Messages that have not arrived, if there are any or it ever was active.
    open: Option<Box<OpenMessages>>,
}

/// Messages of an end that have not arrived.
struct OpenMessages {
    /// Among the active connections.
    place: u32,
    /// Those that have not been sent, and those in the network.
    waiting: ShortQueue<Load>,
    in_network: ShortQueue<Load>,
    /// When the last of them arrives.
    arrives: Time,
    /// Time of the NIC's read of the first message since it was idle: later messages are delayed by it too.
    read: Duration,
    /// Once it is known.
    window: Option<Window>,
}

#[derive(Clone, Copy)]
struct Load {
    bytes: u64,
    packets: u64,
    /// All packets [B], and the largest of them.
    wire: u64,
    largest: NonZeroU32,
    /// Not sent yet, when others go before it [B on the wire].
    left: f64,
    is_answer: bool,
    /// Since when it drains, or waits to.
    began: Time,
}

/// Returns the part of `bytes` that has come by `time`, if they come evenly from `began` until `end`.
fn come_by(time: Time, bytes: u64, [began, end]: [Time; 2]) -> u64 {
    let (part, all) = (time.min(end).since(began).as_ps(), end.since(began).as_ps().max(1));
    (u128::from(bytes) * u128::from(part) / u128::from(all)) as u64
}

impl Default for OpenMessages {
    fn default() -> OpenMessages {
        OpenMessages {
            place: NOWHERE,
            waiting: ShortQueue::default(),
            in_network: ShortQueue::default(),
            arrives: Time::ZERO,
            read: Duration::ZERO,
            window: None,
        }
    }
}

impl OpenMessages {
    /// Number of messages before a new one: all, but for answers behind all others, which a message of one packet
    /// passes. NICs send packets of both in turn.
    fn turn(&self, load: &Load) -> usize {
        let is_passed = |other: &Load| other.is_answer && !load.is_answer && load.packets == 1;
        let places = self.waiting.iter().enumerate().filter(|(_, other)| !is_passed(other));
        places.map(|(place, _)| place + 1).last().unwrap_or(0)
    }

    /// Bytes of messages behind the first `count` that wait.
    fn bytes_behind(&self, count: usize) -> u64 {
        self.waiting.iter().skip(count).map(|load| load.bytes).sum()
    }

    /// Whether nothing would be lost with it.
    fn is_over(&self) -> bool {
        self.window.is_none() && self.in_network.first().is_none() && self.waiting.first().is_none()
    }
}

impl FluidState {
    /// Memory beside it while messages are under way [B].
    pub const OPEN_BYTES: u64 = size_of::<OpenMessages>() as u64 + ALLOCATION;

    /// Its place among the active connections, if it sends.
    pub fn place(&self) -> Option<u32> {
        self.open.as_ref().map(|open| open.place).filter(|&place| place != NOWHERE)
    }

    /// Bytes that have arrived, as far as is known here.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Address and bytes of what it has beside itself.
    pub fn open_memory(&self) -> (*const u8, usize) {
        let open = self.open.as_deref().map_or(std::ptr::null(), std::ptr::from_ref);
        (open.cast(), size_of::<OpenMessages>())
    }

    /// Packets that have been sent.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Messages that have not arrived, of which there are some.
    fn open(&mut self) -> &mut OpenMessages {
        self.open.as_mut().expect("a connection that sends has messages")
    }

    /// Bytes on their way.
    pub fn in_flight(&self) -> u64 {
        self.posted - self.acknowledged
    }
}

/// A message of `bytes` as packets with their headers.
fn load(bytes: u64, operation: Operation, payload: Bytes, headers: &Headers) -> Load {
    let payload = payload.get();
    let packets = bytes.div_ceil(payload).max(1);
    let (first, other, last) = match operation {
        Operation::Write | Operation::SumListen | Operation::SumGive => (headers.first, headers.later, headers.later),
        Operation::ReadRequest | Operation::AtomicRequest => (headers.other, headers.other, headers.other),
        _ => (headers.edge, headers.other, headers.edge),
    };
    let tail = (bytes - (packets - 1) * payload).next_multiple_of(headers.multiple.into());
    let all = match packets {
        1 => u64::from(first),
        _ => u64::from(first) + u64::from(last) + (packets - 2) * u64::from(other),
    };
    let largest = first + if packets == 1 { tail as u32 } else { payload as u32 };
    let largest = NonZeroU32::new(largest).expect("a packet has a header");
    let wire = all + (packets - 1) * payload + tail;
    let (left, is_answer) = (wire as f64, operation.is_answer());
    Load { bytes, packets, wire, largest, left, is_answer, began: Time::ZERO }
}

impl Nics {
    /// Hands a message to a connection; gives where it ends.
    pub(super) fn fluid_post(
        &mut self,
        wires: &mut Wires,
        endpoint: EndpointIndex,
        kind: MessageKind,
        bytes: u64,
    ) -> u64 {
        let constants = std::sync::Arc::clone(&wires.constants);
        let number = self.endpoints[endpoint].protocol.transport();
        let (payload, headers) = (constants.params.transport_of(number).payload(), constants.headers_of(number));
        let operation = operation(kind, SumRole::Both);
        let read = self.fetch(bytes, operation, payload);
        let state = self.states.fluid(endpoint);
        state.posted += bytes;
        let (posted, open) = (state.posted, state.open.get_or_insert_default());
        if open.place == NOWHERE {
            open.read = read.unwrap_or(Duration::ZERO);
        }
        let load = Load { began: wires.now, ..load(bytes, operation, payload, headers) };
        let (place, window, wire) = (open.place, open.window, load.wire as f64);
        if place == NOWHERE && load.packets == 1 && !load.is_answer && self.fluid_pass(wires, endpoint, load) {
            return posted;
        }
        let open = self.states.fluid(endpoint).open();
        let before = open.turn(&load);
        open.waiting.insert(before, load);
        let end = posted - open.bytes_behind(before + 1);
        if place != NOWHERE {
            let fluid = wires.fluid.as_mut().expect("a run in flow-level mode has it");
            fluid.post(place, wire);
            if before == 0 {
                // What is left of the answer that was being sent goes behind it.
                let left = fluid.left(place, wires.now).max(0.0);
                open.waiting.iter_mut().nth(1).into_iter().for_each(|answer| answer.left = left);
                fluid.post(place, left);
                fluid.go_on(wires.now, place, wire);
                expect_fluid(wires);
            }
            return end;
        }
        let links = self.fluid_links(wires, endpoint);
        let window = window.unwrap_or_else(|| fluid_window(wires, number, &links));
        self.states.fluid(endpoint).open().window = Some(window);
        self.fluid_begin(wires, endpoint, links, window, wire);
        end
    }

    /// Has a message of one packet pass where no connection uses its links; gives whether it does.
    fn fluid_pass(&mut self, wires: &mut Wires, endpoint: EndpointIndex, load: Load) -> bool {
        let (now, links) = (wires.now, self.fluid_links(wires, endpoint));
        let tables = wires.constants.fluid_tables();
        let fluid = wires.fluid.as_mut().expect("a run in flow-level mode has it");
        let Some(drained) = fluid.pass(now, &links, load.wire as f64, tables) else { return false };
        let mut count = counting(self.endpoints[endpoint].priority, &mut wires.ports, &mut wires.totals);
        links.shares(tables).for_each(move |(port, _)| count(port, 1, load.wire));
        self.fluid_leave(wires, endpoint, &links, load, drained);
        true
    }

    fn fluid_begin(&mut self, wires: &mut Wires, endpoint: EndpointIndex, links: Links, window: Window, wire: f64) {
        let back = self.fluid_links(wires, self.endpoints[endpoint].remote);
        let (now, both) = (wires.now, [links, back]);
        let fluid = wires.fluid.as_mut().expect("a run in flow-level mode has it");
        let place = fluid.begin(now, endpoint, both, window, wire, wires.constants.fluid_tables());
        *self.active_place(endpoint) = place;
        expect_fluid(wires);
    }

    /// Where a connection, in packets or not, stands among the active.
    fn active_place(&mut self, endpoint: EndpointIndex) -> &mut u32 {
        match self.endpoints[endpoint].protocol.is_in_packets() {
            true => &mut self.places_in_packets[endpoint],
            false => &mut self.states.fluid(endpoint).open().place,
        }
    }

    /// A connection in packets has a message to send, beside others in flow-level mode.
    #[cold]
    #[inline(never)]
    pub(super) fn packets_posted(
        &mut self,
        wires: &mut Wires,
        endpoint: EndpointIndex,
        bytes: u64,
        operation: Operation,
    ) {
        let number = self.endpoints[endpoint].protocol.transport();
        let constants = std::sync::Arc::clone(&wires.constants);
        let payload = constants.params.transport_of(number).payload();
        let wire = load(bytes, operation, payload, constants.headers_of(number)).wire as f64;
        let links = self.fluid_links(wires, endpoint);
        let window = fluid_window(wires, number, &links);
        let (now, place) = (wires.now, *self.active_place(endpoint));
        if place == NOWHERE {
            let window = Window { bytes: window.bytes.min(wire), ..window };
            return self.fluid_begin(wires, endpoint, links, window, f64::INFINITY);
        }
        let fluid = wires.fluid.as_mut().expect("a run in flow-level mode has it");
        fluid.widen(now, place, wire, window.bytes);
        expect_fluid(wires);
    }

    /// All that a connection in packets had to send has arrived.
    #[cold]
    #[inline(never)]
    pub(super) fn packets_acknowledged(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        if *self.active_place(endpoint) != NOWHERE {
            self.fluid_end(wires, endpoint);
            expect_fluid(wires);
        }
    }

    /// A connection has nothing more to send.
    fn fluid_end(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        let (now, place) = (wires.now, std::mem::replace(self.active_place(endpoint), NOWHERE));
        let fluid = wires.fluid.as_mut().expect("a run in flow-level mode has it");
        if let Some(moved) = fluid.end(now, place, wires.constants.fluid_tables()) {
            *self.active_place(moved) = place;
        }
    }

    pub(super) fn fluid_links(&self, wires: &Wires, endpoint: EndpointIndex) -> Links {
        let end = &self.endpoints[endpoint];
        let first = self.hosts[end.host].port;
        let class = wires.constants.scheduler.class(end.priority) as u8;
        if let Some(links) = self.ports.links(endpoint) {
            return Links { class, ..*links };
        }
        if let Some(branches) = &wires.constants.branches {
            let last = wires.ports[self.hosts[self.endpoints[end.remote].host].port].peer.port;
            let paths = PathSet::Several(branches.of_ends[end.route as usize]);
            return Links { first, last, parts: [1.0; 2], paths, class };
        }
        let route = &wires.constants.routes[end.route as usize..];
        let fluid = wires.fluid.as_ref().expect("a run in flow-level mode has it");
        let count = route.iter().position(|&port| fluid.is_last(port)).expect("a route ends at a host");
        let branch = Branch { route: end.route, count: count as u32, weight: 1.0 };
        Links { first, last: route[count], parts: [1.0; 2], paths: PathSet::One(branch), class }
    }

    /// Messages have been sent, or rates change.
    pub fn fluid_due(&mut self, wires: &mut Wires) {
        let now = wires.now;
        while let Some(endpoint) = self.fluid_ended(wires) {
            self.fluid_sent(wires, endpoint);
        }
        let fluid = wires.fluid.as_mut().expect("a run in flow-level mode has it");
        fluid.solve(now, wires.constants.fluid_tables());
        if fluid.scheduled <= now {
            fluid.scheduled = Time::MAX;
        }
        expect_fluid(wires);
    }

    fn fluid_ended(&mut self, wires: &mut Wires) -> Option<EndpointIndex> {
        let (now, states) = (wires.now, &self.states);
        let fluid = wires.fluid.as_mut().expect("a run in flow-level mode has it");
        fluid.next_ended(now, |endpoint| states.messages(endpoint).and_then(FluidState::place))
    }

    /// The message that leads has left its last bottleneck: it arrives, and the next follows.
    fn fluid_sent(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        let (now, links) = (wires.now, self.fluid_links(wires, endpoint));
        let state = self.states.fluid(endpoint);
        let (posted, open) = (state.posted, state.open());
        let load = open.waiting.pop_front().expect("an active connection has a message");
        let end = posted - open.bytes_behind(0);
        open.waiting.first_mut().into_iter().for_each(|next| next.began = now);
        let (place, next) = (open.place, open.waiting.first().copied());
        let before = open.in_network.iter().map(|load| load.packets).sum();
        self.count_fluid(wires, endpoint, place, &load);
        let number = self.endpoints[endpoint].protocol.transport();
        let late = fluid_lateness(wires, number, &links, place, before, &load);
        let fluid = wires.fluid.as_mut().expect("a run in flow-level mode has it");
        let drained = now.max(fluid.crossed(place, wires.constants.fluid_tables())) + late;
        self.fluid_leave(wires, endpoint, &links, load, drained);
        let fluid = wires.fluid.as_mut().expect("a run in flow-level mode has it");
        match next {
            Some(next) => fluid.go_on(now, place, next.left),
            None => self.fluid_end(wires, endpoint),
        }
        if load.is_answer {
            self.answer_sent(wires, endpoint, end);
        }
    }

    /// A message has drained by a time, after which it arrives by the latency of its path.
    fn fluid_leave(&mut self, wires: &mut Wires, endpoint: EndpointIndex, links: &Links, load: Load, drained: Time) {
        // What it took at its rate includes a packet on the slowest link.
        let slowest = |(port, _): (PortIndex, f64)| wires.ports[port].serialization_time(load.largest.get());
        let of_packet = links.shares(wires.constants.fluid_tables()).map(slowest).max().unwrap_or(Duration::ZERO);
        let of_packet = Duration::from_ps((of_packet.as_ps() as f64 * links.part_max()).round() as u64);
        let latency = fluid_latency(wires, links, load.largest.get());
        let held = self.fluid_held(wires, self.endpoints[endpoint].protocol.transport(), links, &load);
        let state = self.states.fluid(endpoint);
        state.packets += load.packets;
        let open = state.open();
        open.arrives = open.arrives.max(drained + (latency - of_packet.min(latency)) + open.read + held);
        open.in_network.push_back(load);
        let (arrives, port) = (open.arrives, self.hosts[self.endpoints[endpoint].host].port);
        wires.schedule_at(arrives, port, Kind::FluidArrive, endpoint.get());
        wires.totals.created += load.packets;
        wires.totals.delivered += load.packets;
    }

    /// Time until the last packet of a message is in memory, behind the full one before it, which came earlier by as
    /// much as the last takes; none where the NIC hands on packets while they come.
    fn fluid_held(&self, wires: &Wires, number: u8, links: &Links, load: &Load) -> Duration {
        let Some(interface) = &self.times.interface else { return Duration::ZERO };
        let payload = wires.constants.params.transport_of(number).payload().get();
        let last = (load.bytes - (load.packets - 1) * payload) as u32;
        let own = interface.held(last);
        if load.packets == 1 || own.is_zero() {
            return own;
        }
        let wire = wires.constants.headers_of(number).later + last;
        let earlier = |(port, _): (PortIndex, f64)| wires.ports[port].serialization_time(wire);
        let earlier = links.shares(wires.constants.fluid_tables()).map(earlier).max().unwrap_or(Duration::ZERO);
        let before = interface.held(payload as u32);
        own + (before - before.min(earlier))
    }

    /// Counts the packets of a message, as if each had been sent.
    fn count_fluid(&mut self, wires: &mut Wires, endpoint: EndpointIndex, place: u32, load: &Load) {
        let (now, fluid) = (wires.now, wires.fluid.as_mut().expect("a run in flow-level mode has it"));
        let mut count = counting(self.endpoints[endpoint].priority, &mut wires.ports, &mut wires.totals);
        fluid.carried(now, place, wires.constants.fluid_tables(), load.packets, load.wire, &mut count);
    }

    /// Returns the bytes that have come since the warm-up of messages to an endpoint that are incomplete at the end
    /// [B].
    pub fn fluid_partly_come(&self, wires: &Wires, endpoint: EndpointIndex, end: Time) -> u64 {
        // Without flow-level mode the sender may be in another shard.
        let Some(fluid) = &wires.fluid else { return 0 };
        let state = self.states.messages(self.endpoints[endpoint].remote);
        let Some((state, open)) = state.and_then(|state| Some((state, state.open.as_deref()?))) else { return 0 };
        let since_warm_up = |bytes, began: Time| bytes - come_by(wires.constants.warm_up, bytes, [began, end]);
        let sent = open.in_network.iter();
        let sent = sent.map(|load| (come_by(end, load.bytes, [load.began, open.arrives]), load.began));
        let drains = open.waiting.first().zip(state.place());
        let drains = drains.map(|(load, place)| {
            let left = (fluid.left(place, end) / load.wire as f64).clamp(0.0, 1.0);
            ((load.bytes as f64 * (1.0 - left)) as u64, load.began)
        });
        sent.chain(drains).map(|(bytes, began)| since_warm_up(bytes, began)).sum()
    }
}

impl Hosts {
    /// A message of this end has arrived at the other.
    pub fn fluid_arrive(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        self.processors.progress_of(wires, self.nics.endpoints[endpoint].thread);
        let state = self.nics.states.fluid(endpoint);
        let load = state.open().in_network.pop_front().expect("what arrives was sent");
        state.acknowledged += load.bytes;
        state.open.take_if(|open| open.is_over());
        let arrived = state.acknowledged;
        let remote = self.nics.endpoints[endpoint].remote;
        if let Some(fingerprint) = &mut wires.fingerprint {
            let last = self.nics.hosts[self.nics.endpoints[remote].host].port;
            let time = wires.now.since(wires.fingerprint_from);
            fingerprint.add_message(time, reverse(wires.channels[last]), load.wire);
        }
        let (now, warm_up) = (wires.now, wires.constants.warm_up);
        if now >= warm_up {
            self.nics.endpoints[remote].warm_up_intake += come_by(warm_up, load.bytes, [load.began, now]);
        }
        self.take_bytes(wires, remote, load.bytes, arrived);
        if self.nics.endpoints[endpoint].owner_waits_for != u64::MAX {
            let links = self.nics.fluid_links(wires, remote);
            let number = self.nics.endpoints[remote].protocol.transport();
            let latency = fluid_latency(wires, &links, wires.constants.headers_of(number).ack);
            let port = self.nics.hosts[self.nics.endpoints[endpoint].host].port;
            let key = wires.key(port, Kind::FluidAcknowledged, endpoint.get());
            wires.queue.push(Event::new(wires.now + latency, key, arrived as u32));
        }
    }

    /// The sender learns what has arrived: all below an offset with these lower bits, less than 4 GiB ago.
    pub fn fluid_acknowledged(&mut self, wires: &mut Wires, endpoint: EndpointIndex, bits: u32) {
        let arrived = self.nics.states.fluid(endpoint).acknowledged;
        let since = (arrived as u32).wrapping_sub(bits);
        self.acknowledged(wires, endpoint, arrived - u64::from(since));
    }
}

/// Counts packets and their bytes at ports.
fn counting(
    priority: u8,
    ports: &mut IndexVec<PortIndex, Port>,
    totals: &mut EventTotals,
) -> impl FnMut(PortIndex, u64, u64) {
    move |port, packets, bytes| {
        let counters = ports[port].counters_mut(usize::from(priority));
        counters.tx_packets += packets;
        counters.tx_bytes += bytes;
        totals.hops += packets;
    }
}

/// The window of a connection, and the time until a full packet of it is acknowledged: the receiver waits for several.
fn fluid_window(wires: &Wires, number: u8, links: &Links) -> Window {
    let constants = &wires.constants;
    let Some(window) = constants.params.transport_of(number).flow_window() else { return Window::OPEN };
    let FlowWindow { packets, packets_per_ack, link_share_max } = window;
    let (packet, acknowledgement) = (constants.largest_frame, constants.headers_of(number).ack);
    let round = fluid_latency(wires, links, packet) + fluid_latency(wires, links, acknowledgement);
    let ports = links.shares(constants.fluid_tables()).map(|(port, _)| &wires.ports[port]);
    let gap = ports.map(|port| port.serialization_time(packet)).max().unwrap_or(Duration::ZERO);
    // By several ports packets come so much faster.
    let gap = gap.as_ps() as f64 * links.part_max();
    let round = round.as_ps() as f64 + (f64::from(packets_per_ack).min(packets) - 1.0) * gap;
    let bytes = packets * f64::from(packet);
    // Congestion control may keep links below a part of their rate.
    Window { bytes: bytes.min(link_share_max * round * f64::from(packet) / gap), round }
}

/// Mean time over its paths from the first bit of a lone packet to its arrival.
pub(super) fn fluid_latency(wires: &Wires, links: &Links, wire: u32) -> Duration {
    let hop = |(port, share): (PortIndex, f64)| {
        let port = &wires.ports[port];
        share * (port.serialization_time(wire).min(port.header_time) + port.delay).as_ps() as f64
    };
    Duration::from_ps(links.shares(wires.constants.fluid_tables()).map(hop).sum::<f64>().round() as u64)
}

/// How much later the last packet of a message, and of those `before` it that have not arrived, arrives than at the
/// mean latency, where paths have several.
fn fluid_lateness(wires: &Wires, number: u8, links: &Links, place: u32, before: u64, load: &Load) -> Duration {
    let latencies = links.latencies(wires.constants.fluid_tables());
    let transport = wires.constants.params.transport_of(number);
    if latencies.is_empty() {
        return Duration::ZERO;
    }
    let fluid = wires.fluid.as_ref().expect("a run in flow-level mode has it");
    let missing = load.packets * transport.payload().get() - load.bytes;
    let gap = f64::from(load.largest.get()) / fluid.rate(place);
    let tail = (u64::from(load.largest.get()).saturating_sub(missing)) as f64 / fluid.rate(place);
    let late = lateness(latencies, Departures { packets: before + load.packets, gap, tail });
    Duration::from_ps(late.max(0.0).round() as u64)
}

/// Sees to it that an event comes when something ends or rates change.
fn expect_fluid(wires: &mut Wires) {
    let fluid = wires.fluid.as_mut().expect("a run in flow-level mode has it");
    let next = fluid.next();
    if next < fluid.scheduled {
        fluid.scheduled = next;
        // After all else at that time, so that what begins at once shares links at once.
        wires.schedule_at(next, PortIndex::new(u32::MAX), Kind::FluidDue, 0);
    }
}

/// The time of a full packet on the fastest link of a host.
pub fn packet_time(constants: &RunConstants, rates: impl Iterator<Item = etherweave_primitives::BitRate>) -> Duration {
    let frame = Bytes::new(u64::from(constants.largest_frame));
    rates.map(|rate| rate.serialization_time(frame)).min().unwrap_or(Duration::ZERO)
}
