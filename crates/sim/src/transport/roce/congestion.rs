//! Congestion control of a reliable connection: none, or one of these.

use etherweave_primitives::{BitRate, Duration, Time};

use crate::params::RoceParams;
use crate::transport::dcqcn::RateLimiter;
use crate::transport::swift::DelayWindow;

/// See the module.
pub(crate) enum Congestion {
    Dcqcn(RateLimiter),
    Swift(DelayWindow),
}

impl Congestion {
    /// What `params` ask for, at a NIC of `rate`.
    pub(super) fn new(params: &RoceParams, rate: BitRate) -> Option<Box<Congestion>> {
        let dcqcn = params.dcqcn.as_ref().map(|dcqcn| Congestion::Dcqcn(RateLimiter::new(dcqcn, rate)));
        let window = |swift| DelayWindow::new(swift, params.path_mtu.get(), params.window.get());
        let swift = params.swift.as_ref().map(|swift| Congestion::Swift(window(swift)));
        dcqcn.or(swift).map(Box::new)
    }

    /// What may be unacknowledged [B], where that is less than the connection's window.
    pub(super) fn window(&self) -> Option<u64> {
        match self {
            Congestion::Dcqcn(_) => None,
            Congestion::Swift(swift) => Some(swift.bytes()),
        }
    }

    /// A packet of `wire` bytes goes out: must the next one wait?
    pub(super) fn sent(&mut self, now: Time, wire: u32) -> bool {
        match self {
            Congestion::Dcqcn(limiter) => limiter.sent(now, wire),
            Congestion::Swift(swift) => swift.sent(now),
        }
    }

    /// Whether switches may mark its packets.
    pub(super) fn heeds_marks(&self) -> bool {
        matches!(self, Congestion::Dcqcn(_))
    }

    /// When to ask next whether a packet may go.
    pub(super) fn next_at(&self) -> Time {
        match self {
            Congestion::Dcqcn(limiter) => limiter.next_at(),
            Congestion::Swift(swift) => swift.paced_until(),
        }
    }

    /// Whether the next packet may go.
    pub(super) fn is_open(&mut self, now: Time) -> bool {
        match self {
            Congestion::Dcqcn(limiter) => limiter.is_open(now),
            Congestion::Swift(swift) => swift.paced_until() <= now,
        }
    }

    /// Takes an acknowledgement of `acked` new bytes, the latest of which took `round_trip`.
    pub(super) fn acknowledged(&mut self, now: Time, acked: u64, round_trip: Duration) {
        match self {
            Congestion::Swift(swift) if acked > 0 => swift.acknowledged(now, acked, round_trip),
            Congestion::Swift(_) | Congestion::Dcqcn(_) => {}
        }
    }

    /// A notification has come.
    pub(super) fn notified(&mut self, now: Time) {
        match self {
            Congestion::Dcqcn(limiter) => limiter.congestion(now),
            Congestion::Swift(_) => {}
        }
    }

    /// A packet was lost.
    pub(super) fn lost(&mut self, now: Time) {
        match self {
            Congestion::Dcqcn(_) => {}
            Congestion::Swift(swift) => swift.lost(now),
        }
    }

    /// The retransmission timer has expired.
    pub(super) fn timed_out(&mut self, now: Time) {
        match self {
            Congestion::Dcqcn(_) => {}
            Congestion::Swift(swift) => swift.timed_out(now),
        }
    }

    /// The rate at `now`.
    pub(super) fn rate_at(&self, now: Time) -> BitRate {
        match self {
            Congestion::Dcqcn(limiter) => limiter.rate_at(now),
            Congestion::Swift(swift) => swift.rate(),
        }
    }
}
