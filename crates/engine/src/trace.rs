//! Waits of chosen packets of messages: where, behind whose packets, and what holds the port.
//!
//! A message is traced from its post to its arrival, by its last packet and by others. Meanwhile every port keeps what
//! it has sent. A packet that leaves a port has waited there since it came: while the port sent other packets, while it
//! was paused or lacked credits, or for another reason.
//!
//! ```text
//!   port ──is held for──► buffer of the far end ──freed last by a packet that left by──► port, sends or is held itself
//! ```
//!
//! A port that is held waits for the buffer at the far end of its link. The packet that freed some of it last left by a
//! port that was busy, which is the cause, or was held itself, and so on, to a busy port or to a host.
//!
//! All ports are in one shard. Left out: packets behind which an earlier packet of the same message has waited.

use std::collections::{BTreeMap, VecDeque};

use etherweave_kernel::{IndexVec, indices::PortIndex};
use etherweave_primitives::{Duration, Time};

/// Departures that a port keeps.
pub(crate) const SENT_MAX: usize = 1 << 12;

/// A message, or its beginning up to some byte, whose last packet is traced.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TracedMessage {
    /// Number in the run of the connection end that sends it.
    pub sender: u32,
    /// End in the stream [B].
    pub end: u64,
    /// Time of posting.
    pub posted: Time,
    /// When it had arrived.
    pub arrived: Time,
}

/// Cause that holds a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HoldCause {
    /// A port that sends without a break, most of it packets of a connection, by the number of its sending end.
    Busy(PortIndex, Option<u32>),
    /// The host at the far end of a port.
    Receiver(PortIndex),
    /// The link of a port itself: credits on their way back.
    Link(PortIndex),
}

/// Reason of a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitReason {
    /// The port sends packets of a connection, by the number of its sending end.
    Behind(u32),
    /// The port is paused.
    Paused(HoldCause),
    /// It lacks credits.
    NoCredits(HoldCause),
    /// The packet was sent before, and lost.
    Lost,
    /// Another: windows and rates of the sender, a crossbar.
    Other,
}

/// A wait at a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The port, numbered in the shard.
    pub port: PortIndex,
    /// Whether it is a host's.
    pub is_of_host: bool,
    /// Why.
    pub reason: WaitReason,
    /// Length of the hold.
    pub time: Duration,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub start: Time,
    pub end: Time,
    pub sender: u32,
    /// Time for which the port had been held in all.
    pub held: Duration,
}

#[derive(Clone, Default, Debug)]
pub(crate) struct PortTrace {
    pub sent: VecDeque<Departure>,
    /// Port by which the packet left that freed buffer behind this port last.
    pub freed_by: Option<PortIndex>,
}

impl PortTrace {
    fn forget(&mut self) {
        self.sent.drain(..self.sent.len().saturating_sub(1));
    }

    /// Part of `held`, the holds up to some departure, that came since a time or earlier.
    pub fn held_since(&self, time: Time, held: Duration) -> Duration {
        let before = self.sent.iter().rev().find(|sent| sent.start <= time).or(self.sent.front());
        held - before.map_or(held, |before| before.held)
    }

    /// Sender whose packets the port has sent for longest since a time.
    pub fn busiest_since(&self, time: Time) -> Option<u32> {
        let mut times: BTreeMap<u32, Duration> = BTreeMap::new();
        for sent in self.sent.iter().rev().take_while(|sent| sent.end > time) {
            *times.entry(sent.sender).or_default() += sent.end.since(sent.start.max(time));
        }
        times.into_iter().max_by_key(|&(_, time)| time).map(|(sender, _)| sender)
    }

    /// Time for which the port has sent since a time.
    pub fn busy_since(&self, time: Time) -> Duration {
        let since = self.sent.iter().rev().take_while(|sent| sent.end > time);
        since.fold(Duration::ZERO, |busy, sent| busy + sent.end.since(sent.start.max(time)))
    }
}

/// The last packet of a message on its way.
#[derive(Clone, Default, Debug)]
pub(crate) struct Flight {
    /// When it left the node before, and came to the next.
    pub left: Option<(Time, Time)>,
    pub waits: Vec<Wait>,
}

impl Flight {
    pub fn add(&mut self, wait: Wait) {
        let is_same = |other: &&mut Wait| (other.port, other.reason) == (wait.port, wait.reason);
        match self.waits.iter_mut().find(is_same) {
            Some(same) => same.time += wait.time,
            None => self.waits.push(wait),
        }
    }
}

/// See the module.
#[derive(Default)]
pub struct Trace {
    pub(crate) messages: Vec<TracedMessage>,
    pub(crate) flights: Vec<Flight>,
    /// Times in which a message is on its way, and how many of them are over.
    active: Vec<(Time, Time)>,
    over: usize,
    pub(crate) ports: IndexVec<PortIndex, PortTrace>,
    pub(crate) losses: BTreeMap<u32, Losses>,
}

/// Losses of a sender of data while it is traced.
#[derive(Clone, Default, Debug)]
pub(crate) struct Losses {
    /// Port behind which the last packet was lost.
    pub behind: Option<PortIndex>,
    /// End of the data that have left the host [B].
    pub sent: u64,
    /// When the last packet of data had left it.
    pub sent_at: Option<Time>,
    /// Packets that left it again: when, and how long each took, with the wait since the packet of data before.
    pub resent: Vec<(Time, Wait)>,
}

impl Trace {
    /// A trace of messages at so many ports.
    pub fn new(mut messages: Vec<TracedMessage>, ports: usize) -> Trace {
        messages.sort_unstable();
        messages.dedup();
        let mut spans: Vec<(Time, Time)> = messages.iter().map(|message| (message.posted, message.arrived)).collect();
        spans.sort_unstable();
        let mut active: Vec<(Time, Time)> = Vec::new();
        for (from, until) in spans {
            match active.last_mut() {
                Some(last) if last.1 >= from => last.1 = last.1.max(until),
                Some(_) | None => active.push((from, until)),
            }
        }
        let mut traces = IndexVec::default();
        traces.resize(ports, PortTrace::default());
        Trace {
            flights: vec![Flight::default(); messages.len()],
            messages,
            active,
            over: 0,
            ports: traces,
            losses: BTreeMap::new(),
        }
    }

    /// Waits of the last packet of a message, in order.
    pub fn waits(&self, message: &TracedMessage) -> &[Wait] {
        let place = self.messages.binary_search(message);
        place.map_or(&[], |place| &self.flights[place].waits)
    }

    /// Packets that a sender sent again while a message was on its way, behind the ports where they were lost.
    pub fn resent(&self, message: &TracedMessage) -> impl Iterator<Item = &Wait> {
        let all = self.losses.get(&message.sender).map_or(&[][..], |losses| &losses.resent);
        let first = all.partition_point(|&(time, _)| time < message.posted);
        all[first..].iter().take_while(|&&(time, _)| time <= message.arrived).map(|(_, wait)| wait)
    }

    /// Whether a message is on its way; what lies before is forgotten.
    pub(crate) fn is_active(&mut self, now: Time) -> bool {
        while self.active.get(self.over).is_some_and(|&(_, until)| until < now) {
            self.over += 1;
            self.ports.iter_mut().for_each(PortTrace::forget);
        }
        self.active.get(self.over).is_some_and(|&(from, _)| from <= now)
    }
}
