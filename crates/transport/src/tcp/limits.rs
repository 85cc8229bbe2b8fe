//! Windows that have limited the sender, and when: changes of a window that limits no data have no effect.

use etherweave_primitives::Time;

use super::sender::Sender;

/// Limits of a sender [B], 0 where they have delayed no data.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Limits {
    /// Congestion window.
    pub window: u64,
    /// Slow-start threshold.
    pub threshold: u64,
    /// Data beyond the first unacknowledged byte that the receiver has room for.
    pub receive_window: u64,
    /// Send buffer that autotuning allows.
    pub send_buffer: u64,
}

impl Sender {
    /// Limits that have delayed data, or were lowered, since a time; all of them with a model of the path.
    pub fn limits(&self, since: Time) -> Limits {
        let kept = |at: Time, limit: u64| if at >= since || self.congestion.is_by_model() { limit } else { 0 };
        Limits {
            window: kept(self.limited.window, self.congestion.window()),
            threshold: kept(self.limited.window, self.congestion.threshold()),
            receive_window: kept(self.limited.receive_window, self.window_end - self.scoreboard.una()),
            send_buffer: kept(self.limited.send_buffer, self.buffer.limit()),
        }
    }

    /// Notes the windows that have no room for so many bytes.
    pub(super) fn note_windows(&mut self, now: Time, bytes: u64) {
        if self.congestion.window() < self.scoreboard.in_flight() + bytes {
            self.limited.window = now;
        }
        if self.window_end < self.scoreboard.sent_to() + bytes {
            self.limited.receive_window = now;
        }
    }

    /// Notes a congestion window that is smaller than before.
    pub(super) fn note_lowered(&mut self, now: Time, before: u64) {
        if self.congestion.window() < before {
            self.limited.window = now;
        }
    }
}
