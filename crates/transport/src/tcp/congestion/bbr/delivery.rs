//! Delivery rate of a path (`net/ipv4/tcp_rate.c` of Linux; the IETF draft on delivery rate estimation).

use std::collections::VecDeque;

use etherweave_primitives::{Duration, Time};

/// A second [ps].
pub(super) const S: u64 = 1_000_000_000_000;

#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Delivered {
    pub(in crate::tcp) now: Time,
    /// Newly known to have arrived [B].
    pub(in crate::tcp) bytes: u64,
    /// Acknowledged up to here [offset].
    pub(in crate::tcp) una: u64,
    /// Bytes in the network before the ACK and after [B].
    pub(in crate::tcp) in_flight_before: u64,
    pub(in crate::tcp) in_flight: u64,
    pub(in crate::tcp) round_trip: Duration,
    /// Whether something counts as lost.
    pub(in crate::tcp) has_loss: bool,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    end: u64,
    at: Time,
    /// When the first segment was sent of what its sample counts.
    first_at: Time,
    /// Bytes that were delivered when it left, and since when [B].
    delivered: u64,
    delivered_at: Time,
    is_limited: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RateSample {
    /// [B/s]
    pub(super) rate: u64,
    /// Bytes that were delivered when the segment left that has now arrived [B].
    pub(super) delivered_before: u64,
    /// Whether the application had nothing more to send.
    pub(super) is_limited: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Deliveries {
    total: u64,
    at: Time,
    first_at: Time,
    /// Samples are limited by the application until so much is delivered.
    limited_until: u64,
    segments: VecDeque<Sent>,
}

impl Deliveries {
    /// Delivered so far [B].
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Takes a segment up to `end`; the first after a silence starts the clocks.
    pub(super) fn sent(&mut self, now: Time, end: u64, is_first: bool) {
        if is_first {
            (self.first_at, self.at) = (now, now);
        }
        // One that is sent again has no second entry: what it repairs is acknowledged with what follows.
        if self.segments.back().is_some_and(|last| last.end >= end) {
            return;
        }
        let is_limited = self.total < self.limited_until;
        let (first_at, delivered, delivered_at) = (self.first_at, self.total, self.at);
        self.segments.push_back(Sent { end, at: now, first_at, delivered, delivered_at, is_limited });
    }

    /// Nothing more to send, with `in_flight` bytes out.
    pub(super) fn application_limits(&mut self, in_flight: u64) {
        self.limited_until = (self.total + in_flight).max(1);
    }

    /// Takes an ACK: what was delivered from when its newest segment left, in the longer of the times between sending
    /// and between arriving.
    pub(super) fn on_ack(&mut self, delivered: &Delivered) -> Option<RateSample> {
        if delivered.bytes > 0 {
            (self.total, self.at) = (self.total + delivered.bytes, delivered.now);
        }
        let mut newest = None;
        while self.segments.front().is_some_and(|segment| segment.end <= delivered.una) {
            newest = self.segments.pop_front();
        }
        let segment = newest?;
        self.first_at = segment.at;
        let (sending, arriving) = (segment.at.since(segment.first_at), self.at.since(segment.delivered_at));
        let interval = sending.max(arriving).as_ps().max(1);
        let bytes = u128::from(self.total - segment.delivered);
        let rate = (bytes * u128::from(S) / u128::from(interval)) as u64;
        Some(RateSample { rate, delivered_before: segment.delivered, is_limited: segment.is_limited })
    }
}
