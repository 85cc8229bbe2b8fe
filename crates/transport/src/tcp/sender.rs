//! The sender of one direction of a connection.

use etherweave_primitives::Time;

use super::recovery::{Frto, RecoveryPhase, Undo};
use super::{
    congestion::Congestion, deadlines::Deadlines, params::SegmentLoss, params::TcpParams, prr::Prr,
    scoreboard::Scoreboard, time_based_loss::SegmentNote, time_based_loss::TimeBasedLoss, window::LimitTimes,
    window::SendBuffer, window::Usage,
};
use crate::{ranges::ByteRange, rtt::RoundTrip, rtt::TimeoutLimits};

/// A second [ps].
const S: u64 = 1_000_000_000_000;

/// A segment to transmit. Without bytes it is a window probe: a bare ACK that makes the receiver answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// First byte [offset in the stream].
    pub seq: u64,
    /// Payload [B]. More than a segment size is for the NIC to cut (TSO).
    pub len: u32,
    /// Whether these bytes were sent before.
    pub retransmission: bool,
    /// The congestion window was reduced (CWR, RFC 3168); the NIC repeats it on no more than the first piece.
    pub window_reduced: bool,
}

/// Counters of events so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SenderCounters {
    /// Segments sent again.
    pub retransmissions: u64,
    /// Retransmission timers that expired.
    pub timeouts: u64,
    /// Times that loss was found by duplicates.
    pub fast_recoveries: u64,
    /// Tail loss probes sent.
    pub tail_probes: u64,
    /// Reductions because of congestion marks.
    pub ecn_reductions: u64,
    /// Zero-window probes sent.
    pub window_probes: u64,
    /// Reductions that were undone, as nothing was lost.
    pub undone_reductions: u64,
}

/// A tail loss probe in flight (RFC 8985, section 7.4).
#[derive(Clone, Copy, Debug)]
pub(super) struct TailProbe {
    /// Sent up to here when the probe left (`TLP.end_seq`).
    pub(super) until: u64,
    pub(super) retransmission: bool,
}

/// Segment that the next call of `next_segment` sends regardless of the congestion window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Forced {
    TailProbe,
    WindowProbe,
}

/// One direction of one connection, at its source.
#[derive(Clone, Debug)]
pub struct Sender {
    pub(super) mss: u64,
    pub(super) sack: bool,
    pub(super) ecn: bool,
    pub(super) written: u64,
    pub(super) scoreboard: Scoreboard,
    /// End of the receive window [offset].
    pub(super) window_end: u64,
    pub(super) congestion: Congestion,
    pub(super) round_trip: RoundTrip,
    pub(super) timers: Deadlines,
    pub(super) usage: Usage,
    pub(super) buffer: SendBuffer,
    pub(super) limited: LimitTimes,
    pub(super) phase: RecoveryPhase,
    pub(super) prr: Option<Prr>,
    pub(super) duplicates: u64,
    pub(super) time_based: Option<Box<TimeBasedLoss>>,
    pub(super) undo: Option<Undo>,
    pub(super) frto: Frto,
    /// Losses below were answered already (`recover` of RFC 6582).
    pub(super) recover: u64,
    pub(super) tail_probe: Option<TailProbe>,
    pub(super) forced: Option<Forced>,
    pub(super) reduced: bool,
    /// Pacing has held a segment back.
    is_held: bool,
    pub(super) counters: SenderCounters,
}

impl Sender {
    /// A sender on an established connection, with nothing to send. The peer's first window is that of
    /// [`Receiver::new`](super::Receiver::new) with the same parameters.
    pub fn new(params: &TcpParams) -> Sender {
        let time_based = params.sack && params.loss_detection == SegmentLoss::Time;
        Sender {
            mss: params.segment(),
            sack: params.sack,
            ecn: params.ecn,
            written: 0,
            scoreboard: Scoreboard::default(),
            window_end: params.receive_buffer_initial.get() / 2,
            congestion: Congestion::new(params),
            round_trip: RoundTrip::new(timeout_limits(params)),
            timers: Deadlines::new(params),
            usage: Usage::new(params),
            buffer: SendBuffer::new(params),
            limited: LimitTimes::default(),
            phase: RecoveryPhase::Open,
            prr: None,
            duplicates: 0,
            time_based: time_based.then(|| Box::new(TimeBasedLoss::new(params.rto_max))),
            undo: None,
            frto: Frto::Off,
            recover: 0,
            tail_probe: None,
            forced: None,
            reduced: false,
            is_held: false,
            counters: SenderCounters::default(),
        }
    }

    /// Appends `bytes` to the stream. The host asks [`Sender::writable`] first.
    pub fn write(&mut self, bytes: u64) {
        self.written += bytes;
    }

    /// The next segment that window, receiver and recovery allow now, of at most `len_max` bytes;
    /// retransmissions have at most one segment size.
    pub fn next_segment(&mut self, now: Time, len_max: u32) -> Option<Segment> {
        self.is_held = self.forced.is_none() && self.is_paced(now);
        if self.is_held {
            return None;
        }
        let in_flight = self.scoreboard.in_flight();
        let goal = self.segment_goal();
        if goal < u64::from(len_max).min(self.unsent()) {
            self.limited.window = now;
        }
        let Some(segment) = self.choose(now, u64::from(len_max).min(goal)) else {
            self.note_idle(in_flight);
            return None;
        };
        self.congestion.sent(now, segment.seq + u64::from(segment.len), segment.len.into(), in_flight);
        if let Some(prr) = &mut self.prr {
            prr.sent(u64::from(segment.len));
        }
        if let Some(losses) = &mut self.time_based {
            let range = ByteRange::new(segment.seq, segment.seq + u64::from(segment.len));
            losses.sent(now, range, SegmentNote { is_retransmission: segment.retransmission });
        }
        self.arm_after_send(now);
        Some(segment)
    }

    /// Whether pacing holds a segment back.
    fn is_paced(&self, now: Time) -> bool {
        let has_more = self.unsent() > 0 || self.scoreboard.has_lost();
        has_more && self.congestion.release_at().is_some_and(|at| at > now)
    }

    /// Nothing more goes out: if not for the window, the application has sent all.
    fn note_idle(&mut self, in_flight: u64) {
        if self.unsent() == 0 && in_flight < self.congestion.window() {
            self.congestion.application_limits(in_flight);
        }
    }

    /// Pacing holds nothing back any more, if it is time.
    pub(super) fn end_hold(&mut self, now: Time) {
        self.is_held &= self.is_paced(now);
    }

    /// When pacing lets the next segment out, if it held one back.
    pub(super) fn held_until(&self) -> Option<Time> {
        self.congestion.release_at().filter(|_| self.is_held)
    }

    /// Bytes written so far [offset].
    pub fn written(&self) -> u64 {
        self.written
    }

    /// First byte that is not acknowledged [offset].
    pub fn acknowledged(&self) -> u64 {
        self.scoreboard.una()
    }

    /// Written and never sent [B].
    pub fn unsent(&self) -> u64 {
        self.written - self.scoreboard.sent_to()
    }

    /// Returns the bytes in the network, as far as the sender knows [B].
    pub fn in_flight(&self) -> u64 {
        self.scoreboard.in_flight()
    }

    /// How much of `bytes` the application may write now [B].
    pub fn writable(&mut self, now: Time, bytes: u64) -> u64 {
        let free = self.buffer.limit().saturating_sub(self.written - self.scoreboard.una());
        if free < bytes {
            self.limited.send_buffer = now;
        }
        free.min(bytes)
    }

    /// Whether the application may start to write `bytes`: they fit, or, where they never could, a third of the buffer
    /// is free (`sk_stream_is_writeable` of Linux).
    pub fn is_writable(&mut self, now: Time, bytes: u64) -> bool {
        let limit = self.buffer.limit();
        self.writable(now, bytes) >= if bytes <= limit { bytes } else { limit.div_ceil(3) }
    }

    /// Congestion window [B].
    pub fn congestion_window(&self) -> u64 {
        self.congestion.window()
    }

    /// Returns the counters of events so far.
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// How large a segment is worth handing down: what goes out in 2^-10 s at two windows a round trip, and two segment
    /// sizes at least (`tcp_tso_autosize` of Linux).
    fn segment_goal(&self) -> u64 {
        if let Some(quantum) = self.congestion.quantum() {
            return quantum;
        }
        let Some(smoothed) = self.round_trip.smoothed().filter(|smoothed| !smoothed.is_zero()) else { return u64::MAX };
        let goal = 2 * self.congestion.window() * (S / 1024) / smoothed.as_ps();
        goal.max(2 * self.mss)
    }

    fn choose(&mut self, now: Time, len_max: u64) -> Option<Segment> {
        if let Some(forced) = self.forced.take() {
            return Some(self.probe(now, forced));
        }
        if self.frto == Frto::Probing {
            return self.timeout_probe(now, len_max);
        }
        if self.scoreboard.has_lost() {
            return self.retransmission();
        }
        self.new_data(now, len_max).or_else(|| self.hopeful_retransmission())
    }

    /// New data in place of what is lost, as long as the timeout is in doubt (RFC 5682, step 2.b).
    fn timeout_probe(&mut self, now: Time, len_max: u64) -> Option<Segment> {
        let segment = self.new_data(now, len_max);
        let RecoveryPhase::Loss { until } = self.phase else { return segment };
        if segment.is_none() && self.scoreboard.sent_to() <= until {
            self.confirm_timeout();
            return self.retransmission();
        }
        segment
    }

    /// The oldest lost segment, if the window lets it out.
    fn retransmission(&mut self) -> Option<Segment> {
        let range = self.scoreboard.next_lost(self.mss)?;
        let fits = self.scoreboard.in_flight() + range.len() <= self.congestion.window();
        fits.then(|| self.resend(range))
    }

    /// When recovery has nothing else to send, a hole that may still be only late (RFC 6675, `NextSeg` rule 3).
    fn hopeful_retransmission(&mut self) -> Option<Segment> {
        if !matches!(self.phase, RecoveryPhase::Recovery { .. }) || self.time_based.is_some() {
            return None;
        }
        if self.scoreboard.in_flight() + self.mss > self.congestion.window() {
            return None;
        }
        self.scoreboard.mark_next_hole(self.mss);
        self.retransmission()
    }

    fn resend(&mut self, range: ByteRange) -> Segment {
        self.scoreboard.retransmit(range);
        self.counters.retransmissions += 1;
        self.note_resent(range.len());
        Segment { seq: range.start, len: range.len() as u32, retransmission: true, window_reduced: false }
    }

    fn new_data(&mut self, now: Time, len_max: u64) -> Option<Segment> {
        if self.unsent() == 0 {
            return None;
        }
        let is_first = self.scoreboard.outstanding() == 0 && self.sendable(len_max.min(self.mss)) > 0;
        if is_first {
            let window = self.congestion.window();
            self.usage.before_first(now, self.round_trip.timeout(), &mut self.congestion);
            self.note_lowered(now, window);
        }
        self.note_windows(now, len_max.min(self.unsent()));
        let quota = self.congestion.window().saturating_sub(self.scoreboard.in_flight());
        let len = self.sendable(len_max.min(quota));
        if len == 0 {
            self.arm_persist(now);
            return None;
        }
        Some(self.send_new(now, len))
    }

    /// How much of the unsent data makes a segment: all of it, or whole segment sizes (silly window avoidance,
    /// RFC 9293, section 3.8.6.2.1, without Nagle's algorithm).
    pub(super) fn sendable(&self, quota: u64) -> u64 {
        let quota = quota.min(self.window_end.saturating_sub(self.scoreboard.sent_to()));
        let unsent = self.unsent();
        if unsent <= quota { unsent } else { quota / self.mss * self.mss }
    }

    pub(super) fn send_new(&mut self, now: Time, len: u64) -> Segment {
        let seq = self.scoreboard.sent_to();
        self.scoreboard.send(len);
        let (outstanding, timeout) = (self.scoreboard.outstanding(), self.round_trip.timeout());
        let window = self.congestion.window();
        self.usage.after_send(now, outstanding, timeout, &mut self.congestion);
        self.note_lowered(now, window);
        let window_reduced = std::mem::take(&mut self.reduced);
        Segment { seq, len: len as u32, retransmission: false, window_reduced }
    }

    fn probe(&mut self, now: Time, forced: Forced) -> Segment {
        match forced {
            Forced::TailProbe => self.tail_probe(now),
            Forced::WindowProbe => self.window_probe(now),
        }
    }

    /// New data if the receiver has room, else the last segment again (RFC 8985, section 7.3).
    fn tail_probe(&mut self, now: Time) -> Segment {
        self.counters.tail_probes += 1;
        let len = self.sendable(self.mss);
        let segment = if len > 0 { self.send_new(now, len) } else { self.resend(self.scoreboard.tail(self.mss)) };
        self.tail_probe = Some(TailProbe { until: self.scoreboard.sent_to(), retransmission: segment.retransmission });
        segment
    }

    /// Sends what the window holds, or nothing but a question (RFC 9293, section 3.8.6.1).
    fn window_probe(&mut self, now: Time) -> Segment {
        self.counters.window_probes += 1;
        let room = self.window_end.saturating_sub(self.scoreboard.sent_to());
        let len = room.min(self.mss).min(self.unsent());
        if len > 0 {
            return self.send_new(now, len);
        }
        Segment { seq: self.scoreboard.una(), len: 0, retransmission: false, window_reduced: false }
    }
}

fn timeout_limits(params: &TcpParams) -> TimeoutLimits {
    TimeoutLimits { initial: params.rto_initial, min: params.rto_min, max: params.rto_max }
}
