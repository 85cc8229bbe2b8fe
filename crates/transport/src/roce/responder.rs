//! The responder: what has arrived, and what it answers.

use std::mem::take;

use etherweave_primitives::Time;

use super::{Acknowledgement, SEQUENCES, SelectiveReport, following};
use crate::params::{CompletionOrder, Reliability, RoceParams};
use crate::state_word::{from_now, joined};
use crate::{ByteRange, Ranges, ranges::extent, reassembly::Reassembly};

/// A data packet as it arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataArrival {
    /// First byte [offset in the stream].
    pub offset: u64,
    /// Payload [B].
    pub payload: u32,
    /// Packet sequence number.
    pub sequence: u32,
    /// Last of its message.
    pub is_last: bool,
    /// When it was sent.
    pub sent: Time,
    /// How often the requester had gone back, from 1 on again after 255. In a network that changes the order of packets
    /// it is of no use, and 0: what falls behind there may have been overtaken.
    pub restarts: u8,
    /// Entropy value.
    pub entropy: u16,
}

/// Answer of the host to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Nothing yet.
    None,
    /// An acknowledgement.
    Positive,
    /// A negative acknowledgement: a packet is missing.
    Negative,
}

/// Effect of a packet at the responder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reception {
    /// Answer that is sent back.
    pub answer: Answer,
    /// Bytes that are now there in order [B].
    pub bytes: u64,
    /// Whether it has brought anything new, in order or not.
    pub is_new: bool,
}

/// One direction of a connection, at its destination.
#[derive(Default)]
#[repr(C)]
pub struct Responder {
    /// Next byte to receive, and its packet sequence number.
    expected: u64,
    expected_sequence: u32,
    /// Packets since the last answer.
    unacknowledged_packets: u32,
    out_of_order_packets: u32,
    naks: u32,
    /// Go-back-N: how often the requester had gone back when the gap was reported that is open.
    reported: Option<u8>,
    /// The next congestion notification leaves no earlier.
    notifies_from: Time,
    /// Selective repeat in place of go-back-N.
    placement: Option<Box<Placement>>,
}

/// Selective repeat: what has been placed beyond the next byte expected.
#[derive(Default)]
struct Placement {
    bytes: Reassembly,
    /// The same in packet sequence numbers, counted on beyond 24 bits.
    packets: Reassembly,
    /// When the packet was sent that arrived last.
    sent: Time,
    /// Its entropy value.
    entropy: u16,
    /// A marked packet has arrived since the last answer.
    is_marked: bool,
    completion_order: CompletionOrder,
}

impl Responder {
    /// State that decides what it will do.
    pub(super) fn word(&self, now: Time) -> u64 {
        let &Responder {
            expected: _,
            expected_sequence: _,
            unacknowledged_packets,
            out_of_order_packets: _,
            naks: _,
            reported,
            notifies_from,
            ref placement,
        } = self;
        let gap = reported.map_or(0, |restarts| 1 + u64::from(restarts));
        let placed = placement.as_ref().map_or(0, |placement| placement.word(now, unacknowledged_packets > 0));
        joined([unacknowledged_packets.into(), gap, notifies_from.since(now).as_ps(), placed])
    }

    /// Takes a data packet.
    #[inline]
    pub fn on_data(&mut self, arrival: &DataArrival, params: &RoceParams) -> Reception {
        if params.reliability == Reliability::SelectiveRepeat {
            return self.place(arrival, params);
        }
        if arrival.offset > self.expected {
            return Reception { answer: self.report_gap(arrival), bytes: 0, is_new: false };
        }
        if arrival.offset < self.expected {
            return Reception { answer: Answer::Positive, bytes: 0, is_new: false };
        }
        self.expected += u64::from(arrival.payload);
        self.expected_sequence = following(self.expected_sequence);
        self.reported = None;
        let answer = self.answer_in_order(arrival, params);
        Reception { answer, bytes: u64::from(arrival.payload), is_new: true }
    }

    /// An answer every `ack_every` packets and at the end of a message.
    #[inline]
    fn answer_in_order(&mut self, arrival: &DataArrival, params: &RoceParams) -> Answer {
        self.unacknowledged_packets += 1;
        let is_due = arrival.is_last || self.unacknowledged_packets >= params.ack_every;
        if is_due { Answer::Positive } else { Answer::None }
    }

    /// A packet of go-back-N behind a gap is discarded. A NAK reports the gap, and another one each time that the
    /// requester has gone back and its first packet is missing again. A NIC sees that by sequence numbers, which fall
    /// then; the simulator counts restarts, for the packets that would show it may be lost as well.
    fn report_gap(&mut self, arrival: &DataArrival) -> Answer {
        self.out_of_order_packets += 1;
        if self.reported.replace(arrival.restarts) == Some(arrival.restarts) {
            return Answer::None;
        }
        self.naks += 1;
        Answer::Negative
    }

    /// Places a packet wherever it belongs. Around gaps each is acknowledged at once (RFC 5681, section 4.2), and so is
    /// one that was marked on a path that the requester chose.
    fn place(&mut self, arrival: &DataArrival, params: &RoceParams) -> Reception {
        let range = ByteRange::new(arrival.offset, arrival.offset + u64::from(arrival.payload));
        let placement = Placement::of(&mut self.placement, params);
        (placement.sent, placement.entropy) = (arrival.sent, arrival.entropy);
        let echoes_mark = placement.is_marked && params.load_balancing.is_some();
        if range.start < self.expected {
            placement.bytes.note_duplicate(range);
            return Reception { answer: Answer::Positive, bytes: 0, is_new: false };
        }
        let ahead = arrival.sequence.wrapping_sub(self.expected_sequence) & SEQUENCES;
        let number = placement.packets.next() + u64::from(ahead);
        if ahead > 0 {
            debug_assert!(ahead < params.psn_range, "the requester keeps to the range that the responder tracks");
            let is_new = placement.bytes.keep(range);
            self.out_of_order_packets += u32::from(is_new);
            placement.packets.keep(ByteRange::new(number, number + 1));
            return Reception { answer: Answer::Positive, bytes: 0, is_new };
        }
        let has_gap = placement.bytes.has_gap();
        placement.bytes.advance(range.end);
        placement.packets.advance(number + 1);
        let bytes = placement.bytes.next() - self.expected;
        self.expected += bytes;
        self.expected_sequence = (placement.packets.next() & u64::from(SEQUENCES)) as u32;
        let answer = self.answer_in_order(arrival, params);
        let answer = if has_gap || echoes_mark { Answer::Positive } else { answer };
        Reception { answer, bytes, is_new: true }
    }

    /// The answer that stands for everything received so far.
    #[inline]
    pub fn acknowledge(&mut self, is_negative: bool) -> Acknowledgement {
        self.unacknowledged_packets = 0;
        let report = self.placement.as_mut().map(|placement| placement.report());
        Acknowledgement { cumulative: self.expected, sequence: self.expected_sequence, is_negative, report }
    }

    /// A marked packet has arrived: whether to notify the requester, at most once an interval. Otherwise the next
    /// acknowledgement echoes the mark, as it does where the requester chooses paths.
    pub fn notifies_congestion(&mut self, now: Time, params: &RoceParams) -> bool {
        let gap = params.notification_gap();
        if params.reliability == Reliability::SelectiveRepeat && (gap.is_none() || params.load_balancing.is_some()) {
            Placement::of(&mut self.placement, params).is_marked = true;
        }
        let Some(gap) = gap else { return false };
        let is_due = now >= self.notifies_from;
        if is_due {
            self.notifies_from = now + gap;
        }
        is_due
    }

    /// Received in order so far [offset].
    pub fn received(&self) -> u64 {
        self.expected
    }

    /// Notes that it has beside itself of data beyond the next byte expected.
    pub(super) fn beside(&self) -> (*const u8, usize) {
        extent(self.placement.as_deref())
    }

    /// Memory of ranges that have arrived beyond that.
    pub(super) fn apart(&self) -> [*const u8; 4] {
        let Some(placement) = &self.placement else { return [std::ptr::null(); 4] };
        let [[first, last], [start, end]] =
            [&placement.bytes, &placement.packets].map(|reassembly| reassembly.ahead().addresses());
        [first, last, start, end]
    }

    /// Ranges that have arrived beyond that, where messages complete in any order.
    pub fn ahead(&self) -> Option<&Ranges> {
        let placement = self.placement.as_ref()?;
        (placement.completion_order == CompletionOrder::Any).then(|| placement.bytes.ahead())
    }

    /// Packets that arrived before one that was sent before them.
    pub fn out_of_order_packets(&self) -> u64 {
        self.out_of_order_packets.into()
    }

    /// Negative acknowledgements sent.
    pub fn naks(&self) -> u64 {
        self.naks.into()
    }
}

impl Placement {
    /// That of a connection, from its first packet on.
    fn of<'p>(own: &'p mut Option<Box<Placement>>, params: &RoceParams) -> &'p mut Placement {
        let fresh = || Box::new(Placement { completion_order: params.completion_order, ..Placement::default() });
        own.get_or_insert_with(fresh)
    }

    /// State that decides what it will do, where an answer is due or not.
    fn word(&self, now: Time, is_answer_due: bool) -> u64 {
        let &Placement { ref bytes, ref packets, sent, entropy, is_marked, completion_order: _ } = self;
        let echoed = if is_answer_due || bytes.has_gap() { [from_now(now, sent), entropy.into()] } else { [0, 0] };
        joined([bytes.word(), packets.word(), is_marked.into()].into_iter().chain(echoed))
    }

    fn report(&mut self) -> SelectiveReport {
        let (sent, entropy, is_marked) = (self.sent, self.entropy, take(&mut self.is_marked));
        SelectiveReport { blocks: self.bytes.blocks(), sent, entropy, is_marked }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers of go-back-N to packets of 100 B with these numbers, after so many restarts each.
    fn answers(packets: &[(u32, u8)]) -> Vec<Answer> {
        let params = RoceParams::default();
        let mut responder = Responder::default();
        let arrival = |&(sequence, restarts): &(u32, u8)| {
            let (offset, sent) = (100 * u64::from(sequence), Time::ZERO);
            DataArrival { offset, payload: 100, sequence, is_last: false, sent, restarts, entropy: 0 }
        };
        packets.iter().map(|packet| responder.on_data(&arrival(packet), &params).answer).collect()
    }

    #[test]
    fn a_gap_is_reported_again_when_the_requester_has_gone_back_and_its_first_packet_is_lost_again() {
        use Answer::{Negative, None};
        // The first packet is lost, and what is sent behind it is discarded; so again, though all but the last of it is
        // lost, too.
        let packets = [(0, 0), (2, 0), (3, 0), (9, 1), (1, 2), (3, 2)];
        assert_eq!(answers(&packets), [None, Negative, None, Negative, None, Negative]);
    }
}
