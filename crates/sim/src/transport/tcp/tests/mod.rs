//! Whole connections over a toy channel: a fixed delay, and a rule that says which segments and ACKs get lost.

use std::collections::BTreeMap;

use etherweave_primitives::{Duration, Purpose, Stream, Time};
use proptest::prelude::*;

use super::{Ack, AckAction, Arrival, Receiver, Segment, Sender, TcpParams};

/// What is under way.
#[derive(Clone, Copy)]
enum Item {
    Segment(Segment, Time),
    Ack(Ack),
}

/// A connection, its channel, and what has been observed.
struct Connection<F> {
    sender: Sender,
    receiver: Receiver,
    now: Time,
    under_way: BTreeMap<(Time, u64), Item>,
    sent: u64,
    is_lost: F,
    delay: Duration,
    /// When each segment left, and what it was.
    log: Vec<(Time, Segment)>,
}

impl<F: FnMut(u64, bool) -> bool> Connection<F> {
    fn new(params: &TcpParams, is_lost: F) -> Connection<F> {
        let (sender, receiver) = (Sender::new(params), Receiver::new(params));
        let (now, delay) = (Time::ZERO, Duration::from_us(50));
        Connection { sender, receiver, now, under_way: BTreeMap::new(), sent: 0, is_lost, delay, log: Vec::new() }
    }

    fn send(&mut self, item: Item) {
        self.sent += 1;
        if !(self.is_lost)(self.sent, matches!(item, Item::Segment(..))) {
            self.under_way.insert((self.now + self.delay, self.sent), item);
        }
    }

    fn pump(&mut self) {
        while let Some(segment) = self.sender.next_segment(self.now, 4_448) {
            self.log.push((self.now, segment));
            self.send(Item::Segment(segment, self.now));
        }
    }

    fn acknowledge(&mut self) {
        let ack = self.receiver.make_ack(self.now);
        self.send(Item::Ack(ack));
    }

    fn take(&mut self, item: Item) {
        match item {
            Item::Ack(ack) => self.sender.on_ack(self.now, &ack),
            Item::Segment(Segment { seq, len, window_reduced, .. }, timestamp) => {
                let arrival = Arrival { seq, len, congestion_experienced: false, window_reduced, timestamp };
                let action = self.receiver.on_segment(self.now, &arrival);
                let opened = self.receiver.read(self.receiver.readable());
                if action == AckAction::Now || opened {
                    self.acknowledge();
                }
            }
        }
    }

    /// Transfers `bytes`; gives the time it took.
    fn transfer(&mut self, bytes: u64) -> Duration {
        self.sender.write(bytes);
        self.pump();
        for _ in 0..2_000_000 {
            if self.sender.acknowledged() == bytes {
                assert_eq!(self.receiver.received(), bytes, "what is acknowledged was received");
                return self.now.since(Time::ZERO);
            }
            self.step();
        }
        panic!("the transfer goes on for ever");
    }

    /// Advances to the next arrival or timer.
    fn step(&mut self) {
        let arrival = self.under_way.keys().next().map(|&(time, _)| time);
        let timers = [arrival, self.sender.timer(), self.receiver.timer()];
        let next = timers.into_iter().flatten().min().expect("something is pending");
        self.now = self.now.max(next);
        if arrival == Some(next) {
            let (_, item) = self.under_way.pop_first().expect("just seen");
            self.take(item);
        } else if self.sender.timer() == Some(next) {
            self.sender.on_timer(self.now);
        } else {
            self.acknowledge();
        }
        self.pump();
    }
}

#[test]
fn slow_start_begins_with_ten_segments_and_doubles_each_round_trip() {
    // A receive window that does not limit: it starts at 43,690 B otherwise.
    let receive_buffer_initial = TcpParams::default().receive_buffer;
    let params = TcpParams { hystart: false, receive_buffer_initial, ..TcpParams::default() };
    let mut connection = Connection::new(&params, |_, _| false);
    connection.transfer(70 * 4_448);
    let in_round = |round: u64| {
        let (from, to) = (Time::from_ps(round * 100_000_000), Time::from_ps((round + 1) * 100_000_000));
        connection.log.iter().filter(|(time, _)| *time >= from && *time < to).count()
    };
    // Round trips of 100 us: 10, 20, 40 segments (RFC 6928, RFC 5681).
    assert_eq!((in_round(0), in_round(1), in_round(2)), (10, 20, 40));
}

#[test]
fn a_lost_segment_is_sent_again_within_two_round_trips_and_without_a_timeout() {
    let mut connection = Connection::new(&TcpParams::default(), |number, is_segment| is_segment && number == 3);
    connection.transfer(40 * 4_448);
    let counters = connection.sender.counters();
    assert_eq!((counters.retransmissions, counters.timeouts, counters.fast_recoveries), (1, 0, 1));
    let again = connection.log.iter().find(|(_, segment)| segment.retransmission).expect("it was lost");
    assert!(again.0 <= Time::ZERO + Duration::from_us(200), "{again:?}");
}

#[test]
fn without_any_answer_the_timer_waits_at_least_200_ms_and_doubles() {
    let params = TcpParams { tail_loss_probe: false, rto_initial: Duration::from_ms(200), ..TcpParams::default() };
    let mut sent = 0;
    let mut connection = Connection::new(&params, move |_, is_segment| {
        sent += u64::from(is_segment);
        is_segment && sent <= 3
    });
    connection.transfer(4_448);
    let times: Vec<u64> = connection.log.iter().map(|(time, _)| time.as_ps() / 1_000_000_000).collect();
    // 0, then 200 ms, then twice as long again and again (RFC 6298, 5.5).
    assert_eq!(times, [0, 200, 600, 1_400]);
}

#[test]
fn every_second_segment_is_acknowledged_once_the_quick_ones_are_over() {
    let params = TcpParams { quick_acks: 0, ..TcpParams::default() };
    let mut connection = Connection::new(&params, |_, _| false);
    connection.transfer(100 * 4_448);
    let acks = connection.sent - connection.log.len() as u64;
    assert!((50..=60).contains(&acks), "{acks} ACKs for 100 segments");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_lost_every_byte_arrives_once_and_in_order(
        seed: u64, bytes in 1u64..600_000, percent in 0u64..30, sack: bool,
    ) {
        let mut random = Stream::new(seed, Purpose::Traffic, 0);
        let params = TcpParams { sack, tail_loss_probe: sack, early_retransmit: sack, ..TcpParams::default() };
        let mut connection = Connection::new(&params, move |_, _| random.happens(percent, 100));
        connection.transfer(bytes);
        // Without losses nothing goes out twice.
        prop_assert!(percent > 0 || connection.sender.counters().retransmissions == 0);
    }
}
