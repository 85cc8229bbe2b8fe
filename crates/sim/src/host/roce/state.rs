//! State of a reliable connection: outgoing messages, what is acknowledged, what is expected.

use std::collections::VecDeque;

use etherweave_primitives::Time;

use crate::constants::Overheads;
use crate::packet::flags;
use crate::params::RoceParams;
use crate::transport::dcqcn::RateLimiter;

/// How a message goes over the wire.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Operation {
    /// RDMA WRITE: an address on the first packet.
    #[default]
    Write,
    /// RDMA READ request: an address and nothing else.
    ReadRequest,
    /// RDMA READ response: an acknowledgement on the first and last packet.
    ReadResponse,
}

/// An outgoing message.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Outgoing {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) operation: Operation,
}

impl Operation {
    /// The packet's bits, and what headers add to its payload [B on the wire]. A request's address is its payload.
    pub(super) fn dress(self, place: u8, overheads: &Overheads) -> (u8, u32) {
        match self {
            Operation::Write if place & flags::FIRST != 0 => (place, overheads.first),
            Operation::Write => (place, overheads.other),
            Operation::ReadRequest => (place | flags::READ_REQUEST, overheads.other),
            Operation::ReadResponse if place != 0 => (place | flags::READ, overheads.edge),
            Operation::ReadResponse => (place | flags::READ, overheads.other),
        }
    }
}

/// Both directions of a reliable connection at one host. Two cache lines belong to the requester, one to the responder.
#[derive(Default)]
#[repr(C, align(64))]
pub(crate) struct RoceState {
    /// Bytes handed over by the owner.
    pub(super) posted: u64,
    /// Next byte to send.
    pub(super) next: u64,
    /// All below is acknowledged.
    pub(super) acknowledged: u64,
    /// Packet sequence numbers of `next` and `acknowledged`.
    pub(super) sequence: (u32, u32),
    /// The message that `next` lay in when it was last looked up.
    pub(super) message: Outgoing,
    /// Farthest byte ever sent: what lies below is a retransmission.
    pub(super) sent_max: u64,
    /// Where the first of `outgoing` ends.
    pub(super) oldest_end: u64,
    /// When the requester last made progress.
    pub(super) last_progress: Time,
    /// Data packets sent.
    pub packets: u64,
    /// Data packets that went out again.
    pub retransmitted_packets: u64,
    /// Congestion control.
    pub(super) limiter: Option<Box<RateLimiter>>,
    /// Which of the outgoing messages `next` lies in, or one before.
    pub(super) sending: usize,
    /// Timer expiries.
    pub timeouts: u64,
    pub(super) is_timer_set: bool,
    pub(super) is_pacing: bool,
    pub(super) is_nak_sent: bool,
    pub(super) unacknowledged_packets: u32,
    /// Next byte to receive, and its packet sequence number.
    pub expected: u64,
    pub(super) expected_sequence: u32,
    pub(super) last_cnp: Option<Time>,
    /// Messages not yet acknowledged.
    pub(super) outgoing: VecDeque<Outgoing>,
}

impl RoceState {
    /// A connection of a NIC of `rate` bits per second.
    pub fn new(params: &RoceParams, rate: etherweave_primitives::BitRate) -> RoceState {
        let limiter = params.dcqcn.as_ref().map(|dcqcn| Box::new(RateLimiter::new(dcqcn, rate)));
        RoceState { limiter, ..RoceState::default() }
    }

    /// Adds a message to the stream; returns where it ends.
    pub fn post(&mut self, bytes: u64, operation: Operation) -> u64 {
        let start = self.posted;
        self.posted += bytes;
        if self.outgoing.is_empty() {
            self.oldest_end = self.posted;
        }
        self.outgoing.push_back(Outgoing { start, end: self.posted, operation });
        self.posted
    }

    /// Bytes acknowledged so far.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    pub(super) fn may_send(&self, window: u64) -> bool {
        self.next < self.posted && self.next - self.acknowledged < window
    }

    pub(super) fn go_back(&mut self) {
        self.next = self.acknowledged;
        self.sequence.0 = self.sequence.1;
        self.sending = 0;
    }

    pub(super) fn acknowledge(&mut self, offset: u64, sequence: u32, now: Time) {
        if offset <= self.acknowledged {
            return;
        }
        self.acknowledged = offset;
        self.sequence.1 = sequence;
        self.last_progress = now;
        if self.next < offset {
            self.next = offset;
            self.sequence.0 = sequence;
        }
        if self.oldest_end <= offset {
            self.forget_until(offset);
        }
    }

    /// Drops the messages that end at `offset` or before.
    fn forget_until(&mut self, offset: u64) {
        while self.outgoing.front().is_some_and(|message| message.end <= offset) {
            self.outgoing.pop_front();
            self.sending = self.sending.saturating_sub(1);
        }
        self.oldest_end = self.outgoing.front().map_or(u64::MAX, |message| message.end);
    }

    /// The message that holds the next byte to send.
    #[inline]
    pub(super) fn next_message(&mut self) -> Outgoing {
        if !(self.message.start..self.message.end).contains(&self.next) {
            while self.outgoing[self.sending].end <= self.next {
                self.sending += 1;
            }
            self.message = self.outgoing[self.sending];
        }
        self.message
    }
}
