//! The sender's timers: retransmission, tail loss probe, early retransmit, window probe.

use etherweave_primitives::{Duration, Time};

use super::{deadlines::EarlyDeadline, recovery::RecoveryPhase, sender::Forced, sender::Sender};

/// Longest that a receiver may delay the ACK of a lone segment (RFC 8985, section 7.2: WCDelAckT).
const DELAYED_ACK_WORST: Duration = Duration::from_ms(200);
/// Least wait of early retransmit (Linux 3.10).
const EARLY_RETRANSMIT_MIN: Duration = Duration::from_ms(2);
/// Fewer segments out than this get early retransmit (RFC 5827, section 3.1).
const EARLY_RETRANSMIT_SEGMENTS: u64 = 4;

impl Sender {
    /// When [`Sender::on_timer`] should be called, if nothing happens before.
    pub fn timer(&self) -> Option<Time> {
        let early = self.timers.early.map(EarlyDeadline::due);
        [self.timers.retransmit, early, self.held_until()].into_iter().flatten().min()
    }

    /// Does what is due at `now`, and nothing when nothing is. The host then asks for segments.
    pub fn on_timer(&mut self, now: Time) {
        self.end_hold(now);
        let window = self.congestion.window();
        match self.timers.early {
            Some(early) if early.due() <= now => {
                self.timers.early = None;
                match early {
                    EarlyDeadline::TailProbe(_) => {
                        self.forced = Some(Forced::TailProbe);
                        self.timers.retransmit = Some(now + self.round_trip.timeout());
                    }
                    EarlyDeadline::Retransmit(_) => self.enter_recovery(),
                    EarlyDeadline::Loss(_) => self.lose_by_time(now),
                }
            }
            _ => {
                if self.timers.retransmit.is_some_and(|due| due <= now) {
                    self.expire(now);
                }
            }
        }
        self.note_lowered(now, window);
    }

    fn expire(&mut self, now: Time) {
        self.round_trip.back_off();
        self.timers.early = None;
        if self.scoreboard.outstanding() == 0 {
            self.forced = (self.unsent() > 0).then_some(Forced::WindowProbe);
            self.timers.retransmit = None;
            return;
        }
        self.timers.retransmit = Some(now + self.round_trip.timeout());
        self.enter_loss();
    }

    /// After a transmission (RFC 6298, 5.1: the timer starts unless it runs).
    pub(super) fn arm_after_send(&mut self, now: Time) {
        if self.timers.retransmit.is_none() {
            self.timers.retransmit = Some(now + self.round_trip.timeout());
        }
        self.arm_early(now);
    }

    /// After an ACK (RFC 6298, 5.2 and 5.3).
    pub(super) fn arm_after_ack(&mut self, now: Time, advanced: bool) {
        if self.scoreboard.outstanding() == 0 {
            self.timers.retransmit = None;
            self.timers.early = None;
            return;
        }
        if advanced {
            self.timers.retransmit = Some(now + self.round_trip.timeout());
        }
        self.arm_early(now);
    }

    /// Nothing is out and the receiver has no room: asks again after a timeout.
    pub(super) fn arm_persist(&mut self, now: Time) {
        if self.scoreboard.outstanding() == 0 && self.timers.retransmit.is_none() {
            self.timers.retransmit = Some(now + self.round_trip.timeout());
        }
    }

    fn arm_early(&mut self, now: Time) {
        let loss_at = self.time_based.as_ref().and_then(|losses| losses.loss_at());
        let early = match self.phase {
            _ if loss_at.is_some() => loss_at.map(|at| EarlyDeadline::Loss(at + self.timers.tail_probe_min)),
            RecoveryPhase::Open if self.scoreboard.arrived() == 0 => self.tail_probe_due(now),
            RecoveryPhase::Open => self.early_retransmit_due(now),
            RecoveryPhase::Reducing { .. } | RecoveryPhase::Recovery { .. } | RecoveryPhase::Loss { .. } => None,
        };
        self.timers.early = match (early, self.timers.retransmit) {
            // In place of a timeout that would come earlier (RFC 8985, section 7.2; Linux 3.10 likewise).
            (Some(EarlyDeadline::TailProbe(at)), Some(timeout)) => Some(EarlyDeadline::TailProbe(at.min(timeout))),
            (early, timeout) => early.filter(|early| timeout.is_none_or(|due| early.due() < due)),
        };
    }

    /// Two round trips after the latest event, when the sender has nothing more that both windows let it send (RFC
    /// 8985, section 7.2; Linux since 4.x, where 3.10 looked at its own window only).
    fn tail_probe_due(&self, now: Time) -> Option<EarlyDeadline> {
        let wanted = self.timers.tail_probe && self.tail_probe.is_none() && self.scoreboard.outstanding() > 0;
        let more_to_send = self.sendable(self.mss) > 0 && self.in_flight() + self.mss <= self.congestion.window();
        if !wanted || more_to_send {
            return None;
        }
        let round_trip = self.round_trip.smoothed()?;
        let lone = self.scoreboard.outstanding() <= self.mss;
        let least = self.timers.tail_probe_min;
        let wait = match (self.time_based.is_some(), lone) {
            (true, true) => round_trip * 2 + DELAYED_ACK_WORST,
            (true, false) => round_trip * 2 + least,
            (false, true) => (round_trip * 3 / 2 + DELAYED_ACK_WORST).max(least),
            (false, false) => (round_trip * 2).max(least),
        };
        Some(EarlyDeadline::TailProbe(now + wait))
    }

    /// A quarter round trip after all of a small flight but one segment has arrived (RFC 5827, section 3.2, with the
    /// delay of Linux against reordering).
    fn early_retransmit_due(&self, now: Time) -> Option<EarlyDeadline> {
        let (outstanding, arrived) = (self.scoreboard.outstanding(), self.scoreboard.arrived());
        let is_suspicious = outstanding < EARLY_RETRANSMIT_SEGMENTS * self.mss && outstanding - arrived <= self.mss;
        let wanted = self.timers.early_retransmit && is_suspicious && self.unsent() == 0;
        if !wanted || self.scoreboard.has_retransmitted() {
            return None;
        }
        let wait = self.round_trip.smoothed()? / 4;
        Some(EarlyDeadline::Retransmit(now + wait.max(EARLY_RETRANSMIT_MIN)))
    }
}
