//! Receive queues and their moderation in whole simulations.

use etherweave_primitives::{BitRate, Bytes, Duration};
use etherweave_sim::Report;
use etherweave_sim::params::{
    CoreParams, Moderation, ModerationProfile, ModerationTimer, SimParams, ThrottleParams, TokenBucket, TransmitParams,
    Transport,
};
use etherweave_workload::{Incast, OsuLatency, StreamSpec, Traffic, Workload};

use crate::common::{experiment, job, job_of, one_message, one_switch, run, run_for, tcp};

fn moderated(moderation: Moderation) -> SimParams {
    let mut params = tcp();
    params.host.receive.moderation = moderation;
    params
}

fn fixed(micros: u64) -> Moderation {
    Moderation::Fixed(ModerationProfile { period: Duration::from_us(micros), count: 128 })
}

fn ping_pong(params: SimParams, iterations: u32) -> Report {
    let latency = OsuLatency { bytes: Bytes::ZERO, warm_up: 20, iterations, ..Default::default() };
    run(&experiment(one_switch(2), params, vec![job(&Workload::OsuLatency(latency))]), 1)
}

/// The shortest round trip [ps]: none in which an acknowledgement of its own keeps the handler busy.
fn round_trip(report: &Report) -> u64 {
    report.iterations.iter().map(|row| row.duration.as_ps()).min().unwrap()
}

/// Goodput [Gb/s] of a stream whose merged segments take 20 us each of the interrupt side, and frames nothing.
fn goodput_of_merged_segments(merge_frames: Option<u32>) -> f64 {
    let mut params = tcp();
    let cpu = &mut params.host.cpu;
    (cpu.receive_batch, cpu.receive_frame, cpu.merge_frames) = (Duration::from_us(20), Duration::ZERO, merge_frames);
    let message = Bytes::new(4_000_000);
    let incast = Incast { sources: 1, message, outstanding: 1, messages: Some(4), ..Incast::default() };
    run(&experiment(one_switch(2), params, vec![job(&Workload::Incast(incast))]), 1).streams[0].goodput_gbps()
}

/// Up to 64 KiB are 15 segments of 4,448 B in one piece; of 17 fragments of a page, 8 segments and the other 7; merging
/// nothing, each alone.
#[test]
fn the_frames_that_may_be_merged_bound_what_the_interrupt_side_takes() {
    let batch = 15.0 * 4_448.0 * 8.0 / 20e3;
    for (merge_frames, pieces) in [(None, 1.0), (Some(15), 1.0), (Some(8), 2.0), (Some(1), 15.0)] {
        let goodput = goodput_of_merged_segments(merge_frames);
        let ratio = goodput / (batch / pieces);
        assert!((0.85..1.02).contains(&ratio), "{ratio} with {merge_frames:?}");
    }
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

/// A ping-pong of two hosts with a core and a queue each, so that what a rank sends and receives shares an interrupt.
fn ping_pong_on_one_core(period: u64, transmit: Option<u64>) -> u64 {
    let mut params = moderated(fixed(period));
    params.host.cores = Some(CoreParams { sockets: 1, per_socket: 1 });
    params.host.receive.queues = 1;
    let timer = ModerationTimer::Event;
    params.host.transmit = transmit.map(|period| TransmitParams { moderation: fixed(period), timer });
    round_trip(&ping_pong(params, 50))
}

/// The answer comes two periods of 64 us later. But 100 us after a message has been sent its interrupt takes the answer
/// that waits, so that an iteration takes 100 us and the time from an interrupt to the next message, which is less than
/// a message takes without moderation.
#[test]
fn an_interrupt_for_what_was_sent_takes_what_has_come() {
    let one_way = ping_pong_on_one_core(0, None) / 2;
    assert_eq!(ping_pong_on_one_core(64, None), 2 * (one_way + 64_000_000));
    let with = ping_pong_on_one_core(64, Some(100));
    assert!((100_000_000..100_000_000 + one_way).contains(&with), "{with}");
    assert_eq!(ping_pong_on_one_core(64, Some(8)), 2 * (one_way + 64_000_000), "it comes before the answer");
}

/// Messages of three frames are acknowledged when their batch is done. 100 us later the interrupt for the
/// acknowledgement takes the next message, and what acknowledges the answer, before their own: they would have waited
/// for 64 us at either end.
#[test]
fn an_interrupt_for_an_acknowledgement_takes_the_next_message() {
    let mut params = moderated(fixed(64));
    params.host.transmit = Some(TransmitParams { moderation: fixed(100), timer: ModerationTimer::Event });
    let costs = params.host.cpu.clone();
    let bytes = Bytes::new(10_000);
    let latency = OsuLatency { bytes, warm_up: 20, iterations: 50, ..Default::default() };
    let report = run(&experiment(one_switch(2), params, vec![job(&Workload::OsuLatency(latency))]), 1);
    let batch = costs.receive_batch + costs.receive_frame * 3 + costs.acknowledgement;
    let period = Duration::from_us(100) + costs.interrupt + batch;
    let durations: Vec<_> = report.iterations.iter().map(|row| row.duration).collect();
    assert_eq!(durations[25], period, "{durations:?}");
}

/// A host interrupts no sooner than an interval after the interrupt before, so that a shorter round trip takes that.
#[test]
fn a_ping_pong_takes_the_interval_of_throttled_interrupts() {
    for micros in [50, 80] {
        let throttled = Moderation::Throttled(ThrottleParams { interval_min: Duration::from_us(micros) });
        let report = ping_pong(moderated(throttled), 50);
        assert_eq!(report.iterations.last().unwrap().duration, Duration::from_us(micros));
    }
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

/// Frames that find no buffer in the ring while a stream comes at `rate`, and whether these are all drops.
fn out_of_buffer(rate: BitRate) -> u64 {
    let mut params = tcp();
    params.host.receive.ring = 64;
    params.host.cpu.receive_frame = Duration::from_us(2);
    params.nic.shaper = Some(TokenBucket { rate, burst: Bytes::new(9_000) });
    let Transport::Tcp(tcp) = &mut params.transport else { unreachable!("kernel TCP") };
    tcp.hystart = false;
    tcp.receive_buffer_initial = tcp.receive_buffer;
    let stream = StreamSpec { outstanding: 2, messages: None, ..one_message(0, 1, 4_000_000) };
    let job = job_of(Traffic::Streams(vec![stream]), Default::default());
    let report = run_for(&experiment(one_switch(2), params, vec![job]), Duration::from_ms(8));
    let lost = report.ports.iter().map(|port| port.rx_out_of_buffer).sum();
    assert_eq!(lost, report.totals.dropped);
    lost
}

/// The softirq takes 15 frames of 4,448 B, the first to reach 64 KiB, in 15 · 2 us + 1.2 us. Frames of 4,514 B, without
/// preamble, gap and check sequence, as the shaper counts them, then come to 15 · 4,514 · 8 / 31.2 = 17,361 Mb/s.
#[test]
fn frames_find_no_buffer_from_the_rate_on_at_which_the_softirq_works() {
    let served_bps = 15 * 4_514 * 8 * 10_000_000_u64 / 312;
    let at = |percent| out_of_buffer(BitRate::from_bps(served_bps / 100 * percent));
    assert_eq!(at(97), 0);
    assert!(at(105) > 0);
}
