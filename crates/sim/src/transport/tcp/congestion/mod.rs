//! The congestion window: slow start, avoidance by algorithm, reduction.

mod bbr;
mod cubic;
mod dctcp;
mod hystart;
mod new_reno;
mod progress;

use etherweave_primitives::{Duration, Time};

use super::params::{CongestionControl, TcpParams};
use bbr::Bbr;
pub(super) use bbr::Delivered;
use cubic::Cubic;
pub(in crate::transport) use dctcp::Dctcp;
use hystart::HyStart;
use new_reno::NewReno;
pub(super) use progress::AckProgress;

/// Least slow-start threshold [segments] (RFC 5681, equation 4).
const THRESHOLD_MIN: u64 = 2;

#[derive(Clone, Debug)]
enum Algorithm {
    NewReno(NewReno),
    Cubic(Cubic),
    Dctcp(Dctcp),
    Bbr(Box<Bbr>),
}

/// What calls for a smaller window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sign {
    Loss,
    Mark,
}

/// Congestion window and slow-start threshold [B].
#[derive(Clone, Debug)]
pub(super) struct Congestion {
    window: u64,
    threshold: u64,
    initial: u64,
    mss: u64,
    algorithm: Algorithm,
    hystart: Option<HyStart>,
}

impl Congestion {
    pub(super) fn new(params: &TcpParams) -> Congestion {
        let initial = u64::from(params.initial_window) * params.segment();
        let (algorithm, hystart) = match params.congestion_control {
            CongestionControl::NewReno => (Algorithm::NewReno(NewReno::default()), None),
            CongestionControl::Dctcp => (Algorithm::Dctcp(Dctcp::default()), None),
            CongestionControl::Bbr => (Algorithm::Bbr(Box::new(Bbr::new(initial, params.segment()))), None),
            CongestionControl::Cubic => (
                Algorithm::Cubic(Cubic::default()),
                params.hystart.then(|| HyStart::new(params.hystart_clock, params.segment())),
            ),
        };
        Congestion { window: initial, threshold: u64::MAX, initial, mss: params.segment(), algorithm, hystart }
    }

    /// Congestion window (cwnd) [B], at least one segment.
    pub(super) fn window(&self) -> u64 {
        self.window
    }

    /// Slow-start threshold (ssthresh) [B].
    pub(super) fn threshold(&self) -> u64 {
        self.threshold
    }

    /// Initial window [B].
    pub(super) fn initial(&self) -> u64 {
        self.initial
    }

    /// Sets the window, which never falls below one segment.
    pub(super) fn set_window(&mut self, window: u64) {
        self.window = window.max(self.mss);
    }

    /// Grows with an ACK of new data: by what was acknowledged up to the threshold (RFC 5681, equation 2,
    /// with byte counting), by the algorithm beyond.
    pub(super) fn grow(&mut self, progress: AckProgress) {
        if self.is_by_model() {
            return;
        }
        let mut acked = progress.acked;
        if self.window < self.threshold {
            if self.hystart.as_mut().is_some_and(|hystart| hystart.on_ack(&progress, self.window)) {
                self.threshold = self.window;
            }
            let step = acked.min(self.threshold.saturating_sub(self.window));
            self.window += step;
            acked -= step;
        }
        if acked > 0 {
            self.window += match &mut self.algorithm {
                Algorithm::NewReno(reno) => reno.increase(self.window, self.mss, acked),
                Algorithm::Cubic(cubic) => cubic.increase(self.window, self.mss, acked, &progress),
                Algorithm::Dctcp(dctcp) => dctcp.increase(self.window, self.mss, acked),
                Algorithm::Bbr(_) => 0,
            };
        }
    }

    /// Takes every ACK of `acked` bytes, for algorithms that count marks.
    pub(super) fn observe(&mut self, acked: u64, is_marked: bool, una: u64, sent_to: u64) {
        if let Algorithm::Dctcp(dctcp) = &mut self.algorithm {
            dctcp.observe(acked, is_marked, una, sent_to);
        }
    }

    /// Whether rate and window follow a model of the path, not losses and marks.
    pub(super) fn is_by_model(&self) -> bool {
        matches!(self.algorithm, Algorithm::Bbr(_))
    }

    /// Takes every ACK, for algorithms with a model of the path.
    pub(super) fn on_delivery(&mut self, delivered: &Delivered) {
        if let Algorithm::Bbr(bbr) = &mut self.algorithm {
            self.window = bbr.on_ack(delivered, self.window).max(self.mss);
        }
    }

    /// Takes a segment of `len` bytes up to `end`, before which `in_flight` bytes are out.
    pub(super) fn sent(&mut self, now: Time, end: u64, len: u64, in_flight: u64) {
        if let Algorithm::Bbr(bbr) = &mut self.algorithm {
            bbr.sent(now, end, len, in_flight);
        }
    }

    /// The application has nothing more to send.
    pub(super) fn application_limits(&mut self, in_flight: u64) {
        if let Algorithm::Bbr(bbr) = &mut self.algorithm {
            bbr.application_limits(in_flight);
        }
    }

    /// When the next segment may go, where segments are paced.
    pub(super) fn release_at(&self) -> Option<Time> {
        match &self.algorithm {
            Algorithm::Bbr(bbr) => Some(bbr.release_at()),
            Algorithm::NewReno(_) | Algorithm::Cubic(_) | Algorithm::Dctcp(_) => None,
        }
    }

    /// How large a segment is worth handing down [B], where the algorithm says that.
    pub(super) fn quantum(&self) -> Option<u64> {
        match &self.algorithm {
            Algorithm::Bbr(bbr) => Some(bbr.quantum()),
            Algorithm::NewReno(_) | Algorithm::Cubic(_) | Algorithm::Dctcp(_) => None,
        }
    }

    /// A recovery has ended.
    pub(super) fn recovered(&mut self) {
        if let Algorithm::Bbr(bbr) = &mut self.algorithm {
            self.window = bbr.restored(self.window);
        }
    }

    /// Lowers the threshold after a sign of congestion; the window follows by rate reduction.
    pub(super) fn reduce(&mut self, sign: Sign) {
        let reduced = match &mut self.algorithm {
            Algorithm::NewReno(reno) => reno.reduce(self.window),
            Algorithm::Cubic(cubic) => cubic.reduce(self.window, self.mss),
            Algorithm::Dctcp(dctcp) if sign == Sign::Mark => dctcp.reduce_for_marks(self.window),
            Algorithm::Dctcp(dctcp) => dctcp.reduce(self.window),
            Algorithm::Bbr(bbr) => return bbr.save(self.window),
        };
        self.threshold = reduced.max(THRESHOLD_MIN * self.mss);
    }

    /// Undoes a reduction.
    pub(super) fn restore(&mut self, window: u64, threshold: u64) {
        self.window = self.window.max(window);
        self.threshold = self.threshold.max(threshold);
    }

    /// Starts over from one segment after a timeout (RFC 5681, section 3.1).
    pub(super) fn restart(&mut self) {
        if let Algorithm::Bbr(bbr) = &mut self.algorithm {
            bbr.save(self.window);
        }
        self.window = self.mss;
        match &mut self.algorithm {
            Algorithm::Bbr(_) => {}
            Algorithm::NewReno(reno) => reno.restart(),
            Algorithm::Cubic(cubic) => cubic.restart(),
            Algorithm::Dctcp(dctcp) => dctcp.restart(),
        }
        if let Some(hystart) = &mut self.hystart {
            hystart.restart();
        }
    }

    /// Lets the window decay to `window`, remembering three quarters of it in the threshold (RFC 2861, section 3.2).
    pub(super) fn decay(&mut self, window: u64) {
        if self.is_by_model() {
            return;
        }
        self.threshold = self.threshold.max(self.window / 4 * 3);
        self.set_window(window.min(self.window));
    }

    /// Takes a pause of the application out of the algorithm's clock (RFC 9438, section 5.8).
    pub(super) fn skip(&mut self, now: Time, idle: Duration) {
        match &mut self.algorithm {
            Algorithm::NewReno(_) | Algorithm::Dctcp(_) | Algorithm::Bbr(_) => {}
            Algorithm::Cubic(cubic) => cubic.skip(now, idle),
        }
    }
}
