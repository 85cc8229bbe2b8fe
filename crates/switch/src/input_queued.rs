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
//! [`super::credits`]: runs with shared buffers do no more work for a packet. Here stands what is queued, in
//! [`passage`] how a packet goes through.

mod passage;

use std::collections::BTreeMap;

use etherweave_engine::packet::{Handle, NO_PACKET, Packet};
use etherweave_engine::{Wires, frame::size::PREAMBLE_AND_GAP, packet_list::PacketList, params::Arbiter, port::Port};
use etherweave_kernel::memory::prefetch;
use etherweave_kernel::{IndexVec, LocalIndex, QueueMeter, indices::PortIndex};
use etherweave_primitives::{ByteTime, Priority, Time};

/// No input queue, at the end of a list.
const END: InputQueueIndex = InputQueueIndex::NONE;

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
    /// Its priority there.
    priority: u8,
    /// See [`Packet::route`].
    route: u32,
    /// Credits that it takes of it.
    units: u32,
    /// Whether these are counted as held: not of a packet that passes without a stay.
    is_held: bool,
}

impl BufferedPacket {
    #[inline(always)]
    fn of(wires: &Wires, handle: Handle) -> BufferedPacket {
        let Packet { priority, wire, route, .. } = wires.packets[handle];
        let units = wires.credits.units(priority, wire);
        BufferedPacket { handle, wire, priority, route, units, is_held: true }
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

    /// Takes an input queue from among those that wait; gives the credits that its first packet takes.
    #[inline(always)]
    fn unlist(&mut self, input: InputQueueIndex) -> Demand {
        let InputQueue { egress, before, behind, demand, .. } = self.queues[input];
        match before {
            END => self.ports[egress].first = behind,
            before => self.queues[before].behind = behind,
        }
        match behind {
            END => self.ports[egress].last = before,
            behind => self.queues[behind].before = before,
        }
        self.queues[input].egress = PortIndex::NONE;
        demand
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
