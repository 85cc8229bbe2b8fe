//! Inferred losses: a packet is missing although packets that were sent long after it have arrived.
//!
//! The specification leaves the rule open. The threshold is that of uet-htsim's SLEEK, which repairs losses of switches
//! that do not trim; it counts here packets sent between, as that of QUIC does (RFC 9002, section 6.1.1).

use std::collections::VecDeque;

use etherweave_primitives::{BitRate, Duration, Time};

use super::{PacketState, UetSender};
use crate::state_word::{joined, maybe_from_now};
use crate::uet::header::{AckHeader, BITMAP, answer};
use crate::uet::nscc::NsccWindow;
use crate::uet::{params::Delivery, params::UetParams, rccc::SourceCredit};

/// Least packets between by default, of a sender with a window.
const PACKETS_MIN: u64 = 5;
/// Most doublings of the time that a tail is given: the timer is shorter before.
const TAIL_DOUBLINGS_MAX: u32 = 20;

/// State of the inference: packets that are judged.
#[derive(Default)]
pub(super) struct Inference {
    /// The packet that was sent last of those that have arrived, by its order.
    newest: u32,
    /// Number up to which packets that were sent once are judged.
    judged: u32,
    /// Numbers of packets that were sent again, with their order.
    repeated: VecDeque<(u32, u32)>,
    /// Number of the packet that was sent last.
    last: u32,
    /// Longest round trip so far.
    round_trip: Option<Duration>,
    /// When a tail is lost, if nothing arrives until then.
    tail: Option<Time>,
    /// Tails lost since the last answer.
    tails: u32,
}

impl Inference {
    /// State that decides what it will do, after so many packets in all, of which those below a number are
    /// acknowledged.
    pub(super) fn word(&self, now: Time, (sent, first): (u32, u32)) -> u64 {
        let &Inference { newest, judged, ref repeated, last, round_trip, tail, tails } = self;
        let tail = tail.filter(|&due| due > now);
        let times = [round_trip.map_or(u64::MAX, Duration::as_ps), maybe_from_now(now, tail)];
        // Packets that are acknowledged are judged no more.
        let judged = (judged.wrapping_sub(first) as i32).max(0) as u32;
        let own = [newest.wrapping_sub(sent), judged, last.wrapping_sub(first), tails].map(u64::from);
        let again = repeated
            .iter()
            .map(|&(number, order)| u64::from(number.wrapping_sub(first)) << 32 | u64::from(order.wrapping_sub(sent)));
        joined(times.into_iter().chain(own).chain(again))
    }

    /// A packet that was sent once has arrived.
    #[inline]
    pub(super) fn note_arrival(&mut self, order: u32) {
        if order.wrapping_sub(self.newest) as i32 > 0 {
            self.newest = order;
        }
    }

    /// A packet leaves, as the `order`-th of all, again and to be judged anew where `is_judged`.
    #[inline]
    pub(super) fn note_sending(&mut self, number: u32, order: u32, is_judged: bool) {
        self.last = number;
        if is_judged {
            self.repeated.push_back((number, order));
        }
    }

    /// An answer has come, to a packet of data unless it was requested.
    pub(super) fn note_answer(&mut self, now: Time, ack: &AckHeader) {
        self.tails = 0;
        if !ack.has(answer::REQUESTED) {
            self.round_trip = self.round_trip.max(Some(now.since(ack.sent)));
        }
    }

    /// Time at which a tail is lost, if that is still to come.
    pub(super) fn tail_after(&self, now: Time) -> Option<Time> {
        self.tail.filter(|&due| due > now)
    }

    /// Packets sent after one and before the newest that has arrived, that one included.
    #[inline]
    fn distance(&self, order: u32) -> u64 {
        u64::try_from(self.newest.wrapping_sub(order) as i32).unwrap_or_default()
    }
}

impl UetParams {
    /// Packets that may overtake the first one of a connection at a rate before it is taken for lost; none of a
    /// delivery whose receivers report gaps, or nobody does.
    pub fn first_reordering(&self, rate: BitRate) -> Option<u64> {
        match self.delivery {
            Delivery::Rud | Delivery::Rudi => Some(UetSender::new(self, rate).reordering(self)),
            Delivery::Rod | Delivery::Uud => None,
        }
    }
}

impl UetSender {
    /// Whether overtaken packets are taken for lost: by default the threshold is never 0.
    fn infers(params: &UetParams) -> bool {
        params.reordering_packets != Some(0)
    }

    /// Whether overtaken packets are taken for lost by their sender. Receivers of ordered delivery report them.
    pub(super) fn judges(params: &UetParams) -> bool {
        params.delivery != Delivery::Rod && Self::infers(params)
    }

    /// Takes packets for lost that too many sent after them have overtaken.
    pub(super) fn infer_losses(&mut self, now: Time, params: &UetParams) {
        if !Self::judges(params) {
            return;
        }
        let distance = self.reordering(params);
        if self.place_of(self.inference.judged).is_none() {
            self.inference.judged = self.first;
        }
        while let Some(place) = self.place_of(self.inference.judged) {
            let packet = self.packets[place];
            if packet.repeats == 0 && packet.state == PacketState::InFlight {
                if self.inference.distance(packet.order) < distance {
                    break;
                }
                self.infer(now, place, params);
            }
            self.inference.judged = self.inference.judged.wrapping_add(1);
        }
        while let Some(&(number, order)) = self.inference.repeated.front() {
            let place = self.place_of(number).filter(|&place| self.packets[place].order == order);
            if let Some(place) = place.filter(|&place| self.packets[place].state == PacketState::InFlight) {
                if self.inference.distance(order) < distance {
                    break;
                }
                self.infer(now, place, params);
            }
            self.inference.repeated.pop_front();
        }
    }

    /// Time at which the tail is lost unless an answer comes: packets that nothing follows, so that none overtakes
    /// them. They have as long as SLEEK waits for its probe, and at least the longest round trip so far, doubled with
    /// each tail lost in a row.
    pub(super) fn await_tail(&mut self, now: Time, params: &UetParams) -> Option<Time> {
        if params.delivery == Delivery::Uud || !Self::infers(params) || !self.is_tail(params) {
            return None;
        }
        let patience = match &self.congestion {
            Some(window) => window.probe_after()?.max(self.inference.round_trip.unwrap_or_default()),
            None => Duration::from_ps(self.inference.round_trip?.as_ps() / 4 * 7),
        };
        self.inference.tail = Some(now + patience * (1 << self.inference.tails.min(TAIL_DOUBLINGS_MAX)));
        self.inference.tail
    }

    /// Whether packets are on their way, and nothing can follow them. A congestion window that is closed means queues,
    /// not losses.
    fn is_tail(&self, params: &UetParams) -> bool {
        let is_over = || self.next == self.posted && self.lost_count == 0;
        let is_open = || self.congestion.is_none() || self.has_window();
        !self.packets.is_empty() && !self.may_send(params) && (is_over() || is_open())
    }

    /// Takes for lost what is missing of a tail whose time is over: the packet that was sent last, whose answer will
    /// show what else is missing, or all once that one has arrived.
    pub(super) fn lose_tail(&mut self, now: Time, params: &UetParams) {
        if self.inference.tail != Some(now) || !self.is_tail(params) {
            return;
        }
        self.inference.tails += 1;
        let is_missing = |place: &usize| self.packets[*place].state == PacketState::InFlight;
        let last = self.place_of(self.inference.last).filter(is_missing);
        let places = last.map_or(0..self.packets.len(), |place| place..place + 1);
        let missing = Vec::from_iter(places.filter(is_missing));
        for &place in &missing {
            self.infer(now, place, params);
        }
        if let Some(&first) = missing.first().filter(|_| params.delivery == Delivery::Rod) {
            self.go_back(first, params);
        }
    }

    fn infer(&mut self, now: Time, place: usize, params: &UetParams) {
        self.lose(place, params);
        self.heed_loss(now, place, params);
    }

    /// Packets that may overtake one, by default those of one and a half windows, or of the bitmap.
    fn reordering(&self, params: &UetParams) -> u64 {
        let window = self.congestion.as_ref().map(NsccWindow::reordering);
        let window = window.or(self.credit.as_ref().map(SourceCredit::max));
        let of_window = |bytes: u64| (bytes / params.counted_packet()).max(PACKETS_MIN);
        params.reordering_packets.map_or(window.map_or(BITMAP, of_window), u64::from)
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Bytes;

    use super::*;
    use crate::TransportParams;
    use crate::roce::Operation;
    use crate::uet::nscc::Nscc;

    /// Sends packets 0 to 39, acknowledges some beyond the first, and returns numbers of what is sent next.
    fn resent(sender: &mut UetSender, params: &UetParams, arrived: std::ops::RangeInclusive<i16>) -> Vec<u32> {
        let now = Time::ZERO + Duration::from_us(9);
        let bitmap = arrived.clone().fold(0, |bits, number| bits | 1 << (number - 1));
        let ack = AckHeader { answered: *arrived.end(), bitmap, ..AckHeader::default() };
        sender.on_answer(now, &ack, false, params);
        std::iter::from_fn(|| sender.next_packet(now, params, &params.headers())).map(|sent| sent.header.0).collect()
    }

    fn sender(params: &UetParams) -> UetSender {
        let mut sender = UetSender::new(params, BitRate::from_gbps(100));
        sender.post(40 * params.payload_mtu.get(), Operation::Write);
        while sender.next_packet(Time::ZERO, params, &params.headers()).is_some() {}
        sender
    }

    #[test]
    fn a_packet_is_lost_once_one_sent_so_many_later_has_arrived() {
        let params = UetParams { reordering_packets: Some(8), ..UetParams::default() };
        let mut sender = sender(&params);
        assert!(resent(&mut sender, &params, 2..=7).is_empty());
        assert_eq!(resent(&mut sender, &params, 2..=8), [0]);
        assert_eq!(resent(&mut sender, &params, 2..=9), [1]);
        // Packet 0 is the 41st that was sent: none has arrived that was sent later.
        assert!(resent(&mut sender, &params, 10..=39).is_empty());
        assert_eq!(sender.timeouts, 0);
    }

    #[test]
    fn a_packet_that_was_sent_again_is_judged_by_its_last_order() {
        let params = UetParams { reordering_packets: Some(8), ..UetParams::default() };
        let mut sender = sender(&params);
        assert_eq!(resent(&mut sender, &params, 1..=39), [0]);
        sender.post(40 * params.payload_mtu.get(), Operation::Write);
        assert_eq!(resent(&mut sender, &params, 1..=39), Vec::from_iter(40..80));
        // Order 40 is packet 0, and 48 packet 47.
        assert!(resent(&mut sender, &params, 40..=46).is_empty());
        assert_eq!(resent(&mut sender, &params, 40..=47), [0]);
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// Numbers of what is sent when the timer runs out.
    fn lost(sender: &mut UetSender, params: &UetParams, due: Time) -> Vec<u32> {
        sender.on_timer(due, params);
        let sent = std::iter::from_fn(|| sender.next_packet(due, params, &params.headers()));
        sent.map(|packet| packet.header.0).collect()
    }

    /// Acknowledges packets 1 to 39 whose bits are set, as an answer to packet 39.
    fn acknowledge(sender: &mut UetSender, params: &UetParams, us: u64, arrived: u64) -> Option<Time> {
        let ack = AckHeader { answered: 39, bitmap: arrived, ..AckHeader::default() };
        sender.on_answer(at(us), &ack, false, params)
    }

    const ALL_BUT_FIRST: u64 = (1 << 39) - 1;

    /// A round trip takes 8 us, and 1.75 of that are 14.
    #[test]
    fn what_nothing_follows_is_lost_a_while_after_the_last_answer() {
        let params = UetParams::default();
        let mut sender = sender(&params);
        assert_eq!(acknowledge(&mut sender, &params, 8, ALL_BUT_FIRST), Some(at(22)));
        assert_eq!(acknowledge(&mut sender, &params, 8, ALL_BUT_FIRST), None, "it is known");
        assert_eq!((lost(&mut sender, &params, at(22)), sender.timeouts), (vec![0], 0));
    }

    /// Packets 0, 38 and 39 are missing.
    #[test]
    fn the_packet_that_was_sent_last_is_sent_again_and_its_answer_shows_what_else_is_missing() {
        let params = UetParams::default();
        let mut sender = sender(&params);
        acknowledge(&mut sender, &params, 8, ALL_BUT_FIRST >> 2);
        assert_eq!(lost(&mut sender, &params, at(22)), [39]);
        assert_eq!(sender.start_timer(at(22), &params), Some(at(22 + 28)), "nothing has come: twice as long");
        assert_eq!(lost(&mut sender, &params, at(50)), [39], "its repetition was lost");
        let due = acknowledge(&mut sender, &params, 58, ALL_BUT_FIRST ^ 1 << 37).unwrap();
        assert_eq!((lost(&mut sender, &params, due), sender.timeouts), (vec![0, 38], 0));
    }

    #[test]
    fn a_lone_packet_is_sent_again_after_round_trips_that_earlier_ones_took() {
        let params = UetParams::default();
        let mut sender = UetSender::new(&params, BitRate::from_gbps(100));
        let send = |sender: &mut UetSender, us| {
            sender.post(1000, Operation::Write);
            sender.next_packet(at(us), &params, &params.headers()).unwrap();
            sender.start_timer(at(us), &params)
        };
        assert_eq!(send(&mut sender, 0), Some(at(1_000)), "none is known");
        sender.on_answer(at(8), &AckHeader { cumulative: 1, answered: -1, ..AckHeader::default() }, false, &params);
        assert_eq!(send(&mut sender, 20), Some(at(34)));
        assert_eq!((lost(&mut sender, &params, at(34)), sender.timeouts), (vec![1], 0));
    }

    /// A window for 12 us and 9 us more, beside a round trip of 100 us.
    #[test]
    fn a_tail_has_at_least_the_longest_round_trip_so_far() {
        let params = UetParams { nscc: Some(Nscc::default()), ..UetParams::default() };
        let mut sender = UetSender::new(&params, BitRate::from_gbps(100));
        let send = |sender: &mut UetSender, us| {
            sender.post(1000, Operation::Write);
            sender.next_packet(at(us), &params, &params.headers()).unwrap();
            sender.start_timer(at(us), &params);
            sender.inference.tail
        };
        assert_eq!(send(&mut sender, 0), Some(at(21)), "none is known");
        sender.on_answer(at(100), &AckHeader { cumulative: 1, answered: -1, ..AckHeader::default() }, false, &params);
        assert_eq!(send(&mut sender, 200), Some(at(300)));
    }

    /// Packet 0 is lost, and no number is left for a packet that could overtake it. The least round trip is 8 us, and
    /// the target is 9 us.
    #[test]
    fn packets_that_fill_the_range_of_numbers_are_a_tail() {
        let params = UetParams { nscc: Some(Nscc::default()), psn_range: 4, ..UetParams::default() };
        let mut sender = sender(&params);
        let ack = AckHeader { answered: 3, bitmap: 0b111, ..AckHeader::default() };
        assert_eq!(sender.on_answer(at(8), &ack, false, &params), Some(at(25)));
        assert_eq!((lost(&mut sender, &params, at(25)), sender.timeouts), (vec![0], 0));
    }

    /// Without inference nothing takes repetitions off the list.
    #[test]
    fn repetitions_are_listed_where_they_are_judged_alone() {
        let never = UetParams { reordering_packets: Some(0), ..UetParams::default() };
        let ordered = UetParams { delivery: Delivery::Rod, ..UetParams::default() };
        for (params, expected) in [(never, 0), (ordered, 0), (UetParams::default(), 40)] {
            let mut sender = sender(&params);
            sender.start_timer(Time::ZERO, &params);
            assert_eq!(lost(&mut sender, &params, at(1_000)).len(), 40);
            assert_eq!(sender.inference.repeated.len(), expected);
        }
    }

    /// The first event is that of the timeout, at a millisecond. Tails of 14 us, 28 us, ... run out before it.
    #[test]
    fn tails_that_run_out_leave_the_event_of_the_timeout_queued() {
        let params = UetParams::default();
        let mut sender = UetSender::new(&params, BitRate::from_gbps(100));
        sender.post(40 * params.payload_mtu.get(), Operation::Write);
        while sender.next_packet(Time::ZERO, &params, &params.headers()).is_some() {}
        assert_eq!(sender.start_timer(Time::ZERO, &params), Some(at(1_000)));
        assert_eq!(acknowledge(&mut sender, &params, 8, ALL_BUT_FIRST), Some(at(22)));
        assert_eq!(sender.on_timer(at(22), &params), None, "its event is queued");
        assert_eq!(sender.timer_at, Some(at(1_000)));
        sender.next_packet(at(22), &params, &params.headers()).unwrap();
        assert_eq!(sender.start_timer(at(22), &params), Some(at(50)));
        assert_eq!(sender.on_timer(at(50), &params), None);
        sender.next_packet(at(50), &params, &params.headers()).unwrap();
        assert_eq!(sender.on_timer(at(1_000), &params), Some(at(1_050)), "the next one is not");
    }

    #[test]
    fn none_is_inferred_at_zero_and_a_window_and_a_half_decides_by_default() {
        let never = UetParams { reordering_packets: Some(0), ..UetParams::default() };
        assert!(resent(&mut sender(&never), &never, 1..=39).is_empty());
        // Four packets of 4,204 B are a window of 16,816 B: six packets.
        let nscc = Nscc { initial_window: Some(Bytes::new(16_816)), ..Nscc::default() };
        let default = UetParams { nscc: Some(nscc), ..UetParams::default() };
        assert_eq!(sender(&default).reordering(&default), 6);
        assert_eq!(sender(&UetParams::default()).reordering(&UetParams::default()), 64);
    }
}
