//! The requester: outgoing messages, what of them is acknowledged, and when to send again.

use std::collections::VecDeque;

use etherweave_primitives::{BitRate, Time};

use super::{Acknowledgement, Operation, following};
use crate::params::RoceParams;
use crate::transport::dcqcn::RateLimiter;

/// An outgoing message.
#[derive(Clone, Copy, Default, Debug)]
struct Outgoing {
    start: u64,
    end: u64,
    operation: Operation,
}

/// A data packet to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataPacket {
    /// First byte [offset in the stream].
    pub offset: u64,
    /// Payload [B].
    pub payload: u32,
    /// Packet sequence number.
    pub sequence: u32,
    /// How its message goes over the wire.
    pub operation: Operation,
    /// First of its message.
    pub is_first: bool,
    /// Last of its message.
    pub is_last: bool,
    /// Sent before.
    pub is_retransmission: bool,
}

/// One direction of a connection, at its source. What every packet needs is in the first two cache lines.
#[derive(Default)]
#[repr(C)]
pub struct Requester {
    /// Bytes handed over by the owner.
    posted: u64,
    /// Next byte to send.
    next: u64,
    /// All below is acknowledged.
    acknowledged: u64,
    /// Packet sequence numbers of `next` and `acknowledged`.
    sequence: (u32, u32),
    /// The message that `next` lay in when it was last looked up.
    message: Outgoing,
    /// Farthest byte ever sent: what lies below is a retransmission.
    sent_max: u64,
    /// Where the first of `outgoing` ends.
    oldest_end: u64,
    /// When the requester last made progress.
    last_progress: Time,
    packets: u64,
    retransmitted_packets: u64,
    /// Congestion control.
    limiter: Option<Box<RateLimiter>>,
    /// Which of the outgoing messages `next` lies in, or one before.
    sending: usize,
    timeouts: u64,
    is_timer_set: bool,
    is_pacing: bool,
    /// Messages not yet acknowledged.
    outgoing: VecDeque<Outgoing>,
}

impl Requester {
    /// A connection of a NIC of `rate`.
    pub fn new(params: &RoceParams, rate: BitRate) -> Requester {
        let limiter = params.dcqcn.as_ref().map(|dcqcn| Box::new(RateLimiter::new(dcqcn, rate)));
        Requester { limiter, ..Requester::default() }
    }

    /// Adds a message to the stream; returns where it ends.
    pub fn post(&mut self, now: Time, bytes: u64, operation: Operation) -> u64 {
        if self.acknowledged == self.posted {
            self.last_progress = now;
        }
        let start = self.posted;
        self.posted += bytes;
        if self.outgoing.is_empty() {
            self.oldest_end = self.posted;
        }
        self.outgoing.push_back(Outgoing { start, end: self.posted, operation });
        self.posted
    }

    /// Whether window and rate let a packet out now.
    #[inline]
    pub fn may_send(&self, params: &RoceParams) -> bool {
        !self.is_pacing && self.next < self.posted && self.next - self.acknowledged < params.window.get()
    }

    /// The next packet that window and rate allow. The host reports its size to [`Requester::charge`].
    #[inline]
    pub fn next_packet(&mut self, params: &RoceParams) -> Option<DataPacket> {
        if !self.may_send(params) {
            return None;
        }
        let message = self.next_message();
        let (offset, sequence) = (self.next, self.sequence.0);
        let payload = params.path_mtu.get().min(message.end - offset);
        let is_retransmission = offset < self.sent_max;
        self.retransmitted_packets += u64::from(is_retransmission);
        self.next += payload;
        self.sequence.0 = following(sequence);
        self.sent_max = self.sent_max.max(self.next);
        self.packets += 1;
        Some(DataPacket {
            offset,
            payload: payload as u32,
            sequence,
            operation: message.operation,
            is_first: offset == message.start,
            is_last: self.next == message.end,
            is_retransmission,
        })
    }

    /// Charges `wire` bytes to the rate, which may delay the next packet. Whether there is a rate: such packets may be
    /// marked.
    #[inline]
    pub fn charge(&mut self, now: Time, wire: u32) -> bool {
        let Some(limiter) = &mut self.limiter else { return false };
        self.is_pacing = limiter.sent(now, wire);
        true
    }

    /// When [`Requester::resume`] is due.
    #[inline]
    pub fn paced_until(&self) -> Option<Time> {
        self.limiter.as_ref().filter(|_| self.is_pacing).map(|limiter| limiter.next_at())
    }

    /// The rate lets the next packet out.
    pub fn resume(&mut self) {
        self.is_pacing = false;
    }

    /// Takes an acknowledgement.
    #[inline]
    pub fn on_acknowledgement(&mut self, now: Time, answer: &Acknowledgement) {
        self.advance(now, answer);
        if answer.is_negative {
            self.go_back();
        }
    }

    /// Takes a congestion notification.
    pub fn on_congestion(&mut self, now: Time) {
        if let Some(limiter) = &mut self.limiter {
            limiter.congestion(now);
        }
    }

    /// Starts the timer after a transmission: when [`Requester::on_timer`] is due, unless it runs.
    #[inline]
    pub fn start_timer(&mut self, now: Time, params: &RoceParams) -> Option<Time> {
        let starts = !std::mem::replace(&mut self.is_timer_set, true);
        starts.then(|| now + params.retransmission_timeout)
    }

    /// Starts again when nothing has been acknowledged for too long. Returns when it is due again.
    pub fn on_timer(&mut self, now: Time, params: &RoceParams) -> Option<Time> {
        let timeout = params.retransmission_timeout;
        if self.next == self.acknowledged {
            self.is_timer_set = false;
            return None;
        }
        if now.since(self.last_progress) >= timeout {
            self.timeouts += 1;
            self.last_progress = now;
            self.go_back();
        }
        Some(self.last_progress + timeout)
    }

    /// Bytes acknowledged so far [offset].
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Data packets sent, again included.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Data packets sent again.
    pub fn retransmitted_packets(&self) -> u64 {
        self.retransmitted_packets
    }

    /// Expiries of the retransmission timer.
    pub fn timeouts(&self) -> u64 {
        self.timeouts
    }

    fn go_back(&mut self) {
        self.next = self.acknowledged;
        self.sequence.0 = self.sequence.1;
        self.sending = 0;
    }

    /// Advances to a cumulative acknowledgement.
    #[inline]
    fn advance(&mut self, now: Time, answer: &Acknowledgement) {
        let offset = answer.cumulative;
        if offset <= self.acknowledged {
            return;
        }
        self.acknowledged = offset;
        self.sequence.1 = answer.sequence;
        self.last_progress = now;
        if self.next < offset {
            self.next = offset;
            self.sequence.0 = answer.sequence;
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
    fn next_message(&mut self) -> Outgoing {
        if !(self.message.start..self.message.end).contains(&self.next) {
            while self.outgoing[self.sending].end <= self.next {
                self.sending += 1;
            }
            self.message = self.outgoing[self.sending];
        }
        self.message
    }
}
