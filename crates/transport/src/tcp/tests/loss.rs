//! Loss detection, and the undoing of reductions for which nothing was lost.

use etherweave_primitives::{Bytes, Duration, Time};

use super::channel::{Connection, Fate, Item, MSS};
use super::{segments, wide_open};
use crate::tcp::{Ack, Segment, SegmentLoss, Sender, TcpParams};

/// RFC 8985 to the letter: no least wait, which Linux adds for its timers.
fn by_time() -> TcpParams {
    let (loss_detection, tail_loss_probe_min) = (SegmentLoss::Time, Duration::ZERO);
    TcpParams { hystart: false, loss_detection, tail_loss_probe_min, ..wide_open() }
}

/// Ten segments that measure the round trip, 100 us, then `count` that leave at once and of which those in `lost` get
/// lost, by their number among all that are sent from then on: when each of these left [us], and which of `count` it
/// is.
fn second_flight(params: &TcpParams, count: u64, lost: &'static [u64]) -> Vec<(u64, u64)> {
    let mut connection =
        Connection::new(params, segments(|number| number > 10 && lost.contains(&(number - 10)), Fate::Lost));
    connection.transfer(10 * MSS);
    let start = connection.now;
    connection.transfer(count * MSS);
    assert_eq!(connection.sender.counters().timeouts, 0);
    let later = connection.log[10..].iter();
    later.map(|(time, segment)| (time.since(start).as_ps() / 1_000_000, segment.seq / MSS - 9)).collect()
}

/// RFC 8985, section 6.2: the second segment is back after a round trip; the reordering window is a quarter of it.
#[test]
fn a_single_loss_is_found_within_a_round_trip_and_a_quarter() {
    assert_eq!(second_flight(&by_time(), 2, &[1]), [(0, 1), (0, 2), (125, 1)]);
}

/// Section 6.2, step 4: three segments that have arrived behind it prove the loss at once.
#[test]
fn a_single_loss_before_three_segments_is_found_within_a_round_trip() {
    assert_eq!(second_flight(&by_time(), 4, &[1]), [(0, 1), (0, 2), (0, 3), (0, 4), (100, 1)]);
}

/// Section 7: two round trips after the last event the last segment goes again, and what it brings back shows that the
/// one before it is lost.
#[test]
fn a_lost_tail_is_repaired_by_a_probe() {
    assert_eq!(second_flight(&by_time(), 4, &[3, 4]), [(0, 1), (0, 2), (0, 3), (0, 4), (300, 4), (400, 3)]);
}

/// A lone segment may wait for a delayed ACK of up to 200 ms, but no longer than for the timeout (section 7.2).
#[test]
fn the_probe_of_a_lone_segment_comes_in_place_of_the_timeout() {
    assert_eq!(second_flight(&by_time(), 1, &[1]), [(0, 1), (200_000, 1)]);
}

/// The first two are lost, and the first of them again: the second was sent after it and arrives (section 3.1).
#[test]
fn a_lost_retransmission_is_found_within_a_round_trip() {
    let sent = second_flight(&by_time(), 8, &[1, 2, 9]);
    assert_eq!(sent[8..], [(100, 1), (100, 2), (200, 1)]);
}

/// Reordering window of Linux: 2 ms more, for what is only suspected.
#[test]
fn linux_adds_two_milliseconds_to_the_reordering_window() {
    let params = TcpParams { tail_loss_probe_min: Duration::from_ms(2), ..by_time() };
    assert_eq!(second_flight(&params, 2, &[1])[2], (2_125, 1));
}

/// Counters after 10 and then 200 segments of which those with these numbers are late by `late` [us].
fn late_segments(params: &TcpParams, numbers: &'static [u64], late: u64) -> (u64, u64, u64, u64) {
    let late = Fate::Late(Duration::from_us(late));
    let mut connection = Connection::new(params, segments(|number| numbers.contains(&number), late));
    connection.transfer(10 * MSS);
    connection.transfer(200 * MSS);
    let counters = connection.sender.counters();
    let threshold = connection.sender.limits(Time::ZERO).threshold;
    (counters.retransmissions, counters.fast_recoveries, counters.undone_reductions, threshold)
}

/// Both take the first late segment for lost; it then arrives twice (DSACK), which restores window and threshold.
#[test]
fn a_reduction_for_a_late_segment_is_undone() {
    for loss_detection in [SegmentLoss::Duplicates, SegmentLoss::Time] {
        let params = TcpParams { loss_detection, ..by_time() };
        assert_eq!(late_segments(&params, &[15], 20), (1, 1, 1, u64::MAX), "{loss_detection:?}");
    }
}

/// The ninth of ten is late without being sent again, for one is behind it. From then on a quarter of a round trip is
/// waited for (section 6.2, step 4).
#[test]
fn late_segments_are_not_sent_again_once_reordering_was_seen() {
    assert_eq!(late_segments(&by_time(), &[9, 50, 100, 180], 20), (0, 0, 0, u64::MAX));
    let by_duplicates = TcpParams { loss_detection: SegmentLoss::Duplicates, ..by_time() };
    assert!(late_segments(&by_duplicates, &[9, 50, 100, 180], 20).0 > 0);
}

/// Counters and threshold after ten segments, and forty of which the first twelve go out, the window of then, and meet
/// `fate` by their number.
fn after_a_timeout(loss_detection: SegmentLoss, fate: fn(u64) -> Fate) -> (u64, u64, u64, u64) {
    let params = TcpParams { loss_detection, tail_loss_probe: false, ..by_time() };
    let mut connection = Connection::new(&params, |number, item: &Item| match item {
        Item::Segment(..) => fate(number),
        Item::Ack(_) => Fate::Arrives,
    });
    connection.transfer(10 * MSS);
    connection.transfer(40 * MSS);
    let counters = connection.sender.counters();
    let threshold = connection.sender.limits(Time::ZERO).threshold;
    (counters.timeouts, counters.retransmissions, counters.undone_reductions, threshold)
}

/// The network stands still for 300 ms, and the timer expires after 200: the first segment goes again and nothing
/// else. Then the others arrive, which were sent once (RFC 5682, section 3.1).
#[test]
fn a_spurious_timeout_is_undone() {
    let held = |number| match number {
        11..=22 => Fate::Late(Duration::from_ms(300)),
        23 => Fate::Late(Duration::from_us(100_200)),
        _ => Fate::Arrives,
    };
    for loss_detection in [SegmentLoss::Duplicates, SegmentLoss::Time] {
        assert_eq!(after_a_timeout(loss_detection, held), (1, 1, 1, u64::MAX), "{loss_detection:?}");
    }
}

/// The same, but the second of the twelve was lost before the timeout, which does not show that. All others are back
/// 100 us after they are let go at 300 ms, and three of them behind the hole prove the loss at once (RFC 8985, section
/// 6.2). A second timeout would come at 200 ms + 400 ms.
#[test]
fn what_was_lost_before_a_spurious_timeout_is_found_when_that_is_undone() {
    let fate = |number| match number {
        12 => Fate::Lost,
        11 | 13..=22 => Fate::Late(Duration::from_ms(300)),
        23 => Fate::Late(Duration::from_us(100_200)),
        _ => Fate::Arrives,
    };
    for loss_detection in [SegmentLoss::Duplicates, SegmentLoss::Time] {
        let params = TcpParams { loss_detection, tail_loss_probe: false, ..by_time() };
        let mut connection = Connection::new(&params, |number, item: &Item| match item {
            Item::Segment(..) => fate(number),
            Item::Ack(_) => Fate::Arrives,
        });
        connection.transfer(10 * MSS);
        let start = connection.now;
        connection.transfer(40 * MSS);
        let counters = connection.sender.counters();
        assert_eq!((counters.timeouts, counters.undone_reductions), (1, 1), "{loss_detection:?}");
        let again = connection.log.iter().find(|(_, segment)| segment.retransmission && segment.seq == 11 * MSS);
        let after = again.map(|(time, _)| time.since(start));
        assert_eq!(after, Some(Duration::from_us(300_100)), "{loss_detection:?}");
    }
}

/// The receiver has room for eight segments, the congestion window for twenty, and what is sent first of the second
/// transfer is lost. Two round trips later, at 200 us, the last goes again, and shows that the others are lost (RFC
/// 8985, sections 7.2 and 7.3). The timeout would come after 200 ms.
#[test]
fn a_flight_that_the_receivers_window_limits_is_probed_for() {
    let buffer = Bytes::new(2 * 8 * MSS);
    let params = TcpParams { receive_buffer: buffer, receive_buffer_initial: buffer, ..by_time() };
    let is_lost = |segment: &Segment| segment.seq >= 10 * MSS && segment.seq < 18 * MSS && !segment.retransmission;
    let mut connection = Connection::new(&params, |_, item: &Item| match item {
        Item::Segment(segment, _) if is_lost(segment) => Fate::Lost,
        Item::Segment(..) | Item::Ack(_) => Fate::Arrives,
    });
    connection.transfer(10 * MSS);
    let start = connection.now;
    connection.transfer(40 * MSS);
    let counters = connection.sender.counters();
    assert_eq!((counters.timeouts, counters.tail_probes), (0, 1));
    let again = connection.log.iter().filter(|(_, segment)| segment.retransmission);
    let again: Vec<_> = again.map(|(time, segment)| (time.since(start), segment.seq / MSS)).take(2).collect();
    // The receiver's window moves by whole segments: seven of the eight are out.
    assert_eq!(again, [(Duration::from_us(200), 16), (Duration::from_us(300), 10)]);
}

/// The new data that follow the first segment arrive, and what was sent before does not: all twelve go out again.
#[test]
fn a_timeout_after_a_loss_is_not_undone() {
    let lost = |number| if (11..=22).contains(&number) { Fate::Lost } else { Fate::Arrives };
    for loss_detection in [SegmentLoss::Duplicates, SegmentLoss::Time] {
        let (timeouts, retransmissions, undone, _) = after_a_timeout(loss_detection, lost);
        assert_eq!((timeouts, retransmissions, undone), (1, 12, 0), "{loss_detection:?}");
    }
}

/// Segments are what two windows a round trip bring in 2^-10 s, in whole ones (`tcp_tso_autosize` of Linux).
#[test]
fn segments_are_as_large_as_the_rate_of_the_connection_is_worth() {
    let first_after = |round_trip: Duration| {
        let mut sender = Sender::new(&wide_open());
        sender.write(100 * MSS);
        while sender.next_segment(Time::ZERO, MSS as u32).is_some() {}
        sender.on_ack(Time::ZERO + round_trip, &Ack { cumulative: 10 * MSS, window: 1 << 20, ..Ack::default() });
        sender.next_segment(Time::ZERO + round_trip, 65_536).map(|segment| u64::from(segment.len))
    };
    // Window of 20 segments: 2 · 88,960 B / 20 ms / 1024 = 8,687 B: two segments at least.
    assert_eq!(first_after(Duration::from_ms(20)), Some(2 * MSS));
    // In 10 ms 17,375 B: three whole segments. In 1 ms more than 64 KiB, which hold 14 whole ones.
    assert_eq!(first_after(Duration::from_ms(10)), Some(3 * MSS));
    assert_eq!(first_after(Duration::from_ms(1)), Some(14 * MSS));
}
