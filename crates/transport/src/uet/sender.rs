//! The sending half of a context: outgoing messages, packets on their way, and when to send again.

mod inference;
mod loss;

use std::collections::VecDeque;

use etherweave_primitives::{BitRate, Time};

use self::inference::Inference;
use super::header::{AckHeader, answer, clear_offset, control, credits, request, with_credits};
use super::nscc::{NsccFeedback, NsccWindow, PacketSizes};
use super::{params::Delivery, params::UetParams, rccc::SourceCredit};
use crate::connection::OpenMessage;
use crate::entropy::{Balancer, PathFeedback};
use crate::outgoing::{EqualMessages, Outgoing};
use crate::packet::{PacketKind, TransportPacket, flags};
use crate::roce::Operation;
use crate::state_word::{from_now, joined};
use crate::transport::TransportParams;
use crate::{ByteRange, Headers, Ranges, ShortQueue, ranges::address};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PacketState {
    InFlight,
    /// It waits to be sent again.
    Lost,
    Arrived,
}

#[derive(Clone, Copy, Debug)]
struct SentPacket {
    sent: Time,
    offset: u64,
    payload: u32,
    entropy: u16,
    /// Times that it was sent again, and those of them that the timer asked for.
    repeats: u8,
    timeouts: u8,
    /// Packets that were sent before it, modulo 2^32.
    order: u32,
    state: PacketState,
    /// First and last of its message, its operation, and whether it asks for an acknowledgement, as bits of a request.
    bits: u8,
}

impl SentPacket {
    /// Its state behind an offset, after so many packets in all.
    fn word(&self, now: Time, start: u64, packets: u32) -> u64 {
        let &SentPacket { sent, offset, payload, entropy, repeats, timeouts, order, state, bits } = self;
        let small = [entropy.into(), repeats.into(), timeouts.into(), state as u64, bits.into()];
        let own = [from_now(now, sent), offset.wrapping_sub(start), payload.into(), packets.wrapping_sub(order).into()];
        joined(own.into_iter().chain(small))
    }
}

/// See the module. Packet sequence numbers wrap at 2^32, and their distances are below 2^15.
#[repr(align(64))]
pub(super) struct UetSender {
    /// Bytes handed over by the owner.
    posted: u64,
    /// Next byte never sent.
    next: u64,
    acknowledged: u64,
    /// Number of the first of `packets`.
    first: u32,
    packets: VecDeque<SentPacket>,
    /// Numbers of lost packets, oldest loss first; those that have arrived since are left out.
    lost: VecDeque<u32>,
    lost_count: u32,
    /// Sent and not known to have left the network [B]. Negative where received bytes were rounded up.
    in_flight: i64,
    /// Received, as the receiver counts.
    received: u32,
    /// Ranges that have arrived beyond the first missing byte.
    arrived: Ranges,
    inference: Inference,
    outgoing: ShortQueue<EqualMessages>,
    /// The message of the byte before `next`.
    message: Outgoing,
    is_established: bool,
    is_held: bool,
    /// Number up to which packets are known to be acknowledged as they arrive.
    asked: u32,
    /// Whether a control packet is to ask for that.
    asks_ack: bool,
    /// When the timer runs out, for a tail or for the timeout.
    timer_at: Option<Time>,
    /// When what is in flight may have been for longer than the timeout.
    retransmits_at: Option<Time>,
    /// Whether an event is queued for that time.
    has_timeout_event: bool,
    pub(super) acknowledged_at: Time,
    congestion: Option<NsccWindow>,
    credit: Option<SourceCredit>,
    /// Whether credits are asked for again because nothing came for long.
    asks_again: bool,
    entropies: Balancer,
    rate: BitRate,
    /// A full packet, as windows count it [B].
    counted_packet: u64,
    pub(super) sent_packets: u64,
    pub(super) retransmitted_packets: u64,
    pub(super) timeouts: u64,
}

impl UetSender {
    pub(super) fn new(params: &UetParams, rate: BitRate) -> UetSender {
        let sizes = PacketSizes { payload: params.payload_mtu.get(), counted: params.counted_packet() };
        UetSender {
            posted: 0,
            next: 0,
            acknowledged: 0,
            first: 0,
            packets: VecDeque::new(),
            lost: VecDeque::new(),
            lost_count: 0,
            in_flight: 0,
            received: 0,
            arrived: Ranges::default(),
            inference: Inference::default(),
            outgoing: ShortQueue::default(),
            message: Outgoing::default(),
            is_established: false,
            is_held: false,
            asked: 0,
            asks_ack: false,
            timer_at: None,
            retransmits_at: None,
            has_timeout_event: false,
            acknowledged_at: Time::ZERO,
            congestion: params.nscc.as_ref().map(|nscc| NsccWindow::new(nscc, rate, sizes)),
            credit: params.rccc.as_ref().map(|rccc| SourceCredit::new(rccc, rate, sizes.counted)),
            asks_again: false,
            entropies: Balancer::new(params.load_balancer.as_ref(), params.load_balancing, params.entropies),
            rate,
            counted_packet: params.counted_packet(),
            sent_packets: 0,
            retransmitted_packets: 0,
            timeouts: 0,
        }
    }

    /// State that decides what it will do.
    ///
    /// # Errors
    /// See [`ConnectionState::repeatable_state`](crate::ConnectionState::repeatable_state).
    pub(super) fn repeatable_state(&self, now: Time, left: u64) -> Result<u64, &'static str> {
        // The timer runs out no later than a packet or a tail is due, and does nothing before, but for `uud`: there it
        // takes all that was sent as delivered, and arrivals show when it was set.
        let &UetSender {
            posted,
            next,
            acknowledged,
            first,
            ref packets,
            ref lost,
            lost_count,
            in_flight,
            received: _,
            ref arrived,
            ref inference,
            ref outgoing,
            message: _,
            is_established,
            is_held,
            asked,
            asks_ack,
            timer_at: _,
            retransmits_at: _,
            has_timeout_event: _,
            acknowledged_at: _,
            ref congestion,
            ref credit,
            asks_again: _,
            ref entropies,
            rate: _,
            counted_packet: _,
            sent_packets,
            retransmitted_packets: _,
            timeouts: _,
        } = self;
        if credit.is_some() {
            return Err("transport.uet.rccc");
        }
        let entropies = if sent_packets == 0 { Some(0) } else { entropies.repeatable_state(now) };
        let entropies = entropies.ok_or("transport.uet.load_balancing")?;
        let orders = (sent_packets as u32, first);
        let open = [posted - left - acknowledged, next - acknowledged, lost_count.into(), in_flight as u64];
        let flags = [is_established, is_held, asks_ack].map(u64::from);
        let is_asked = asked == first.wrapping_add(packets.len() as u32);
        let asked = if is_asked { u64::MAX } else { self.place_of(asked).unwrap_or_default() as u64 };
        let window = congestion.as_ref().map_or(0, |window| window.word(now));
        let own = [arrived.word(acknowledged), inference.word(now, orders), asked, window, entropies];
        let messages = outgoing.iter().map(|own| own.word(acknowledged + if own.end > next { left } else { 0 }));
        let packets = packets.iter().map(|own| own.word(now, acknowledged, sent_packets as u32));
        let lost = lost.iter().map(|number| number.wrapping_sub(first).into());
        Ok(joined(open.into_iter().chain(flags).chain(own).chain(messages).chain(packets).chain(lost)))
    }

    /// The message that it is sending, if there is one.
    ///
    /// # Errors
    /// Messages before it are not acknowledged.
    pub(super) fn open_message(&self) -> Result<Option<OpenMessage>, &'static str> {
        self.outgoing.open(self.acknowledged, self.next)
    }

    /// Takes bytes that are still to be sent away from that message.
    pub(super) fn shorten(&mut self, bytes: u64) {
        self.outgoing.shorten(self.next, bytes);
        self.posted -= bytes;
        if self.message.end > self.next {
            self.message.end -= bytes;
        }
    }

    pub(super) fn post(&mut self, bytes: u64, operation: Operation) -> u64 {
        let start = self.posted;
        self.posted += bytes;
        if !self.outgoing.last_mut().is_some_and(|last| last.extend(bytes, operation)) {
            self.outgoing.push_back(EqualMessages { start, end: self.posted, count: 1, operation });
        }
        self.posted
    }

    /// Lets nothing out until [`UetSender::resume`] if it has nothing to send.
    pub(super) fn hold(&mut self) -> bool {
        let is_idle = !self.is_held && self.next == self.posted && self.lost_count == 0;
        self.is_held |= is_idle;
        is_idle
    }

    pub(super) fn resume(&mut self) {
        self.is_held = false;
    }

    /// Whether window and range let a packet out.
    #[inline]
    pub(super) fn may_send(&self, params: &UetParams) -> bool {
        let has_data = !self.is_held && (self.lost_count > 0 || self.has_new(params));
        has_data && ((self.has_window() && self.has_credit()) || self.asks())
    }

    #[inline]
    fn has_credit(&self) -> bool {
        self.credit.as_ref().is_none_or(SourceCredit::is_open)
    }

    /// Whether a packet that asks for credits goes out: the receiver owes none, or has not answered for long.
    #[inline]
    fn asks(&self) -> bool {
        let credit = self.credit.as_ref().filter(|credit| !credit.is_open());
        credit.is_some_and(|credit| credit.is_settled() || self.asks_again)
    }

    fn has_new(&self, params: &UetParams) -> bool {
        self.next < self.posted && self.packets.len() < params.psn_range as usize
    }

    /// A full packet must fit (3.6.13).
    #[inline]
    fn has_window(&self) -> bool {
        let bytes = self.in_flight() + self.counted_packet;
        match (&self.congestion, &self.credit) {
            (Some(window), _) => window.holds(bytes),
            (None, Some(credit)) => bytes <= credit.max(),
            (None, None) => true,
        }
    }

    /// Most that may be in flight now [B].
    pub(super) fn window(&self, params: &UetParams) -> u64 {
        let range = u64::from(params.psn_range) * params.payload_mtu.get();
        self.congestion.as_ref().map_or(range, NsccWindow::bytes)
    }

    pub(super) fn next_packet(&mut self, now: Time, params: &UetParams, headers: &Headers) -> Option<TransportPacket> {
        if !self.may_send(params) {
            return None;
        }
        if self.credit.is_some() && !(self.has_credit() && self.has_window()) {
            return Some(self.ask(now, params, headers));
        }
        let number = match self.next_lost() {
            Some(number) => number,
            None => self.append(params),
        };
        let entropy = if params.delivery == Delivery::Rod { 0 } else { self.entropies.next() };
        let place = self.place_of(number).expect("a packet that is sent is not acknowledged");
        let packet = &mut self.packets[place];
        (packet.sent, packet.entropy, packet.state) = (now, entropy, PacketState::InFlight);
        packet.order = self.sent_packets as u32;
        let mut packet = *packet;
        self.in_flight += i64::from(packet.payload + params.counted_header());
        self.sent_packets += 1;
        let target = self.spend(packet.payload, params);
        let is_repeated = packet.repeats > 0;
        let is_judged = is_repeated && Self::judges(params);
        self.inference.note_sending(number, packet.order, is_judged);
        let wants_ack = is_repeated || self.is_ack_needed(params);
        if wants_ack {
            packet.bits |= request::ACK;
            self.packets[place].bits = packet.bits;
        }
        if params.delivery == Delivery::Uud {
            self.forget(params);
        }
        let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        let bits = packet.bits | bit(!self.is_established, request::SYN);
        let marks = bit(params.heeds_marks(), flags::ECN_CAPABLE);
        let cleared = self.first.wrapping_sub(number).wrapping_sub(1) as i16;
        Some(TransportPacket {
            flags: marks | bit(is_repeated, flags::RETRANSMISSION),
            header: (number, bits),
            offset: packet.offset,
            acknowledged: with_credits(target, entropy) | clear_offset(cleared),
            sent: now,
            ..TransportPacket::new(PacketKind::Data, headers.packet(packet.payload), packet.payload)
        })
    }

    /// Spends credit on a packet, and returns the target that it carries.
    fn spend(&mut self, payload: u32, params: &UetParams) -> u32 {
        if self.credit.is_none() {
            return 0;
        }
        let demand = self.demand(params);
        let Some(credit) = &mut self.credit else { return 0 };
        self.asks_again = false;
        credit.spend(u64::from(payload + params.counted_header()));
        credit.request(demand)
    }

    /// Asks for credits without data.
    fn ask(&mut self, now: Time, params: &UetParams, headers: &Headers) -> TransportPacket {
        let demand = self.demand(params);
        self.asks_again = false;
        let target = self.credit.as_mut().map_or(0, |credit| credit.request(demand));
        TransportPacket {
            header: (0, control::CREDIT_REQUEST),
            acknowledged: with_credits(target, 0),
            sent: now,
            ..TransportPacket::new(PacketKind::Cnp, headers.notification, 0)
        }
    }

    /// Returns the bytes that are left to send, and that the window allows with a packet more [B].
    fn demand(&self, params: &UetParams) -> u64 {
        let (packet, header) = (params.payload_mtu.get(), u64::from(params.counted_header()));
        let left = self.posted - self.next;
        let backlog = left + left.div_ceil(packet) * header + u64::from(self.lost_count) * (packet + header);
        let window = self.congestion.as_ref().map_or(u64::MAX, |window| window.bytes() + packet + header);
        backlog.min(window)
    }

    pub(super) fn on_grant(&mut self, packet: &TransportPacket) {
        if let Some(credit) = &mut self.credit {
            credit.confirm();
            credit.grant(credits(packet));
        }
    }

    /// Whether a control packet is to ask for acknowledgements.
    pub(super) fn asks_ack(&self) -> bool {
        self.asks_ack
    }

    /// The header of that packet: acknowledgements of what was sent so far.
    pub(super) fn ack_request(&mut self) -> (u32, u8) {
        self.asks_ack = false;
        (self.asked, control::ACK_REQUEST)
    }

    /// Has a control packet ask for acknowledgements where the window closes below what is out: the receiver may wait
    /// for more than will come.
    fn ask_if_closed(&mut self, params: &UetParams) {
        let end = self.first.wrapping_add(self.packets.len() as u32);
        let asks = self.congestion.as_ref().is_some_and(NsccWindow::asks);
        let waits = self.lost_count > 0 || self.has_new(params);
        if self.asked == end || !asks || !waits || self.has_window() {
            return;
        }
        let new = self.place_of(self.asked).unwrap_or_default();
        let is_silent = |packet: &SentPacket| packet.state == PacketState::InFlight && packet.bits & request::ACK == 0;
        self.asks_ack = self.packets.range(new..).any(is_silent);
        self.asked = end;
    }

    /// Whether the receiver must answer at once: nothing follows, or the window holds less than it waits for (3.6.13).
    fn is_ack_needed(&self, params: &UetParams) -> bool {
        let is_small = |window: &NsccWindow| !window.holds(params.ack_trigger.get());
        let has_more = self.lost_count > 0 || self.has_new(params);
        !has_more || !self.has_window() || !self.has_credit() || self.congestion.as_ref().is_some_and(is_small)
    }

    fn place_of(&self, number: u32) -> Option<usize> {
        let place = number.wrapping_sub(self.first) as usize;
        (place < self.packets.len()).then_some(place)
    }

    /// Makes the next packet of the stream.
    fn append(&mut self, params: &UetParams) -> u32 {
        if self.next >= self.message.end {
            let mut messages = self.outgoing.iter();
            let held = messages.find(|messages| messages.end > self.next).expect("what is sent was posted");
            self.message = held.message_at(self.next);
        }
        let Outgoing { start, end, operation } = self.message;
        let payload = params.payload_mtu.get().min(end - self.next);
        let first = if self.next == start { request::FIRST } else { 0 };
        let last = if self.next + payload == end { request::LAST } else { 0 };
        let kind = match operation {
            Operation::ReadRequest => request::READ,
            Operation::AtomicRequest => request::ATOMIC,
            _ => 0,
        };
        self.packets.push_back(SentPacket {
            sent: Time::ZERO,
            offset: self.next,
            payload: payload as u32,
            entropy: 0,
            repeats: 0,
            timeouts: 0,
            order: 0,
            state: PacketState::InFlight,
            bits: first | last | kind,
        });
        self.next += payload;
        self.first.wrapping_add(self.packets.len() as u32 - 1)
    }

    /// When a timer must run for the packet that was just sent, unless it runs.
    #[inline]
    pub(super) fn start_timer(&mut self, now: Time, params: &UetParams) -> Option<Time> {
        let due = match params.delivery {
            // The last bit of a datagram has left.
            Delivery::Uud => now + self.rate.serialization_time(params.payload_mtu),
            _ => now + params.retransmission_timeout,
        };
        self.retransmits_at = self.retransmits_at.or(Some(due));
        let due = self.await_tail(now, params).map_or(due, |tail| tail.min(due));
        self.expect(due)
    }

    /// Has the timer run out then, unless it does before. Returns when, if that is new.
    fn expect(&mut self, due: Time) -> Option<Time> {
        if self.timer_at.is_some_and(|at| at <= due) {
            return None;
        }
        self.timer_at = Some(due);
        self.queue_event(due)
    }

    /// Returns the time of an event of the timer, unless that of the timeout is queued: tails come before it.
    fn queue_event(&mut self, due: Time) -> Option<Time> {
        let is_timeout = self.retransmits_at == Some(due);
        let is_queued = is_timeout && std::mem::replace(&mut self.has_timeout_event, true);
        (!is_queued).then_some(due)
    }

    fn heed(&mut self, now: Time, entropy: u16, feedback: PathFeedback, params: &UetParams) {
        if params.delivery != Delivery::Rod {
            self.entropies.heed(now, entropy, feedback);
        }
    }

    /// Takes an acknowledgement, or a negative one where `is_negative`. Returns when the timer is due, if that is new.
    pub(super) fn on_answer(
        &mut self,
        now: Time,
        ack: &AckHeader,
        is_negative: bool,
        params: &UetParams,
    ) -> Option<Time> {
        self.is_established = true;
        if let Some(credit) = &mut self.credit {
            credit.confirm();
        }
        self.inference.note_answer(now, ack);
        if ack.has(answer::SINGLE) {
            match is_negative {
                true => self.take_loss(now, ack, params),
                false => self.take_response(now, ack, params),
            }
            self.infer_losses(now, params);
            return self.await_tail(now, params).and_then(|due| self.expect(due));
        }
        self.arrive_below(now, ack.cumulative, params);
        // An acknowledgement that another overtook counts fewer bytes, or many more modulo 2^24.
        let acked = Some(ack.received_since(self.received)).filter(|&acked| acked < 1 << 31).unwrap_or_default();
        if acked > 0 {
            self.received = ack.received;
            self.in_flight -= acked as i64;
        }
        if is_negative {
            self.take_loss(now, ack, params);
        } else {
            self.arrive_by_bitmap(ack, params);
            self.take_signal(now, ack, acked, params);
        }
        self.infer_losses(now, params);
        self.ask_if_closed(params);
        self.await_tail(now, params).and_then(|due| self.expect(due))
    }

    /// Takes an answer of RUDI, which is about a single packet.
    fn take_response(&mut self, now: Time, ack: &AckHeader, params: &UetParams) {
        let place = self.place_of(ack.bitmap as u32);
        let Some(place) = place.filter(|&place| self.packets[place].state != PacketState::Arrived) else { return };
        self.arrive(place, params);
        let acked = u64::from(self.packets[place].payload + params.counted_header());
        self.in_flight -= acked as i64;
        let count = self.packets.iter().take_while(|packet| packet.state == PacketState::Arrived).count();
        self.arrive_below(now, self.first.wrapping_add(count as u32), params);
        self.take_signal(now, ack, acked, params);
    }

    fn take_signal(&mut self, now: Time, ack: &AckHeader, acked: u64, params: &UetParams) {
        let is_marked = ack.has(answer::ECN_ECHO);
        let in_flight = self.in_flight();
        if ack.has(answer::REQUESTED) {
            if let Some(window) = &mut self.congestion {
                window.received(acked);
            }
            return;
        }
        if let Some(window) = &mut self.congestion {
            let round_trip = now.since(ack.sent);
            window.acknowledged(now, &NsccFeedback { acked, round_trip, is_marked, in_flight });
        }
        let feedback = if is_marked { PathFeedback::Marked } else { PathFeedback::Unmarked };
        self.heed(now, ack.entropy, feedback, params);
    }

    /// All packets below a number have arrived.
    fn arrive_below(&mut self, now: Time, cumulative: u32, params: &UetParams) {
        let count = cumulative.wrapping_sub(self.first) as usize;
        if count == 0 || count > self.packets.len() {
            return;
        }
        for _ in 0..count {
            self.note_arrival(0, params);
            let packet = self.packets.pop_front().expect("so many are there");
            self.acknowledged = packet.offset + u64::from(packet.payload);
        }
        (self.first, self.acknowledged_at) = (cumulative, now);
        self.arrived.remove_below(self.acknowledged);
        while self.outgoing.first().is_some_and(|messages| messages.end <= self.acknowledged) {
            self.outgoing.pop_front();
        }
    }

    /// A packet has arrived. If it was taken for lost, it counts twice: as lost and as received.
    fn note_arrival(&mut self, place: usize, params: &UetParams) {
        let packet = &mut self.packets[place];
        if packet.state == PacketState::Lost {
            self.lost_count -= 1;
            self.in_flight += i64::from(packet.payload + params.counted_header());
        }
        packet.state = PacketState::Arrived;
        // Of what was sent again, the former packet may have arrived.
        if packet.repeats == 0 {
            self.inference.note_arrival(packet.order);
        }
    }

    fn arrive_by_bitmap(&mut self, ack: &AckHeader, params: &UetParams) {
        let base = ack.cumulative.wrapping_add(ack.bitmap_offset().into());
        let mut bits = ack.bitmap;
        while bits != 0 {
            let number = base.wrapping_add(bits.trailing_zeros());
            bits &= bits - 1;
            let Some(place) = self.place_of(number) else { continue };
            if self.packets[place].state != PacketState::Arrived {
                self.arrive(place, params);
            }
        }
    }

    /// A packet has arrived beyond the first that is missing.
    fn arrive(&mut self, place: usize, params: &UetParams) {
        self.note_arrival(place, params);
        let SentPacket { offset, payload, .. } = self.packets[place];
        self.arrived.insert(ByteRange::new(offset, offset + u64::from(payload)));
    }

    fn forget(&mut self, params: &UetParams) {
        let sent = self.packets.pop_back().expect("just sent");
        self.first = self.first.wrapping_add(1);
        self.in_flight -= i64::from(sent.payload + params.counted_header());
        while self.outgoing.first().is_some_and(|messages| messages.end <= self.next) {
            self.outgoing.pop_front();
        }
    }

    /// Memory apart from the state that sending and answers touch: packets and entropy values.
    pub(super) fn apart(&self) -> [*const u8; 4] {
        let [first, last] = [self.packets.front(), self.packets.back()].map(address);
        let [recycled, penalties] = self.entropies.apart();
        [first, last, recycled, penalties]
    }

    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    pub(super) fn acknowledged_ahead(&self) -> &Ranges {
        &self.arrived
    }

    pub(super) fn is_idle(&self) -> bool {
        self.acknowledged == self.posted
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight.max(0) as u64
    }
}
