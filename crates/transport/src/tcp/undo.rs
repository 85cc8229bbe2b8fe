//! Undoing of reductions that nothing was lost for: by DSACK (as Linux counts it), and after a timeout by F-RTO (RFC
//! 5682).

use super::recovery::{Frto, RecoveryPhase, Undo};
use super::{scoreboard::Arrival, sender::Sender};
use crate::ranges::ByteRange;

impl Sender {
    /// Before the window is reduced for a loss.
    pub(super) fn begin_undo(&mut self) {
        self.undo = self.sack.then(|| Undo {
            window: self.congestion.window(),
            threshold: self.congestion.threshold(),
            from: self.scoreboard.una(),
            resent: 0,
            has_resent: false,
        });
    }

    /// A retransmission of `len` bytes goes out.
    pub(super) fn note_resent(&mut self, len: u64) {
        if let Some(undo) = &mut self.undo {
            undo.resent += len;
            undo.has_resent = true;
        }
    }

    /// Takes the report of bytes that arrived twice. When all that was retransmitted has, nothing was lost.
    pub(super) fn note_duplicate(&mut self, range: ByteRange) {
        let Some(undo) = self.undo.as_mut().filter(|undo| range.start >= undo.from) else { return };
        undo.resent = undo.resent.saturating_sub(range.len());
        if undo.has_resent && undo.resent == 0 {
            self.undo_reduction();
        }
    }

    /// The window is what it was. What is out is repaired as far as it is judged lost.
    fn undo_reduction(&mut self) {
        let Some(undo) = self.undo.take() else { return };
        self.counters.undone_reductions += 1;
        self.prr = None;
        self.duplicates = 0;
        self.congestion.restore(undo.window, undo.threshold);
        if !self.scoreboard.has_lost() {
            self.phase = RecoveryPhase::Open;
        }
    }

    /// An ACK after a timeout: whether it shows that nothing was lost. Where it leaves that open, new data go out
    /// first.
    pub(super) fn judge_timeout(&mut self, acked: u64, arrival: Arrival, until: u64) -> bool {
        match self.frto {
            Frto::Off => return false,
            Frto::Armed | Frto::Probing if arrival.original > 0 => {
                self.end_spurious_timeout();
                return true;
            }
            Frto::Armed if acked == 0 => {}
            Frto::Armed if self.unsent() > 0 && self.scoreboard.una() < until => self.probe_with_new_data(),
            Frto::Probing if acked == 0 && arrival.bytes == 0 => {}
            Frto::Armed | Frto::Probing => self.confirm_timeout(),
        }
        false
    }

    fn probe_with_new_data(&mut self) {
        self.frto = Frto::Probing;
        self.scoreboard.begin_newer();
        self.phase = RecoveryPhase::Loss { until: self.scoreboard.sent_to() };
    }

    /// Confirms the timeout: from now on what is lost is retransmitted.
    pub(super) fn confirm_timeout(&mut self) {
        self.end_frto();
        if let Some(losses) = &mut self.time_based {
            losses.confirm_timeout();
        }
    }

    /// The timeout is not judged any more.
    pub(super) fn end_frto(&mut self) {
        self.frto = Frto::Off;
        self.scoreboard.end_newer();
    }

    /// Ends a timeout that was spurious: what was sent once has arrived (step 3.b), the timer had expired too early.
    fn end_spurious_timeout(&mut self) {
        self.end_frto();
        self.scoreboard.forget_losses();
        if let Some(losses) = &mut self.time_based {
            losses.undo_timeout();
        }
        self.phase = RecoveryPhase::Open;
        self.undo_reduction();
    }
}
