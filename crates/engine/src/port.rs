//! A port: the transmitter of one channel, its queues, and what its peer has paused.

use std::ops::{Deref, DerefMut};

use etherweave_kernel::indices::{HostIndex, PortIndex, SwitchIndex};
use etherweave_kernel::memory::prefetch_part;
use etherweave_primitives::{BitRate, ByteTime, Duration, Priority, Time};
use etherweave_topology::LinkClass;

use super::paused::Paused;
use crate::{packet::Handle, packet::NO_PACKET, packet::Packets, packet_list::PacketList};

/// Where a port leads, and which entity it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// The link to it.
    pub link: PeerLink,
    /// The port at the other end, numbered in its shard.
    pub port: PortIndex,
    /// Whether it is a host's.
    pub is_host: bool,
    /// Class of the link, which routings ask for.
    pub link_class: LinkClass,
}

/// A link as its sending port knows it: the shard of the other end, maybe the sender's own, or an impaired link (bit
/// errors, a shaper, outages). One number, so that the check that every packet needs, whether the other end is in the
/// same shard, stays cheap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerLink(u32);

impl PeerLink {
    const IMPAIRED: u32 = 1 << 31;

    /// Creates a link to a peer in a shard.
    #[inline]
    pub fn to_shard(shard: u32) -> PeerLink {
        debug_assert!(shard < PeerLink::IMPAIRED, "there are fewer shards");
        PeerLink(shard)
    }

    /// An impaired link, numbered in the sender's shard.
    pub fn impaired(number: usize) -> PeerLink {
        PeerLink(PeerLink::IMPAIRED | number as u32)
    }

    /// The shard, or the number of the impaired link.
    pub fn resolve(self) -> Result<u32, usize> {
        if self.0 & PeerLink::IMPAIRED == 0 { Ok(self.0) } else { Err((self.0 & !PeerLink::IMPAIRED) as usize) }
    }
}

/// Switch or host, numbered in the shard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// A switch.
    Switch(SwitchIndex),
    /// A host.
    Host(HostIndex),
}

/// The packets of one traffic class that wait.
#[derive(Clone, Copy, Debug)]
pub struct ClassQueue {
    packets: PacketList,
    /// Deficit of the round robin [B].
    pub deficit: i32,
    /// Class of the queue, of the state that stands in the port itself.
    number: u8,
}

/// Counters of a port and priority, as switches have them.
#[derive(Clone, Copy, Debug)]
pub struct PriorityCounters {
    /// Sent.
    pub tx_packets: u64,
    /// Sent [B on the wire].
    pub tx_bytes: u64,
    /// Lost: by a switch on their path to this port, by a NIC when they arrive.
    pub drops: u64,
    /// Lost [B on the wire].
    pub drop_bytes: u64,
    /// Marked by ECN.
    pub marks: u64,
}

impl PriorityCounters {
    const NONE: PriorityCounters = PriorityCounters { tx_packets: 0, tx_bytes: 0, drops: 0, drop_bytes: 0, marks: 0 };
}

impl ClassQueue {
    const EMPTY: ClassQueue = ClassQueue { packets: PacketList::EMPTY, deficit: 0, number: ClassStates::UNUSED };
}

impl Deref for ClassQueue {
    type Target = PacketList;

    #[inline]
    fn deref(&self) -> &PacketList {
        &self.packets
    }
}

impl DerefMut for ClassQueue {
    #[inline]
    fn deref_mut(&mut self) -> &mut PacketList {
        &mut self.packets
    }
}

/// The queue of a traffic class beside the counters of the priority of that number, which may belong to another class:
/// [`Port::queue`] takes a class, [`Port::counters`] a priority. Usually the numbers are equal, and then both share a
/// cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct ClassState {
    queue: ClassQueue,
    counters: PriorityCounters,
}

impl ClassState {
    const EMPTY: ClassState = ClassState { queue: ClassQueue::EMPTY, counters: PriorityCounters::NONE };
}

/// The states of all classes and priorities. Most ports use one: it stands beside what every packet needs. The second,
/// as of acknowledgements that have a class of their own, is behind a pointer, and the others behind another.
#[derive(Clone, Debug)]
#[repr(C)]
struct ClassStates {
    rest: Box<Rest>,
    first: ClassState,
}

impl ClassStates {
    /// Value of `first_number` while no class was used yet.
    const UNUSED: u8 = u8::MAX;

    /// The state of a class that is neither the first nor the second; makes it one of them, or makes room for it.
    #[inline(never)]
    fn other(&mut self, class: usize) -> &mut ClassState {
        let rest = &mut *self.rest;
        for state in [&mut self.first, &mut rest.second] {
            if state.queue.number == ClassStates::UNUSED {
                state.queue.number = class as u8;
                return state;
            }
        }
        &mut rest.class_states.get_or_insert_with(|| Box::new([ClassState::EMPTY; Priority::COUNT]))[class]
    }
}

impl std::ops::Index<usize> for ClassStates {
    type Output = ClassState;
    #[inline]
    fn index(&self, class: usize) -> &ClassState {
        if usize::from(self.first.queue.number) == class {
            return &self.first;
        }
        if usize::from(self.rest.second.queue.number) == class {
            return &self.rest.second;
        }
        self.rest.class_states.as_ref().map_or(&ClassState::EMPTY, |others| &others[class])
    }
}

impl std::ops::IndexMut<usize> for ClassStates {
    #[inline]
    fn index_mut(&mut self, class: usize) -> &mut ClassState {
        if usize::from(self.first.queue.number) == class {
            return &mut self.first;
        }
        if usize::from(self.rest.second.queue.number) == class {
            return &mut self.rest.second;
        }
        self.other(class)
    }
}

/// State that few packets touch: of a port without pauses and with one class, none.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Rest {
    second: ClassState,
    class_states: Option<Box<[ClassState; Priority::COUNT]>>,
    paused: Option<Box<Paused>>,
    pause_delay: Duration,
    fcs_errors: [u32; Priority::COUNT],
    trims: [u32; Priority::COUNT],
}

/// One port, in two cache lines: what every packet touches, and the class that it uses; the rest behind a pointer.
#[derive(Clone, Debug)]
#[repr(C, align(128))]
pub struct Port {
    /// The transmitter is busy until then.
    pub busy_until: Time,
    byte_time: ByteTime,
    /// Delay from the last bit sent to service at the peer: propagation and the peer's latency.
    pub delay: Duration,
    /// A cut-through peer acts once so much time of a packet has passed.
    pub header_time: Duration,
    /// The other end.
    pub peer: Peer,
    /// The switch or host of the port.
    pub owner: Owner,
    /// Whether the event that frees the transmitter is scheduled.
    pub free_scheduled: bool,
    /// Classes with waiting packets, a bit each.
    pub waiting: u8,
    /// Classes that hold a paused priority, a bit each; under credits all of them, see [`super::credits`].
    pub paused_classes: u8,
    /// Class that is served now in the weighted round robin.
    pub turn: u8,
    /// The queue of each traffic class, and the counters of each priority.
    class_states: ClassStates,
}

impl Port {
    /// An idle port at `rate`.
    pub fn new(rate: BitRate, owner: Owner, peer: Peer, delay: Duration, pause_delay: Duration) -> Port {
        let byte_time = ByteTime::new(rate);
        Port {
            busy_until: Time::ZERO,
            byte_time,
            delay,
            header_time: Duration::from_ps(u64::MAX),
            peer,
            owner,
            free_scheduled: false,
            waiting: 0,
            paused_classes: 0,
            turn: 0,
            class_states: ClassStates {
                rest: Box::new(Rest {
                    second: ClassState::EMPTY,
                    class_states: None,
                    paused: None,
                    pause_delay,
                    fcs_errors: [0; Priority::COUNT],
                    trims: [0; Priority::COUNT],
                }),
                first: ClassState::EMPTY,
            },
        }
    }

    /// The queue of a traffic class.
    #[inline]
    pub fn queue(&self, class: usize) -> &ClassQueue {
        &self.class_states[class].queue
    }

    /// The queue of a traffic class, to be changed.
    #[inline]
    pub fn queue_mut(&mut self, class: usize) -> &mut ClassQueue {
        &mut self.class_states[class].queue
    }

    /// The counters of a priority.
    #[inline]
    pub fn counters(&self, priority: usize) -> &PriorityCounters {
        &self.class_states[priority].counters
    }

    /// The counters of a priority, to be changed.
    #[inline]
    pub fn counters_mut(&mut self, priority: usize) -> &mut PriorityCounters {
        &mut self.class_states[priority].counters
    }

    /// Returns the delay from the last bit of a pause frame to its effect at the peer: propagation and reaction time.
    pub fn pause_delay(&self) -> Duration {
        self.class_states.rest.pause_delay
    }

    /// Length of a pause quantum at this rate: 512 bit times.
    pub fn quantum(&self) -> Duration {
        self.byte_time.of(64)
    }

    /// Returns the priorities that the peer has paused.
    pub fn paused(&self) -> &Paused {
        self.class_states.rest.paused.as_deref().unwrap_or(&Paused::NOTHING)
    }

    /// Returns the priorities that the peer has paused, to be changed.
    pub fn paused_mut(&mut self) -> &mut Paused {
        self.class_states.rest.paused.get_or_insert_with(|| Box::new(Paused::NOTHING))
    }

    /// Packets received with a wrong frame check sequence, by priority.
    pub fn fcs_errors(&self) -> &[u32; Priority::COUNT] {
        &self.class_states.rest.fcs_errors
    }

    /// Counts a packet received with a wrong frame check sequence.
    pub fn count_fcs_error(&mut self, priority: usize) {
        self.class_states.rest.fcs_errors[priority] += 1;
    }

    /// Packets trimmed on their path to this port, by the priority that they had.
    pub fn trims(&self) -> &[u32; Priority::COUNT] {
        &self.class_states.rest.trims
    }

    /// Counts a packet trimmed on its path to this port.
    pub fn count_trim(&mut self, priority: usize) {
        self.class_states.rest.trims[priority] += 1;
    }

    /// How long `bytes` occupy the wire.
    #[inline]
    pub fn serialization_time(&self, bytes: u32) -> Duration {
        self.byte_time.of(bytes)
    }

    /// Whether this port is faster than another.
    pub fn is_faster_than(&self, other: &Port) -> bool {
        self.byte_time < other.byte_time
    }

    /// The first and the last packet that waits, if any does, of the class that the port uses most.
    #[inline]
    pub fn ends_of_queue(&self) -> (Handle, Handle) {
        self.class_states.first.queue.ends()
    }

    /// Begins to fetch what does not stand in the port itself, if one of `classes`, a bit each, does not.
    #[inline]
    pub fn prefetch_second(&self, classes: u8) {
        let first = self.class_states.first.queue.number;
        if classes & !1u8.wrapping_shl(first.into()) != 0 {
            prefetch_part(&*self.class_states.rest, 0..size_of::<ClassState>());
        }
    }

    /// The packet that leads the second class that it uses, if a class other than its first has packets.
    #[inline]
    pub fn first_of_second(&self) -> Handle {
        let first = self.class_states.first.queue.number;
        if self.waiting & !1u8.wrapping_shl(first.into()) == 0 {
            return NO_PACKET;
        }
        self.class_states.rest.second.queue.first()
    }

    /// Returns the bytes that wait in the queues of all classes, as buffers count [B].
    pub fn queued(&self) -> u32 {
        crate::frame::pause::priorities(self.waiting).map(|class| self.queue(class).bytes).sum()
    }

    /// Returns the bytes that it has sent in all [B on the wire].
    pub fn sent(&self) -> u64 {
        let sent = |state: &ClassState| state.counters.tx_bytes;
        let ClassStates { rest, first } = &self.class_states;
        let others = rest.class_states.as_ref().map_or(0, |states| states.iter().map(sent).sum());
        sent(first) + sent(&rest.second) + others
    }

    /// Asserts that it has sent no more than its rate allows until `end`, and the frame that it was sending then.
    ///
    /// # Panics
    /// When it has.
    pub fn assert_within_capacity(&self, end: Time, largest_frame: u32) {
        let (sent, time) = (self.sent(), end.since(Time::ZERO) + self.serialization_time(largest_frame));
        let capacity = self.byte_time.bytes_in(time);
        assert!(sent <= capacity, "a port has sent {sent} B until {end:?}; expected at most {capacity} B by its rate");
    }

    /// Its rate, as exact as the time of a mebibyte.
    pub fn rate(&self) -> BitRate {
        const MEBIBYTE: u32 = 1 << 20;
        BitRate::from_bps(u64::from(MEBIBYTE) * 8_000_000_000_000 / self.byte_time.of(MEBIBYTE).as_ps())
    }

    /// The packet that leads the queue of a class with waiting packets.
    pub fn first(&self, class: usize) -> Handle {
        debug_assert!(self.waiting & 1 << class != 0, "the class has packets");
        self.queue(class).first()
    }

    /// Adds a packet to the queue of a class.
    #[inline]
    pub fn enqueue(&mut self, class: usize, packets: &mut Packets, handle: Handle) {
        self.queue_mut(class).enqueue(packets, handle);
        self.waiting |= 1 << class;
    }

    /// Takes the first packet of a class.
    #[inline]
    pub fn dequeue(&mut self, class: usize, packets: &Packets) -> Handle {
        let queue = self.queue_mut(class);
        let (handle, _) = queue.dequeue(packets);
        if queue.is_empty() {
            self.waiting &= !(1 << class);
        }
        handle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_two_cache_lines() {
        assert_eq!(size_of::<Port>(), 128);
        assert_eq!(std::mem::offset_of!(Port, class_states) + std::mem::offset_of!(ClassStates, first), 64);
    }

    fn port() -> Port {
        let peer =
            Peer { link: PeerLink::to_shard(0), port: PortIndex::new(1), is_host: false, link_class: LinkClass::Local };
        Port::new(BitRate::from_gbps(100), Owner::Switch(SwitchIndex::new(0)), peer, Duration::ZERO, Duration::ZERO)
    }

    /// Sends so many bytes in a microsecond, in which 12,500 pass at 100 Gb/s, and a frame of 1,000 after it.
    fn send_in_a_microsecond(bytes: u64) {
        let mut port = port();
        port.counters_mut(3).tx_bytes = bytes - 1;
        port.counters_mut(5).tx_bytes = 1;
        port.assert_within_capacity(Time::ZERO + Duration::from_us(1), 1_000);
    }

    #[test]
    fn a_port_sends_its_rate_and_the_frame_that_it_is_sending() {
        send_in_a_microsecond(13_500);
    }

    #[test]
    #[should_panic(expected = "expected at most 13500 B by its rate")]
    fn a_port_that_has_sent_more_than_its_rate_ends_the_run() {
        send_in_a_microsecond(13_501);
    }

    #[test]
    fn each_class_has_its_own_state() {
        let mut port = port();
        for class in [3, 0, 7, 3] {
            assert!(port.queue(class).is_empty());
            port.counters_mut(class).tx_packets += 1;
        }
        let sent: Vec<u64> = (0..8).map(|class| port.counters(class).tx_packets).collect();
        assert_eq!(sent, [1, 0, 0, 2, 0, 0, 0, 1]);
    }
}
