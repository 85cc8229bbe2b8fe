//! The receiver alone: when it acknowledges, and what.

use etherweave_primitives::{Duration, Time};

use super::channel::MSS;
use crate::ByteRange;
use crate::tcp::{AckAction, CongestionControl, Receiver, SegmentArrival, TcpParams};

const NOW: Time = Time::ZERO;

fn patient() -> Receiver {
    Receiver::new(&TcpParams { quick_acks: 0, ..TcpParams::default() })
}

/// Segment number `index`, of full size.
fn segment(index: u64) -> SegmentArrival {
    SegmentArrival { seq: index * MSS, len: MSS as u32, ..SegmentArrival::default() }
}

/// SACK blocks of the next ACK, as numbers of segments.
fn blocks(receiver: &mut Receiver) -> Vec<(u64, u64)> {
    let sack = receiver.make_ack(NOW).sack;
    sack.iter().filter(|block| !block.is_empty()).map(|block| (block.start / MSS, block.end / MSS)).collect()
}

#[test]
fn a_lone_segment_waits_40_ms_for_company() {
    let mut receiver = patient();
    let deadline = NOW + Duration::from_ms(40);
    assert_eq!(receiver.on_segment(NOW, &segment(0)), AckAction::Delayed(deadline));
    assert_eq!(receiver.timer(), Some(deadline));
    // The second full segment ends the wait (RFC 5681, section 4.2) once it is read: until then it takes from the
    // window.
    assert_eq!(receiver.on_segment(NOW, &segment(1)), AckAction::Delayed(deadline));
    assert!(receiver.read(2 * MSS));
    assert_eq!(receiver.make_ack(NOW).cumulative, 2 * MSS);
    assert_eq!(receiver.timer(), None);
}

#[test]
fn two_segments_merged_on_reception_count_as_two() {
    let merged = SegmentArrival { len: 2 * MSS as u32, ..SegmentArrival::default() };
    let mut receiver = patient();
    receiver.on_segment(NOW, &merged);
    assert!(receiver.read(2 * MSS));
}

#[test]
fn gaps_their_repair_and_duplicates_are_answered_at_once() {
    let mut receiver = patient();
    // RFC 5681, section 4.2: out of order; filling the gap; a duplicate.
    for index in [1, 0, 0] {
        assert_eq!(receiver.on_segment(NOW, &segment(index)), AckAction::Now);
        receiver.make_ack(NOW);
    }
}

#[test]
fn the_first_sixteen_acks_are_not_delayed() {
    let mut receiver = Receiver::new(&TcpParams::default());
    let quick = (0..20).take_while(|&index| {
        let action = receiver.on_segment(NOW, &segment(index));
        receiver.make_ack(NOW);
        receiver.read(receiver.readable());
        action == AckAction::Now
    });
    assert_eq!(quick.count(), 16);
}

#[test]
fn sack_reports_the_newest_blocks_first() {
    let mut receiver = patient();
    for index in [0, 2, 4, 6, 8] {
        receiver.on_segment(NOW, &segment(index));
    }
    // Three blocks fit beside the timestamps (RFC 2018, sections 3 and 4).
    assert_eq!(blocks(&mut receiver), [(8, 9), (6, 7), (4, 5)]);
    receiver.on_segment(NOW, &segment(3));
    assert_eq!(blocks(&mut receiver), [(2, 5), (8, 9), (6, 7)]);
    // What arrives twice is reported before them, once (RFC 2883, section 4).
    receiver.on_segment(NOW, &segment(0));
    assert_eq!(blocks(&mut receiver)[0], (0, 1));
    assert_eq!(blocks(&mut receiver)[0], (2, 5));
}

#[test]
fn the_window_closes_and_opens_but_its_edge_never_moves_back() {
    let mut receiver = patient();
    // Half of 87,380 B is advertised: nine segments, 40,032 B, leave 3,658 B.
    for index in 0..9 {
        receiver.on_segment(NOW, &segment(index));
    }
    let ack = receiver.make_ack(NOW);
    assert_eq!((ack.cumulative, ack.window), (40_032, 3_658));
    // Room for less than a segment is not worth advertising (RFC 9293, section 3.8.6.2.2) ...
    receiver.read(MSS - 1);
    assert_eq!(receiver.make_ack(NOW).window, 3_658);
    // ... and a whole one is.
    receiver.read(1);
    assert_eq!(receiver.make_ack(NOW).window, 3_658 + MSS);
}

#[test]
fn the_window_makes_room_for_twice_what_was_read_in_one_window() {
    let params = TcpParams { quick_acks: 0, ..TcpParams::default() };
    let mut receiver = Receiver::new(&params);
    let largest = params.receive_buffer.get() / 2;
    let mut windows = Vec::new();
    for index in 0..2_000 {
        receiver.on_segment(NOW, &segment(index));
        receiver.read(receiver.readable());
        windows.push(receiver.make_ack(NOW).window);
    }
    assert!(windows.windows(2).all(|pair| pair[1] >= pair[0] - MSS));
    // 43,690 B at first. Of the first window nine segments are read before the tenth, which completes it, arrives.
    assert!(windows.contains(&(2 * 9 * MSS)), "{windows:?}");
    assert_eq!(windows.last(), Some(&largest));
}

#[test]
fn the_oldest_unanswered_segment_gives_the_timestamp() {
    let mut receiver = patient();
    let sent = |us| Time::ZERO + Duration::from_us(us);
    receiver.on_segment(NOW, &SegmentArrival { timestamp: sent(1), ..segment(0) });
    receiver.on_segment(NOW, &SegmentArrival { timestamp: sent(2), ..segment(1) });
    // RFC 7323, section 4.3, case A: a delayed ACK echoes the first that it answers, so the delay is measured.
    assert_eq!(receiver.make_ack(NOW).timestamp_echo, sent(1));
}

#[test]
fn a_mark_is_echoed_until_the_sender_says_that_it_reacted() {
    let mut receiver = patient();
    receiver.on_segment(NOW, &SegmentArrival { congestion_experienced: true, ..segment(0) });
    assert!(receiver.make_ack(NOW).ecn_echo);
    receiver.on_segment(NOW, &segment(1));
    assert!(receiver.make_ack(NOW).ecn_echo, "RFC 3168, section 6.1.3");
    receiver.on_segment(NOW, &SegmentArrival { window_reduced: true, ..segment(2) });
    assert!(!receiver.make_ack(NOW).ecn_echo);
}

#[test]
fn an_empty_block_holds_nothing() {
    assert!(ByteRange::default().is_empty());
    assert_eq!(ByteRange::new(5, 3).len(), 0);
}

/// Segments before a change of marks are acknowledged with their own echo (RFC 8257, section 3.2).
#[test]
fn for_dctcp_an_ack_echoes_the_marks_of_what_it_acknowledges() {
    let params = TcpParams { quick_acks: 0, congestion_control: CongestionControl::Dctcp, ..TcpParams::default() };
    let mut receiver = Receiver::new(&params);
    let marked = |index| SegmentArrival { congestion_experienced: true, ..segment(index) };
    assert!(!receiver.changes_echo(&segment(0)) && !receiver.changes_echo(&marked(0)), "nothing waits");
    receiver.on_segment(NOW, &segment(0));
    assert!(receiver.changes_echo(&marked(1)));
    assert!(!receiver.make_ack(NOW).ecn_echo);
    receiver.on_segment(NOW, &marked(1));
    assert!(!receiver.changes_echo(&marked(2)) && receiver.changes_echo(&segment(2)));
    assert!(receiver.make_ack(NOW).ecn_echo);
    receiver.on_segment(NOW, &segment(2));
    assert!(!receiver.make_ack(NOW).ecn_echo, "without a report of the sender");
}
