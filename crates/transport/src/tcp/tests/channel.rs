//! Two ends of a connection and a toy channel, which hold every step against what TCP promises.

use std::collections::BTreeMap;

use etherweave_primitives::{Duration, Time};

use crate::ranges::{ByteRange, Ranges};
use crate::tcp::{Ack, AckAction, Receiver, Segment, SegmentArrival, Sender, TcpParams};

/// Segment size of the defaults: MTU 4500 less 20 B IP, 20 B TCP, 12 B timestamps [B].
pub(super) const MSS: u64 = 4_448;
/// Delay from one end to the other: a round trip takes 100 us.
pub(super) const DELAY: Duration = Duration::from_us(50);

#[derive(Clone, Copy)]
pub(super) enum Item {
    Segment(Segment, Time),
    Ack(Ack),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    Arrives,
    Lost,
    /// Later than what is sent after it.
    Late(Duration),
    Marked,
}

pub(super) struct Connection<F> {
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) now: Time,
    /// When the application begins to read.
    pub(super) reads_from: Time,
    pub(super) log: Vec<(Time, Segment)>,
    pub(super) acks: u64,
    fate: F,
    in_flight: BTreeMap<(Time, u64), (Item, bool)>,
    /// Bytes that reached the receiver, in whatever order.
    arrived: Ranges,
    sent_to: u64,
    /// Right edges that the receiver has advertised, and that the sender knows.
    edges: (u64, u64),
    read: u64,
}

/// `fate` sees the number of the segment or of the ACK, from 1, and the item.
impl<F: FnMut(u64, &Item) -> Fate> Connection<F> {
    pub(super) fn new(params: &TcpParams, fate: F) -> Connection<F> {
        let edge = params.receive_buffer_initial.get() / 2;
        Connection {
            sender: Sender::new(params),
            receiver: Receiver::new(params),
            now: Time::ZERO,
            reads_from: Time::ZERO,
            log: Vec::new(),
            acks: 0,
            fate,
            in_flight: BTreeMap::new(),
            arrived: Ranges::default(),
            sent_to: 0,
            edges: (edge, edge),
            read: 0,
        }
    }

    /// Writes `bytes` more, and goes on until all are read and acknowledged.
    pub(super) fn transfer(&mut self, bytes: u64) {
        self.sender.write(bytes);
        self.pump();
        for _ in 0..2_000_000 {
            if self.sender.acknowledged() == self.sender.written() && self.read == self.sender.written() {
                return;
            }
            self.step();
        }
        panic!("the transfer goes on for ever");
    }

    /// Advances to the next arrival, read or timer.
    fn step(&mut self) {
        let arrival = self.in_flight.keys().next().map(|&(time, _)| time);
        let reading = (self.receiver.readable() > 0).then_some(self.reads_from);
        let timers = [arrival, reading, self.sender.timer(), self.receiver.timer()];
        let next = timers.into_iter().flatten().min().expect("something is pending");
        self.now = self.now.max(next);
        if arrival == Some(next) {
            let (_, (item, is_marked)) = self.in_flight.pop_first().expect("just seen");
            self.take(item, is_marked);
        } else if reading == Some(next) {
            self.read();
        } else if self.sender.timer() == Some(next) {
            self.sender.on_timer(self.now);
        } else {
            self.acknowledge();
        }
        self.pump();
    }

    fn pump(&mut self) {
        while let Some(segment) = self.sender.next_segment(self.now, MSS as u32) {
            self.check_segment(&segment);
            self.log.push((self.now, segment));
            self.send(self.log.len() as u64, Item::Segment(segment, self.now));
        }
    }

    fn acknowledge(&mut self) {
        let ack = self.receiver.make_ack(self.now);
        self.check_ack(&ack);
        self.acks += 1;
        self.send(self.acks, Item::Ack(ack));
    }

    fn send(&mut self, number: u64, item: Item) {
        let fate = (self.fate)(number, &item);
        let extra = if let Fate::Late(extra) = fate { extra } else { Duration::ZERO };
        if fate != Fate::Lost {
            let order = self.log.len() as u64 + self.acks;
            self.in_flight.insert((self.now + DELAY + extra, order), (item, fate == Fate::Marked));
        }
    }

    fn take(&mut self, item: Item, is_marked: bool) {
        match item {
            Item::Ack(ack) => {
                self.edges.1 = self.edges.1.max(ack.cumulative + ack.window);
                self.sender.on_ack(self.now, &ack);
            }
            Item::Segment(Segment { seq, len, window_reduced, .. }, timestamp) => {
                let arrival = SegmentArrival { seq, len, congestion_experienced: is_marked, window_reduced, timestamp };
                if self.receiver.changes_echo(&arrival) {
                    self.acknowledge();
                }
                let action = self.receiver.on_segment(self.now, &arrival);
                self.check_delivery(&arrival);
                if action == AckAction::Now {
                    self.acknowledge();
                }
                self.read();
            }
        }
    }

    fn read(&mut self) {
        let bytes = if self.now < self.reads_from { 0 } else { self.receiver.readable() };
        self.read += bytes;
        if self.receiver.read(bytes) {
            self.acknowledge();
        }
    }

    /// New data goes out in order, old data only while it is unacknowledged, and nothing beyond the receiver's window.
    fn check_segment(&mut self, segment: &Segment) {
        let end = segment.seq + u64::from(segment.len);
        assert!(end <= self.edges.1, "{segment:?} exceeds the window, which ends at {}", self.edges.1);
        assert!(segment.seq >= self.sender.acknowledged(), "{segment:?} has been acknowledged");
        if segment.retransmission {
            assert!(end <= self.sent_to, "{segment:?} has never been sent");
        } else if segment.len > 0 {
            assert_eq!(segment.seq, self.sent_to, "new data is sent in order");
            self.sent_to = end;
        }
    }

    /// Checks that bytes that can be read, or have been, are all those before the first that is missing.
    fn check_delivery(&mut self, arrival: &SegmentArrival) {
        self.arrived.insert(ByteRange::new(arrival.seq, arrival.seq + u64::from(arrival.len)));
        let complete = self.arrived.first().filter(|range| range.start == 0).map_or(0, |range| range.end);
        assert_eq!(self.receiver.received(), complete);
        assert_eq!(self.read + self.receiver.readable(), complete);
    }

    /// The window's right edge never moves back (RFC 9293, section 3.8.6), and SACK blocks are right.
    fn check_ack(&mut self, ack: &Ack) {
        let edge = ack.cumulative + ack.window;
        assert!(edge >= self.edges.0, "the window shrinks from {} to {edge}", self.edges.0);
        self.edges.0 = edge;
        for block in ack.sack.iter().filter(|block| !block.is_empty()) {
            let held = self.arrived.at_or_after(block.start).expect("what is reported has arrived");
            assert!(held.start <= block.start && block.end <= held.end, "{block:?} is not within {held:?}");
        }
    }
}
