//! The receiver of one direction of a connection.

use etherweave_primitives::{Duration, Time};

use super::{Ack, params::TcpParams};
use crate::{SackBlocks, ranges::ByteRange, reassembly::Reassembly};

/// A segment as it arrives, whole or merged from several (GRO).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SegmentArrival {
    /// First byte [offset in the stream].
    pub seq: u64,
    /// Payload [B]; 0 for a window probe.
    pub len: u32,
    /// A switch marked it (CE, RFC 3168).
    pub congestion_experienced: bool,
    /// The sender reports that it reduced its window (CWR, RFC 3168).
    pub window_reduced: bool,
    /// When it was sent (TSval, RFC 7323).
    pub timestamp: Time,
}

/// Whether an ACK is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckAction {
    /// ACK at once.
    Now,
    /// ACK at this time, unless another reason comes first.
    Delayed(Time),
    /// Not because of this.
    None,
}

/// One direction of one connection, at its destination.
#[derive(Clone, Debug)]
pub struct Receiver {
    mss: u64,
    sack: bool,
    delay: Duration,
    delay_bytes: u64,
    quick_acks: u32,
    silence: Duration,
    arrived: Reassembly,
    out_of_order_segments: u64,
    /// Taken by the application up to here.
    read_to: u64,
    acked_to: u64,
    acked_at: Time,
    quick_left: u32,
    deadline: Option<Time>,
    /// Echoed until the sender reports that it reduced (RFC 3168, section 6.1.3), or with the marks (`echoes_each`).
    echo_congestion: bool,
    /// The echo is that of each segment (RFC 8257, section 3.2).
    echoes_each: bool,
    /// TS.Recent (RFC 7323, section 4.3).
    timestamp: Time,
    last_arrival: Time,
    window: Window,
}

#[derive(Clone, Debug)]
struct Window {
    size: u64,
    size_max: u64,
    /// Right edge that was advertised [offset]; it never moves back.
    edge: u64,
    round_started: Time,
    round_read: u64,
    round_end: u64,
}

impl Receiver {
    /// A receiver on an established connection.
    pub fn new(params: &TcpParams) -> Receiver {
        let size = params.receive_buffer_initial.get() / 2;
        Receiver {
            mss: params.segment(),
            sack: params.sack,
            delay: params.delayed_ack,
            delay_bytes: u64::from(params.delayed_ack_segments - 1) * params.segment(),
            quick_acks: params.quick_acks,
            silence: params.rto_min,
            arrived: Reassembly::default(),
            out_of_order_segments: 0,
            read_to: 0,
            acked_to: 0,
            acked_at: Time::ZERO,
            quick_left: params.quick_acks,
            deadline: None,
            echo_congestion: false,
            echoes_each: params.congestion_control.needs_marks(),
            timestamp: Time::ZERO,
            last_arrival: Time::ZERO,
            window: Window {
                size,
                size_max: params.receive_buffer.get() / 2,
                edge: size,
                round_started: Time::ZERO,
                round_read: 0,
                round_end: size,
            },
        }
    }

    /// Whether what waits for its ACK must be acknowledged before this segment is taken, whose mark differs (RFC 8257,
    /// section 3.2).
    pub fn changes_echo(&self, arrival: &SegmentArrival) -> bool {
        let differs = arrival.congestion_experienced != self.echo_congestion;
        self.echoes_each && differs && self.received() > self.acked_to
    }

    /// Takes a segment and returns whether an ACK is due.
    pub fn on_segment(&mut self, now: Time, arrival: &SegmentArrival) -> AckAction {
        let range = ByteRange::new(arrival.seq, arrival.seq + u64::from(arrival.len));
        let newly_marked = self.note_congestion(arrival);
        self.note_time(now, arrival);
        if range.start > self.received() {
            return self.keep_for_later(range);
        }
        if range.end <= self.received() {
            self.arrived.note_duplicate(range);
            return self.due_now();
        }
        let filled = self.arrived.has_gap();
        self.arrived.advance(range.end.min(self.window.edge));
        self.window.measure(now, self.received(), self.read_to);
        if filled || newly_marked { self.due_now() } else { self.due_sometime(now) }
    }

    /// The ACK that stands for everything received so far. The host sends it alone or on data.
    pub fn make_ack(&mut self, now: Time) -> Ack {
        self.deadline = None;
        self.acked_at = now;
        self.acked_to = self.received();
        self.quick_left = self.quick_left.saturating_sub(1);
        let window = self.window.advertise(self.received(), self.read_to, self.mss);
        Ack {
            cumulative: self.received(),
            window,
            sack: if self.sack { self.arrived.blocks() } else { SackBlocks::default() },
            ecn_echo: self.echo_congestion,
            timestamp_echo: self.timestamp,
            on_data: false,
        }
    }

    /// Returns the bytes in order and not yet read [B].
    pub fn readable(&self) -> u64 {
        self.received() - self.read_to
    }

    /// Received in order so far [offset].
    pub fn received(&self) -> u64 {
        self.arrived.next()
    }

    /// Segments that arrived before one that was sent before them.
    pub fn out_of_order_segments(&self) -> u64 {
        self.out_of_order_segments
    }

    /// The application takes `bytes`; true when an ACK is due: one that waited for this (`tcp_cleanup_rbuf` of Linux),
    /// or the window opened so far that the sender should hear of it (twice what it knows; RFC 9293, section
    /// 3.8.6.2.2).
    ///
    /// # Panics
    /// When there is not that much to read.
    pub fn read(&mut self, bytes: u64) -> bool {
        assert!(bytes <= self.readable(), "the application reads no more than has arrived in order");
        self.read_to += bytes;
        if bytes > 0 && self.deadline.is_some() && self.owes_ack() {
            return true;
        }
        let known = self.window.edge.saturating_sub(self.received());
        let room = self.window.room(self.received(), self.read_to);
        bytes > 0 && room >= 2 * known && room >= known + self.mss.min(self.window.size / 2)
    }

    /// Returns the bytes received in order and not yet acknowledged [B].
    fn unanswered(&self) -> u64 {
        self.received() - self.acked_to
    }

    /// When it last acknowledged, where data that has arrived since a time waits for the next acknowledgement.
    pub fn waits_since(&self, time: Time) -> Option<Time> {
        (self.unanswered() > 0 && self.last_arrival >= time).then_some(self.acked_at)
    }

    /// ACKs that are still sent at once.
    pub fn quick_acks_left(&self) -> u32 {
        self.quick_left
    }

    /// When a delayed ACK is due.
    pub fn timer(&self) -> Option<Time> {
        self.deadline
    }

    /// CE marks call for ECE until CWR; true for the first mark.
    fn note_congestion(&mut self, arrival: &SegmentArrival) -> bool {
        if self.echoes_each {
            self.echo_congestion = arrival.congestion_experienced;
            return false;
        }
        if arrival.window_reduced {
            self.echo_congestion = false;
        }
        let newly = arrival.congestion_experienced && !self.echo_congestion;
        self.echo_congestion |= arrival.congestion_experienced;
        newly
    }

    /// Keeps the timestamp of the oldest segment that the next ACK answers (RFC 7323, section 4.3).
    fn note_time(&mut self, now: Time, arrival: &SegmentArrival) {
        if arrival.seq <= self.acked_to {
            self.timestamp = self.timestamp.max(arrival.timestamp);
        }
        if now.since(self.last_arrival) > self.silence {
            self.quick_left = self.quick_acks;
        }
        self.last_arrival = now;
    }

    fn keep_for_later(&mut self, range: ByteRange) -> AckAction {
        let held = ByteRange::new(range.start, range.end.min(self.window.edge));
        self.out_of_order_segments += u64::from(self.arrived.keep(held));
        self.due_now()
    }

    fn due_now(&mut self) -> AckAction {
        self.deadline = None;
        AckAction::Now
    }

    /// Whether more has come than may wait for company.
    fn owes_ack(&self) -> bool {
        self.unanswered() > self.delay_bytes
    }

    /// Whether the next ACK can offer as much as the last (`__tcp_ack_snd_check` of Linux).
    fn window_can_advance(&self) -> bool {
        self.window.room(self.received(), self.read_to) >= self.window.edge - self.acked_to
    }

    /// An ACK at least for every second full segment (RFC 5681, section 4.2), but at the read if what is not read takes
    /// from the window; else after the delay.
    fn due_sometime(&mut self, now: Time) -> AckAction {
        if self.quick_left > 0 || (self.owes_ack() && self.window_can_advance()) {
            return self.due_now();
        }
        AckAction::Delayed(*self.deadline.get_or_insert(now + self.delay))
    }
}

impl Window {
    /// Free room beyond what waits for the application [B].
    fn room(&self, next: u64, read_to: u64) -> u64 {
        self.size.saturating_sub(next - read_to)
    }

    /// The window to advertise; the edge moves by a segment or half the buffer at least.
    fn advertise(&mut self, next: u64, read_to: u64, mss: u64) -> u64 {
        let edge = next + self.room(next, read_to);
        if edge >= self.edge + mss.min(self.size / 2) {
            self.edge = edge;
        }
        self.edge - next
    }

    /// Dynamic right-sizing: once per window of data, room for twice what the application took in it.
    fn measure(&mut self, now: Time, next: u64, read_to: u64) {
        if next < self.round_end {
            return;
        }
        let taken = read_to - self.round_read;
        self.size = self.size.max((2 * taken).min(self.size_max));
        self.round_started = now;
        self.round_read = read_to;
        self.round_end = next + self.size;
    }
}
