//! Inferred losses: a packet is missing although packets that were sent long after it have arrived.
//!
//! The specification leaves the rule open. The threshold is that of uet-htsim's SLEEK, which repairs losses of switches
//! that do not trim; it counts here packets sent between, as that of QUIC does (RFC 9002, section 6.1.1).

use std::collections::VecDeque;

use etherweave_primitives::{Duration, Time};

use super::{PacketState, UetSender};
use crate::uet::header::{AckHeader, BITMAP, answer};
use crate::uet::nscc::NsccWindow;
use crate::uet::{params::Delivery, params::UetParams, rccc::SourceCredit};

/// Least packets between by default, of a sender with a window.
const PACKETS_MIN: u64 = 5;

/// State of the inference: packets that are judged.
#[derive(Default)]
pub(super) struct Inference {
    /// The packet that was sent last of those that have arrived, by its order.
    newest: u32,
    /// The packet that was sent again and arrived last, by the order of that repetition.
    newest_repeated: u32,
    /// Number up to which packets that were sent once are judged.
    judged: u32,
    /// Numbers of packets that were sent again, with their order.
    repeated: VecDeque<(u32, u32)>,
    /// Where nothing follows that could overtake what is missing: the packet that was sent last, and when that is lost.
    tail: Option<(u32, Time)>,
}

impl Inference {
    /// A packet that was sent once has arrived.
    #[inline]
    pub(super) fn note_arrival(&mut self, order: u32) {
        if order.wrapping_sub(self.newest) as i32 > 0 {
            self.newest = order;
        }
    }

    pub(super) fn note_repetition(&mut self, number: u32, order: u32) {
        self.repeated.push_back((number, order));
    }

    /// Time at which a tail is lost, if that is still to come.
    pub(super) fn tail_after(&self, now: Time) -> Option<Time> {
        self.tail.map(|(_, due)| due).filter(|&due| due > now)
    }

    /// Packets sent after one and before the newest that has arrived, that one included.
    #[inline]
    fn distance(&self, order: u32) -> u64 {
        u64::try_from(self.newest.wrapping_sub(order) as i32).unwrap_or_default()
    }
}

impl UetSender {
    /// Takes packets for lost that too many sent after them have overtaken. Receivers of ordered delivery report them.
    pub(super) fn infer_losses(&mut self, now: Time, params: &UetParams) {
        let distance = self.reordering(params);
        if params.delivery == Delivery::Rod || distance == 0 {
            return;
        }
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

    /// Notes that the repetition of a packet has arrived, as the answer says; of several it may be any.
    pub(super) fn note_repeated_arrival(&mut self, ack: &AckHeader) {
        let number = ack.cumulative.wrapping_add_signed(ack.answered.into());
        if let Some(place) = self.place_of(number).filter(|_| ack.has(answer::RETRANSMITTED)) {
            let packet = self.packets[place];
            if packet.repeats == 1 {
                self.inference.newest_repeated = packet.order;
            }
        }
    }

    /// Sets the timer for packets that nothing overtakes, and returns when it is due if that is new: the one that was
    /// sent last has arrived, none follows, and those before it are given as long as SLEEK waits for its probe, which
    /// it sends then.
    pub(super) fn await_tail(&mut self, now: Time, ack: &AckHeader, params: &UetParams) -> Option<Time> {
        let last = (self.sent_packets as u32).wrapping_sub(1);
        let is_there = self.inference.newest == last || self.inference.newest_repeated == last;
        let is_over = self.next == self.posted && self.lost_count == 0 && is_there;
        let is_open = is_over && self.sent_packets > 1 && !self.packets.is_empty();
        let infers = params.delivery == Delivery::Rud && self.reordering(params) > 0;
        if !is_open || !infers || self.inference.tail.is_some_and(|(order, _)| order == last) {
            return None;
        }
        let patience = match &self.congestion {
            Some(window) => window.probe_after()?,
            None => Duration::from_ps(now.since(ack.sent).as_ps() / 4 * 7),
        };
        self.inference.tail = Some((last, now + patience));
        self.timer_at = Some(self.timer_at.map_or(now + patience, |at| at.min(now + patience)));
        self.timer_at
    }

    /// Takes for lost what is still missing behind a tail whose time is over.
    pub(super) fn lose_tail(&mut self, now: Time, params: &UetParams) {
        let last = (self.sent_packets as u32).wrapping_sub(1);
        if self.next != self.posted || self.inference.tail != Some((last, now)) {
            return;
        }
        for place in 0..self.packets.len() {
            if self.packets[place].state == PacketState::InFlight {
                self.infer(now, place, params);
            }
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
    use etherweave_primitives::{BitRate, Bytes};

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

    /// The acknowledgement comes at 9 us: 1.75 round trips later what nothing follows is lost, as the timer is asked.
    #[test]
    fn what_nothing_follows_is_lost_a_while_after_the_last_packet_has_arrived() {
        let params = UetParams::default();
        let mut sender = sender(&params);
        let at = |ns| Time::ZERO + Duration::from_ns(ns);
        let ack = |arrived| AckHeader { answered: 39, bitmap: arrived, ..AckHeader::default() };
        let all_but_first = (1 << 39) - 1;
        assert_eq!(sender.on_answer(at(9_000), &ack(all_but_first >> 1), false, &params), None, "39 is missing");
        let due = sender.on_answer(at(9_000), &ack(all_but_first), false, &params);
        assert_eq!(due, Some(at(24_750)));
        assert_eq!(sender.on_answer(at(10_000), &ack(all_but_first), false, &params), None, "it is known");
        sender.on_timer(at(24_750), &params);
        let sent = sender.next_packet(at(24_750), &params, &params.headers()).map(|packet| packet.header.0);
        assert_eq!((sent, sender.timeouts), (Some(0), 0));
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
