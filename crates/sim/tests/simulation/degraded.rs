//! Links that damage frames: how many, what repair costs, and that nothing else is lost.

use etherweave_primitives::{BitRate, Bytes, ChannelId, Duration, HostId, Priority};
use etherweave_sim::params::{Forwarding, RoceParams, RoceVersion, SimParams, Transport};
use etherweave_sim::{
    ClassCodes, DegradedLink, Experiment, ForwardErrorCorrection, LinkRetry, PortRow, Report, Simulation,
    frame::size::RoceSizes,
};
use etherweave_topology::{Family, FatTree};
use etherweave_workload::{Permutation, StreamSpec, Traffic, Workload};

use crate::common::{experiment, job, job_of, one_message, one_switch, roce, run, selective, tcp};
use crate::threads::assert_same_on_any_threads;

const MTU: u64 = 4_096;
/// Preamble, delimiter and gap: on the wire, but not in a frame [B].
const WIRE_ONLY: u64 = 20;

pub fn degraded(channel: ChannelId, bit_error_rate: f64) -> DegradedLink {
    DegradedLink { channel, bit_error_rate, fec: None, from: Duration::ZERO, until: None, retry: None }
}

fn sizes() -> RoceSizes {
    RoceSizes::new(RoceVersion::V2, true)
}

/// A full packet within a message [B on the wire].
fn data_wire() -> u64 {
    MTU + u64::from(sizes().middle_overhead())
}

/// The chance that a frame of so many bytes on the wire is damaged.
fn share(bit_error_rate: f64, wire: u64) -> f64 {
    1.0 - (1.0 - bit_error_rate).powf(((wire - WIRE_ONLY) * 8) as f64)
}

/// One message of so many packets from host 0 to host 1; the link of host 0 has errors.
fn one_way(params: SimParams, packets: u64, bit_error_rate: f64) -> Experiment {
    let jobs = vec![job_of(Traffic::Streams(vec![one_message(0, 1, packets * MTU)]), Priority::new(0))];
    let mut experiment = experiment(one_switch(2), params, jobs);
    experiment.degraded = vec![degraded(experiment.topology.host_channel(HostId::new(0)), bit_error_rate)];
    experiment
}

/// NICs that are never the bottleneck, and a timer that is soon back.
fn patient(retransmission_timeout: Duration) -> SimParams {
    let transport = Transport::Roce(RoceParams { ack_every: 1, retransmission_timeout, ..RoceParams::default() });
    let mut params = SimParams { transport, ..roce() };
    params.nic.drain_rate = BitRate::from_gbps(1_000);
    params.nic.context_switch = Duration::ZERO;
    params
}

fn row<'a>(report: &'a Report, node: &str, peer: &str) -> &'a PortRow {
    report.ports.iter().find(|row| row.node == node && row.peer == peer).expect("a port that counted something")
}

fn fcs_errors(report: &Report) -> u64 {
    report.ports.iter().map(|row| row.fcs_errors).sum()
}

fn assert_binomial(hits: u64, trials: u64, share: f64) {
    let mean = trials as f64 * share;
    let bound = 5.0 * (mean * (1.0 - share)).sqrt();
    assert!((hits as f64 - mean).abs() < bound, "{hits} of {trials}, expected {mean} ± {bound}");
}

#[test]
fn the_share_of_damaged_frames_is_that_of_independent_bits_in_both_directions() {
    let rate = 1e-6;
    let report = run(&one_way(patient(Duration::from_us(20)), 50_000, rate), 1);
    let (data, answers) = (row(&report, "switch0", "host0"), row(&report, "host0", "switch0"));
    assert_binomial(data.fcs_errors, data.rx_packets, share(rate, data_wire()));
    assert_binomial(answers.fcs_errors, answers.rx_packets, share(rate, u64::from(sizes().acknowledgement())));
    assert!(answers.fcs_errors > 0, "acknowledgements are frames too");
}

#[test]
fn a_switch_that_stores_discards_and_one_that_cuts_through_leaves_it_to_the_host() {
    for forwarding in [Forwarding::StoreAndForward, Forwarding::CutThrough] {
        let mut params = patient(Duration::from_us(20));
        params.switch.forwarding = forwarding;
        let report = run(&one_way(params, 20_000, 1e-6), 1);
        let (first, last) = (row(&report, "switch0", "host0").fcs_errors, row(&report, "host1", "switch0").fcs_errors);
        let answers = row(&report, "host0", "switch0").fcs_errors;
        assert!(first > 100, "{first}");
        assert_eq!(last, if forwarding == Forwarding::CutThrough { first } else { 0 });
        assert_eq!(report.totals.damaged, first + answers);
    }
}

#[test]
fn damage_is_no_loss_of_a_buffer() {
    let report = run(&one_way(roce(), 2_000, 1e-6), 1);
    assert!(report.totals.damaged > 0);
    assert_eq!((report.totals.dropped, report.lossless_drops.len()), (0, 0));
    // Complete, so all that may be in flight are answers of the last window.
    assert!(report.totals.in_flight <= RoceParams::default().window.get() / MTU, "{:?}", report.totals);
}

/// Returns the time from the end of a packet to the end of its answer, in an idle network of a cut-through switch.
fn round_trip(params: &SimParams) -> Duration {
    let wire = |bytes: u64| BitRate::from_gbps(100).serialization_time(Bytes::new(bytes));
    let one_way =
        params.nic.transmit_latency + Duration::from_ns(100) + params.switch.latency + params.nic.receive_latency;
    let (header, answer) = (params.switch.header.get(), u64::from(sizes().acknowledgement()));
    one_way * 2 + wire(header) + wire(header.min(answer)) + wire(answer)
}

/// Go-back-N with a share q of the packets lost, t the time of a packet, D the round trip of [`round_trip`], T the
/// timeout:
///
/// - A loss is found when the next packet is there, so the lost one goes out again 2t + D after it did so first, and up
///   to t later, when the packet then on the wire is through. When the next is lost too (q), a t later still.
/// - When the second try is lost, or the NAK (r), only the timer helps: T after the last progress, which is the
///   acknowledgement of the packet before, D after the first try began.
#[test]
fn goodput_is_that_of_go_back_n() {
    let (packets, bit_error_rate, timeout) = (200_000, 3e-7, Duration::from_us(20));
    let params = patient(timeout);
    let report = run(&one_way(params.clone(), packets, bit_error_rate), 1);
    let ns = |duration: Duration| duration.as_ns_f64();
    let t = ns(BitRate::from_gbps(100).serialization_time(Bytes::new(data_wire())));
    let (d, timeout) = (ns(round_trip(&params)), ns(timeout));
    let (q, r) = (share(bit_error_rate, data_wire()), share(bit_error_rate, u64::from(sizes().acknowledgement())));
    let by_timer = q + r;
    let least = q * ((1.0 - by_timer) * (2.0 * t + d) + by_timer * (timeout + d));
    let most = q * ((3.0 + q / (1.0 - q)) * t + d + by_timer / (1.0 - q) * (timeout + d + t));
    let losses = packets as f64 * q;
    // Losses and expiries are counts of rare events, whose variance is their mean.
    let deviation = (losses * (3.0 * t + d).powi(2) + losses * by_timer * (timeout + d).powi(2)).sqrt();
    let excess = ns(report.streams[0].end.since(report.streams[0].start)) - packets as f64 * t;
    let bracket = packets as f64 * least - 5.0 * deviation..packets as f64 * most + 5.0 * deviation;
    assert!(bracket.contains(&excess), "{excess} ns beyond {packets} packets, expected {bracket:?}");
    // A repair sends again what had gone out since, a packet in each t; errors among those need no repair of their own.
    let (by_nak, by_expiry) = (3.0 + d / t, by_timer / (1.0 - q) * (timeout + d + t) / t);
    let again = report.flows[0].retransmissions as f64 / row(&report, "switch0", "host0").fcs_errors as f64;
    let bracket = (by_nak - 1.0) / (1.0 + q * by_nak)..by_nak + by_expiry;
    assert!(bracket.contains(&again), "{again} packets again for each error, expected {bracket:?}");
}

/// Selective repeat with a share q of the packets lost, each of time t with its address: every packet goes out
/// 1 / (1 - q) times, and while one is repaired the others go on. At the end a probe may be needed.
#[test]
fn goodput_is_that_of_selective_repeat() {
    let (packets, bit_error_rate) = (200_000, 3e-7);
    let params = selective(patient(Duration::from_us(1_000)));
    let report = run(&one_way(params.clone(), packets, bit_error_rate), 1);
    let wire = MTU + u64::from(sizes().first_overhead());
    let t = BitRate::from_gbps(100).serialization_time(Bytes::new(wire)).as_ns_f64();
    let q = share(bit_error_rate, wire);
    let losses = packets as f64 * q / (1.0 - q);
    let excess = report.streams[0].end.since(report.streams[0].start).as_ns_f64() - packets as f64 * t;
    let end = (round_trip(&params) * 4 + RoceParams::default().tail_loss_probe_min).as_ns_f64();
    let bracket = (losses - 5.0 * losses.sqrt()) * t..(losses + 5.0 * losses.sqrt()) * t + end;
    assert!(bracket.contains(&excess), "{excess} ns beyond {packets} packets, expected {bracket:?}");
    // What is damaged goes out once more, and nothing else but a probe.
    let (flow, errors) = (&report.flows[0], row(&report, "switch0", "host0").fcs_errors);
    assert!((errors..=errors + 1).contains(&flow.retransmissions), "{flow:?} for {errors} errors");
    assert_eq!((flow.timeouts, flow.naks), (0, 0));
    assert!(flow.out_of_order > errors, "each gap has packets behind it: {flow:?}");
}

/// Returns an experiment with a fat tree of one uplink under errors on that of leaf 0.
fn tree(params: SimParams, bit_error_rate: f64) -> Experiment {
    let tree = FatTree { leaves: 3, hosts_per_leaf: 4, links_per_core: 1, ..FatTree::default() };
    let topology = tree.generate().unwrap();
    let permutation = Permutation { ranks: 12, bytes: Bytes::new(1 << 20), ..Permutation::default() };
    let mut experiment = experiment(topology, params, vec![job(&Workload::Permutation(permutation))]);
    let is_uplink = |id: &ChannelId| {
        let channel = experiment.topology.channel(*id);
        channel.from.node == experiment.topology.switch_of(HostId::new(0)).into()
            && matches!(channel.to.node, etherweave_topology::Node::Switch(_))
    };
    let uplink = (0..experiment.topology.channels().len()).map(ChannelId::from_index).find(is_uplink).unwrap();
    experiment.degraded = vec![degraded(uplink, bit_error_rate)];
    experiment
}

#[test]
fn every_message_arrives_in_spite_of_errors_the_same_on_any_threads() {
    for (params, transport) in [(roce(), "go-back-N"), (selective(roce()), "selective repeat"), (tcp(), "tcp")] {
        // `run` asserts that every rank has received its message.
        let report = assert_same_on_any_threads(&tree(params, 3e-7));
        assert!(fcs_errors(&report) > 0);
        assert_eq!(report.totals.dropped, 0, "{transport}");
        assert!(report.flows.iter().any(|flow| flow.retransmissions > 0), "{transport}");
    }
}

#[test]
fn a_rate_of_zero_changes_nothing() {
    let (with, mut without) = (tree(roce(), 0.0), tree(roce(), 0.0));
    without.degraded.clear();
    let (with, without) = (run(&with, 1), run(&without, 1));
    assert_eq!(with.fingerprint, without.fingerprint);
    assert_eq!((with.ports, with.flows, with.totals), (without.ports, without.flows, without.totals));
}

#[test]
fn errors_end_at_the_given_time() {
    let errors = |from: u64, until: u64| {
        let mut experiment = one_way(patient(Duration::from_us(20)), 10_000, 1e-6);
        experiment.degraded[0].from = Duration::from_us(from);
        experiment.degraded[0].until = Some(Duration::from_us(until));
        fcs_errors(&run(&experiment, 1))
    };
    // The message takes 3.4 ms.
    assert_eq!(errors(100_000, 200_000), 0);
    assert!(errors(0, 500) > 0 && errors(500, 1_000) > 0);
    assert!(errors(0, 500) < errors(0, 3_000));
}

/// Three hosts overload one behind a small buffer, so that the switch pauses their links, which have errors.
fn paused(bit_error_rate: f64) -> Experiment {
    let mut params = patient(Duration::from_us(50));
    params.switch.buffer = Bytes::new(400_000);
    params.switch.reserve = Bytes::new(1_000);
    let stream = |source: u32| StreamSpec { outstanding: 2, ..one_message(source, 0, 4_000_000) };
    let jobs = vec![job_of(Traffic::Streams((1..4).map(stream).collect()), Priority::new(0))];
    let mut experiment = experiment(one_switch(4), params, jobs);
    let channel = |host| experiment.topology.host_channel(HostId::new(host));
    experiment.degraded = (1..4).map(|host| degraded(channel(host), bit_error_rate)).collect();
    experiment
}

#[test]
fn a_damaged_pause_frame_has_no_effect_and_the_run_goes_on() {
    let report = run(&paused(1e-5), 1);
    let mut damaged = 0;
    for host in ["host1", "host2", "host3"] {
        let (sender, receiver) = (row(&report, "switch0", host), row(&report, host, "switch0"));
        let in_flight = sender.tx_pauses.total() - receiver.rx_pauses.total() - receiver.fcs_errors_pause;
        assert!(in_flight <= 1, "{in_flight} pause frames in flight to {host} at the end");
        damaged += receiver.fcs_errors_pause;
    }
    assert!(damaged > 0, "no pause frame was damaged");
    let has_damaged_pauses = |drop: &etherweave_sim::LosslessDrop| drop.pauses_damaged > 0;
    assert!(
        report.lossless_drops.iter().all(has_damaged_pauses),
        "with its headroom, a switch loses only what it could not stop"
    );
    assert!(run(&paused(0.0), 1).lossless_drops.is_empty());
}

#[test]
fn impossible_degraded_links_are_rejected() {
    let rejected = |change: &dyn Fn(&mut Vec<DegradedLink>)| {
        let mut experiment = one_way(roce(), 1, 1e-9);
        change(&mut experiment.degraded);
        match Simulation::build(&experiment, 1) {
            Err(errors) => errors.to_string(),
            Ok(_) => panic!("it is accepted"),
        }
    };
    for rate in [-1e-9, 1.1e-3, f64::NAN, f64::INFINITY] {
        let message = rejected(&|links| links[0].bit_error_rate = rate);
        assert_eq!(message, format!("faults.degraded.0.bit_error_rate: {rate}; expected 0 to 0.001, per bit"));
    }
    let code = Some(ForwardErrorCorrection::Rs544Interleaved);
    let message = rejected(&|links| links[0].fec = code);
    let expected = "a link of 200Gb/s or 400Gb/s, for which IEEE 802.3 has the code";
    assert_eq!(message, format!("faults.degraded.0.fec: a link of 100Gb/s; expected {expected}"));
    let message = rejected(&|links| links[0].until = Some(Duration::ZERO));
    assert_eq!(message, "faults.degraded.0.until: 0ps; expected more than 0ps, when it begins");
    let message = rejected(&|links| links.push(degraded(etherweave_topology::reverse(links[0].channel), 1e-6)));
    assert_eq!(
        message,
        "faults.degraded.1.from: 0ps; expected a time apart from faults.degraded.0, which is the same link"
    );
}

/// A long message over a link with retry, its closest run without errors, and what the link has lost.
fn retried(packets: u64, rate: f64, retry: LinkRetry) -> (Duration, etherweave_sim::ReplayRow) {
    let mut experiment = one_way(patient(Duration::from_ms(1)), packets, 0.0);
    let ideal = run(&experiment, 1);
    experiment.degraded[0] = DegradedLink { retry: Some(retry), ..degraded(experiment.degraded[0].channel, rate) };
    let report = assert_same_on_any_threads(&experiment);
    assert_eq!((report.totals.damaged, report.flows[0].retransmissions), (0, 0));
    let row = report.replays.iter().find(|row| row.node == "host0").expect("retry has cost something");
    let last = |report: &Report| report.streams[0].end;
    (last(&report).since(last(&ideal)), row.clone())
}

/// Time of a full packet, and from the end of a damaged one to its replay: 10 m of cable both ways, and both ends.
fn frame_and_turnaround() -> (Duration, Duration) {
    (BitRate::from_gbps(100).serialization_time(Bytes::new(data_wire())), Duration::from_ns(2 * 50 + 250))
}

const RETRY: LinkRetry =
    LinkRetry { replays_max: 15, latency: Duration::from_ns(250), buffer: None, message_spacing: Bytes::new(2_048) };

/// A link that is always busy loses the time of each replay, and a frame is sent p / (1 - p) times more: the closed
/// form of go-back-N with the frame, 10 m of cable both ways and both ends as round trip. A message of 8 B costs its
/// time in every 2,048 B of frames.
#[test]
fn link_level_retry_loses_nothing_and_costs_what_going_back_does() {
    let (packets, rate) = (20_000, 1e-6);
    let (later, row) = retried(packets, rate, RETRY);
    let messages = BitRate::from_gbps(100).serialization_time(Bytes::new(row.message_bytes));
    assert_eq!((later, row.held), (row.lost + messages, Duration::ZERO));
    let share = share(rate, data_wire());
    assert_binomial(row.frames, packets, share);
    let (frame, turnaround) = frame_and_turnaround();
    let each = frame + turnaround;
    assert_eq!((row.lost, row.bytes), (each * row.replays, data_wire() * row.replays));
    let expected = packets as f64 * share / (1.0 - share) * each.as_ps() as f64;
    let deviation = (packets as f64 * share).sqrt() * each.as_ps() as f64;
    assert!((row.lost.as_ps() as f64 - expected).abs() < 5.0 * deviation, "{:?} of {expected}", row.lost);
    // What is due during a replay is sent in its time.
    let all = packets * data_wire() / 2_048 * 8;
    assert!((all - 8 * row.replays..=all).contains(&row.message_bytes), "{} of {all}", row.message_bytes);
}

/// A replay buffer of k frames: after k frames without damage the transmitter waits a time G for the first of them,
/// with the time S of a frame, the turnaround and 2,048 B until an acknowledgement, and the messages of the frames. A
/// damaged frame, a share p, has those before it acknowledged, so that k frames begin anew with it. With q = 1 - p,
/// that is a wait for q^(k - 1) of the (1 - q^k) / (1 - q) frames that begin in each such round, and for each frame
///
/// S + p / (1 - p) (S + turnaround) + G q^(k - 1) (1 - q) / (1 - q^k).
#[test]
fn a_link_holds_frames_while_its_replay_buffer_is_full() {
    let (packets, rate, message) = (20_000u64, 1e-6, 0.64);
    let (frame, turnaround) = frame_and_turnaround();
    let (s, t) = (frame.as_ns_f64(), (turnaround + Duration::from_ps(2_048 * 80)).as_ns_f64());
    let p = share(rate, data_wire());
    for k in 1..=4u32 {
        // The largest frame, the first of a message, must have room too.
        let buffer = Some(Bytes::new(u64::from(k) * data_wire() + 20));
        // Each frame of a round carries two messages, some three: the wait is shorter by those behind the first.
        let lengthened = s + message * data_wire() as f64 / 2_048.0;
        let gap = (s + t - f64::from(k) * s - f64::from(k - 1) * (lengthened - s)).max(0.0);
        let held = |p: f64| gap * (1.0 - p).powi(k as i32 - 1) * p / (1.0 - (1.0 - p).powi(k as i32));
        for (rate, share, per_frame) in [(0.0, 0.0, gap / f64::from(k)), (rate, p, held(p))] {
            let (later, row) = retried(packets, rate, LinkRetry { buffer, ..RETRY });
            let messages = BitRate::from_gbps(100).serialization_time(Bytes::new(row.message_bytes));
            assert_eq!(later, row.lost + row.held + messages, "{k} frames");
            let (held, expected) = (row.held.as_ns_f64(), packets as f64 * per_frame);
            // Rounds are broken by rare events, each of which costs or saves a wait; a message is 0.64 ns.
            let bound = 5.0 * gap * (packets as f64 * share).sqrt() + gap + packets as f64 * message / f64::from(k);
            assert!((held - expected).abs() < bound, "{k} frames at {rate}: {held} of {expected} ± {bound}");
            let lost = packets as f64 * share / (1.0 - share) * (s + turnaround.as_ns_f64());
            let deviation = (packets as f64 * share).sqrt() * (s + turnaround.as_ns_f64());
            assert!((row.lost.as_ns_f64() - lost).abs() <= 5.0 * deviation, "{k} frames: {:?} of {lost}", row.lost);
        }
    }
}

#[test]
fn impossible_link_level_retry_is_rejected() {
    let frame = data_wire() + u64::from(sizes().first_overhead() - sizes().middle_overhead());
    let cases = [
        (LinkRetry { replays_max: 16, ..RETRY }, "replays_max: 16; expected 1 to 15".to_owned()),
        (
            LinkRetry { buffer: Some(Bytes::new(frame - 1)), ..RETRY },
            format!("buffer: {}B; expected at least {frame}B, the largest frame", frame - 1),
        ),
        (
            LinkRetry { message_spacing: Bytes::new(399), ..RETRY },
            "message_spacing: 399B; expected 400B to 17296B".to_owned(),
        ),
    ];
    for (retry, expected) in cases {
        let mut experiment = one_way(roce(), 1, 1e-9);
        experiment.degraded[0].retry = Some(retry);
        let Err(errors) = Simulation::build(&experiment, 1) else { panic!("{retry:?} is accepted") };
        assert_eq!(errors.to_string(), format!("faults.degraded.0.retry.{expected}"));
    }
}

/// A message crosses two links: what a code waits more or less than that by rate and cable comes twice.
#[test]
fn a_code_of_a_class_takes_its_wait_on_every_link_of_the_class() {
    let end = |code| {
        let mut experiment = one_way(patient(Duration::from_ms(1)), 1, 0.0);
        experiment.params.fec = ClassCodes { host: code, ..ClassCodes::default() };
        run(&experiment, 1).streams[0].end
    };
    let by_cable = end(None);
    assert_eq!(end(Some(ForwardErrorCorrection::Rs528)), by_cable);
    assert_eq!(by_cable.since(end(Some(ForwardErrorCorrection::None))), Duration::from_ps(2 * 51_200));
}

#[test]
fn codes_that_a_class_cannot_have_are_rejected() {
    let rejected = |code, latency: Option<u64>| {
        let mut experiment = one_way(roce(), 1, 0.0);
        experiment.params.fec = ClassCodes { host: Some(code), ..ClassCodes::default() };
        if let Some(ns) = latency {
            experiment.params.nic.transmit_latency = Duration::ZERO;
            experiment.params.switch.latency = Duration::from_ns(ns);
        }
        match Simulation::build(&experiment, 1) {
            Err(errors) => errors.to_string(),
            Ok(_) => panic!("it is accepted"),
        }
    };
    let expected =
        "fec.host: a link of 100Gb/s; expected a link of 10Gb/s or 25Gb/s, for which IEEE 802.3 has the code";
    assert_eq!(rejected(ForwardErrorCorrection::Fc2112, None), expected);
    let message = rejected(ForwardErrorCorrection::None, Some(0));
    assert!(
        message.starts_with("fec.host: a code that waits 0ps on a link of 100Gb/s; expected a code, or"),
        "{message}"
    );
}
