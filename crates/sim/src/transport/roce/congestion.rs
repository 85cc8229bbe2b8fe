//! Congestion control of a reliable connection: none, or one of these.

use etherweave_primitives::{BitRate, Duration, Time};

use super::selective::Progress;
use crate::params::RoceParams;
use crate::transport::dcqcn::RateLimiter;
use crate::transport::hpcc::LinkWindow;
use crate::transport::mark_window::MarkWindow;
use crate::transport::swift::DelayWindow;
use crate::transport::telemetry::PathTelemetry;

/// See the module.
pub(crate) enum Congestion {
    Dcqcn(RateLimiter),
    Dctcp(MarkWindow),
    Hpcc(LinkWindow),
    Swift(DelayWindow),
}

/// What an acknowledgement says of congestion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feedback {
    /// Newly acknowledged [B].
    pub acked: u64,
    /// All below is acknowledged [offset].
    pub acknowledged: u64,
    /// The next byte to send [offset].
    pub next: u64,
    /// Since the packet left that it answers.
    pub round_trip: Duration,
    /// Whether that packet was marked.
    pub is_marked: bool,
}

impl Congestion {
    /// What `params` ask for, at a NIC of `rate`.
    pub(super) fn new(params: &RoceParams, rate: BitRate) -> Option<Box<Congestion>> {
        let (packet, window) = (params.path_mtu.get(), params.window.get());
        let dcqcn = params.dcqcn.as_ref().map(|dcqcn| Congestion::Dcqcn(RateLimiter::new(dcqcn, rate)));
        let dctcp = params.dctcp.map(|_| Congestion::Dctcp(MarkWindow::new(packet, window)));
        let hpcc = params.hpcc.as_ref().map(|hpcc| Congestion::Hpcc(LinkWindow::new(hpcc, rate, window)));
        let swift = params.swift.as_ref().map(|swift| Congestion::Swift(DelayWindow::new(swift, packet, window)));
        dcqcn.or(dctcp).or(hpcc).or(swift).map(Box::new)
    }

    /// What may be unacknowledged [B], where that is less than the connection's window.
    pub(super) fn window(&self) -> Option<u64> {
        match self {
            Congestion::Dcqcn(_) => None,
            Congestion::Dctcp(window) => Some(window.bytes()),
            Congestion::Hpcc(hpcc) => Some(hpcc.bytes()),
            Congestion::Swift(swift) => Some(swift.bytes()),
        }
    }

    /// A packet of `wire` bytes goes out: must the next one wait?
    pub(super) fn sent(&mut self, now: Time, wire: u32) -> bool {
        match self {
            Congestion::Dcqcn(limiter) => limiter.sent(now, wire),
            Congestion::Dctcp(_) => false,
            Congestion::Hpcc(hpcc) => hpcc.sent(now, wire),
            Congestion::Swift(swift) => swift.sent(now),
        }
    }

    /// Whether switches may mark its packets.
    pub(super) fn heeds_marks(&self) -> bool {
        match self {
            Congestion::Dcqcn(_) | Congestion::Dctcp(_) => true,
            Congestion::Hpcc(_) | Congestion::Swift(_) => false,
        }
    }

    /// When to ask next whether a packet may go.
    pub(super) fn next_at(&self) -> Time {
        match self {
            Congestion::Dcqcn(limiter) => limiter.next_at(),
            Congestion::Dctcp(_) => Time::ZERO,
            Congestion::Hpcc(hpcc) => hpcc.paced_until(),
            Congestion::Swift(swift) => swift.paced_until(),
        }
    }

    /// Whether the next packet may go.
    pub(super) fn is_open(&mut self, now: Time) -> bool {
        match self {
            Congestion::Dcqcn(limiter) => limiter.is_open(now),
            Congestion::Dctcp(_) | Congestion::Hpcc(_) | Congestion::Swift(_) => self.next_at() <= now,
        }
    }

    /// Takes an acknowledgement.
    pub(super) fn acknowledged(&mut self, now: Time, feedback: &Feedback) {
        match self {
            Congestion::Dcqcn(_) | Congestion::Hpcc(_) => {}
            Congestion::Dctcp(window) => window.acknowledged(feedback),
            Congestion::Swift(swift) if feedback.acked > 0 => {
                swift.acknowledged(now, feedback.acked, feedback.round_trip);
            }
            Congestion::Swift(_) => {}
        }
    }

    /// Takes what switches wrote into the packet that an acknowledgement of all below `acknowledged` answers; `next` is
    /// the next byte to send.
    pub(super) fn measured(&mut self, path: &PathTelemetry, acknowledged: u64, next: u64) {
        match self {
            Congestion::Hpcc(hpcc) => hpcc.acknowledged(path, acknowledged, next),
            Congestion::Dcqcn(_) | Congestion::Dctcp(_) | Congestion::Swift(_) => {}
        }
    }

    /// A notification has come.
    pub(super) fn notified(&mut self, now: Time) {
        match self {
            Congestion::Dcqcn(limiter) => limiter.congestion(now),
            Congestion::Dctcp(_) | Congestion::Hpcc(_) | Congestion::Swift(_) => {}
        }
    }

    /// A packet was lost.
    pub(super) fn lost(&mut self, now: Time, progress: Progress) {
        match self {
            Congestion::Dcqcn(_) | Congestion::Hpcc(_) => {}
            Congestion::Dctcp(window) => window.lost(progress.acknowledged, progress.next),
            Congestion::Swift(swift) => swift.lost(now),
        }
    }

    /// The retransmission timer has expired.
    pub(super) fn timed_out(&mut self, now: Time) {
        match self {
            Congestion::Dcqcn(_) | Congestion::Hpcc(_) => {}
            Congestion::Dctcp(window) => window.timed_out(),
            Congestion::Swift(swift) => swift.timed_out(now),
        }
    }

    /// The rate at `now`, where there is one.
    pub(super) fn rate_at(&self, now: Time) -> Option<BitRate> {
        match self {
            Congestion::Dcqcn(limiter) => Some(limiter.rate_at(now)),
            Congestion::Dctcp(_) => None,
            Congestion::Hpcc(hpcc) => Some(hpcc.rate()),
            Congestion::Swift(swift) => Some(swift.rate()),
        }
    }
}
