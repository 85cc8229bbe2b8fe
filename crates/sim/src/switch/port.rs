//! A port: the transmitter of one channel, its queues, and what its peer has paused.

use etherweave_primitives::{BitRate, ByteTime, Duration, Priority, Time};

use super::shaper::Shaper;
use crate::degraded::DegradedChannel;
use crate::packet::{Handle, NO_PACKET, Packets};

/// Where a port leads, and which entity it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// The link to it.
    pub link: PeerLink,
    /// The port at the other end, numbered in its shard.
    pub port: u32,
    /// Whether it is a host's.
    pub is_host: bool,
}

/// A link as its sending port knows it: the shard of the other end, maybe the sender's own, or an impaired link (bit
/// errors, a shaper, outages). One number, so that the check that every packet needs, whether the other end is in the
/// same shard, stays cheap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerLink(u32);

impl PeerLink {
    const IMPAIRED: u32 = 1 << 31;

    /// To a shard.
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

/// A link with bit errors, a shaper or outages, seen from its sending port.
#[derive(Debug)]
pub(crate) struct ImpairedLink {
    /// The shard of the port at its end.
    pub shard: u32,
    /// The port that sends, numbered in its shard.
    pub port: u32,
    /// Bit errors.
    pub damage: Option<DegradedChannel>,
    /// Token bucket.
    pub shaper: Option<Shaper>,
    /// When the link is down: from and until.
    pub outages: Vec<(Time, Time)>,
}

impl ImpairedLink {
    /// Whether the link is down at any instant of a span.
    pub fn is_down(&self, begin: Time, end: Time) -> bool {
        self.outages.iter().any(|&(from, until)| from <= end && begin < until)
    }
}

/// Switch or host, numbered in the shard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// A switch.
    Switch(u32),
    /// A host.
    Host(u32),
}

/// A first-in first-out queue of packets of one traffic class.
#[derive(Clone, Copy, Debug)]
pub struct ClassQueue {
    head: Handle,
    tail: Handle,
    /// Waiting [B on the wire].
    pub bytes: u32,
    /// Deficit of the round robin [B].
    pub deficit: i32,
    /// Most that ever waited [B].
    pub bytes_max: u32,
}

/// Counters of a port and priority, as switches have them.
#[derive(Clone, Copy, Default, Debug)]
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

impl ClassQueue {
    const EMPTY: ClassQueue = ClassQueue { head: NO_PACKET, tail: NO_PACKET, bytes: 0, deficit: 0, bytes_max: 0 };

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == NO_PACKET
    }

    #[inline]
    fn enqueue(&mut self, packets: &mut Packets, handle: Handle) {
        packets[handle].next = NO_PACKET;
        if self.is_empty() {
            self.head = handle;
        } else {
            packets[self.tail].next = handle;
        }
        self.tail = handle;
        self.bytes += packets[handle].wire;
        self.bytes_max = self.bytes_max.max(self.bytes);
    }

    #[inline]
    fn dequeue(&mut self, packets: &Packets) -> Handle {
        let handle = self.head;
        self.head = packets[handle].next;
        self.bytes -= packets[handle].wire;
        handle
    }
}

/// The queue of a traffic class beside the counters of the priority of that number: usually they belong together, and
/// then they share a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct ClassState {
    /// Of the class.
    pub queue: ClassQueue,
    /// Of the priority.
    pub counters: PriorityCounters,
}

/// Pause frames that name one priority, by what they do to it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PauseCounters {
    /// Start a pause.
    pub xoff: u32,
    /// Renew a pause before it runs out.
    pub refresh: u32,
    /// End a pause.
    pub xon: u32,
}

impl PauseCounters {
    /// All pause frames that name the priority.
    pub fn total(self) -> u64 {
        u64::from(self.xoff) + u64::from(self.refresh) + u64::from(self.xon)
    }
}

/// What the peer has paused: per priority.
#[derive(Clone, Copy, Debug)]
pub struct Paused {
    /// Priorities that must not be sent now.
    pub priorities: u8,
    /// Priorities with a scheduled expiry event.
    pub expiring: u8,
    /// When each pause runs out by itself.
    pub until: [Time; Priority::COUNT],
    /// When each present pause began.
    pub since: [Time; Priority::COUNT],
    /// Time paused so far.
    pub duration: [Duration; Priority::COUNT],
    /// Pause frames received that name the priority. One that stops a priority is a refresh if the priority is paused
    /// when it arrives.
    pub rx_packets: [PauseCounters; Priority::COUNT],
    /// Pause frames discarded that named the priority: wrong frame check sequence.
    pub fcs_errors: [u64; Priority::COUNT],
    /// Pause frames sent that name the priority.
    pub tx_packets: [PauseCounters; Priority::COUNT],
    /// When each pause of the peer by this port began, if there is one.
    pub holding_since: [Time; Priority::COUNT],
    /// Time for which this port paused the peer.
    pub tx_duration: [Duration; Priority::COUNT],
}

impl Paused {
    const NOTHING: Paused = Paused {
        priorities: 0,
        expiring: 0,
        until: [Time::ZERO; Priority::COUNT],
        since: [Time::ZERO; Priority::COUNT],
        duration: [Duration::ZERO; Priority::COUNT],
        rx_packets: [PauseCounters { xoff: 0, refresh: 0, xon: 0 }; Priority::COUNT],
        fcs_errors: [0; Priority::COUNT],
        tx_packets: [PauseCounters { xoff: 0, refresh: 0, xon: 0 }; Priority::COUNT],
        holding_since: [Time::ZERO; Priority::COUNT],
        tx_duration: [Duration::ZERO; Priority::COUNT],
    };
}

/// One port: what every packet touches in the first cache line, queues in the next, the rest behind pointers.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Port {
    /// The transmitter is busy until then.
    pub busy_until: Time,
    byte_time: ByteTime,
    /// From the last bit sent to service at the peer: propagation and the peer's latency.
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
    /// Classes that hold a paused priority, a bit each.
    pub paused_classes: u8,
    /// Class that is served now in the weighted round robin.
    pub turn: u8,
    /// The queue of each traffic class, and the counters of each priority.
    pub class_states: [ClassState; Priority::COUNT],
    /// From the last bit of a pause frame to its effect at the peer: propagation and reaction time.
    pub pause_delay: Duration,
    /// Length of a pause quantum at this rate: 512 bit times.
    pub quantum: Duration,
    /// What the peer has paused.
    pub paused: Box<Paused>,
    /// Packets received with a wrong frame check sequence, by priority.
    pub fcs_errors: [u32; Priority::COUNT],
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
            class_states: [ClassState { queue: ClassQueue::EMPTY, counters: PriorityCounters::default() };
                Priority::COUNT],
            pause_delay,
            quantum: byte_time.of(64),
            paused: Box::new(Paused::NOTHING),
            fcs_errors: [0; Priority::COUNT],
        }
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

    /// Reads something of each cache line that a packet of `class` will need.
    #[inline]
    pub fn touch(&self, class: usize) -> u32 {
        u32::from(self.waiting) ^ self.class_states[class].queue.bytes
    }

    /// The packet that leads the queue of the lowest waiting class.
    #[inline]
    pub fn first_waiting(&self) -> Option<Handle> {
        (self.waiting != 0).then(|| self.class_states[self.waiting.trailing_zeros() as usize].queue.head)
    }

    /// Adds a packet to the queue of a class.
    #[inline]
    pub fn enqueue(&mut self, class: usize, packets: &mut Packets, handle: Handle) {
        self.class_states[class].queue.enqueue(packets, handle);
        self.waiting |= 1 << class;
    }

    /// Takes the first packet of a class.
    #[inline]
    pub fn dequeue(&mut self, class: usize, packets: &Packets) -> Handle {
        let handle = self.class_states[class].queue.dequeue(packets);
        if self.class_states[class].queue.is_empty() {
            self.waiting &= !(1 << class);
        }
        handle
    }
}
