//! Traffic between switches: time, events, packets, and remote events for other shards.

use std::ops::Range;

use crate::{packet::Packet, packet::Slab, tally::Tally, wheel::Wheel};

/// The kind of an event; the rest of its 32 bits is an index.
pub(crate) const KIND_SHIFT: u32 = 29;
pub(crate) const ARRIVAL: u32 = 0;
pub(crate) const CREDIT: u32 = 1;
pub(crate) const INPUT_FREE: u32 = 2;
pub(crate) const OUTPUT_FREE: u32 = 3;
pub(crate) const HOST: u32 = 4;
/// A mark of a global port, or a notification in runs that have them.
pub(crate) const MARK: u32 = 5;
pub(crate) const SEND: u32 = 6;
pub(crate) const PAUSE: u32 = 7;

/// The most entries that an event can address.
pub(crate) const ENTRIES_MAX: usize = 1 << KIND_SHIFT;

/// The time of a shard, its events and packets, and what it counts of them.
pub(crate) struct Wires {
    /// The shard's number.
    pub number: u16,
    pub now: u32,
    pub wheel: Wheel,
    pub slab: Slab,
    /// Congestion notifications, each with the packet that it is about.
    pub notices: Slab,
    pub outbox: Vec<RemoteEvent>,
    /// Events from other shards, until the shard is served.
    pub inbox: Vec<RemoteEvent>,
    /// The measured time [ticks].
    pub span: Range<u32>,
    pub tally: Tally,
}

pub(crate) struct RemoteEvent {
    pub at: u32,
    pub shard: u16,
    pub content: RemoteAction,
}

pub(crate) enum RemoteAction {
    /// A packet arrives at an input channel.
    Packet(Packet),
    /// The far end of an output channel has room for one more.
    Credit(u32),
    /// Twice an output channel, and 1 when it is to stop.
    Pause(u32),
    /// A congestion notification about a packet arrives at the port of its `place`.
    Notification(Packet),
}

impl Wires {
    /// Nothing yet, for events less than `horizon` ticks ahead.
    pub fn new(number: u16, horizon: u32) -> Wires {
        let (wheel, slab, notices) = (Wheel::new(horizon), Slab::new(), Slab::new());
        Wires {
            number,
            now: 0,
            wheel,
            slab,
            notices,
            outbox: Vec::new(),
            inbox: Vec::new(),
            span: 0..0,
            tally: Tally::default(),
        }
    }

    /// Counts a packet that a host has now.
    #[inline]
    pub fn offer(&mut self) {
        self.tally.offer(self.now, &self.span);
    }

    /// Schedules what other shards have sent: when the shard is served, as its memory is in the cache then.
    pub fn receive_all(&mut self) {
        let mut inbox = std::mem::take(&mut self.inbox);
        inbox.drain(..).for_each(|remote| self.receive(remote));
        self.inbox = inbox;
    }

    #[inline]
    fn receive(&mut self, remote: RemoteEvent) {
        let event = match remote.content {
            RemoteAction::Packet(packet) => ARRIVAL << KIND_SHIFT | self.slab.insert(packet),
            RemoteAction::Credit(output) => CREDIT << KIND_SHIFT | output,
            RemoteAction::Pause(word) => PAUSE << KIND_SHIFT | word,
            RemoteAction::Notification(packet) => MARK << KIND_SHIFT | self.notices.insert(packet),
        };
        debug_assert!(remote.at >= self.now, "a window ends before what it does elsewhere");
        self.wheel.put(remote.at, event);
    }

    /// Sends a packet to the input channel in its `place`.
    #[inline]
    pub fn send(&mut self, at: u32, shard: u16, id: u32) {
        if shard == self.number {
            self.wheel.put(at, ARRIVAL << KIND_SHIFT | id);
        } else {
            let content = RemoteAction::Packet(self.slab.remove(id));
            self.outbox.push(RemoteEvent { at, shard, content });
        }
    }

    /// Returns a credit to an output channel.
    #[inline]
    pub fn return_credit(&mut self, at: u32, shard: u16, output: u32) {
        if shard == self.number {
            self.wheel.put(at, CREDIT << KIND_SHIFT | output);
        } else {
            self.outbox.push(RemoteEvent { at, shard, content: RemoteAction::Credit(output) });
        }
    }

    /// Sends a notification about a packet to the port of its `place`.
    pub fn notify(&mut self, at: u32, shard: u16, packet: Packet) {
        if shard == self.number {
            self.wheel.put(at, MARK << KIND_SHIFT | self.notices.insert(packet));
        } else {
            self.outbox.push(RemoteEvent { at, shard, content: RemoteAction::Notification(packet) });
        }
    }

    /// Sends a pause or resume to an output channel.
    #[inline]
    pub fn post_pause(&mut self, at: u32, shard: u16, word: u32) {
        if shard == self.number {
            self.wheel.put(at, PAUSE << KIND_SHIFT | word);
        } else {
            self.outbox.push(RemoteEvent { at, shard, content: RemoteAction::Pause(word) });
        }
    }
}
