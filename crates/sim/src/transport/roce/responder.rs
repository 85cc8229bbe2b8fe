//! The responder: what has arrived, and what it answers.

use etherweave_primitives::Time;

use super::{Acknowledgement, following};
use crate::params::RoceParams;

/// A data packet as it arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataArrival {
    /// First byte [offset in the stream].
    pub offset: u64,
    /// Payload [B].
    pub payload: u32,
    /// Last of its message.
    pub is_last: bool,
}

/// What the host sends in answer to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Nothing yet.
    None,
    /// An acknowledgement.
    Positive,
    /// A negative acknowledgement: a packet is missing.
    Negative,
}

/// What a packet has brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reception {
    /// What is sent back.
    pub answer: Answer,
    /// Bytes that are now there in order [B].
    pub bytes: u64,
}

/// One direction of a connection, at its destination.
#[derive(Default)]
pub struct Responder {
    /// Next byte to receive, and its packet sequence number.
    expected: u64,
    expected_sequence: u32,
    /// Packets since the last answer.
    unacknowledged_packets: u32,
    last_notification: Option<Time>,
    is_nak_sent: bool,
}

impl Responder {
    /// Takes a data packet.
    #[inline]
    pub fn on_data(&mut self, arrival: &DataArrival, params: &RoceParams) -> Reception {
        if arrival.offset > self.expected {
            let is_reported = std::mem::replace(&mut self.is_nak_sent, true);
            return Reception { answer: if is_reported { Answer::None } else { Answer::Negative }, bytes: 0 };
        }
        if arrival.offset < self.expected {
            return Reception { answer: Answer::Positive, bytes: 0 };
        }
        self.expected += u64::from(arrival.payload);
        self.expected_sequence = following(self.expected_sequence);
        self.is_nak_sent = false;
        self.unacknowledged_packets += 1;
        let is_due = arrival.is_last || self.unacknowledged_packets >= params.ack_every;
        let answer = if is_due { Answer::Positive } else { Answer::None };
        Reception { answer, bytes: u64::from(arrival.payload) }
    }

    /// The answer that stands for everything received so far.
    #[inline]
    pub fn acknowledge(&mut self, is_negative: bool) -> Acknowledgement {
        self.unacknowledged_packets = 0;
        Acknowledgement { cumulative: self.expected, sequence: self.expected_sequence, is_negative }
    }

    /// A marked packet has arrived: whether to notify the requester, at most once an interval.
    pub fn notifies_congestion(&mut self, now: Time, params: &RoceParams) -> bool {
        let Some(dcqcn) = &params.dcqcn else { return false };
        let is_due = self.last_notification.is_none_or(|last| now.since(last) >= dcqcn.cnp_interval);
        if is_due {
            self.last_notification = Some(now);
        }
        is_due
    }

    /// Received in order so far [offset].
    pub fn received(&self) -> u64 {
        self.expected
    }
}
