//! Losses: which packets are sent again, and when.

use etherweave_primitives::Time;

use super::{PacketState, SentPacket, UetSender};
use crate::entropy::PathFeedback;
use crate::uet::header::{AckHeader, answer};
use crate::uet::{params::Delivery, params::UetParams};

impl SentPacket {
    /// Time at which the timer takes it for lost.
    fn due(&self, params: &UetParams) -> Time {
        let doublings = u32::from(self.timeouts).min(params.timeout_doublings_max);
        self.sent + params.retransmission_timeout * (1 << doublings)
    }

    /// Its size, as windows count it [B].
    fn counted(&self, params: &UetParams) -> u64 {
        u64::from(self.payload + params.counted_header())
    }
}

impl UetSender {
    /// Declares packets lost whose time is over. Returns when the next may be due.
    pub(in crate::uet) fn on_timer(&mut self, now: Time, params: &UetParams) -> Option<Time> {
        if self.timer_at != Some(now) {
            return None;
        }
        if params.delivery == Delivery::Uud {
            self.timer_at = None;
            (self.acknowledged, self.acknowledged_at) = (self.next, now);
            return None;
        }
        self.lose_tail(now, params);
        if self.retransmits_at.is_some_and(|at| at <= now) {
            self.retransmits_at = self.time_out_all(now, params);
            self.has_timeout_event = false;
        }
        self.timer_at = self.retransmits_at.into_iter().chain(self.inference.tail_after(now)).min();
        self.timer_at.and_then(|due| self.queue_event(due))
    }

    /// Takes for lost what was sent before the retransmission timeout. Returns when that may be due next.
    fn time_out_all(&mut self, now: Time, params: &UetParams) -> Option<Time> {
        let (mut next, mut first) = (None, None);
        for place in 0..self.packets.len() {
            let packet = self.packets[place];
            let due = packet.due(params);
            if packet.state != PacketState::InFlight {
                continue;
            }
            if due <= now {
                first = first.or(Some(place));
                self.time_out(now, place, params);
            } else {
                next = Some(next.map_or(due, |at| due.min(at)));
            }
        }
        if let Some(place) = first.filter(|_| params.delivery == Delivery::Rod) {
            self.go_back(place, params);
        }
        // What is lost starts the timer when it is sent again, unless it waits for credits.
        self.asks_again = self.credit.as_ref().is_some_and(|credit| !credit.is_open());
        let is_waiting = self.asks_again && !self.is_idle();
        next.or(is_waiting.then(|| now + params.retransmission_timeout))
    }

    fn time_out(&mut self, now: Time, place: usize, params: &UetParams) {
        self.timeouts += 1;
        self.packets[place].timeouts = self.packets[place].timeouts.saturating_add(1);
        self.lose(place, params);
        self.heed_loss(now, place, params);
    }

    /// Takes from the window what was lost without a report of a switch.
    pub(super) fn heed_loss(&mut self, now: Time, place: usize, params: &UetParams) {
        let packet = self.packets[place];
        if let Some(window) = &mut self.congestion {
            window.lost(packet.counted(params));
        }
        self.heed(now, packet.entropy, PathFeedback::Lost, params);
    }

    /// Takes a negative acknowledgement.
    pub(super) fn take_loss(&mut self, now: Time, ack: &AckHeader, params: &UetParams) {
        let is_gap = ack.has(answer::OUT_OF_ORDER);
        let Some(place) = self.place_of(if is_gap { ack.cumulative } else { ack.bitmap as u32 }) else { return };
        let packet = self.packets[place];
        let is_in_flight = packet.state == PacketState::InFlight;
        if params.delivery != Delivery::Rod {
            if is_in_flight {
                self.lose(place, params);
                self.heed_trim(now, place, ack, params);
            }
            return;
        }
        // A report by a packet that left before this one did for the last time is no news of it.
        let is_news = is_in_flight && packet.sent <= ack.sent;
        if is_news {
            self.go_back(place, params);
        }
        match is_gap {
            false => self.heed_trim(now, place, ack, params),
            true if is_news => self.heed_loss(now, place, params),
            true => {}
        }
    }

    fn heed_trim(&mut self, now: Time, place: usize, ack: &AckHeader, params: &UetParams) {
        let (bytes, in_flight) = (self.packets[place].counted(params), self.in_flight());
        if let Some(window) = &mut self.congestion {
            let is_granted = params.rccc.is_some() && ack.has(answer::LAST_HOP);
            window.trimmed(now, bytes, now.since(ack.sent), in_flight, is_granted);
        }
        let feedback = match (ack.has(answer::LAST_HOP), ack.has(answer::ECN_ECHO)) {
            (false, _) => PathFeedback::Trimmed,
            (true, true) => PathFeedback::Marked,
            (true, false) => PathFeedback::Unmarked,
        };
        self.heed(now, ack.entropy, feedback, params);
    }

    /// Sends a packet of ordered delivery again, and all behind it in order: the receiver discards these.
    pub(super) fn go_back(&mut self, place: usize, params: &UetParams) {
        self.lost.clear();
        for place in place..self.packets.len() {
            match self.packets[place].state {
                PacketState::InFlight => self.lose(place, params),
                PacketState::Lost | PacketState::Arrived => self.lost.push_back(self.first.wrapping_add(place as u32)),
            }
        }
    }

    pub(super) fn lose(&mut self, place: usize, params: &UetParams) {
        let packet = &mut self.packets[place];
        packet.state = PacketState::Lost;
        self.in_flight -= packet.counted(params) as i64;
        self.lost.push_back(self.first.wrapping_add(place as u32));
        self.lost_count += 1;
    }

    /// Takes the oldest loss that has not arrived since.
    pub(super) fn next_lost(&mut self) -> Option<u32> {
        while let Some(number) = self.lost.pop_front() {
            let Some(place) = self.place_of(number) else { continue };
            let packet = &mut self.packets[place];
            if packet.state == PacketState::Lost {
                packet.repeats = packet.repeats.saturating_add(1);
                self.lost_count -= 1;
                self.retransmitted_packets += 1;
                return Some(number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::{BitRate, Duration};

    use super::*;
    use crate::TransportParams;
    use crate::roce::Operation;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// A sender of ordered delivery that has sent packets 0 to 7, one each microsecond.
    fn ordered() -> (UetSender, UetParams) {
        let params = UetParams { delivery: Delivery::Rod, ..UetParams::default() };
        let mut sender = UetSender::new(&params, BitRate::from_gbps(100));
        sender.post(8 * params.payload_mtu.get(), Operation::Write);
        assert_eq!(send(&mut sender, &params, 0), [0, 1, 2, 3, 4, 5, 6, 7]);
        (sender, params)
    }

    /// Numbers of what may be sent from a microsecond on, one in each.
    fn send(sender: &mut UetSender, params: &UetParams, us: u64) -> Vec<u32> {
        let packets = (us..).map_while(|us| sender.next_packet(at(us), params, &params.headers()));
        packets.map(|packet| packet.header.0).collect()
    }

    /// A negative acknowledgement of a packet that left at a microsecond.
    fn report(sender: &mut UetSender, params: &UetParams, cumulative: u32, number: u64, us: u64, bits: u8) {
        let ack = AckHeader { cumulative, bitmap: number, bits, sent: at(us), ..AckHeader::default() };
        sender.on_answer(at(100), &ack, true, params);
    }

    #[test]
    fn ordered_delivery_goes_back_to_a_trimmed_packet_and_leaves_those_before_it() {
        let (mut sender, params) = ordered();
        report(&mut sender, &params, 0, 5, 5, 0);
        assert_eq!(send(&mut sender, &params, 20), [5, 6, 7]);
        // The headers of packets trimmed behind it come later, and that of one before it.
        report(&mut sender, &params, 2, 7, 7, 0);
        assert!(send(&mut sender, &params, 30).is_empty());
        report(&mut sender, &params, 2, 3, 3, 0);
        assert_eq!(send(&mut sender, &params, 40), [3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_gap_is_news_where_the_packet_behind_it_left_later() {
        let (mut sender, params) = ordered();
        report(&mut sender, &params, 2, 3, 3, answer::OUT_OF_ORDER);
        assert_eq!(send(&mut sender, &params, 20), [2, 3, 4, 5, 6, 7]);
        report(&mut sender, &params, 2, 6, 6, answer::OUT_OF_ORDER);
        assert!(send(&mut sender, &params, 30).is_empty());
        report(&mut sender, &params, 2, 4, 22, answer::OUT_OF_ORDER);
        assert_eq!(send(&mut sender, &params, 40), [2, 3, 4, 5, 6, 7], "packet 2 was lost once more");
    }

    /// The timeout is a millisecond: packet 0 is lost at 1,000 us, and not those behind it, which left later. Their
    /// repetitions, which the timer has not asked for, double nothing. No answer has come, so that no tail runs out.
    #[test]
    fn the_timer_goes_back_to_the_oldest_packet_and_doubles_for_that_alone() {
        let (mut sender, params) = ordered();
        let timeout = params.retransmission_timeout;
        assert_eq!(sender.start_timer(at(0), &params), Some(at(0) + timeout));
        sender.on_timer(at(0) + timeout, &params);
        assert_eq!((sender.timeouts, send(&mut sender, &params, 2_000).len()), (1, 8));
        assert_eq!(sender.packets[0].due(&params), at(2_000) + timeout * 2);
        assert_eq!(sender.packets[7].due(&params), at(2_007) + timeout);
    }
}
