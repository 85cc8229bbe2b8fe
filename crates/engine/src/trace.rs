//! Waits of chosen packets of messages: where, behind whose packets, and what holds the port.
//!
//! A message is traced from its post to its arrival, by its last packet and by others. Meanwhile every port keeps what
//! it has sent. A packet that leaves a port has waited there since it came: while the port sent other packets, while it
//! was paused or lacked credits, or for another reason.
//!
//! A sender whose link is free though a message waits has a full window, or a low rate. Such a gap ends when data are
//! acknowledged. What the link has sent since these data left is the window, and their acknowledgements let data leave
//! for as long again: all of that waits for the window. A link without a gap for longer sets the pace itself.
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

use crate::packet::Packet;

/// Departures that a port keeps.
pub(crate) const SENT_MAX: usize = 1 << 12;

/// A message, or its beginning up to some byte, whose last packet is traced.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TracedMessage {
    /// Number in the run of the connection end that sends it.
    pub sender: u32,
    /// End in the stream [B].
    pub end: u64,
    /// Beginning of the message there [B].
    pub begin: u64,
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
    /// The port sends packets of a connection, by the number of its sending end; at a host of the connection of the
    /// message those of the message alone.
    Behind(u32),
    /// The link carries messages of flow-level mode.
    Beside,
    /// The port of its host sends earlier messages of its connection.
    Earlier,
    /// The port is paused.
    Paused(HoldCause),
    /// It lacks credits.
    NoCredits(HoldCause),
    /// The packet was sent before, and lost.
    Lost,
    /// Another: windows and rates of the sender, with the packets that fill them, or a crossbar.
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

/// Effect of messages of flow-level mode on a packet that leaves a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside {
    pub port: PortIndex,
    /// How much later it arrives.
    pub wait: Duration,
    /// When the port is free again.
    pub until: Time,
}

/// Packets of a sender that leave without a gap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub start: Time,
    pub end: Time,
    /// None of messages of flow-level mode.
    pub sender: Option<u32>,
    /// Time for which the port had been held in all.
    pub held: Duration,
    /// The acknowledgement that came last before the start.
    pub acknowledged: Option<Acknowledgement>,
}

/// Acknowledgement of data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledgement {
    /// When it comes to the sender.
    pub at: Time,
    /// When the data left.
    pub sent: Time,
}

impl Departure {
    fn is_followed_by(&self, next: &Departure) -> bool {
        (self.end, self.sender, self.held) == (next.start, next.sender, next.held)
    }
}

#[derive(Clone, Default, Debug)]
pub(crate) struct PortTrace {
    pub sent: VecDeque<Departure>,
    /// Port by which the packet left that freed buffer behind this port last.
    pub freed_by: Option<PortIndex>,
}

impl PortTrace {
    /// Adds a departure to those kept; one that follows without a gap to the one before.
    pub fn depart(&mut self, departure: Departure) {
        match self.sent.back_mut() {
            Some(last) if last.is_followed_by(&departure) => last.end = departure.end,
            Some(_) | None => {
                if self.sent.len() == SENT_MAX {
                    self.sent.pop_front();
                }
                self.sent.push_back(departure);
            }
        }
    }

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
        let mut times: BTreeMap<Option<u32>, Duration> = BTreeMap::new();
        for sent in self.sent.iter().rev().take_while(|sent| sent.end > time) {
            *times.entry(sent.sender).or_default() += sent.end.since(sent.start.max(time));
        }
        times.into_iter().max_by_key(|&(_, time)| time).and_then(|(sender, _)| sender)
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
    /// When the message began to leave its host.
    pub began: Option<Time>,
    /// When it left the node before, and came to the next.
    pub left: Option<(Time, Time)>,
    pub waits: Vec<Wait>,
}

impl Flight {
    /// Notes a wait of a packet that leaves a port now and has to arrive yet.
    pub fn delay(&mut self, now: Time, wait: Wait) {
        if let Some((_, arrival)) = self.left.as_mut().filter(|(left, _)| *left == now) {
            *arrival += wait.time;
            self.add(wait);
        }
    }

    pub fn add(&mut self, wait: Wait) {
        if wait.time.is_zero() {
            return;
        }
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
    /// The least beginning of each message and of those behind it, which may contain it [B].
    begins: Vec<u64>,
    pub(crate) flights: Vec<Flight>,
    /// Times in which a message is on its way, and how many of them are over.
    active: Vec<(Time, Time)>,
    over: usize,
    pub(crate) ports: IndexVec<PortIndex, PortTrace>,
    pub(crate) senders: BTreeMap<u32, SenderTrace>,
}

/// Data of a sender while it is traced: those in flight, and those lost.
#[derive(Clone, Default, Debug)]
pub(crate) struct SenderTrace {
    /// Ends of the data in flight [B], and when they left the host.
    in_flight: VecDeque<(u64, Time)>,
    /// Acknowledgements on their last link.
    acknowledgements: VecDeque<Acknowledgement>,
    /// The one that came last.
    acknowledged: Option<Acknowledgement>,
    /// Port by which data left last.
    pub port: Option<PortIndex>,
    /// Port behind which the last packet was lost.
    pub behind: Option<PortIndex>,
    /// End of the data that have left the host [B].
    pub sent: u64,
    /// When the last packet of data had left it.
    pub sent_at: Option<Time>,
    /// Packets that left it again: when, and how long each took, with the wait since the packet of data before.
    pub resent: Vec<(Time, Wait)>,
}

impl SenderTrace {
    /// Notes data that leave their host.
    pub fn send(&mut self, end: u64, now: Time) {
        if self.in_flight.back().is_none_or(|last| last.0 < end) {
            self.in_flight.push_back((end, now));
        }
    }

    /// Notes an acknowledgement that comes at some time, up to the end of the data; `sent` is what it says of their
    /// time, if it does.
    pub fn acknowledge(&mut self, at: Time, end: u64, sent: Option<Time>) {
        let is_acknowledged = |&(own, left): &(u64, Time)| sent.map_or(own <= end, |sent| left <= sent);
        let mut left = None;
        while let Some((_, time)) = self.in_flight.pop_front_if(|data| is_acknowledged(data)) {
            left = Some(time);
        }
        // Data that left before any message was traced did so before the first that are known.
        let first = self.in_flight.front().map(|&(_, time)| time);
        self.acknowledgements.extend(sent.or(left).or(first).map(|sent| Acknowledgement { at, sent }));
    }

    /// The acknowledgement that has come last.
    pub fn acknowledged(&mut self, now: Time) -> Option<Acknowledgement> {
        while let Some(acknowledgement) = self.acknowledgements.pop_front_if(|own| own.at <= now) {
            self.acknowledged = Some(acknowledgement);
        }
        self.acknowledged
    }
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
            begins: begins(&messages),
            messages,
            active,
            over: 0,
            ports: traces,
            senders: BTreeMap::new(),
        }
    }

    /// Places of the messages that have bytes of a packet.
    pub(crate) fn places(&self, packet: &Packet) -> Vec<usize> {
        let until = packet.offset + u64::from(packet.payload);
        let is_behind = |message: &TracedMessage| (message.sender, message.end) <= (packet.sender, packet.offset);
        let first = self.messages.partition_point(is_behind);
        let own = self.messages[first..].iter().zip(&self.begins[first..]).enumerate();
        let near = own.take_while(|(_, (message, begin))| message.sender == packet.sender && **begin < until);
        near.filter(|(_, (message, _))| message.begin < until).map(|(place, _)| first + place).collect()
    }

    /// Waits of the last packet of a message, in order.
    pub fn waits(&self, message: &TracedMessage) -> &[Wait] {
        let place = self.messages.binary_search(message);
        place.map_or(&[], |place| &self.flights[place].waits)
    }

    /// Port of its host by which data of a sender left last, while any message was traced.
    pub fn port(&self, sender: u32) -> Option<PortIndex> {
        self.senders.get(&sender)?.port
    }

    /// Packets that a sender sent again while a message was on its way, behind the ports where they were lost.
    pub fn resent(&self, message: &TracedMessage) -> impl Iterator<Item = &Wait> {
        let all = self.senders.get(&message.sender).map_or(&[][..], |sender| &sender.resent);
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

/// The least beginning of each message and of those of its sender that end later.
fn begins(messages: &[TracedMessage]) -> Vec<u64> {
    let mut begins: Vec<u64> = messages.iter().map(|message| message.begin).collect();
    for place in (1..messages.len()).rev() {
        if messages[place - 1].sender == messages[place].sender {
            begins[place - 1] = begins[place - 1].min(begins[place]);
        }
    }
    begins
}
