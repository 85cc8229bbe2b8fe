//! The receiving half of a context: what has arrived, and when to answer.

use etherweave_primitives::{BitRate, Time};

use super::header::{AckHeader, BITMAP, RECEIVED_SHIFT, answer, control, credits, entropy, request, with_credits};
use super::{params::Delivery, params::UetParams, rccc::Grants};
use crate::state_word::{from_now, joined};
use crate::{ByteRange, packet::TransportPacket, packet::flags, reassembly::Reassembly, roce::Answer, roce::Reception};

#[derive(Default)]
#[repr(align(64))]
pub(super) struct UetReceiver {
    /// Packets that have arrived, by number.
    packets: Reassembly,
    bytes: Reassembly,
    /// Received, as windows count [B].
    received: u64,
    /// Received since the last acknowledgement (ACK_GEN_COUNT) [B].
    unacknowledged: u64,
    /// Whether a packet beyond a gap has asked for an acknowledgement.
    is_requested: bool,
    /// Whether a gap of ordered delivery has been reported.
    is_gap_reported: bool,
    /// Facts of the packet that is answered.
    reply: Reply,
    grants: Option<Grants>,
    /// Packets below are acknowledged as they arrive, since a control packet asked for that.
    asked: u64,
    /// Whether that packet is to be answered.
    is_asked: bool,
    pub(super) out_of_order: u64,
    pub(super) naks: u64,
}

#[derive(Clone, Copy, Default)]
struct Reply {
    number: u64,
    entropy: u16,
    bits: u8,
    sent: Time,
}

const NOTHING_NEW: Reception = Reception { answer: Answer::Positive, bytes: 0, is_new: false };

impl Reply {
    /// Its facts, where all packets below a number have come.
    fn word(&self, now: Time, expected: u64) -> u64 {
        let &Reply { number, entropy, bits, sent } = self;
        joined([number.wrapping_sub(expected), entropy.into(), bits.into(), from_now(now, sent)])
    }
}

impl UetReceiver {
    pub(super) fn new(params: &UetParams, rate: BitRate) -> UetReceiver {
        let grants = params.rccc.as_ref().map(|rccc| Grants::new(rccc, rate));
        UetReceiver { grants, ..UetReceiver::default() }
    }

    /// State that decides what it will do.
    ///
    /// # Errors
    /// See [`ConnectionState::repeatable_state`](crate::ConnectionState::repeatable_state).
    pub(super) fn repeatable_state(&self, now: Time) -> Result<u64, &'static str> {
        let &UetReceiver {
            ref packets,
            ref bytes,
            received,
            unacknowledged,
            is_requested,
            is_gap_reported,
            ref reply,
            ref grants,
            asked,
            is_asked,
            out_of_order: _,
            naks: _,
        } = self;
        if grants.is_some() {
            return Err("transport.uet.rccc");
        }
        // Acknowledgements round up what was received.
        let part = received & ((1 << RECEIVED_SHIFT) - 1);
        let flags = [received == 0, is_requested, is_gap_reported, is_asked].map(u64::from);
        let is_answer_due = unacknowledged > 0 || is_asked || packets.has_gap();
        let reply = if is_answer_due { reply.word(now, packets.next()) } else { 0 };
        let asked = asked.saturating_sub(packets.next());
        let own = [packets.word(), bytes.word(), part, unacknowledged, reply, asked];
        Ok(joined(own.into_iter().chain(flags)))
    }

    /// Credits that its source is granted, where there are any.
    pub(super) fn grants(&mut self) -> Option<&mut Grants> {
        self.grants.as_mut()
    }

    /// Memory apart from the state that data touches: what has arrived beyond gaps.
    pub(super) fn apart(&self) -> [*const u8; 4] {
        let ([first, last], [start, end]) = (self.packets.ahead().addresses(), self.bytes.ahead().addresses());
        [first, last, start, end]
    }

    /// Takes a control packet of a source that has no credit, or asks for an acknowledgement.
    pub(super) fn on_control(&mut self, packet: &TransportPacket) {
        if packet.header.1 & control::ACK_REQUEST != 0 {
            (self.asked, self.is_asked) = (self.asked.max(self.number(packet.header.0)), true);
        }
        if let Some(grants) = self.grants.as_mut().filter(|_| packet.header.1 & control::CREDIT_REQUEST != 0) {
            grants.ask_without_credit(credits(packet));
        }
    }

    /// Whether a control packet is to be answered now.
    pub(super) fn takes_ack_request(&mut self) -> bool {
        let is_asked = std::mem::take(&mut self.is_asked);
        if is_asked {
            self.reply.bits = answer::REQUESTED;
        }
        is_asked
    }

    pub(super) fn grant(&mut self, packet: &mut TransportPacket) {
        let granted = self.grants.as_mut().map_or(0, Grants::give);
        packet.acknowledged = with_credits(granted, 0);
    }

    /// Takes a data packet. Every one of RUDI is answered, and none of UUD.
    pub(super) fn on_data(&mut self, packet: &TransportPacket, params: &UetParams) -> Reception {
        let reception = self.take(packet, params);
        let answer = match (params.delivery, reception.answer) {
            (Delivery::Uud, _) => Answer::None,
            (Delivery::Rudi, Answer::None) => Answer::Positive,
            (_, answer) => answer,
        };
        Reception { answer, ..reception }
    }

    fn take(&mut self, packet: &TransportPacket, params: &UetParams) -> Reception {
        if let Some(grants) = &mut self.grants {
            grants.ask(credits(packet));
        }
        let (number, bits) = packet.header;
        let expected = self.packets.next();
        let number = self.number(number);
        let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        let is_marked = packet.has(flags::CONGESTION);
        self.reply = Reply {
            number,
            entropy: entropy(packet),
            bits: bit(is_marked, answer::ECN_ECHO)
                | bit(packet.has(flags::RETRANSMISSION), answer::RETRANSMITTED)
                | bit(packet.has(flags::LAST_HOP), answer::LAST_HOP)
                | bit(params.delivery == Delivery::Rudi, answer::SINGLE),
            sent: packet.sent,
        };
        let range = ByteRange::new(number, number.wrapping_add(1));
        if number < expected || (number > expected && self.packets.ahead().contain(range)) {
            return NOTHING_NEW;
        }
        if packet.has(flags::TRIMMED) {
            self.naks += 1;
            if let Some(grants) = &mut self.grants {
                grants.owe(params.counted_packet());
            }
            return Reception { answer: Answer::Negative, ..NOTHING_NEW };
        }
        self.out_of_order += u64::from(number > expected);
        if number > expected && params.delivery == Delivery::Rod {
            return Reception { answer: self.report_gap(packet.has(flags::RETRANSMISSION)), ..NOTHING_NEW };
        }
        self.is_requested |= bits & request::ACK != 0;
        self.place(packet, range, is_marked || bits & request::ACK != 0, params)
    }

    /// Numbers are nearer than 2^31 to the one that is expected.
    fn number(&self, number: u32) -> u64 {
        let expected = self.packets.next();
        expected.wrapping_add_signed(i64::from(number.wrapping_sub(expected as u32) as i32))
    }

    /// Ordered delivery discards what follows a gap, and reports it by the first packet of that, and by each that was
    /// sent again: the sender has gone back then, and what it sent first is missing once more.
    fn report_gap(&mut self, is_repeated: bool) -> Answer {
        if std::mem::replace(&mut self.is_gap_reported, true) && !is_repeated {
            return Answer::None;
        }
        self.reply.bits |= answer::OUT_OF_ORDER;
        self.naks += 1;
        Answer::Negative
    }

    fn place(
        &mut self,
        packet: &TransportPacket,
        range: ByteRange,
        is_requested: bool,
        params: &UetParams,
    ) -> Reception {
        let counted = u64::from(packet.payload + params.counted_header());
        let (expected, before) = (self.packets.next(), self.bytes.next());
        let bytes = ByteRange::new(packet.offset, packet.offset + u64::from(packet.payload));
        self.received += counted;
        self.unacknowledged += counted.max(params.ack_packet_min.get());
        self.is_gap_reported = false;
        if range.start == expected {
            self.packets.advance(range.end);
            self.bytes.advance(bytes.end);
        } else {
            self.packets.keep(range);
            self.bytes.keep(bytes);
        }
        // Who asked for an acknowledgement beyond gaps is to know when the last of them is filled.
        let fills = self.packets.ahead().is_empty() && std::mem::take(&mut self.is_requested);
        let is_first = self.received == counted;
        let is_due = is_requested
            || fills
            || is_first
            || range.start < self.asked
            || self.unacknowledged >= params.ack_trigger.get();
        let answer = if is_due { Answer::Positive } else { Answer::None };
        Reception { answer, bytes: self.bytes.next() - before, is_new: true }
    }

    /// The acknowledgement of the packet that arrived last.
    pub(super) fn acknowledge(&mut self, is_negative: bool) -> AckHeader {
        let Reply { number, entropy, bits, sent } = self.reply;
        let cumulative = self.packets.next();
        if !is_negative {
            self.unacknowledged = 0;
        }
        let mut ack = AckHeader {
            cumulative: cumulative as u32,
            answered: (number.wrapping_sub(cumulative) as i64).max(i16::MIN.into()) as i16,
            bitmap: number,
            entropy,
            received: AckHeader::units(self.received),
            bits,
            sent,
        };
        if !is_negative && !ack.has(answer::SINGLE) {
            ack.bitmap = self.bitmap(cumulative + u64::from(ack.bitmap_offset()));
        }
        ack
    }

    fn bitmap(&self, base: u64) -> u64 {
        let (mut bits, mut from) = (0, base);
        let end = base + BITMAP;
        while let Some(range) = self.packets.ahead().at_or_after(from).filter(|range| range.start < end) {
            let (start, stop) = (range.start.max(base) - base, range.end.min(end) - base);
            bits |= (u64::MAX >> (BITMAP - (stop - start))) << start;
            from = range.end;
        }
        bits
    }

    /// All below has arrived [offset].
    pub(super) fn arrived(&self) -> u64 {
        self.bytes.next()
    }

    /// Ranges that have arrived beyond.
    pub(super) fn ahead(&self) -> &crate::Ranges {
        self.bytes.ahead()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketKind;

    /// The answer to packet `number` of 1,000 B.
    fn answer_to(receiver: &mut UetReceiver, number: u32, bits: u8, mark: u8) -> Answer {
        let packet = TransportPacket {
            header: (number, bits),
            offset: u64::from(number) * 1_000,
            flags: mark,
            ..TransportPacket::new(PacketKind::Data, 1_100, 1_000)
        };
        let answer = receiver.on_data(&packet, &UetParams::default()).answer;
        receiver.acknowledge(answer == Answer::Negative);
        answer
    }

    #[test]
    fn who_asked_beyond_gaps_is_answered_when_none_is_left() {
        let mut receiver = UetReceiver::default();
        assert_eq!(answer_to(&mut receiver, 0, request::FIRST, 0), Answer::Positive, "the first packet of a context");
        assert_eq!(answer_to(&mut receiver, 4, request::ACK, 0), Answer::Positive);
        assert_eq!(answer_to(&mut receiver, 1, 0, 0), Answer::None, "2 and 3 are missing");
        assert_eq!(answer_to(&mut receiver, 3, 0, 0), Answer::None);
        assert_eq!(answer_to(&mut receiver, 2, 0, 0), Answer::Positive);
    }

    #[test]
    fn a_gap_of_ordered_delivery_is_reported_once_and_by_what_is_sent_again() {
        let mut receiver = UetReceiver::default();
        let params = UetParams { delivery: Delivery::Rod, ..UetParams::default() };
        let mut answer = |number: u32, flags: u8| {
            let header = (number, 0);
            let packet = TransportPacket { header, flags, ..TransportPacket::new(PacketKind::Data, 1_100, 1_000) };
            receiver.on_data(&packet, &params).answer
        };
        assert_eq!(answer(0, 0), Answer::Positive, "the first packet of a context");
        assert_eq!([2, 3, 4].map(|number| answer(number, 0)), [Answer::Negative, Answer::None, Answer::None]);
        assert_eq!(answer(3, flags::RETRANSMISSION), Answer::Negative, "the sender has gone back, and 1 is missing");
    }

    #[test]
    fn a_mark_beyond_a_gap_asks_for_nothing_later() {
        let mut receiver = UetReceiver::default();
        answer_to(&mut receiver, 0, request::FIRST, 0);
        assert_eq!(answer_to(&mut receiver, 2, 0, flags::CONGESTION), Answer::Positive);
        assert_eq!(answer_to(&mut receiver, 1, 0, 0), Answer::None);
    }
}
