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

use etherweave_engine::Wires;
use etherweave_engine::event::Kind;
use etherweave_engine::frame::pause::priorities;
use etherweave_engine::frame::size::PREAMBLE_AND_GAP;
use etherweave_engine::packet::{Handle, NO_PACKET};
use etherweave_engine::params::Arbiter;
use etherweave_engine::port::{ClassQueue, Port};
use etherweave_kernel::IndexVec;
use etherweave_kernel::indices::PortIndex;
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
    /// By port.
    pub ports: IndexVec<PortIndex, CrossbarPort>,
    /// By port and priority.
    queues: IndexVec<InputQueueIndex, InputQueue>,
    /// When each output last served each input of its switch, row by row; empty where the arbiter does not ask.
    served: Vec<Time>,
    /// By port; empty where nothing is asserted.
    meters: IndexVec<PortIndex, QueueMeter>,
    arbiter: Arbiter,
    /// Depth of the queue of an output [B].
    output_queue: u32,
    /// The largest frame, as buffers count [B].
    largest_frame: u32,
}

/// Both sides of a port at the crossbar of its switch.
#[derive(Clone, Copy, Debug)]
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
    /// Priorities with packets in the input's queues, a bit each.
    occupied: u8,
    /// The priority whose turn it is when the input is free.
    turn: u8,
    /// Whether the event that frees the input is scheduled.
    input_wakes: bool,
    /// Whether the event that frees the output is scheduled.
    output_wakes: bool,
}

/// The queue of an input port and priority.
#[derive(Clone, Copy, Debug)]
struct InputQueue {
    packets: ClassQueue,
    /// The output that the first packet wants.
    egress: PortIndex,
    /// The next in the list of that output.
    behind: InputQueueIndex,
    /// Whether the first packet waits in that list; if not, it has not been asked where it goes.
    is_waiting: bool,
}

/// Little's law on the queues of an input, as an identity of a run: packets held, summed over time, are what packets
/// waited, summed over packets. Counted where debug assertions are on, as in tests.
#[derive(Default)]
struct QueueMeter {
    /// Packets held, summed over time [ps].
    area: u128,
    /// Until when that is counted.
    until: Time,
    /// What packets that left had waited [ps].
    waited: u128,
    /// When those that are held came.
    arrivals: BTreeMap<Handle, Time>,
    held: u32,
}

impl QueueMeter {
    /// Counts the packets held until now.
    fn count(&mut self, now: Time) {
        self.area += u128::from(now.since(self.until).as_ps()) * u128::from(self.held);
        self.until = now;
    }

    fn enter(&mut self, now: Time, handle: Handle) {
        self.count(now);
        self.held += 1;
        assert!(self.arrivals.insert(handle, now).is_none(), "a packet is in one place");
    }

    fn leave(&mut self, now: Time, handle: Handle) {
        self.count(now);
        self.held -= 1;
        let since = self.arrivals.remove(&handle).expect("what leaves has come");
        self.waited += u128::from(now.since(since).as_ps());
    }

    fn end(&mut self, now: Time) {
        self.count(now);
        let waiting: u128 = self.arrivals.values().map(|&since| u128::from(now.since(since).as_ps())).sum();
        assert_eq!(self.area, self.waited + waiting, "Little's law");
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
        for _ in 0..count {
            let row = self.served.len() as u32;
            self.ports.push(CrossbarPort { row, last_served: count as u16 - 1, ..CrossbarPort::new(byte) });
            self.queues.resize(self.queues.len() + Priority::COUNT, InputQueue::EMPTY);
            if cfg!(debug_assertions) {
                self.meters.push(QueueMeter::default());
            }
            if self.arbiter.notes_service() {
                self.served.resize(self.served.len() + count, Time::ZERO);
            }
        }
    }

    /// Whether switches have crossbars.
    #[inline]
    pub fn are_used(&self) -> bool {
        !self.ports.is_empty()
    }

    /// What waits in the queue of an input port and priority, now and at most, as buffers count [B].
    pub fn queued(&self, port: PortIndex, priority: usize) -> (u32, u32) {
        let queue = &self.queues[InputQueueIndex::of(port, priority as u8)].packets;
        (queue.bytes, queue.bytes_max)
    }

    /// Asserts Little's law at the end of a run.
    pub fn end(&mut self, now: Time) {
        self.meters.iter_mut().for_each(|meter| meter.end(now));
    }

    /// Whether the queue of an output takes another packet of any size, or the link is free.
    pub fn has_room(&self, output: &Port, now: Time) -> bool {
        let is_idle = output.busy_until <= now && output.waiting == 0;
        is_idle || output.queued() + self.largest_frame <= self.output_queue
    }

    /// The input queues whose first packets wait for an output, the longest waiting first.
    fn waiting(&self, egress: PortIndex) -> impl Iterator<Item = InputQueueIndex> {
        let at = |next: InputQueueIndex| (next != END).then_some(next);
        std::iter::successors(at(self.ports[egress].first), move |&input| at(self.queues[input].behind))
    }

    /// Puts an input queue behind those that wait for the same output.
    fn enlist(&mut self, input: InputQueueIndex, egress: PortIndex) {
        let port = &mut self.ports[egress];
        let before = std::mem::replace(&mut port.last, input);
        match before {
            END => port.first = input,
            before => self.queues[before].behind = input,
        }
        let queue = &mut self.queues[input];
        (queue.egress, queue.behind, queue.is_waiting) = (egress, END, true);
    }

    /// Takes an input queue from the list where it waits.
    fn unlist(&mut self, input: InputQueueIndex) {
        let InputQueue { egress, behind, .. } = self.queues[input];
        let before = self.waiting(egress).find(|&before| self.queues[before].behind == input);
        let port = &mut self.ports[egress];
        if behind == END {
            port.last = before.unwrap_or(END);
        }
        match before {
            None => port.first = behind,
            Some(before) => self.queues[before].behind = behind,
        }
        self.queues[input].is_waiting = false;
    }

    /// Notes that an output serves an input port of its switch.
    fn serve(&mut self, egress: PortIndex, place: u16, now: Time) {
        let port = &mut self.ports[egress];
        port.last_served = place;
        let row = port.row as usize;
        if let Some(served) = self.served.get_mut(row + usize::from(place)) {
            *served = now;
        }
    }
}

impl InputQueue {
    const EMPTY: InputQueue =
        InputQueue { packets: ClassQueue::EMPTY, egress: PortIndex::new(0), behind: END, is_waiting: false };
}

etherweave_kernel::local_index! {
    InputQueueIndex: "The queue of an input port and priority of a switch with a crossbar."
}

impl InputQueueIndex {
    /// The queue of an input port and priority.
    fn of(port: PortIndex, priority: u8) -> InputQueueIndex {
        InputQueueIndex::new(port.get() * Priority::COUNT as u32 + u32::from(priority))
    }

    /// Its port.
    fn port(self) -> PortIndex {
        PortIndex::new(self.get() / Priority::COUNT as u32)
    }

    /// Its priority.
    fn priority(self) -> u8 {
        (self.get() % Priority::COUNT as u32) as u8
    }
}

impl Switches {
    /// A packet's head is in the input buffer of a switch.
    pub fn arrive_at_input(&mut self, wires: &mut Wires, ingress: PortIndex, handle: Handle) {
        wires.packets[handle].ingress = ingress;
        let packet = wires.packets[handle];
        let tail = wires.tail_time(ingress, handle);
        let port = &mut self.crossbars.ports[ingress];
        port.newest = handle;
        port.tail = tail;
        port.occupied |= 1 << packet.priority;
        let is_free = port.input_free <= wires.now && !port.input_wakes;
        wires.hold_by_credits(ingress, &packet);
        let input = InputQueueIndex::of(ingress, packet.priority);
        let queue = &mut self.crossbars.queues[input].packets;
        let is_first = queue.is_empty();
        queue.enqueue(&mut wires.packets, handle);
        if cfg!(debug_assertions) {
            self.crossbars.meters[ingress].enter(wires.now, handle);
        }
        if !is_free {
            self.wake_input(wires, ingress);
        } else if is_first {
            self.advance(wires, input);
        }
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
        for step in 0..Priority::COUNT as u8 {
            let priority = (turn + step) % Priority::COUNT as u8;
            let input = InputQueueIndex::of(ingress, priority);
            if occupied & 1 << priority != 0 && self.advance(wires, input) {
                return;
            }
        }
    }

    /// Puts the first packet of a free input's queue into the list of its output, and serves that output. Returns
    /// whether the input is busy then.
    fn advance(&mut self, wires: &mut Wires, input: InputQueueIndex) -> bool {
        let ingress = input.port();
        if !self.crossbars.queues[input].is_waiting {
            let handle = self.crossbars.queues[input].packets.first();
            let egress = self.decide_first(wires, ingress, handle);
            self.crossbars.enlist(input, egress);
            if self.would_underrun(wires, ingress, egress, handle) {
                let port = &mut self.crossbars.ports[ingress];
                port.input_free = port.tail;
                self.wake_input(wires, ingress);
                return true;
            }
        }
        self.serve_output(wires, self.crossbars.queues[input].egress);
        self.crossbars.ports[ingress].input_free > wires.now
    }

    /// The port by which the first packet of an input queue will leave.
    fn decide_first(&mut self, wires: &mut Wires, ingress: PortIndex, handle: Handle) -> PortIndex {
        match wires.constants.packet_routing {
            // `arrive_at_switch` has gone to the next entry.
            None => wires.constants.routes[wires.packets[handle].route as usize - 1],
            Some(_) => self.decide_route(wires, ingress, handle),
        }
    }

    /// Whether a packet whose tail is not in would leave by a faster link than it comes by.
    fn would_underrun(&self, wires: &Wires, ingress: PortIndex, egress: PortIndex, handle: Handle) -> bool {
        let input = &self.crossbars.ports[ingress];
        let is_faster = wires.ports[egress].is_faster_than(&wires.ports[ingress]);
        is_faster && input.newest == handle && input.tail > wires.now
    }

    /// Grants one of the input queues that wait for a free output, if one may go.
    fn serve_output(&mut self, wires: &mut Wires, egress: PortIndex) {
        let port = &self.crossbars.ports[egress];
        if port.first == END {
            return;
        }
        if port.output_free > wires.now {
            return self.wake_output(wires, egress);
        }
        if !self.crossbars.has_room(&wires.ports[egress], wires.now) {
            return self.kick(wires, egress);
        }
        if let Some(input) = self.choose(wires, egress) {
            self.crossbars.unlist(input);
            self.grant(wires, input, egress);
        }
    }

    /// Of the input queues that wait for an output and may go, the one to serve. Those that lack credits begin to wait
    /// for them.
    fn choose(&mut self, wires: &mut Wires, egress: PortIndex) -> Option<InputQueueIndex> {
        let (mut chosen, mut lacking): (Option<(u64, InputQueueIndex)>, u8) = (None, 0);
        for input in self.crossbars.waiting(egress) {
            if self.crossbars.ports[input.port()].input_free > wires.now {
                continue;
            }
            let handle = self.crossbars.queues[input].packets.first();
            let priority = wires.next_priority(egress, handle);
            if !wires.credits.suffice(egress, priority, wires.packets[handle].wire) {
                lacking |= 1 << priority;
                continue;
            }
            let turn = self.turn_of(wires, input, egress);
            if chosen.is_none_or(|(least, _)| turn < least) {
                chosen = Some((turn, input));
            }
            if turn == 0 {
                break;
            }
        }
        priorities(lacking).for_each(|priority| wires.credits.begin_wait(egress, priority as u8, wires.now));
        chosen.map(|(_, input)| input)
    }

    /// How late an input queue is served by an output, among those in its list: 0 is first.
    fn turn_of(&self, wires: &Wires, input: InputQueueIndex, egress: PortIndex) -> u64 {
        let switch = &self.switches[wires.switch_of_port(egress)];
        let (place, ports) = (u32::from(switch.number_of(input.port())), u32::from(switch.ports));
        let CrossbarPort { row, last_served, .. } = self.crossbars.ports[egress];
        let turns = || Arbiter::turns(place, last_served.into(), ports).into();
        let served = || self.crossbars.served[(row + place) as usize].as_ps();
        // The list is in order of age.
        self.crossbars.arbiter.order(|| 0, turns, served)
    }

    /// Sends the first packet of an input queue through the crossbar to an output, which takes it.
    fn grant(&mut self, wires: &mut Wires, input: InputQueueIndex, egress: PortIndex) {
        let handle = self.dequeue_input(wires, input);
        let (ingress, wire) = (input.port(), wires.packets[handle].wire);
        let port = &mut self.crossbars.ports[ingress];
        let until_tail = if port.newest == handle { port.tail.since(wires.now) } else { Duration::ZERO };
        let crossing = port.byte.of(wire).max(until_tail);
        port.input_free = wires.now + crossing;
        let is_occupied = port.occupied != 0;
        self.crossbars.ports[egress].output_free = wires.now + crossing;
        let place = self.switches[wires.switch_of_port(egress)].number_of(ingress);
        self.crossbars.serve(egress, place, wires.now);
        let priority = wires.next_priority(egress, handle);
        wires.credits.take_for(egress, priority, wire);
        self.report_queue(wires, egress, priority);
        if is_occupied {
            self.wake_input(wires, ingress);
        }
        if self.crossbars.ports[egress].first != END {
            self.wake_output(wires, egress);
        }
        self.enter_output(wires, egress, handle);
    }

    fn dequeue_input(&mut self, wires: &mut Wires, input: InputQueueIndex) -> Handle {
        let queue = &mut self.crossbars.queues[input].packets;
        let handle = queue.dequeue(&wires.packets);
        if cfg!(debug_assertions) {
            self.crossbars.meters[input.port()].leave(wires.now, handle);
        }
        let queue = &self.crossbars.queues[input].packets;
        let (is_empty, priority) = (queue.is_empty(), input.priority());
        let port = &mut self.crossbars.ports[input.port()];
        port.turn = (priority + 1) % Priority::COUNT as u8;
        if is_empty {
            port.occupied &= !(1 << priority);
        }
        handle
    }

    /// A packet that has its credits goes to its link, or waits for it in the queue of the output.
    fn enter_output(&mut self, wires: &mut Wires, egress: PortIndex, handle: Handle) {
        let port = &mut wires.ports[egress];
        if port.busy_until <= wires.now && port.waiting == 0 && !port.free_scheduled {
            return self.leave_output(wires, egress, handle, false);
        }
        let class = wires.constants.scheduler.class(wires.next_priority(egress, handle));
        wires.ports[egress].enqueue(class, &mut wires.packets, handle);
        self.kick(wires, egress);
    }

    /// Puts a packet on the wire; its room is free.
    fn leave_output(&mut self, wires: &mut Wires, egress: PortIndex, handle: Handle, others_wait: bool) {
        let held = wires.packets[handle];
        self.change_priority(wires, handle);
        wires.start(egress, handle, others_wait);
        wires.free_credits(held.ingress, &held, wires.now);
    }

    /// The link of an output is free.
    pub fn transmit_from_output(&mut self, wires: &mut Wires, egress: PortIndex) {
        let waiting = wires.ports[egress].waiting;
        if waiting != 0 {
            let (handle, others_wait) = wires.take_next(egress, waiting);
            self.leave_output(wires, egress, handle, others_wait);
        }
        self.serve_output(wires, egress);
    }

    /// Credits of an output have come back.
    pub fn credits_at_output(&mut self, wires: &mut Wires, egress: PortIndex, priority: u8) {
        wires.credits.end_wait(egress, priority, wires.now);
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
    pub fn head_of_input(&self, wires: &Wires, input: PortIndex, priority: u8) -> Option<Option<(PortIndex, u8)>> {
        let queue = &self.crossbars.queues[InputQueueIndex::of(input, priority)];
        let head = Some(queue.packets.first()).filter(|_| !queue.packets.is_empty())?;
        Some(queue.is_waiting.then(|| (queue.egress, wires.next_priority(queue.egress, head))))
    }

    /// What waits in input queues whose first packet wants to leave by a port with a priority, as buffers count [B].
    pub fn bytes_waiting_for(&self, wires: &Wires, egress: PortIndex, priority: usize) -> u32 {
        let crossbars = &self.crossbars;
        let queues = crossbars.waiting(egress).map(|input| &crossbars.queues[input].packets);
        let wanting = queues.filter(|queue| usize::from(wires.next_priority(egress, queue.first())) == priority);
        wanting.map(|queue| queue.bytes).sum()
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
                units[priority] += wires.credits.units(wires.packets[handle].wire);
            }
        }
        units
    }
}
