//! Input-queued switches: a packet waits where it came in, until its input, its output and the far end are free.
//!
//! ```text
//!              queue of each priority      crossbar        queue of the output
//!   link ─────► ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ ─┐                ┌─► ▒▒▒▒▒ ──────────► link
//!               ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ ─┴──►  ═══╳═══ ──┘
//! ```
//!
//! Every input port has a queue for each priority, which is the buffer that the far end has credits for. The first
//! packet of a queue waits in the list of the output that it wants, and all behind it wait with it. A free output
//! grants one of those in its list whose input is free and for which the next buffer has credits. The packet takes the
//! input and the output for its length at the rate of the crossbar, no less than its tail needs to arrive. It takes
//! its credits when it is granted, so that nothing behind the crossbar waits for the far end. Its room is free when
//! its first bit leaves by the link.
//!
//! The functions here are called where a packet under credits would wait in a switch with a shared buffer, see
//! [`super::credits`]: runs with shared buffers do no more work for a packet.

use std::collections::BTreeMap;

use etherweave_engine::packet::{Handle, NO_PACKET, Packet};
use etherweave_engine::{
    Wires, event::Kind, frame::pause::priorities, frame::size::PREAMBLE_AND_GAP, memory::prefetch,
    packet_list::PacketList, params::Arbiter, port::Port,
};
use etherweave_kernel::{IndexVec, LocalIndex, QueueMeter, indices::PortIndex};
use etherweave_primitives::{ByteTime, Duration, Priority, Time};

use crate::Switches;

/// No input queue, at the end of a list.
const END: InputQueueIndex = InputQueueIndex::NONE;
/// Index of an event: the crossbar is free for an input.
const INPUT: u32 = 0;
/// Index of an event: the crossbar is free for an output.
const OUTPUT: u32 = 1;

/// Crossbars of all switches of a shard; without ports, switches share buffers.
#[derive(Default)]
pub struct Crossbars {
    /// Ports of the crossbars.
    pub ports: IndexVec<PortIndex, CrossbarPort>,
    /// Queues by port and priority.
    queues: IndexVec<InputQueueIndex, InputQueue>,
    /// When each output last served each input of its switch, row by row; empty where the arbiter does not ask.
    served: Vec<Time>,
    /// Meters by port; empty where nothing is asserted.
    meters: IndexVec<PortIndex, InputMeter>,
    arbiter: Arbiter,
    /// Depth of the queue of an output [B].
    output_queue: u32,
    /// The largest frame, as buffers count [B].
    largest_frame: u32,
}

/// Both sides of a port at the crossbar of its switch: a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct CrossbarPort {
    /// A byte through the crossbar.
    byte: ByteTime,
    /// When the input gives another packet to the crossbar.
    input_free: Time,
    /// When the output takes another packet from the crossbar.
    output_free: Time,
    /// When the tail of the packet that came last is in.
    tail: Time,
    /// The packet that came last.
    newest: Handle,
    /// The input queues whose first packets wait for this output, the longest waiting first.
    first: InputQueueIndex,
    last: InputQueueIndex,
    /// Where the row of this output begins in [`Crossbars::served`].
    row: u32,
    /// The input port of this switch that the output served last.
    last_served: u16,
    /// Its number among the ports of its switch, and how many these are.
    number: u16,
    count: u16,
    /// Priorities with packets in the input's queues, a bit each.
    occupied: u8,
    /// The priority whose turn it is when the input is free.
    turn: u8,
    /// Whether the event that frees the input is scheduled.
    input_wakes: bool,
    /// Whether the event that frees the output is scheduled.
    output_wakes: bool,
}

/// The queue of an input port and priority: half of a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct InputQueue {
    packets: PacketList,
    /// The output in whose list the first packet waits; none while it has not been asked where it goes.
    egress: PortIndex,
    /// The ones before and behind it in that list.
    before: InputQueueIndex,
    behind: InputQueueIndex,
    /// The credits that the first packet takes there.
    demand: Demand,
}

/// Credits that a packet takes, and of which priority.
#[derive(Clone, Copy, Debug)]
struct Demand(u32);

impl Demand {
    const NONE: Demand = Demand(0);

    fn new(priority: u8, units: u32) -> Demand {
        Demand(units << 3 | u32::from(priority))
    }

    fn priority(self) -> u8 {
        (self.0 & 7) as u8
    }

    fn units(self) -> u32 {
        self.0 >> 3
    }
}

/// A packet in the buffer of an input.
#[derive(Clone, Copy)]
struct BufferedPacket {
    handle: Handle,
    /// Bytes that it has there [B on the wire].
    wire: u32,
    /// Credits that it holds there.
    units: u32,
}

impl BufferedPacket {
    #[inline(always)]
    fn of(wires: &Wires, handle: Handle) -> BufferedPacket {
        let wire = wires.packets[handle].wire;
        BufferedPacket { handle, wire, units: wires.credits.units(wire) }
    }
}

/// Little's law on the queues of an input, counted where debug assertions are on.
#[derive(Default)]
struct InputMeter {
    meter: QueueMeter,
    /// When those that are held came.
    arrivals: BTreeMap<Handle, Time>,
}

impl InputMeter {
    fn held(&self) -> u32 {
        self.arrivals.len() as u32
    }

    fn enter(&mut self, now: Time, handle: Handle) {
        self.meter.enter(now.as_ps(), self.held());
        assert!(self.arrivals.insert(handle, now).is_none(), "a packet is in one place");
    }

    fn leave(&mut self, now: Time, handle: Handle) {
        let (held, since) = (self.held(), self.arrivals.remove(&handle).expect("what leaves has come"));
        self.meter.leave(now.as_ps(), held, now.since(since).as_ps());
    }

    fn end(&self, now: Time) {
        let waiting = self.arrivals.values().map(|&since| u128::from(now.since(since).as_ps())).sum();
        self.meter.end(now.as_ps(), self.held(), waiting);
    }
}

impl CrossbarPort {
    /// Memory of a port with its queues [B].
    pub const BYTES: usize = size_of::<CrossbarPort>() + Priority::COUNT * size_of::<InputQueue>();

    fn new(byte: ByteTime) -> CrossbarPort {
        CrossbarPort {
            byte,
            input_free: Time::ZERO,
            output_free: Time::ZERO,
            tail: Time::ZERO,
            newest: NO_PACKET,
            first: END,
            last: END,
            row: 0,
            last_served: 0,
            number: 0,
            count: 0,
            occupied: 0,
            turn: 0,
            input_wakes: false,
            output_wakes: false,
        }
    }
}

impl Crossbars {
    /// Without ports yet. Outputs have queues of `output_queue` bytes, and no packet is longer than `largest_frame`
    /// on the wire.
    pub fn new(arbiter: Arbiter, output_queue: u32, largest_frame: u32) -> Crossbars {
        Crossbars { arbiter, output_queue, largest_frame: largest_frame - PREAMBLE_AND_GAP, ..Crossbars::default() }
    }

    /// Adds `count` ports of one node, through whose crossbar a byte takes `byte`.
    pub fn add(&mut self, count: usize, byte: ByteTime) {
        for number in 0..count as u16 {
            let (row, count) = (self.served.len() as u32, count as u16);
            self.ports.push(CrossbarPort { row, last_served: count - 1, number, count, ..CrossbarPort::new(byte) });
            self.queues.resize(self.queues.len() + Priority::COUNT, InputQueue::EMPTY);
            if cfg!(debug_assertions) {
                self.meters.push(InputMeter::default());
            }
            if self.arbiter.notes_service() {
                self.served.resize(self.served.len() + usize::from(count), Time::ZERO);
            }
        }
    }

    /// Whether switches have crossbars.
    #[inline]
    pub fn are_used(&self) -> bool {
        !self.ports.is_empty()
    }

    /// Returns the bytes in the queue of an input port and priority, now and at most, as buffers count.
    pub fn queued(&self, port: PortIndex, priority: usize) -> (u32, u32) {
        let queue = &self.queues[InputQueueIndex::of(port, priority as u8)].packets;
        (queue.bytes, queue.bytes_max)
    }

    /// Begins to fetch the queue of an input port and priority.
    #[inline]
    pub fn prefetch_queue(&self, port: PortIndex, priority: u8) {
        prefetch(&self.queues, InputQueueIndex::of(port, priority).place(), size_of::<InputQueue>());
    }

    /// Asserts Little's law at the end of a run.
    pub fn end(&self, now: Time) {
        self.meters.iter().for_each(|meter| meter.end(now));
    }

    /// Whether the queue of an output takes another packet of any size, or the link is free.
    #[inline(always)]
    pub fn has_room(&self, output: &Port, now: Time) -> bool {
        let is_idle = output.busy_until <= now && output.waiting == 0;
        is_idle || output.queued() + self.largest_frame <= self.output_queue
    }

    /// Whether an input queue waits for an output.
    #[inline(always)]
    pub fn is_awaited(&self, output: PortIndex) -> bool {
        self.ports.get(output).is_some_and(|port| port.first != END)
    }

    /// The input queues whose first packets wait for an output, the longest waiting first.
    fn waiting(&self, egress: PortIndex) -> impl Iterator<Item = InputQueueIndex> {
        let at = |next: InputQueueIndex| (next != END).then_some(next);
        std::iter::successors(at(self.ports[egress].first), move |&input| at(self.queues[input].behind))
    }

    /// Puts an input queue behind those that wait for the same output.
    fn enlist(&mut self, input: InputQueueIndex, egress: PortIndex, demand: Demand) {
        let port = &mut self.ports[egress];
        let before = std::mem::replace(&mut port.last, input);
        match before {
            END => port.first = input,
            before => self.queues[before].behind = input,
        }
        let queue = &mut self.queues[input];
        (queue.egress, queue.before, queue.behind, queue.demand) = (egress, before, END, demand);
    }

    #[inline(always)]
    fn unlist(&mut self, input: InputQueueIndex) {
        let InputQueue { egress, before, behind, .. } = self.queues[input];
        match before {
            END => self.ports[egress].first = behind,
            before => self.queues[before].behind = behind,
        }
        match behind {
            END => self.ports[egress].last = before,
            behind => self.queues[behind].before = before,
        }
        self.queues[input].egress = PortIndex::NONE;
    }

    /// How late an input queue is served by an output, among those in its list: 0 is first.
    #[inline]
    fn turn_of(&self, input: InputQueueIndex, egress: PortIndex) -> u64 {
        let number = || u32::from(self.ports[input.port()].number);
        let output = &self.ports[egress];
        let turns = || Arbiter::turns(number(), output.last_served.into(), output.count.into()).into();
        let served = || self.served[(output.row + number()) as usize].as_ps();
        // The list is in order of age.
        self.arbiter.order(|| 0, turns, served)
    }

    /// Notes that an output serves an input port of its switch from `now` until `end`. Whether it must be woken then,
    /// which it takes to be done.
    #[inline(always)]
    fn serve(&mut self, egress: PortIndex, place: u16, end: Time, now: Time) -> bool {
        let port = &mut self.ports[egress];
        (port.last_served, port.output_free) = (place, end);
        let (row, must_wake) = (port.row as usize, port.first != END && !port.output_wakes);
        port.output_wakes |= must_wake;
        if let Some(served) = self.served.get_mut(row + usize::from(place)) {
            *served = now;
        }
        must_wake
    }
}

impl InputQueue {
    const EMPTY: InputQueue = InputQueue {
        packets: PacketList::EMPTY,
        egress: PortIndex::NONE,
        before: END,
        behind: END,
        demand: Demand::NONE,
    };

    /// Whether the first packet waits in the list of an output.
    fn is_waiting(&self) -> bool {
        self.egress != PortIndex::NONE
    }
}

etherweave_kernel::local_index! {
    InputQueueIndex: "The queue of an input port and priority of a switch with a crossbar."
}

impl InputQueueIndex {
    fn of(port: PortIndex, priority: u8) -> InputQueueIndex {
        InputQueueIndex::new(port.get() * Priority::COUNT as u32 + u32::from(priority))
    }

    fn port(self) -> PortIndex {
        PortIndex::new(self.get() / Priority::COUNT as u32)
    }

    fn priority(self) -> u8 {
        (self.get() % Priority::COUNT as u32) as u8
    }
}

impl Switches {
    /// A packet has come in by `ingress`. Where it leaves is known from its route, or decided when it leads its queue.
    #[inline(always)]
    pub fn arrive_at_crossbar(&mut self, wires: &mut Wires, ingress: PortIndex, handle: Handle) {
        if wires.constants.packet_routing.is_none() {
            wires.packets[handle].route += 1;
        }
        self.arrive_at_input(wires, ingress, handle);
    }

    /// A packet's head is in the input buffer of a switch.
    #[inline(never)]
    pub fn arrive_at_input(&mut self, wires: &mut Wires, ingress: PortIndex, handle: Handle) {
        let packet = &mut wires.packets[handle];
        packet.ingress = ingress;
        let (priority, wire, stored) = (packet.priority, packet.wire, packet.stored());
        let (tail, units) = (wires.tail_time_of(ingress, wire), wires.credits.units(wire));
        wires.credits.hold_for(ingress, priority, units);
        if cfg!(debug_assertions) {
            self.crossbars.meters[ingress].enter(wires.now, handle);
        }
        let port = &mut self.crossbars.ports[ingress];
        port.newest = handle;
        port.tail = tail;
        let is_free = port.input_free <= wires.now && !port.input_wakes;
        let input = InputQueueIndex::of(ingress, priority);
        if is_free && port.occupied & 1 << priority == 0 {
            let packet = BufferedPacket { handle, wire, units };
            let (egress, demand) = self.demand(wires, ingress, packet);
            if self.passes(wires, ingress, egress, handle, demand) {
                self.crossbars.queues[input].packets.pass(stored);
                return self.grant(wires, input, egress, packet, demand);
            }
            self.join_input(wires, input, handle);
            self.wait_for_output(wires, input, egress, handle, demand);
        } else {
            self.join_input(wires, input, handle);
            if !is_free {
                self.wake_input(wires, ingress);
            }
        }
    }

    fn join_input(&mut self, wires: &mut Wires, input: InputQueueIndex, handle: Handle) {
        self.crossbars.ports[input.port()].occupied |= 1 << input.priority();
        self.crossbars.queues[input].packets.enqueue(&mut wires.packets, handle);
    }

    /// The crossbar is free for an input or an output.
    pub fn crossbar_free(&mut self, wires: &mut Wires, port: PortIndex, side: u32) {
        let state = &mut self.crossbars.ports[port];
        if side == OUTPUT {
            state.output_wakes = false;
            self.serve_output(wires, port);
        } else {
            state.input_wakes = false;
            self.serve_input(wires, port);
        }
    }

    /// The priorities of a free input take turns.
    fn serve_input(&mut self, wires: &mut Wires, ingress: PortIndex) {
        let CrossbarPort { input_free, occupied, turn, .. } = self.crossbars.ports[ingress];
        if input_free > wires.now {
            return self.wake_input(wires, ingress);
        }
        for step in priorities(occupied.rotate_right(turn.into())) {
            let priority = (turn + step as u8) % Priority::COUNT as u8;
            if self.advance(wires, InputQueueIndex::of(ingress, priority)) {
                return;
            }
        }
    }

    /// Puts the first packet of a free input's queue into the list of its output, and serves that output. Returns
    /// whether the input is busy then.
    fn advance(&mut self, wires: &mut Wires, input: InputQueueIndex) -> bool {
        let (ingress, queue) = (input.port(), &self.crossbars.queues[input]);
        let (handle, egress) = (queue.packets.first(), queue.egress);
        if egress != PortIndex::NONE {
            self.serve_output(wires, egress);
        } else {
            let (egress, demand) = self.demand(wires, ingress, BufferedPacket::of(wires, handle));
            if self.passes(wires, ingress, egress, handle, demand) {
                self.take_from_input(wires, input, egress, demand);
            } else {
                self.wait_for_output(wires, input, egress, handle, demand);
            }
        }
        self.crossbars.ports[ingress].input_free > wires.now
    }

    /// The port by which the first packet of an input queue will leave, and the credits that it takes there.
    #[inline(always)]
    fn demand(&mut self, wires: &mut Wires, ingress: PortIndex, packet: BufferedPacket) -> (PortIndex, Demand) {
        let handle = packet.handle;
        let (egress, priority) = match wires.constants.packet_routing {
            // `arrive_at_crossbar` has gone to the next entry.
            None => {
                let packet = &wires.packets[handle];
                (wires.constants.routes[packet.route as usize - 1], packet.priority)
            }
            Some(_) => {
                let route = self.decide_route(wires, ingress, handle);
                (route.egress, route.next_priority())
            }
        };
        let units = match wires.constants.rewrites_packets {
            true => wires.credits.units(wires.next_wire(egress, handle)),
            false => packet.units,
        };
        (egress, Demand::new(priority, units))
    }

    /// Whether the first packet of a free input's queue need not wait: no other does, the output is free and has room,
    /// and so has the far end.
    #[inline(always)]
    fn passes(&self, wires: &Wires, ingress: PortIndex, egress: PortIndex, handle: Handle, demand: Demand) -> bool {
        let output = &self.crossbars.ports[egress];
        output.first == END
            && output.output_free <= wires.now
            && self.crossbars.has_room(&wires.ports[egress], wires.now)
            && wires.credits.suffice_for(egress, demand.priority(), demand.units())
            && !self.would_underrun(wires, ingress, egress, handle)
    }

    /// Puts an input queue into the list of the output that its first packet wants, and serves that output.
    fn wait_for_output(
        &mut self,
        wires: &mut Wires,
        input: InputQueueIndex,
        egress: PortIndex,
        handle: Handle,
        demand: Demand,
    ) {
        self.crossbars.enlist(input, egress, demand);
        let ingress = input.port();
        if self.would_underrun(wires, ingress, egress, handle) {
            let port = &mut self.crossbars.ports[ingress];
            port.input_free = port.tail;
            return self.wake_input(wires, ingress);
        }
        self.serve_output(wires, egress);
    }

    /// Whether a packet whose tail is not in would leave by a faster link than it comes by.
    #[inline(always)]
    fn would_underrun(&self, wires: &Wires, ingress: PortIndex, egress: PortIndex, handle: Handle) -> bool {
        wires.constants.rates_differ && self.underruns(wires, ingress, egress, handle)
    }

    #[inline(never)]
    fn underruns(&self, wires: &Wires, ingress: PortIndex, egress: PortIndex, handle: Handle) -> bool {
        let input = &self.crossbars.ports[ingress];
        let is_coming = input.newest == handle && input.tail > wires.now;
        is_coming && wires.ports[egress].is_faster_than(&wires.ports[ingress])
    }

    /// Grants one of the input queues that wait for a free output, if one may go.
    #[inline(always)]
    fn serve_output(&mut self, wires: &mut Wires, egress: PortIndex) {
        let output = &self.crossbars.ports[egress];
        if output.first == END {
            return;
        }
        if output.output_free > wires.now {
            if !output.output_wakes {
                self.wake_output(wires, egress);
            }
            return;
        }
        self.serve_waiting(wires, egress);
    }

    #[inline(never)]
    fn serve_waiting(&mut self, wires: &mut Wires, egress: PortIndex) {
        let output = &wires.ports[egress];
        if !self.crossbars.has_room(output, wires.now) {
            if !output.free_scheduled {
                self.kick(wires, egress);
            }
            return;
        }
        if let Some(input) = self.choose(wires, egress) {
            self.crossbars.unlist(input);
            self.take_from_input(wires, input, egress, self.crossbars.queues[input].demand);
        }
    }

    /// Chooses, of the input queues that wait for an output and may go, the one to serve. Those that lack credits begin
    /// to wait for them.
    fn choose(&mut self, wires: &mut Wires, egress: PortIndex) -> Option<InputQueueIndex> {
        let (mut least, mut chosen, mut lacking) = (u64::MAX, END, 0u8);
        let mut next = self.crossbars.ports[egress].first;
        while next != END && least > 0 {
            let (input, InputQueue { demand, behind, .. }) = (next, self.crossbars.queues[next]);
            next = behind;
            if self.crossbars.ports[input.port()].input_free > wires.now {
                continue;
            }
            if !wires.credits.suffice_for(egress, demand.priority(), demand.units()) {
                lacking |= 1 << demand.priority();
                continue;
            }
            let turn = self.crossbars.turn_of(input, egress);
            if turn < least {
                (least, chosen) = (turn, input);
            }
        }
        priorities(lacking).for_each(|priority| wires.credits.begin_wait(egress, priority as u8, wires.now));
        (chosen != END).then_some(chosen)
    }

    /// Sends the first packet of an input queue through the crossbar to an output, which takes it.
    #[inline(never)]
    fn take_from_input(&mut self, wires: &mut Wires, input: InputQueueIndex, egress: PortIndex, demand: Demand) {
        let handle = self.dequeue_input(wires, input);
        self.grant(wires, input, egress, BufferedPacket::of(wires, handle), demand);
    }

    /// Sends a packet that has left an input queue through the crossbar to an output, which takes it.
    #[inline(always)]
    fn grant(
        &mut self,
        wires: &mut Wires,
        input: InputQueueIndex,
        egress: PortIndex,
        packet: BufferedPacket,
        demand: Demand,
    ) {
        let (ingress, BufferedPacket { handle, wire, .. }) = (input.port(), packet);
        if cfg!(debug_assertions) {
            self.crossbars.meters[ingress].leave(wires.now, handle);
        }
        let port = &mut self.crossbars.ports[ingress];
        let until_tail = if port.newest == handle { port.tail.since(wires.now) } else { Duration::ZERO };
        let free = wires.now + port.byte.of(wire).max(until_tail);
        port.input_free = free;
        port.turn = (input.priority() + 1) % Priority::COUNT as u8;
        let (must_wake_input, number) = (port.occupied != 0 && !port.input_wakes, port.number);
        port.input_wakes |= must_wake_input;
        let must_wake_output = self.crossbars.serve(egress, number, free, wires.now);
        wires.credits.take_for(egress, demand.priority(), demand.units());
        self.report_queue(wires, egress, demand.priority());
        if must_wake_input {
            wires.schedule_at(free, ingress, Kind::CrossbarFree, INPUT);
        }
        if must_wake_output {
            wires.schedule_at(free, egress, Kind::CrossbarFree, OUTPUT);
        }
        self.enter_output(wires, input, egress, packet, demand.priority());
    }

    #[inline(always)]
    fn dequeue_input(&mut self, wires: &mut Wires, input: InputQueueIndex) -> Handle {
        let queue = &mut self.crossbars.queues[input].packets;
        let (handle, _) = queue.dequeue(&wires.packets);
        if queue.is_empty() {
            self.crossbars.ports[input.port()].occupied &= !(1 << input.priority());
        }
        handle
    }

    /// A packet that has its credits goes to its link, or waits for it in the queue of the output.
    #[inline(always)]
    fn enter_output(
        &mut self,
        wires: &mut Wires,
        input: InputQueueIndex,
        egress: PortIndex,
        packet: BufferedPacket,
        priority: u8,
    ) {
        let port = &mut wires.ports[egress];
        if port.busy_until <= wires.now && port.waiting == 0 && !port.free_scheduled {
            return self.leave_output(wires, input, egress, packet, false);
        }
        let is_awaited = port.free_scheduled;
        let class = wires.constants.scheduler.class(priority);
        wires.ports[egress].enqueue(class, &mut wires.packets, packet.handle);
        if !is_awaited {
            self.kick(wires, egress);
        }
    }

    /// Puts a packet on the wire; its room in the buffer of its input is free.
    #[inline(always)]
    fn leave_output(
        &mut self,
        wires: &mut Wires,
        input: InputQueueIndex,
        egress: PortIndex,
        packet: BufferedPacket,
        others_wait: bool,
    ) {
        self.rewrite(wires, egress, packet.handle);
        wires.start(egress, packet.handle, others_wait);
        wires.free_credits(input.port(), input.priority(), packet.units, wires.now);
    }

    /// The link of an output is free.
    pub fn transmit_from_output(&mut self, wires: &mut Wires, egress: PortIndex) {
        let waiting = wires.ports[egress].waiting;
        if waiting != 0 {
            let (handle, others_wait) = wires.take_next(egress, waiting);
            let Packet { ingress, priority, .. } = wires.packets[handle];
            let (input, packet) = (InputQueueIndex::of(ingress, priority), BufferedPacket::of(wires, handle));
            self.leave_output(wires, input, egress, packet, others_wait);
        }
        self.serve_output(wires, egress);
    }

    /// Credits of an output have come back, which its first packet may have awaited.
    #[inline(always)]
    pub fn credits_at_output(&mut self, wires: &mut Wires, egress: PortIndex, priority: u8, is_awaited: bool) {
        if is_awaited {
            wires.credits.end_wait(egress, priority, wires.now);
        }
        self.report_queue(wires, egress, priority);
        self.serve_output(wires, egress);
    }

    fn wake_input(&mut self, wires: &mut Wires, port: PortIndex) {
        let state = &mut self.crossbars.ports[port];
        if !std::mem::replace(&mut state.input_wakes, true) {
            let time = state.input_free;
            wires.schedule_at(time, port, Kind::CrossbarFree, INPUT);
        }
    }

    fn wake_output(&mut self, wires: &mut Wires, port: PortIndex) {
        let state = &mut self.crossbars.ports[port];
        if !std::mem::replace(&mut state.output_wakes, true) {
            let time = state.output_free;
            wires.schedule_at(time, port, Kind::CrossbarFree, OUTPUT);
        }
    }

    /// Output of the first packet of an input queue, with the priority that it has there, if the queue waits
    /// for that output; `None` of an empty queue.
    pub fn head_of_input(&self, input: PortIndex, priority: u8) -> Option<Option<(PortIndex, u8)>> {
        let queue = &self.crossbars.queues[InputQueueIndex::of(input, priority)];
        if queue.packets.is_empty() {
            return None;
        }
        Some(queue.is_waiting().then_some((queue.egress, queue.demand.priority())))
    }

    /// Returns the bytes in input queues whose first packet wants to leave by a port with a priority, as buffers count.
    pub fn bytes_waiting_for(&self, egress: PortIndex, priority: usize) -> u32 {
        let crossbars = &self.crossbars;
        let queues = crossbars.waiting(egress).map(|input| &crossbars.queues[input]);
        let wanting = queues.filter(|queue| usize::from(queue.demand.priority()) == priority);
        wanting.map(|queue| queue.packets.bytes).sum()
    }

    /// Credits that packets in the queue of an output have taken, by priority.
    pub fn granted(&self, wires: &Wires, egress: PortIndex) -> [u32; Priority::COUNT] {
        let mut units = [0; Priority::COUNT];
        let port = &wires.ports[egress];
        let is_output = self.crossbars.are_used() && wires.host_of_port(egress).is_none();
        for class in priorities(if is_output { port.waiting } else { 0 }) {
            let next = |&handle: &Handle| Some(wires.packets[handle].next).filter(|&next| next != NO_PACKET);
            for handle in std::iter::successors(Some(port.first(class)), next) {
                let priority = usize::from(wires.next_priority(egress, handle));
                units[priority] += wires.credits.units(wires.next_wire(egress, handle));
            }
        }
        units
    }
}
