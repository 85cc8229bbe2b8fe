//! Swift in whole simulations.

use etherweave_primitives::{Bytes, Duration, Time};
use etherweave_sim::{Report, params::Swift, params::Transport};
use etherweave_workload::{Incast, Workload};

use crate::common::{experiment, job, one_switch, roce, run, selective};

/// Each of `sources` sends `message` bytes to one host at 100 Gb/s.
fn incast(sources: u32, message: u64, swift: Swift) -> Report {
    let mut params = selective(roce());
    let Transport::Roce(roce) = &mut params.transport else { unreachable!("RoCE is asked for") };
    (roce.swift, roce.window) = (Some(swift), Bytes::new(256 << 10));
    let message = Bytes::new(message);
    let incast = Incast { sources, message, outstanding: 1, messages: Some(1), ..Incast::default() };
    run(&experiment(one_switch(sources + 1), params, vec![job(&Workload::Incast(incast))]), 1)
}

/// Ends of the first and of the last message, as multiples of the time that the link takes for all of them.
fn ends(report: &Report, bytes: u64) -> (f64, f64) {
    let ideal = Duration::from_ps(bytes * 80 * (4_096 + 82) / 4_096).as_ps() as f64;
    let end = |time: Time| time.since(Time::ZERO).as_ps() as f64 / ideal;
    let ends = || report.streams.iter().map(|stream| end(stream.end));
    (ends().fold(f64::MAX, f64::min), ends().fold(0.0, f64::max))
}

/// The link is full, and shared alike: no message ends much before the last.
#[test]
fn senders_to_one_fill_the_link_and_share_it() {
    for (sources, message) in [(2, 10_000_000), (16, 2_000_000), (64, 500_000)] {
        let report = incast(sources, message, Swift::default());
        assert_eq!(report.totals.dropped, 0);
        let (first, last) = ends(&report, u64::from(sources) * message);
        assert!((1.0..1.1).contains(&last) && first > 0.8, "{first} and {last} with {sources}");
    }
}

/// The queue of the switch holds what the target allows beyond the path: less with a lower target.
#[test]
fn a_lower_target_keeps_a_shorter_queue() {
    let waits = |micros| {
        let swift = Swift { base_target: Duration::from_us(micros), flow_scaling: Duration::ZERO, ..Swift::default() };
        let report = incast(4, 20_000_000, swift);
        let pauses: u64 = report.ports.iter().map(|row| row.tx_pause_duration.as_ps()).sum();
        let most = report.ports.iter().map(|row| row.occupancy_bytes_max).max().unwrap();
        (pauses, most)
    };
    let (high, low) = (waits(60), waits(15));
    assert!(low.0 <= high.0 && low.1 <= high.1, "{low:?} and {high:?}");
}
