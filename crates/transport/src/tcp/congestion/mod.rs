//! The congestion window: slow start, avoidance by algorithm, reduction.

/// Calls a macro with every congestion control of TCP: what a scenario calls it, and the type that
/// implements its [`WindowAlgorithm`]. Schema, checks, dispatch and the tests that transports share
/// follow from this list.
macro_rules! tcp_congestion_controls {
    ($define:ident) => {
        $define! {
            /// CUBIC (RFC 9438).
            Cubic(cubic::Cubic);
            /// Reno's window (RFC 5681).
            NewReno(new_reno::NewReno);
            /// DCTCP (RFC 8257). Needs `ecn`, and switches that mark.
            Dctcp(dctcp::Dctcp);
            /// BBR, version 1, with pacing.
            Bbr(Box<bbr::Bbr>);
        }
    };
}

mod bbr;
mod cubic;
mod dctcp;
mod hystart;
mod new_reno;
mod progress;

use etherweave_primitives::{Duration, Time};

use super::params::{CongestionControl, TcpParams};
pub(super) use bbr::Delivered;
pub(crate) use dctcp::Dctcp;
use hystart::HyStart;
pub(super) use progress::AckProgress;

/// Least slow-start threshold [segments] (RFC 5681, equation 4).
const THRESHOLD_MIN: u64 = 2;

/// Sign of congestion that calls for a smaller window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sign {
    Loss,
    Mark,
}

/// Decisions of an algorithm about the window of a connection. A member writes what it needs of it.
trait WindowAlgorithm: Sized {
    /// Whether rate and window follow a model of the path, not losses and marks.
    const IS_BY_MODEL: bool = false;
    /// Whether it leaves slow start by HyStart, where parameters have that.
    const LEAVES_BY_HYSTART: bool = false;
    /// Whether it needs marks, and receivers that echo each of them.
    const NEEDS_MARKS: bool = false;

    fn start(params: &TcpParams) -> Self;

    /// Growth of the window in avoidance after an ACK of `acked` bytes [B].
    fn increase(&mut self, _window: u64, _mss: u64, _acked: u64, _progress: &AckProgress) -> u64 {
        0
    }

    /// Takes every ACK of `acked` bytes.
    fn observe(&mut self, _acked: u64, _is_marked: bool, _una: u64, _sent_to: u64) {}

    /// Takes every ACK; the window by its model of the path [B], if it has one.
    fn on_delivery(&mut self, _delivered: &Delivered, _window: u64) -> Option<u64> {
        None
    }

    /// Takes a segment of `len` bytes up to `end`, before which `in_flight` bytes are out.
    fn sent(&mut self, _now: Time, _end: u64, _len: u64, _in_flight: u64) {}

    /// The application has nothing more to send.
    fn application_limits(&mut self, _in_flight: u64) {}

    /// When the next segment may go, where segments are paced.
    fn release_at(&self) -> Option<Time> {
        None
    }

    /// How large a segment is worth handing down [B], where it says that.
    fn quantum(&self) -> Option<u64> {
        None
    }

    /// A recovery has ended: the window to go on with [B].
    fn recovered(&mut self, window: u64) -> u64 {
        window
    }

    /// Threshold after a sign of congestion [B]; none if it stays.
    fn reduce(&mut self, window: u64, mss: u64, sign: Sign) -> Option<u64>;

    /// Starts over after a timeout, before which the window was `window`.
    fn restart(&mut self, window: u64);

    /// Takes a pause of the application out of its clock (RFC 9438, section 5.8).
    fn skip(&mut self, _now: Time, _idle: Duration) {}
}

/// Defines the algorithms of connections from the list, and what their names say of them.
macro_rules! define_algorithms {
    ($($(#[$doc:meta])* $Name:ident($Algorithm:ty);)*) => {
        impl CongestionControl {
            /// Whether it needs marks, and receivers that echo each of them.
            pub fn needs_marks(self) -> bool {
                match self {
                    $(CongestionControl::$Name => <$Algorithm as WindowAlgorithm>::NEEDS_MARKS,)*
                }
            }

            /// Whether it leaves slow start by HyStart, where parameters have that.
            pub fn leaves_by_hystart(self) -> bool {
                match self {
                    $(CongestionControl::$Name => <$Algorithm as WindowAlgorithm>::LEAVES_BY_HYSTART,)*
                }
            }
        }

        #[derive(Clone, Debug)]
        enum Algorithm {
            $($Name($Algorithm),)*
        }

        /// Calls a function of whichever it is.
        macro_rules! each {
            ($own:expr, $algorithm:ident => $call:expr) => {
                match $own {
                    $(Algorithm::$Name($algorithm) => $call,)*
                }
            };
        }

        impl Algorithm {
            fn new(params: &TcpParams) -> Algorithm {
                match params.congestion_control {
                    $(CongestionControl::$Name => {
                        Algorithm::$Name(<$Algorithm as WindowAlgorithm>::start(params))
                    })*
                }
            }

            fn is_by_model(&self) -> bool {
                match self {
                    $(Algorithm::$Name(_) => <$Algorithm as WindowAlgorithm>::IS_BY_MODEL,)*
                }
            }
        }
    };
}

tcp_congestion_controls!(define_algorithms);

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
        let (initial, mss) = (params.initial_bytes(), params.segment());
        let has_hystart = params.hystart && params.congestion_control.leaves_by_hystart();
        let hystart = has_hystart.then(|| HyStart::new(params.hystart_clock, mss));
        Congestion { window: initial, threshold: u64::MAX, initial, mss, algorithm: Algorithm::new(params), hystart }
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
            let (window, mss) = (self.window, self.mss);
            self.window +=
                each!(&mut self.algorithm, own => WindowAlgorithm::increase(own, window, mss, acked, &progress));
        }
    }

    /// Takes every ACK of `acked` bytes, for algorithms that count marks.
    pub(super) fn observe(&mut self, acked: u64, is_marked: bool, una: u64, sent_to: u64) {
        each!(&mut self.algorithm, own => WindowAlgorithm::observe(own, acked, is_marked, una, sent_to));
    }

    /// Whether rate and window follow a model of the path, not losses and marks.
    pub(super) fn is_by_model(&self) -> bool {
        self.algorithm.is_by_model()
    }

    /// Takes every ACK, for algorithms with a model of the path.
    pub(super) fn on_delivery(&mut self, delivered: &Delivered) {
        let window = self.window;
        if let Some(window) = each!(&mut self.algorithm, own => own.on_delivery(delivered, window)) {
            self.set_window(window);
        }
    }

    /// See [`WindowAlgorithm::sent`].
    pub(super) fn sent(&mut self, now: Time, end: u64, len: u64, in_flight: u64) {
        each!(&mut self.algorithm, own => own.sent(now, end, len, in_flight));
    }

    /// See [`WindowAlgorithm::application_limits`].
    pub(super) fn application_limits(&mut self, in_flight: u64) {
        each!(&mut self.algorithm, own => own.application_limits(in_flight));
    }

    /// See [`WindowAlgorithm::release_at`].
    pub(super) fn release_at(&self) -> Option<Time> {
        each!(&self.algorithm, own => own.release_at())
    }

    /// See [`WindowAlgorithm::quantum`].
    pub(super) fn quantum(&self) -> Option<u64> {
        each!(&self.algorithm, own => own.quantum())
    }

    pub(super) fn recovered(&mut self) {
        let window = self.window;
        self.window = each!(&mut self.algorithm, own => own.recovered(window));
    }

    /// Lowers the threshold after a sign of congestion; the window follows by rate reduction.
    pub(super) fn reduce(&mut self, sign: Sign) {
        let (window, mss) = (self.window, self.mss);
        if let Some(reduced) = each!(&mut self.algorithm, own => WindowAlgorithm::reduce(own, window, mss, sign)) {
            self.threshold = reduced.max(THRESHOLD_MIN * self.mss);
        }
    }

    /// Undoes a reduction.
    pub(super) fn restore(&mut self, window: u64, threshold: u64) {
        self.window = self.window.max(window);
        self.threshold = self.threshold.max(threshold);
    }

    /// Starts over from one segment after a timeout (RFC 5681, section 3.1).
    pub(super) fn restart(&mut self) {
        let window = std::mem::replace(&mut self.window, self.mss);
        each!(&mut self.algorithm, own => WindowAlgorithm::restart(own, window));
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

    /// See [`WindowAlgorithm::skip`].
    pub(super) fn skip(&mut self, now: Time, idle: Duration) {
        each!(&mut self.algorithm, own => own.skip(now, idle));
    }
}
