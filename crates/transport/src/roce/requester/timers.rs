//! Timers of a requester: when nothing is acknowledged for too long, and when a tail may be lost.

use etherweave_primitives::Time;

use super::Requester;
use crate::outgoing::Outgoing;
use crate::params::RoceParams;
use crate::roce::SEQUENCES;
use crate::roce::selective::Progress;

impl Requester {
    /// Starts the timer after a transmission: when [`Requester::on_timer`] is due, unless it runs.
    #[inline]
    pub fn start_timer(&mut self, now: Time, params: &RoceParams) -> Option<Time> {
        if self.selective.is_some() {
            return self.restart_timer(now, params);
        }
        let starts = !std::mem::replace(&mut self.is_timer_set, true);
        starts.then(|| now + params.retransmission_timeout)
    }

    /// Sets the timer of selective repeat after an acknowledgement: when [`Requester::on_timer`] is due, unless it is
    /// due earlier anyway.
    #[inline]
    pub fn restart_timer(&mut self, now: Time, params: &RoceParams) -> Option<Time> {
        let selective = self.selective.as_mut().filter(|_| self.next > self.acknowledged)?;
        selective.start_timer(now, self.last_progress + params.retransmission_timeout)
    }

    /// When go-back-N shall ask for a tail that may be lost, and how often it had gone back by now: all has been sent,
    /// and a connection that had to go back knows that the network loses packets. The wait doubles with each probe, as
    /// it is no shorter than the time without an answer.
    #[inline]
    pub fn tail_check(&self, now: Time, params: &RoceParams) -> Option<(Time, u8)> {
        let is_tail = self.restarts > 0 && self.selective.is_none() && self.all_is_sent();
        is_tail.then(|| (now + now.since(self.last_progress).max(params.tail_loss_probe_min), self.restarts))
    }

    /// Sends the last packet again if nothing was acknowledged for a while: it shows the responder what is missing
    /// before it. If something was, returns when to look again.
    pub fn probe_tail(&mut self, now: Time, restarts: u8, params: &RoceParams) -> Option<Time> {
        if restarts != self.restarts || !self.all_is_sent() {
            return None;
        }
        let quiet_at = self.last_progress + params.tail_loss_probe_min;
        if quiet_at > now {
            return Some(quiet_at);
        }
        let Outgoing { start, end, .. } = self.message_at(self.posted - 1);
        let mtu = params.path_mtu.get();
        self.next = start + (end - start - 1) / mtu * mtu;
        self.sequence.0 = self.sequence.0.wrapping_sub(1) & SEQUENCES;
        None
    }

    /// Whether nothing is left to send, and not all is acknowledged.
    fn all_is_sent(&self) -> bool {
        self.next == self.posted && self.acknowledged < self.posted
    }

    /// Starts again when nothing has been acknowledged for too long. Returns when it is due again.
    pub fn on_timer(&mut self, now: Time, params: &RoceParams) -> Option<Time> {
        if self.selective.is_some() {
            return self.on_selective_timer(now, params);
        }
        let timeout = params.retransmission_timeout;
        if self.next == self.acknowledged {
            self.is_timer_set = false;
            return None;
        }
        if now.since(self.last_progress) >= timeout {
            self.time_out(now);
            self.go_back();
        }
        Some(self.last_progress + timeout)
    }

    fn time_out(&mut self, now: Time) {
        self.timeouts += 1;
        self.last_progress = now;
        if let Some(congestion) = &mut self.congestion {
            congestion.timed_out(now);
        }
    }

    fn on_selective_timer(&mut self, now: Time, params: &RoceParams) -> Option<Time> {
        let is_blocked = !self.has_more(params);
        let progress = Progress { acknowledged: self.acknowledged, next: self.next };
        let selective = self.selective.as_mut()?;
        // Also of an idle connection: it has no timer from now on, and sets one with its next packet.
        if !selective.is_called(now) || progress.next == progress.acknowledged {
            return None;
        }
        if now.since(self.last_progress) >= params.retransmission_timeout {
            selective.lose_all(progress);
            self.time_out(now);
        } else {
            selective.on_timer(now, progress.acknowledged, is_blocked);
        }
        self.restart_timer(now, params)
    }
}
