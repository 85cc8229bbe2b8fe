//! Receive queues and their moderation in whole simulations.

use etherweave_primitives::{Bytes, Duration};
use etherweave_sim::Report;
use etherweave_sim::params::{Moderation, ModerationProfile, ModerationTimer, SimParams};
use etherweave_workload::{Incast, OsuLatency, Workload};

use crate::common::{experiment, job, one_switch, run, run_for, tcp};

fn moderated(moderation: Moderation) -> SimParams {
    let mut params = tcp();
    params.host.receive.moderation = moderation;
    params
}

fn fixed(micros: u64) -> Moderation {
    Moderation::Fixed(ModerationProfile { period: Duration::from_us(micros), count: 128 })
}

fn ping_pong(params: SimParams, iterations: u32) -> Report {
    let latency = OsuLatency { bytes: Bytes::ZERO, warm_up: 20, iterations };
    run(&experiment(one_switch(2), params, vec![job(&Workload::OsuLatency(latency))]), 1)
}

/// The shortest round trip [ps]: none in which an acknowledgement of its own keeps the handler busy.
fn round_trip(report: &Report) -> u64 {
    report.iterations.iter().map(|row| row.duration.as_ps()).min().unwrap()
}

/// A message waits for the period once at each end.
#[test]
fn a_ping_pong_takes_the_period_longer_at_each_end() {
    let without = round_trip(&ping_pong(tcp(), 50));
    for micros in [2, 8, 16, 32, 64] {
        let with = round_trip(&ping_pong(moderated(fixed(micros)), 50));
        assert_eq!(with - without, 2 * micros * 1_000_000, "{micros} us");
    }
}

/// A lone frame waits as long by either timer.
#[test]
fn both_timers_are_alike_for_lone_frames() {
    let mut event = moderated(fixed(16));
    event.host.receive.timer = ModerationTimer::Event;
    assert_eq!(round_trip(&ping_pong(event, 50)), round_trip(&ping_pong(moderated(fixed(16)), 50)));
}

/// Parked at 8 us after a few hundred messages.
#[test]
fn adaptive_moderation_of_a_ping_pong_ends_at_8_us() {
    let last = |moderation| ping_pong(moderated(moderation), 2_000).iterations.last().unwrap().duration;
    assert_eq!(last(Moderation::Adaptive(Default::default())), last(fixed(8)));
}

/// While the interrupt waits for 128 frames or 5 ms, nothing takes frames off a ring of 32.
#[test]
fn a_ring_that_is_too_short_drops() {
    let dropped = |ring| {
        let mut params = moderated(fixed(5_000));
        params.host.receive.ring = ring;
        let incast = Incast { sources: 4, message: Bytes::new(1 << 20), ..Incast::default() };
        let report =
            run_for(&experiment(one_switch(5), params, vec![job(&Workload::Incast(incast))]), Duration::from_us(1_000));
        report.totals.dropped
    };
    assert_eq!(dropped(1024), 0);
    assert!(dropped(8) > 0);
}
