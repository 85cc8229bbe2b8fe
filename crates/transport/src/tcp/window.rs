//! Limits of the sender: send buffer, validation of an unused congestion window.

use etherweave_primitives::{Duration, Time};

use super::{congestion::Congestion, params::TcpParams};

/// TSO builds no larger burst than this; a window that is short of full by less counts as used [B].
const BURST: u64 = 64 << 10;

/// Whether the window held the sender back (as Linux 3.10 judges it): only then may it grow (RFC 7661, section 4.2).
pub(super) fn is_limiting(window: u64, in_flight: u64, mss: u64) -> bool {
    let left = window.saturating_sub(in_flight);
    left <= 3 * mss || (left < BURST && left * 3 < window)
}

/// How the application uses the window (RFC 2861).
#[derive(Clone, Debug)]
pub(super) struct Usage {
    enabled: bool,
    last_send: Time,
    checked: Time,
    /// Most that was out since `checked` [B].
    used: u64,
}

impl Usage {
    pub(super) fn new(params: &TcpParams) -> Usage {
        Usage { enabled: params.slow_start_after_idle, last_send: Time::ZERO, checked: Time::ZERO, used: 0 }
    }

    /// Before the first segment after a silence: halves the window for each timeout that passed in
    /// silence, down to the initial window (RFC 2861, section 3.2; RFC 5681, section 4.1).
    pub(super) fn before_first(&mut self, now: Time, timeout: Duration, congestion: &mut Congestion) {
        let idle = now.since(self.last_send);
        congestion.skip(now, idle);
        if !self.enabled || idle <= timeout {
            return;
        }
        let halvings = (idle.as_ps() / timeout.as_ps().max(1)).min(63);
        let floor = congestion.initial().min(congestion.window());
        congestion.decay((congestion.window() >> halvings).max(floor));
        self.reset(now);
    }

    /// After each segment: a window that was not filled for a timeout goes halfway to what was used.
    pub(super) fn after_send(&mut self, now: Time, outstanding: u64, timeout: Duration, congestion: &mut Congestion) {
        self.last_send = now;
        if outstanding >= congestion.window() {
            return self.reset(now);
        }
        self.used = self.used.max(outstanding);
        if self.enabled && now.since(self.checked) >= timeout {
            let used = self.used.max(congestion.initial());
            if used < congestion.window() {
                congestion.decay((congestion.window() + used) / 2);
            }
            self.reset(now);
        }
    }

    fn reset(&mut self, now: Time) {
        self.checked = now;
        self.used = 0;
    }
}

/// Times at which each limit last delayed data, or was lowered.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct LimitTimes {
    pub window: Time,
    pub receive_window: Time,
    pub send_buffer: Time,
}

/// The send buffer: twice the congestion window, never shrinking, up to its bound (autotuning of Linux).
#[derive(Clone, Debug)]
pub(super) struct SendBuffer {
    limit: u64,
    limit_max: u64,
}

impl SendBuffer {
    pub(super) fn new(params: &TcpParams) -> SendBuffer {
        let mut buffer = SendBuffer { limit: 0, limit_max: params.send_buffer.get() };
        buffer.follow(u64::from(params.initial_window) * params.segment());
        buffer
    }

    pub(super) fn follow(&mut self, window: u64) {
        self.limit = self.limit.max((2 * window).min(self.limit_max));
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit
    }
}
