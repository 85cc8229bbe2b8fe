//! The requester: outgoing messages, what of them is acknowledged, and when to send again.

use etherweave_primitives::{BitRate, Time};

use super::selective::{Progress, SelectiveRepeat};
use super::{Acknowledgement, Congestion, Feedback, Operation, SEQUENCES, SelectiveReport, following};
use crate::outgoing::{EqualMessages, Outgoing};
use crate::params::{Reliability, RoceParams};
use crate::telemetry::PathTelemetry;
use crate::{ALLOCATION, ByteRange, Ranges, ShortQueue, ranges::extent};

mod skips;
mod timers;

impl Outgoing {
    /// The packet of it that begins at `offset`.
    #[inline]
    fn packet(&self, offset: u64, payload: u64, sequence: u32, is_retransmission: bool) -> DataPacket {
        DataPacket {
            offset,
            payload: payload as u32,
            sequence,
            operation: self.operation,
            is_first: offset == self.start && self.operation.begins(),
            is_last: offset + payload == self.end && self.operation.ends(),
            is_retransmission,
            restarts: 0,
            entropy: 0,
        }
    }
}

/// A data packet to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataPacket {
    /// First byte [offset in the stream].
    pub offset: u64,
    /// Payload [B].
    pub payload: u32,
    /// Packet sequence number.
    pub sequence: u32,
    /// How its message goes over the wire.
    pub operation: Operation,
    /// First of its message.
    pub is_first: bool,
    /// Last of its message.
    pub is_last: bool,
    /// Sent before.
    pub is_retransmission: bool,
    /// How often go-back-N has gone back so far, from 1 on again after 255.
    pub restarts: u8,
    /// Entropy value, by which switches hash it to a path.
    pub entropy: u16,
}

/// One direction of a connection, at its source. What every packet needs is in the first two cache lines.
#[derive(Default)]
#[repr(C)]
pub struct Requester {
    /// Bytes handed over by the owner.
    posted: u64,
    next: u64,
    acknowledged: u64,
    /// Packet sequence numbers of `next` and `acknowledged`.
    sequence: (u32, u32),
    /// The message that `next` lay in when it was last looked up; its parts, so that nothing pads them.
    message_start: u64,
    message_end: u64,
    message_operation: Operation,
    is_timer_set: bool,
    is_pacing: bool,
    /// How often it has gone back, from 1 on again after 255.
    restarts: u8,
    /// Element of `outgoing` that the byte `next` lies in, or one before.
    sending: u32,
    /// Farthest byte ever sent: what lies below is a retransmission.
    sent_max: u64,
    last_progress: Time,
    packets: u64,
    congestion: Option<Box<Congestion>>,
    /// Selective repeat in place of go-back-N.
    selective: Option<Box<SelectiveRepeat>>,
    /// Messages not yet acknowledged, and those before them that are like them.
    outgoing: ShortQueue<EqualMessages>,
    retransmitted_packets: u32,
    timeouts: u32,
}

impl Requester {
    /// Prepares to send at a NIC of `rate`, before the first message.
    pub fn open(&mut self, params: &RoceParams, rate: BitRate) {
        if self.posted > 0 {
            return;
        }
        self.congestion = Congestion::new(params, rate);
        self.selective = match params.reliability {
            Reliability::GoBackN => None,
            Reliability::SelectiveRepeat => Some(Box::new(SelectiveRepeat::new(params))),
        };
    }

    /// Releases its congestion control and its notes of packets. Answers that are still to come say nothing new.
    ///
    /// # Panics
    /// When something is not acknowledged.
    pub fn finish(&mut self) {
        assert!(self.is_idle(), "all messages of a connection that ends are acknowledged");
        (self.congestion, self.selective) = (None, None);
    }

    /// Memory that it has beside itself while it sends [B].
    pub fn memory(params: &RoceParams) -> u64 {
        let has_control = !params.congestion_controls().is_empty();
        let control = if has_control { size_of::<Congestion>() as u64 + ALLOCATION } else { 0 };
        let selective = size_of::<SelectiveRepeat>() as u64 + ALLOCATION;
        control + if params.reliability == Reliability::SelectiveRepeat { selective } else { 0 }
    }

    /// Adds a message to the stream; returns where it ends: an answer that later messages may go before, no earlier.
    pub fn post(&mut self, now: Time, bytes: u64, operation: Operation, params: &RoceParams) -> u64 {
        if self.acknowledged == self.posted {
            self.last_progress = now;
        }
        if !operation.is_answer() && self.has_unsent_answer() && self.moves_answers() {
            return self.insert(self.turn(params.path_mtu.get()), bytes, operation);
        }
        let (start, may_extend) = (self.posted, !operation.is_answer());
        self.posted += bytes;
        if !self.outgoing.last_mut().is_some_and(|last| may_extend && last.extend(bytes, operation)) {
            self.outgoing.push_back(EqualMessages { start, end: self.posted, count: 1, operation });
        }
        self.posted
    }

    /// Whether later messages go before answers that have not been sent: not where messages complete in any order, and
    /// so stand in one piece.
    pub fn moves_answers(&self) -> bool {
        self.acknowledged_ahead().is_none()
    }

    /// Whether the stream ends with an answer that has not been sent whole.
    fn has_unsent_answer(&self) -> bool {
        self.outgoing.last().is_some_and(|last| last.operation.is_answer() && last.end > self.sent_max)
    }

    /// Place of the next turn of the requester: behind what has been sent, and behind as many bytes of answers as
    /// the message before takes.
    fn turn(&self, mtu: u64) -> u64 {
        let mut place = self.sent_max;
        for own in self.outgoing.iter() {
            if !own.operation.is_answer() {
                place = place.max(own.end + (own.end - own.start) / u64::from(own.count));
            } else if (own.start..own.end).contains(&place) {
                place = own.end.min(own.start + (place - own.start).next_multiple_of(mtu));
            }
        }
        place.min(self.posted)
    }

    /// Puts a message before all that stands from a place on, which is the start of a packet that has not been sent.
    fn insert(&mut self, place: u64, bytes: u64, operation: Operation) -> u64 {
        let mut rest = None;
        for own in self.outgoing.iter_mut().filter(|own| own.end > place) {
            if own.start < place {
                let (before, behind) = own.operation.parted();
                rest = Some(EqualMessages { start: place + bytes, end: own.end + bytes, count: 1, operation: behind });
                (own.end, own.operation) = (place, before);
            } else {
                (own.start, own.end) = (own.start + bytes, own.end + bytes);
            }
        }
        let own = EqualMessages { start: place, end: place + bytes, count: 1, operation };
        [Some(own), rest].into_iter().flatten().for_each(|own| self.outgoing.insert_by_key(own, |own| own.start));
        self.posted += bytes;
        if self.message_end > place {
            (self.message_start, self.message_end) = (0, 0);
        }
        place + bytes
    }

    /// End of the answer whose last packet was sent last, maybe again.
    #[inline]
    pub fn answered(&self) -> Option<u64> {
        let is_end = self.next == self.message_end && self.message_operation.ends();
        (is_end && self.message_operation.is_answer()).then_some(self.next)
    }

    /// Whether window and rate let a packet out now.
    #[inline]
    pub fn may_send(&self, params: &RoceParams) -> bool {
        !self.is_pacing && self.has_more(params)
    }

    /// Whether the window lets a packet out.
    #[inline]
    fn has_more(&self, params: &RoceParams) -> bool {
        let has_new = self.next < self.posted && self.next - self.acknowledged < self.window(params);
        match &self.selective {
            None => has_new,
            Some(selective) => selective.first_lost().is_some() || (has_new && self.is_in_range(params)),
        }
    }

    /// Most that may be unacknowledged now [B].
    #[inline]
    pub fn window(&self, params: &RoceParams) -> u64 {
        let of_congestion = self.congestion.as_ref().and_then(|congestion| congestion.window());
        of_congestion.unwrap_or(params.window.get())
    }

    /// Whether the responder has room to track the next packet.
    fn is_in_range(&self, params: &RoceParams) -> bool {
        (self.sequence.0.wrapping_sub(self.sequence.1) & SEQUENCES) < params.psn_range
    }

    /// The next packet that window and rate allow. The host reports its size to [`Requester::charge`].
    #[inline]
    pub fn next_packet(&mut self, now: Time, params: &RoceParams) -> Option<DataPacket> {
        if !self.may_send(params) {
            return None;
        }
        if self.selective.is_some() {
            return Some(self.next_selective(now, params));
        }
        Some(self.next_in_order(params))
    }

    /// Returns the packet that follows in the stream.
    #[inline]
    fn next_in_order(&mut self, params: &RoceParams) -> DataPacket {
        let message = self.next_message();
        let (offset, sequence) = (self.next, self.sequence.0);
        let payload = params.path_mtu.get().min(message.end - offset);
        let is_retransmission = offset < self.sent_max;
        if is_retransmission {
            self.retransmitted_packets += 1;
        }
        self.next += payload;
        self.sequence.0 = following(sequence);
        self.sent_max = self.sent_max.max(self.next);
        self.packets += 1;
        DataPacket { restarts: self.restarts, ..message.packet(offset, payload, sequence, is_retransmission) }
    }

    /// The oldest lost packet, or what follows in the stream.
    #[inline(never)]
    fn next_selective(&mut self, now: Time, params: &RoceParams) -> DataPacket {
        let lost = self.selective.as_ref().and_then(|selective| selective.first_lost());
        let mut packet = match lost {
            Some(offset) => {
                let progress = Progress { acknowledged: self.acknowledged, next: self.next };
                if let Some(congestion) = &mut self.congestion {
                    congestion.lost(now, progress);
                }
                self.lost_packet(offset, params)
            }
            None => self.next_in_order(params),
        };
        if let Some(selective) = &mut self.selective {
            let end = packet.offset + u64::from(packet.payload);
            packet.entropy = selective.sent(now, ByteRange::new(packet.offset, end));
        }
        packet
    }

    /// The packet that begins at `offset`, once more. Packets before it are counted from the oldest on.
    fn lost_packet(&mut self, offset: u64, params: &RoceParams) -> DataPacket {
        let mtu = params.path_mtu.get();
        let (mut start, mut sequence) = (self.acknowledged, self.sequence.1);
        let mut message = self.message_at(start);
        while message.end <= offset {
            sequence += (message.end - start).div_ceil(mtu) as u32;
            start = message.end;
            message = self.message_at(start);
        }
        sequence = (sequence + ((offset - start) / mtu) as u32) & SEQUENCES;
        self.packets += 1;
        self.retransmitted_packets += 1;
        message.packet(offset, mtu.min(message.end - offset), sequence, true)
    }

    /// Charges `wire` bytes to the rate, which may delay the next packet. Whether switches may mark the packet.
    #[inline]
    pub fn charge(&mut self, now: Time, wire: u32, params: &RoceParams) -> bool {
        let Some(congestion) = &mut self.congestion else { return params.avoids_marked_paths() };
        self.is_pacing = congestion.sent(now, wire);
        params.heeds_marks()
    }

    /// Lets nothing out until [`Requester::resume`] if it has nothing to send; otherwise changes nothing.
    pub fn hold(&mut self) -> bool {
        let is_idle = !self.is_pacing && self.next == self.posted;
        self.is_pacing |= is_idle;
        is_idle
    }

    /// When [`Requester::resume`] is due.
    #[inline]
    pub fn paced_until(&self) -> Option<Time> {
        self.congestion.as_ref().filter(|_| self.is_pacing).map(|congestion| congestion.next_at())
    }

    /// Lets the next packet out if the rate does.
    pub fn resume(&mut self, now: Time) {
        self.is_pacing = self.congestion.as_mut().is_some_and(|congestion| !congestion.is_open(now));
    }

    /// Takes an acknowledgement.
    #[inline]
    pub fn on_acknowledgement(&mut self, now: Time, answer: &Acknowledgement) {
        if let (Some(selective), Some(report)) = (&mut self.selective, &answer.report) {
            let progress = Progress { acknowledged: self.acknowledged, next: self.next };
            if selective.on_report(now, answer.cumulative, report, progress) {
                self.last_progress = now;
            }
        }
        let before = self.acknowledged;
        self.advance(now, answer);
        if answer.is_negative {
            self.go_back();
        }
        if self.congestion.is_some() {
            self.heed(now, answer, self.acknowledged - before);
        }
    }

    /// Passes on to congestion control what an acknowledgement of `acked` new bytes reports.
    fn heed(&mut self, now: Time, answer: &Acknowledgement, acked: u64) {
        let Some(congestion) = &mut self.congestion else { return };
        let progress = Progress { acknowledged: self.acknowledged, next: self.next };
        if let Some(SelectiveReport { sent, is_marked, .. }) = answer.report {
            let Progress { acknowledged, next } = progress;
            let round_trip = now.since(sent);
            congestion.acknowledged(now, &Feedback { acked, acknowledged, next, round_trip, is_marked });
        }
        if answer.is_negative {
            congestion.lost(now, progress);
        }
    }

    /// Takes what switches wrote into the packet that an acknowledgement of all below `acknowledged` answers.
    pub fn on_telemetry(&mut self, path: &PathTelemetry, acknowledged: u64) {
        if let Some(congestion) = &mut self.congestion {
            congestion.measured(path, acknowledged, self.next);
        }
    }

    /// Takes a congestion notification.
    pub fn on_congestion(&mut self, now: Time) {
        if let Some(congestion) = &mut self.congestion {
            congestion.notified(now);
        }
    }

    /// Bytes acknowledged so far [offset].
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Values beside it: its congestion control and its notes of packets.
    pub(super) fn beside(&self) -> [(*const u8, usize); 2] {
        [extent(self.congestion.as_deref()), extent(self.selective.as_deref())]
    }

    /// Memory of its notes of packets.
    pub(super) fn apart(&self) -> [*const u8; 4] {
        self.selective.as_ref().map_or([std::ptr::null(); 4], |selective| selective.apart())
    }

    /// Ranges that are acknowledged beyond that, where messages complete in any order.
    pub fn acknowledged_ahead(&self) -> Option<&Ranges> {
        self.selective.as_ref()?.ahead()
    }

    /// Whether it sends again what is missing alone.
    #[inline]
    pub fn repeats_selectively(&self) -> bool {
        self.selective.is_some()
    }

    /// Whether all that was posted is acknowledged.
    pub fn is_idle(&self) -> bool {
        self.acknowledged == self.posted
    }

    /// The longest message that is not acknowledged, and that later ones wait for [B].
    pub fn longest_message(&self) -> u64 {
        let is_passed = |own: &EqualMessages| own.operation.is_answer() && self.moves_answers();
        let messages = self.outgoing.iter().filter(|own| own.end > self.acknowledged && !is_passed(own));
        messages.map(|messages| (messages.end - messages.start) / u64::from(messages.count)).max().unwrap_or(0)
    }

    /// Sent and not acknowledged [B].
    pub fn in_flight(&self) -> u64 {
        self.next - self.acknowledged
    }

    /// The rate that congestion control allows at `now`, if there is one.
    pub fn rate(&self, now: Time) -> Option<BitRate> {
        self.congestion.as_ref().and_then(|congestion| congestion.rate_at(now))
    }

    /// When anything was last acknowledged, or data began to wait for that.
    pub fn last_progress(&self) -> Time {
        self.last_progress
    }

    /// Data packets sent, again included.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Data packets sent again.
    pub fn retransmitted_packets(&self) -> u64 {
        self.retransmitted_packets.into()
    }

    /// Expiries of the retransmission timer.
    pub fn timeouts(&self) -> u64 {
        self.timeouts.into()
    }

    fn go_back(&mut self) {
        self.restarts = self.restarts % 255 + 1;
        self.next = self.acknowledged;
        self.sequence.0 = self.sequence.1;
        self.sending = 0;
    }

    #[inline]
    fn advance(&mut self, now: Time, answer: &Acknowledgement) {
        let offset = answer.cumulative;
        if offset <= self.acknowledged {
            return;
        }
        self.acknowledged = offset;
        self.sequence.1 = answer.sequence;
        self.last_progress = now;
        if self.next < offset {
            self.next = offset;
            self.sequence.0 = answer.sequence;
        }
        self.forget_until(offset);
    }

    /// The message with the byte at `offset`, which is not acknowledged.
    fn message_at(&self, offset: u64) -> Outgoing {
        let mut messages = self.outgoing.iter();
        messages.find(|messages| messages.end > offset).expect("what is lost was posted").message_at(offset)
    }

    /// Drops the messages that end at `offset` or before.
    #[inline]
    fn forget_until(&mut self, offset: u64) {
        while self.outgoing.first().is_some_and(|message| message.end <= offset) {
            self.outgoing.pop_front();
            self.sending = self.sending.saturating_sub(1);
        }
    }

    #[inline]
    fn next_message(&mut self) -> Outgoing {
        if !(self.message_start..self.message_end).contains(&self.next) {
            let Outgoing { start, end, operation } = loop {
                let messages = self.outgoing.get(self.sending as usize).expect("what is sent was posted");
                if messages.end > self.next {
                    break messages.message_at(self.next);
                }
                self.sending += 1;
            };
            (self.message_start, self.message_end, self.message_operation) = (start, end, operation);
        }
        Outgoing { start: self.message_start, end: self.message_end, operation: self.message_operation }
    }
}

#[cfg(test)]
mod tests;
