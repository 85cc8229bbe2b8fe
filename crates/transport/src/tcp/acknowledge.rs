//! Effects of an ACK on the sender: delivery, loss detection, window, timers.

use etherweave_primitives::Time;

use super::congestion::{AckProgress, Delivered, Sign};
use super::{
    Ack, prr::AckDelivery, prr::Prr, recovery::Frto, recovery::RecoveryPhase, scoreboard::Arrival,
    scoreboard::DUPLICATE_THRESHOLD, sender::Sender, time_based_loss::Suspicion, window,
};
use crate::{duplicate, ranges::ByteRange};

#[derive(Clone, Copy, Debug)]
struct Change {
    now: Time,
    /// Bytes in the network before [B].
    in_flight: u64,
    /// Newly acknowledged by the cumulative number [B].
    acked: u64,
    /// Newly known to have arrived.
    arrival: Arrival,
    /// Range that arrived twice.
    duplicate: Option<ByteRange>,
    /// The receiver saw a congestion mark.
    marked: bool,
}

impl Sender {
    /// Takes an ACK. Of ones that are older than the newest, only what is still true counts; ones of
    /// data never sent are ignored (RFC 9293, section 3.10.7.4).
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        if ack.cumulative > self.scoreboard.sent_to() || ack.cumulative < self.scoreboard.una() {
            return;
        }
        let (change, window) = (self.register(now, ack), self.congestion.window());
        self.congestion.observe(change.acked, change.marked, self.scoreboard.una(), self.scoreboard.sent_to());
        self.end_tail_probe(ack, change);
        self.detect_loss(change);
        self.advance_phase(change);
        if self.congestion.is_by_model() {
            self.follow_model(change);
        }
        self.buffer.follow(self.congestion.window());
        self.note_lowered(now, window);
        self.arm_after_ack(now, change.acked > 0);
    }

    /// Lets the model of the path set the window; in recovery at least what was delivered goes out again.
    fn follow_model(&mut self, change: Change) {
        let in_flight = self.scoreboard.in_flight();
        self.congestion.on_delivery(&Delivered {
            now: change.now,
            bytes: change.arrival.bytes,
            una: self.scoreboard.una(),
            in_flight_before: change.in_flight,
            in_flight,
            round_trip: self.round_trip.latest(),
            has_loss: self.scoreboard.has_lost(),
        });
        if self.phase != RecoveryPhase::Open {
            self.congestion.set_window(self.congestion.window().max(in_flight + change.arrival.bytes));
        }
    }

    /// Updates scoreboard, receive window and round trip.
    fn register(&mut self, now: Time, ack: &Ack) -> Change {
        let in_flight = self.scoreboard.in_flight();
        let acked = ack.cumulative - self.scoreboard.una();
        let window_moved = ack.cumulative + ack.window > self.window_end;
        self.window_end = self.window_end.max(ack.cumulative + ack.window);
        let mut arrival = Arrival::default();
        if acked > 0 {
            arrival += self.scoreboard.acknowledge(ack.cumulative);
            // Only an ACK that advances measures (RFC 7323, section 4.1).
            self.round_trip.sample(now.since(ack.timestamp_echo));
            self.duplicates = 0;
        }
        if self.sack {
            arrival += self.take_sack(ack, acked);
        } else if acked > 0 {
            self.scoreboard.forget_duplicates(acked, self.mss);
        } else if !window_moved && !ack.on_data && self.scoreboard.outstanding() > 0 {
            self.duplicates += 1;
            arrival.bytes += self.scoreboard.duplicate(self.mss);
        }
        let duplicate = if self.sack { duplicate(&ack.sack, ack.cumulative) } else { None };
        Change { now, in_flight, acked, arrival, duplicate, marked: ack.ecn_echo && self.ecn }
    }

    fn take_sack(&mut self, ack: &Ack, acked: u64) -> Arrival {
        let mut fresh = Arrival::default();
        ack.sack.iter().for_each(|&block| fresh += self.scoreboard.sack(block));
        // A duplicate is an ACK that reports new data without advancing (RFC 6675, section 2).
        if fresh.bytes > 0 && acked == 0 {
            self.duplicates += 1;
        }
        fresh
    }

    /// Ends a tail loss probe's episode: a probe that is answered by no duplicate repaired a loss, which
    /// asks for a reduction (RFC 8985, section 7.4).
    fn end_tail_probe(&mut self, ack: &Ack, change: Change) {
        let Some(probe) = self.tail_probe else { return };
        let answered_twice = ack.cumulative == probe.until && change.acked == 0 && change.arrival.bytes == 0;
        if answered_twice || (ack.cumulative > probe.until && (change.duplicate.is_some() || !probe.retransmission)) {
            self.tail_probe = None;
        } else if ack.cumulative > probe.until {
            self.tail_probe = None;
            if self.phase == RecoveryPhase::Open {
                self.begin_reduction(Sign::Loss);
                self.end_reduction();
            }
        }
    }

    /// Judges segments lost by what arrived after them.
    fn detect_loss(&mut self, change: Change) {
        if let Some(range) = change.duplicate {
            self.note_duplicate(range);
        }
        if let Some(losses) = &mut self.time_based {
            if change.duplicate.is_some() && self.tail_probe.is_none() {
                losses.duplicate(self.scoreboard.una(), self.scoreboard.sent_to());
            }
            losses.on_ack(change.now, &self.scoreboard);
            self.find_losses_by_time(change.now);
        } else if self.sack {
            if self.scoreboard.arrived() > 0 {
                self.scoreboard.mark_lost(self.mss);
                if matches!(self.phase, RecoveryPhase::Recovery { .. }) {
                    self.scoreboard.mark_lost_retransmissions();
                }
            }
        } else if change.acked > 0 && matches!(self.phase, RecoveryPhase::Recovery { .. }) {
            // A partial ACK: the segment after it is lost too (RFC 6582, section 3.2, step 5).
            self.scoreboard.mark_head(self.mss);
        }
    }

    fn find_losses_by_time(&mut self, now: Time) {
        let Some(losses) = &mut self.time_based else { return };
        let in_recovery = matches!(self.phase, RecoveryPhase::Recovery { .. } | RecoveryPhase::Loss { .. });
        let suspicion = Suspicion { in_recovery, mss: self.mss, smoothed: self.round_trip.smoothed() };
        losses.find_losses(now, &mut self.scoreboard, suspicion);
    }

    /// Marks as lost the data in doubt that has stayed away for the reordering window too (RFC 8985, section 6.2, step
    /// 5).
    pub(super) fn lose_by_time(&mut self, now: Time) {
        self.find_losses_by_time(now);
        if !self.scoreboard.has_lost() {
            return;
        }
        match self.phase {
            RecoveryPhase::Open => self.enter_recovery(),
            RecoveryPhase::Reducing { .. } => {
                self.counters.fast_recoveries += 1;
                self.repair();
            }
            RecoveryPhase::Recovery { .. } | RecoveryPhase::Loss { .. } => {}
        }
    }

    fn advance_phase(&mut self, change: Change) {
        let una = self.scoreboard.una();
        match self.phase {
            RecoveryPhase::Open => self.while_open(change),
            RecoveryPhase::Reducing { until } if una >= until => self.end_reduction(),
            RecoveryPhase::Reducing { .. } if self.loss_is_evident() => self.continue_as_recovery(change),
            RecoveryPhase::Reducing { .. } => self.reduce_rate(change),
            RecoveryPhase::Recovery { until } if una >= until => self.end_reduction(),
            RecoveryPhase::Recovery { .. } => self.reduce_rate(change),
            RecoveryPhase::Loss { until } => self.after_timeout(change, until),
        }
    }

    fn after_timeout(&mut self, change: Change, until: u64) {
        if self.judge_timeout(change.acked, change.arrival, until) {
            return self.repair_what_was_lost_before(change);
        }
        self.grow(change);
        if self.scoreboard.una() >= until {
            self.confirm_timeout();
            self.phase = RecoveryPhase::Open;
            self.congestion.recovered();
        }
    }

    /// After a timeout that was none: losses among what was out then are found now.
    fn repair_what_was_lost_before(&mut self, change: Change) {
        self.detect_loss(Change { duplicate: None, ..change });
        if self.loss_is_evident() {
            self.enter_recovery();
        }
    }

    fn while_open(&mut self, change: Change) {
        if self.loss_is_evident() {
            self.enter_recovery();
        } else if change.marked {
            // Once per window of data (RFC 3168, section 6.1.2).
            self.counters.ecn_reductions += 1;
            self.undo = None;
            self.begin_reduction(Sign::Mark);
            self.phase = RecoveryPhase::Reducing { until: self.scoreboard.sent_to() };
            self.reduce_rate(change);
        } else {
            self.grow(change);
        }
    }

    /// Whether duplicates prove a loss that was not answered before.
    fn loss_is_evident(&self) -> bool {
        if self.time_based.is_some() {
            return self.scoreboard.has_lost();
        }
        let fresh = self.sack || self.scoreboard.una() >= self.recover;
        self.scoreboard.has_lost() || (self.duplicates >= DUPLICATE_THRESHOLD && fresh)
    }

    /// Starts fast recovery with the first segment (RFC 6675, section 5, step 4).
    pub(super) fn enter_recovery(&mut self) {
        self.counters.fast_recoveries += 1;
        self.begin_undo();
        self.begin_reduction(Sign::Loss);
        self.repair();
    }

    fn continue_as_recovery(&mut self, change: Change) {
        self.counters.fast_recoveries += 1;
        self.reduce_rate(change);
        self.repair();
    }

    fn repair(&mut self) {
        if !self.scoreboard.has_lost() {
            self.scoreboard.mark_head(self.mss);
        }
        self.recover = self.scoreboard.sent_to();
        self.phase = RecoveryPhase::Recovery { until: self.recover };
        // The first retransmission goes out at once.
        let due = self.scoreboard.in_flight() + self.mss;
        self.congestion.set_window(due);
    }

    fn begin_reduction(&mut self, sign: Sign) {
        self.prr = (!self.congestion.is_by_model()).then(|| Prr::new(self.congestion.window()));
        self.congestion.reduce(sign);
        self.reduced = self.ecn;
        self.tail_probe = None;
    }

    fn end_reduction(&mut self) {
        self.duplicates = 0;
        self.phase = RecoveryPhase::Open;
        if self.prr.take().is_some() {
            self.congestion.set_window(self.congestion.threshold());
        }
        self.congestion.recovered();
    }

    fn reduce_rate(&mut self, change: Change) {
        let Some(prr) = &mut self.prr else { return };
        let in_flight = self.scoreboard.in_flight();
        let threshold = self.congestion.threshold();
        let due = prr.on_ack(AckDelivery { delivered: change.arrival.bytes, in_flight, threshold, mss: self.mss });
        self.congestion.set_window(in_flight + due);
    }

    /// Grows the window if it was what held the sender back.
    fn grow(&mut self, change: Change) {
        let limiting = window::is_limiting(self.congestion.window(), change.in_flight, self.mss);
        let Some(smoothed) = self.round_trip.smoothed() else { return };
        if change.acked == 0 || !limiting {
            return;
        }
        self.congestion.grow(AckProgress {
            now: change.now,
            acked: change.acked,
            una: self.scoreboard.una(),
            sent_to: self.scoreboard.sent_to(),
            round_trip: self.round_trip.latest(),
            smoothed,
        });
    }

    /// The retransmission timer expired: all that is out counts as lost, the window starts over (RFC
    /// 5681, section 3.1; RFC 6675, section 5.1).
    pub(super) fn enter_loss(&mut self) {
        self.counters.timeouts += 1;
        // What is already being answered lowers the threshold no further (RFC 3168, section 6.1.2, asks for once).
        if self.phase == RecoveryPhase::Open {
            self.begin_undo();
            self.congestion.reduce(Sign::Loss);
        }
        self.end_frto();
        if self.sack && !matches!(self.phase, RecoveryPhase::Recovery { .. }) {
            self.frto = Frto::Armed;
        }
        self.congestion.restart();
        self.reduced = self.ecn;
        self.prr = None;
        self.tail_probe = None;
        self.forced = None;
        self.duplicates = 0;
        self.scoreboard.mark_all();
        if let Some(losses) = &mut self.time_based {
            losses.time_out();
        }
        self.recover = self.scoreboard.sent_to();
        self.phase = RecoveryPhase::Loss { until: self.recover };
    }
}
