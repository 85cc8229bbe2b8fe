//! Whole connections over a toy channel.

mod channel;
mod loss;
mod receiver;

use etherweave_primitives::{Bytes, Duration, Purpose, Stream, Time};
use proptest::prelude::*;

use super::{Ack, CongestionControl, Limits, Sender, TcpParams};
use crate::{ByteRange, SACK_BLOCKS};
use channel::{Connection, Fate, Item, MSS};

/// Defaults with a receive window that never limits: it would start at 43,690 B.
fn wide_open() -> TcpParams {
    TcpParams { receive_buffer_initial: TcpParams::default().receive_buffer, ..TcpParams::default() }
}

/// Lets all pass but the segments with these numbers, which meet `fate`.
fn segments(numbers: impl Fn(u64) -> bool, fate: Fate) -> impl FnMut(u64, &Item) -> Fate {
    move |number, item| match item {
        Item::Segment(..) if numbers(number) => fate,
        Item::Segment(..) | Item::Ack(_) => Fate::Arrives,
    }
}

#[test]
fn slow_start_begins_with_ten_segments_and_doubles_each_round_trip() {
    let params = TcpParams { hystart: false, ..wide_open() };
    let mut connection = Connection::new(&params, |_, _| Fate::Arrives);
    connection.transfer(70 * MSS);
    let in_round = |round: u64| {
        let (from, to) = (Time::from_ps(round * 100_000_000), Time::from_ps((round + 1) * 100_000_000));
        connection.log.iter().filter(|(time, _)| *time >= from && *time < to).count()
    };
    // Round trips of 100 us: 10, 20, 40 segments (RFC 6928, RFC 5681).
    assert_eq!((in_round(0), in_round(1), in_round(2)), (10, 20, 40));
}

#[test]
fn a_lost_segment_is_sent_again_within_two_round_trips_and_without_a_timeout() {
    let mut connection = Connection::new(&wide_open(), segments(|number| number == 3, Fate::Lost));
    connection.transfer(40 * MSS);
    let counters = connection.sender.counters();
    assert_eq!((counters.retransmissions, counters.timeouts, counters.fast_recoveries), (1, 0, 1));
    let again = connection.log.iter().find(|(_, segment)| segment.retransmission).expect("it was lost");
    assert!(again.0 <= Time::ZERO + Duration::from_us(200), "{again:?}");
}

#[test]
fn limits_are_those_that_have_held_data_back_since_a_time() {
    let mut sender = Sender::new(&wide_open());
    let at = |us: u64| Time::ZERO + Duration::from_us(us);
    let mut limits = |us: u64, bytes: u64| {
        sender.write(bytes);
        while sender.next_segment(at(us), MSS as u32).is_some() {}
        sender.limits(at(us))
    };
    assert_eq!(limits(1, 9 * MSS), Limits::default());
    // The window of ten segments lets out one of two.
    assert_eq!(limits(2, 2 * MSS), Limits { window: 10 * MSS, threshold: u64::MAX, ..Limits::default() });
    assert_eq!(sender.limits(at(3)), Limits::default());
    assert!(sender.writable(at(4), u64::MAX) < sender.limits(at(4)).send_buffer);
}

#[test]
fn three_segments_above_a_hole_prove_it_lost() {
    let mut sender = Sender::new(&wide_open());
    sender.write(10 * MSS);
    while sender.next_segment(Time::ZERO, MSS as u32).is_some() {}
    let mut after_sack = |segments: u64| {
        let mut sack = [ByteRange::default(); SACK_BLOCKS];
        sack[0] = ByteRange::new(MSS, (1 + segments) * MSS);
        sender.on_ack(Time::ZERO, &Ack { window: 100 * MSS, sack, ..Ack::default() });
        sender.next_segment(Time::ZERO, MSS as u32).map(|segment| (segment.seq, segment.retransmission))
    };
    // Nothing new is written, so all that can go out is the first segment again (RFC 6675, DupThresh = 3).
    assert_eq!([after_sack(1), after_sack(2), after_sack(3)], [None, None, Some((0, true))]);
}

/// When the first segment of three is lost and, if `is_second_lost`, the second too: when all went out [us].
fn three_segments(is_second_lost: bool) -> Vec<u64> {
    let lost = segments(move |number| number == 11 || (number == 12 && is_second_lost), Fate::Lost);
    let mut connection = Connection::new(&TcpParams { hystart: false, ..wide_open() }, lost);
    connection.transfer(10 * MSS);
    let start = connection.now;
    connection.transfer(3 * MSS);
    let later = connection.log[10..].iter();
    later.map(|(time, _)| time.since(start).as_ps() / 1_000_000).collect()
}

#[test]
fn the_one_that_is_missing_of_three_is_sent_again_early() {
    // The last SACK comes back after 100 us; 2 ms later the first goes again (RFC 5827).
    assert_eq!(three_segments(false), [0, 0, 0, 2_100]);
    // Two missing are left to the timer: 200 ms after sending. The ACK of the first then lets out the second.
    assert_eq!(three_segments(true), [0, 0, 0, 200_000, 200_100]);
}

#[test]
fn without_any_answer_the_timer_waits_at_least_200_ms_and_doubles() {
    let params = TcpParams { tail_loss_probe: false, rto_initial: Duration::from_ms(200), ..TcpParams::default() };
    let mut connection = Connection::new(&params, segments(|number| number <= 3, Fate::Lost));
    connection.transfer(MSS);
    let times: Vec<u64> = connection.log.iter().map(|(time, _)| time.as_ps() / 1_000_000_000).collect();
    // 0, then 200 ms, then twice as long again and again (RFC 6298, 5.5).
    assert_eq!(times, [0, 200, 600, 1_400]);
}

#[test]
fn every_second_segment_is_acknowledged_once_the_quick_ones_are_over() {
    let params = TcpParams { quick_acks: 0, ..wide_open() };
    let mut connection = Connection::new(&params, |_, _| Fate::Arrives);
    connection.transfer(100 * MSS);
    assert_eq!(connection.acks, 50);
}

/// Reductions, and the threshold [segments], after a transfer of 30 segments of which the first `marked` get marks.
fn after_marks(congestion_control: CongestionControl, marked: u64) -> (u64, f64) {
    let params = TcpParams { ecn: true, congestion_control, ..wide_open() };
    let mut connection = Connection::new(&params, segments(|number| number <= marked, Fate::Marked));
    connection.transfer(30 * MSS);
    assert_eq!(connection.sender.counters().retransmissions, 0, "a mark is not a loss");
    let reported = connection.log.iter().filter(|(_, segment)| segment.window_reduced).count() as u64;
    assert_eq!(reported, connection.sender.counters().ecn_reductions, "each reduction is reported once (CWR)");
    (reported, connection.sender.limits(Time::ZERO).threshold as f64 / MSS as f64)
}

#[test]
fn a_window_full_of_marks_reduces_the_window_once() {
    // Ten segments, all marked: Reno halves (RFC 3168, section 6.1.2), CUBIC leaves 0.7 (RFC 9438, section 4.6).
    assert_eq!(after_marks(CongestionControl::NewReno, 10), (1, 5.0));
    let (reductions, threshold) = after_marks(CongestionControl::Cubic, 10);
    assert_eq!(reductions, 1);
    assert!((threshold - 7.0).abs() < 0.001, "{threshold}");
}

#[test]
fn marks_in_the_next_window_reduce_it_again() {
    // Half of the ten go out in the second round trip. Marks on them too: 10 / 2 / 2 = 2.5 segments.
    assert_eq!(after_marks(CongestionControl::NewReno, 15), (2, 2.5));
}

#[test]
fn a_closed_window_is_probed_until_it_opens() {
    // Nobody reads for a second, and the ACK that opens the window then gets lost.
    let params = TcpParams { quick_acks: 0, receive_buffer_initial: Bytes::new(20 * MSS), ..TcpParams::default() };
    let opening = Time::ZERO + Duration::from_ms(1_000);
    let mut is_opened = false;
    let mut connection = Connection::new(&params, move |_, item| match item {
        Item::Ack(ack) if ack.cumulative == 10 * MSS && ack.window > 0 && !is_opened => {
            is_opened = true;
            Fate::Lost
        }
        Item::Ack(_) | Item::Segment(..) => Fate::Arrives,
    });
    connection.reads_from = opening;
    connection.transfer(20 * MSS);
    // Half the buffer, ten segments, fits. The ACK that says so is delayed by 40 ms; probes
    // leave 200, 600 and 1,400 ms after it.
    let probes = connection.log.iter().filter(|(_, segment)| segment.len == 0);
    let times: Vec<u64> = probes.map(|(time, _)| time.as_ps() / 1_000_000_000).collect();
    assert_eq!(times, [240, 640, 1_440]);
    assert_eq!(connection.sender.counters().retransmissions, 0);
}

#[test]
fn an_application_that_pauses_starts_over_from_the_initial_window() {
    let mut connection = Connection::new(&TcpParams { hystart: false, ..wide_open() }, |_, _| Fate::Arrives);
    connection.transfer(70 * MSS);
    assert!(connection.sender.congestion_window() > 40 * MSS);
    // Ten retransmission timeouts of 200 ms halve it ten times, down to ten segments (RFC 2861; RFC 5681, section 4.1).
    connection.now += Duration::from_ms(2_000);
    connection.sender.write(70 * MSS);
    let burst = std::iter::from_fn(|| connection.sender.next_segment(connection.now, MSS as u32)).count();
    assert_eq!(burst, 10);
}

#[test]
fn a_sender_that_the_receiver_holds_back_keeps_its_window_however_often_it_asks() {
    // The window holds 40 segments: 10, 20 and 10 go out, and then it is closed.
    let mut sender = Sender::new(&TcpParams { receive_buffer_initial: Bytes::new(80 * MSS), ..TcpParams::default() });
    sender.write(60 * MSS);
    for acknowledged in [10, 30, 40] {
        while sender.next_segment(Time::ZERO, MSS as u32).is_some() {}
        let (cumulative, window) = (acknowledged * MSS, (40 - acknowledged) * MSS);
        sender.on_ack(Time::ZERO, &Ack { cumulative, window, ..Ack::default() });
    }
    let window = sender.congestion_window();
    let later = Time::ZERO + Duration::from_ms(450);
    assert_eq!((0..5).find_map(|_| sender.next_segment(later, MSS as u32)), None);
    assert_eq!((sender.congestion_window(), sender.in_flight()), (window, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// The channel checks order and completeness at each step.
    #[test]
    fn whatever_is_lost_late_or_marked_every_byte_arrives_once_and_in_order(
        seed: u64, bytes in 1u64..600_000, lost in 0u64..30, late in 0u64..30, marked in 0u64..30,
        sack: bool, ecn: bool, is_cubic: bool,
    ) {
        let congestion_control = if is_cubic { CongestionControl::Cubic } else { CongestionControl::NewReno };
        let defaults = TcpParams { tail_loss_probe: sack, early_retransmit: sack, ..TcpParams::default() };
        let params = TcpParams { sack, ecn, congestion_control, ..defaults };
        let mut random = Stream::new(seed, Purpose::Traffic, 0);
        let mut connection = Connection::new(&params, move |_, _| match random.below(100) {
            draw if draw < lost => Fate::Lost,
            draw if draw < lost + late => Fate::Late(Duration::from_us(1 + random.below(300))),
            draw if draw < lost + late + marked => Fate::Marked,
            _ => Fate::Arrives,
        });
        connection.transfer(bytes);
        let counters = connection.sender.counters();
        prop_assert!(lost + late > 0 || counters.retransmissions == 0, "nothing goes out twice without need");
        prop_assert!(ecn || counters.ecn_reductions == 0);
    }
}
