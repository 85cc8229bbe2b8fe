//! DCTCP over a reliable connection: the window of one, by the law that TCP has too.
//!
//! It opens as large as it may become, for NICs have no slow start but after a timeout.

use etherweave_primitives::Time;

use super::roce::{CongestionControl, Feedback, FreshConnection, Progress, SenderControl};
use super::{state_word::joined, tcp};

/// A window for each connection that shrinks by the share of marked packets: the law of DCTCP, whose only constant, the
/// gain of the share, RFC 8257 sets to 1/16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dctcp {}

/// The window of one connection.
#[derive(Clone, Debug)]
pub struct MarkWindow {
    law: tcp::Dctcp,
    /// Payload of a packet [B].
    packet: u64,
    /// Bytes that may be unacknowledged [B].
    window: u64,
    /// Most of it [B].
    window_max: u64,
    /// Up to it the window grows by all that is acknowledged [B].
    threshold: u64,
    /// The window was cut when all below was out: what is acknowledged of it cuts no more [offset].
    cut_until: u64,
}

impl MarkWindow {
    /// Opens with `window` bytes, in packets of `packet` bytes.
    pub fn new(packet: u64, window: u64) -> MarkWindow {
        let law = tcp::Dctcp::default();
        MarkWindow { law, packet, window, window_max: window, threshold: 0, cut_until: 0 }
    }

    /// Returns the bytes that may be unacknowledged [B]: a packet at least.
    pub fn bytes(&self) -> u64 {
        self.window
    }

    fn cut(&mut self, next: u64, window: u64) {
        self.window = window.max(self.packet);
        self.threshold = self.window;
        self.cut_until = next;
    }
}

impl CongestionControl for MarkWindow {
    type Params = Dctcp;

    fn heeds_marks(_: &Dctcp) -> bool {
        true
    }

    fn start(_: &Dctcp, connection: &FreshConnection) -> MarkWindow {
        MarkWindow::new(connection.packet, connection.window)
    }
}

impl SenderControl for MarkWindow {
    fn repeatable_state(&self, _now: Time, progress: Progress) -> Option<u64> {
        let &MarkWindow { ref law, packet: _, window, window_max: _, threshold, cut_until } = self;
        let cut = (cut_until + 1).saturating_sub(progress.acknowledged);
        Some(joined([law.word(progress.acknowledged), window, threshold, cut]))
    }

    fn window(&self) -> Option<u64> {
        Some(self.bytes())
    }

    fn acknowledged(&mut self, _now: Time, feedback: &Feedback) {
        let Feedback { acked, is_marked, acknowledged, next, .. } = *feedback;
        self.law.observe(acked, is_marked, acknowledged, next);
        if acknowledged <= self.cut_until {
            return;
        }
        if is_marked {
            self.cut(next, self.law.reduce_for_marks(self.window));
        } else if self.window < self.threshold {
            self.window += acked;
        } else {
            self.window += self.law.increase(self.window, self.packet, acked);
        }
        self.window = self.window.min(self.window_max);
    }

    fn lost(&mut self, _now: Time, Progress { acknowledged, next }: Progress) {
        if acknowledged >= self.cut_until {
            let window = self.law.reduce(self.window);
            self.cut(next, window);
        }
    }

    fn timed_out(&mut self, _now: Time) {
        self.threshold = self.law.reduce(self.window);
        self.law.restart();
        (self.window, self.cut_until) = (self.packet, 0);
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Duration;

    use super::*;

    const PACKET: u64 = 1_000;

    fn hundred() -> MarkWindow {
        MarkWindow { window_max: 1_000 * PACKET, ..MarkWindow::new(PACKET, 100 * PACKET) }
    }

    /// Acknowledges packets one by one, all marked or none, with a window of them out behind each.
    fn acknowledge(window: &mut MarkWindow, from: u64, packets: u64, is_marked: bool) {
        for number in from + 1..=from + packets {
            let acknowledged = number * PACKET;
            window.acknowledged(Time::ZERO, &feedback(is_marked, acknowledged, acknowledged + window.bytes()));
        }
    }

    fn feedback(is_marked: bool, acknowledged: u64, next: u64) -> Feedback {
        Feedback { acked: PACKET, acknowledged, next, round_trip: Duration::ZERO, is_marked }
    }

    /// The share begins with 1, so the first mark halves the window, once in a window; a window without marks adds a
    /// packet.
    #[test]
    fn a_window_is_cut_once_and_grows_by_a_packet() {
        let mut window = hundred();
        acknowledge(&mut window, 0, 100, true);
        assert_eq!(window.bytes(), 50 * PACKET);
        // The cut came with 101 packets out in all; the next window without marks adds one.
        acknowledge(&mut window, 100, 51, false);
        assert_eq!(window.bytes(), 51 * PACKET);
    }

    /// alpha = F + (1 - F) (15/16)^n with F = 0. The first acknowledgement ends a window of its own, and 16 windows of
    /// 100 to 115 packets without marks follow; a mark takes half of alpha.
    #[test]
    fn a_rare_mark_takes_little() {
        let mut window = hundred();
        acknowledge(&mut window, 0, (100..116).sum(), false);
        let before = window.bytes();
        window.acknowledged(Time::ZERO, &feedback(true, 1 << 40, 1 << 41));
        let share = 1.0 - window.bytes() as f64 / before as f64;
        let alpha = (15.0 / 16.0_f64).powi(17);
        assert!((share / (alpha / 2.0) - 1.0).abs() < 0.1, "{share} against {}", alpha / 2.0);
    }

    #[test]
    fn a_loss_halves_the_window_and_a_timeout_begins_with_a_packet() {
        let mut window = hundred();
        window.lost(Time::ZERO, Progress { acknowledged: 10 * PACKET, next: 110 * PACKET });
        window.lost(Time::ZERO, Progress { acknowledged: 11 * PACKET, next: 111 * PACKET });
        assert_eq!(window.bytes(), 50 * PACKET);
        window.timed_out(Time::ZERO);
        assert_eq!(window.bytes(), PACKET);
        // Doubles up to half of what it was, and adds one then.
        acknowledge(&mut window, 0, 24, false);
        assert_eq!(window.bytes(), 25 * PACKET);
        acknowledge(&mut window, 24, 25, false);
        assert_eq!(window.bytes(), 26 * PACKET);
    }
}
