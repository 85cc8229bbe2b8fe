//! Repetitions that are skipped: the tables are those of a run that simulates them.

use etherweave_primitives::{Bytes, Duration, Time};
use etherweave_sim::params::{Dcqcn, EcnMarking, MarkAt, SimParams, Transport};
use etherweave_sim::{Experiment, Report, SkipLevel, SkipLimits};
use etherweave_topology::{Family, FatTree, SingleSwitch};
use etherweave_transport::params::{Reliability, RoceParams};
use etherweave_transport::uet::{Delivery, Nscc, UetParams};
use etherweave_transport::{Hpcc, Swift, Timely};
use etherweave_workload::{
    AllToAll, Fft, Halo3d, HpccRing, Incast, OsuCollective, OsuLatency, Permutation, Share, Workload,
    collective::Collective,
};

use crate::common::{experiment, job, roce, run, run_for, tcp};

fn measured(report: &Report) -> String {
    let mut totals = report.totals;
    // Timers that find nothing to do look at times of their own.
    (totals.packets_max, totals.events) = (0, 0);
    format!("{totals:?}\n{:?}\n{:?}\n{:?}\n{:?}", report.iterations, report.ports, report.flows, report.streams)
}

fn forwarded(experiment: &Experiment, error: Share) -> Experiment {
    let limits = SkipLimits { error, shadows: Share::NONE };
    Experiment { fast_forward: Some(limits), ..experiment.clone() }
}

fn halo3d(iterations: u32) -> Workload {
    let sleep = Duration::from_us(20);
    Workload::Halo3d(Halo3d { pex: 2, pey: 2, pez: 2, nx: 8, ny: 8, nz: 8, sleep, iterations, ..Halo3d::default() })
}

fn workloads() -> Vec<Workload> {
    let iterations = 120;
    vec![
        halo3d(iterations),
        Workload::Fft(Fft { pex: 2, pey: 2, pez: 2, iterations, ..Fft::default() }),
        Workload::AllToAll(AllToAll { ranks: 8, bytes: Bytes::new(20_000), iterations, ..AllToAll::default() }),
        Workload::Permutation(Permutation {
            ranks: 8,
            bytes: Bytes::new(90_000),
            iterations,
            ..Permutation::default()
        }),
        Workload::OsuLatency(OsuLatency { iterations, ..OsuLatency::default() }),
        // The loop lies within an iteration, and connections of the second ring begin behind skips of the first.
        Workload::HpccRing(HpccRing { ranks: 8, loops: 200, random_rings: 1, ..HpccRing::default() }),
    ]
}

/// Two leaves of four hosts.
fn tree(params: SimParams, workload: &Workload) -> Experiment {
    let tree = FatTree { leaves: 2, hosts_per_leaf: 4, links_per_core: 2, ..FatTree::default() };
    experiment(tree.generate().unwrap(), params, vec![job(workload)])
}

#[test]
fn repeated_iterations_are_skipped_and_the_tables_are_those_of_the_full_run() {
    for workload in workloads() {
        let full = tree(roce(), &workload);
        let expected = run(&full, 1);
        let skipping = forwarded(&full, Share::NONE);
        for threads in [1, 2, 7] {
            let report = run(&skipping, threads);
            assert_eq!(measured(&report), measured(&expected), "{} on {threads} threads", workload.name());
            assert!(report.skips.iter().all(|row| row.level == SkipLevel::Repeated && row.repetitions > 0));
            let skipped: u64 = report.skips.iter().map(|row| row.events).sum();
            // Ranks of Halo3D drift against each other without end.
            let is_periodic = !matches!(workload, Workload::Halo3d(_));
            assert!(
                2 * skipped > report.totals.events || !is_periodic,
                "{}: {:?}",
                workload.name(),
                (&report.skips, &report.skip_obstacle)
            );
            assert_eq!(report.fingerprint, None, "not all arrivals are known");
        }
    }
}

#[test]
fn a_time_limit_within_skipped_repetitions_ends_the_run_where_the_full_run_ends() {
    let full = tree(roce(), &Workload::Fft(Fft { pex: 2, pey: 2, pez: 2, iterations: 200, ..Fft::default() }));
    let span = run(&full, 1).totals.end.since(Time::ZERO);
    for share in [3, 5, 9] {
        let until = Duration::from_ps(span.as_ps() / 10 * share + 12_345);
        let [full, skipping] = [&full, &forwarded(&full, Share::NONE)].map(|run| run_for(run, until));
        assert!(!skipping.skips.is_empty());
        assert_eq!(measured(&skipping), measured(&full));
    }
}

#[test]
fn what_does_not_repeat_is_skipped_by_its_times_alone() {
    let error = Share::percent(1);
    for params in [roce(), tcp()] {
        for workload in workloads() {
            let full = tree(params.clone(), &workload);
            let (expected, steady) = (run(&full, 1), run(&forwarded(&full, error), 1));
            let [end, full_end] = [&steady, &expected].map(|report| report.totals.end.as_ps() as f64);
            assert!((end / full_end - 1.0).abs() < 0.01, "{}: {end} ps, expected {full_end} ps", workload.name());
            assert_eq!(steady.iterations.len(), expected.iterations.len());
            let together = run(&forwarded(&full, error), 7);
            assert_eq!(measured(&together), measured(&steady), "{} on seven threads", workload.name());
        }
    }
}

/// Behind the first 16 acknowledgements a receiver answers every 4,448 B, some 35 calls of a barrier: as many calls
/// before that are like one another, and none of what follows is like them.
#[test]
fn connections_whose_states_still_change_are_not_steady() {
    let (operation, error) = (Collective::Barrier, Share::percent(1));
    let workload = OsuCollective { ranks: 16, operation, warm_up: 2, iterations: 900, ..OsuCollective::default() };
    let tree = FatTree { leaves: 2, hosts_per_leaf: 8, links_per_core: 4, ..FatTree::default() };
    let full = experiment(tree.generate().unwrap(), tcp(), vec![job(&Workload::OsuCollective(workload))]);
    let [end, full_end] = [&forwarded(&full, error), &full].map(|each| run(each, 1).totals.end.as_ps() as f64);
    assert!((end / full_end - 1.0).abs() < 0.01, "{end} ps, expected {full_end} ps");
}

/// Messages are smaller than the windows, which grow by part of what each acknowledges for hundreds of iterations.
#[test]
fn windows_that_hold_nothing_back_may_grow() {
    let full = tree(tcp(), &halo3d(400));
    let (report, expected) = (run(&forwarded(&full, Share::percent(1)), 1), run(&full, 1));
    let repetitions = report.skips.iter().map(|row| row.repetitions).sum::<u64>();
    assert!(repetitions >= 200, "{repetitions}: {:?}", report.skip_obstacle);
    let [end, full_end] = [&report, &expected].map(|report| report.totals.end.as_ps() as f64);
    assert!((end / full_end - 1.0).abs() < 0.01, "{end} ps, expected {full_end} ps");
}

/// The decision is that of the run that skips, so its tables are exact and its prediction is the end of that run.
#[test]
fn a_shadow_simulates_what_would_have_been_skipped_and_prints_the_error_of_its_time() {
    let workload = Workload::Fft(Fft { pex: 2, pey: 2, pez: 2, iterations: 120, ..Fft::default() });
    let full = tree(tcp(), &workload);
    let shadowed =
        |shadows| Experiment { fast_forward: Some(SkipLimits { error: Share::percent(1), shadows }), ..full.clone() };
    let (expected, report) = (run(&full, 1), run(&shadowed(Share::ALL), 1));
    assert_eq!(measured(&report), measured(&expected));
    assert_eq!(measured(&run(&shadowed(Share::ALL), 7)), measured(&expected));
    let skipping = run(&shadowed(Share::NONE), 1);
    let (shadow, skip) = (report.skips[0], skipping.skips[0]);
    assert_eq!((shadow.from, shadow.until, shadow.repetitions), (skip.from, skip.until, skip.repetitions));
    assert_eq!((shadow.is_simulated, shadow.events, skip.is_simulated), (1, 0, 0));
    assert!(shadow.error < 0.01, "{shadow:?}");
}

/// Transports whose states repeat once their windows and rates have settled, by name. Switches mark nothing: without
/// marks the rate limiter of DCQCN has no history.
fn settling() -> Vec<(&'static str, Transport)> {
    let every_packet = RoceParams { ack_every: 1, ..RoceParams::default() };
    let selective = RoceParams { reliability: Reliability::SelectiveRepeat, ..every_packet.clone() };
    let swift = Swift { base_target: Duration::from_us(8), ..Swift::default() };
    let one_path = UetParams { delivery: Delivery::Rod, ..UetParams::default() };
    vec![
        ("dcqcn", RoceParams { dcqcn: Some(Dcqcn::default()), ..RoceParams::default() }.into()),
        ("hpcc", RoceParams { hpcc: Some(Hpcc::default()), ..selective.clone() }.into()),
        ("swift", RoceParams { swift: Some(swift), ..selective.clone() }.into()),
        ("timely", RoceParams { timely: Some(Timely::default()), ..selective.clone() }.into()),
        ("selective repeat", selective.into()),
        ("uet without a window", one_path.clone().into()),
        ("uet with nscc", UetParams { nscc: Some(Nscc::default()), ..one_path }.into()),
    ]
}

/// Parameters of a transport at switches that mark nothing.
fn unmarked(transport: Transport) -> SimParams {
    let (queue_min, queue_max) = (Bytes::new(5_000_000), Bytes::new(6_000_000));
    let marking = EcnMarking { queue_min, queue_max, share_max: 1.0, mark_at: MarkAt::Dequeue, last_hop: true };
    let ecn = transport.heeds_marks().then_some(marking);
    let mut params = SimParams { transport, ..roce() };
    params.switch.ecn = ecn;
    params
}

#[test]
fn transports_whose_states_repeat_are_skipped_exactly() {
    let (bytes, iterations) = (Bytes::new(20_000), 600);
    let workload = Workload::AllToAll(AllToAll { ranks: 8, bytes, iterations, ..AllToAll::default() });
    for (name, transport) in settling() {
        let full = tree(unmarked(transport), &workload);
        let expected = measured(&run(&full, 1));
        for threads in [1, 3] {
            let report = run(&forwarded(&full, Share::NONE), threads);
            let is_repeated = report.skips.iter().all(|row| row.level == SkipLevel::Repeated);
            assert!(is_repeated && !report.skips.is_empty(), "{name}: {:?}", report.skip_obstacle);
            assert_eq!(measured(&report), expected, "{name} on {threads} threads");
        }
    }
}

#[test]
fn a_history_forbids_exact_skips_and_is_named() {
    let full = tree(tcp(), &halo3d(40));
    let exact = run(&forwarded(&full, Share::NONE), 1);
    assert_eq!((exact.skips.len(), exact.skip_obstacle.as_deref()), (0, Some("transport")));
    assert_eq!(measured(&exact), measured(&run(&full, 1)));
}

#[test]
fn short_loops_are_simulated() {
    let workload = OsuLatency { iterations: 15, warm_up: 3, ..OsuLatency::default() };
    let report = run(&forwarded(&tree(roce(), &Workload::OsuLatency(workload)), Share::NONE), 1);
    assert!(report.skips.is_empty());
}

/// A loop of four ranks, and streams of three hosts to a fourth beside it.
fn beside(incast: &Incast) -> Experiment {
    let workload = AllToAll { ranks: 4, bytes: Bytes::new(10_240), iterations: 400, ..AllToAll::default() };
    let mut all = tree(roce(), &Workload::AllToAll(workload));
    let mut streams = job(&Workload::Incast(incast.clone()));
    streams.is_background = incast.messages.is_none();
    all.jobs.push(streams);
    all
}

#[test]
fn nothing_is_skipped_until_messages_of_finite_streams_have_come() {
    for outstanding in [1, 128] {
        let full = beside(&Incast { sources: 3, messages: Some(20), outstanding, ..Incast::default() });
        let expected = run(&full, 1);
        for error in [Share::NONE, Share::percent(1)] {
            let report = run(&forwarded(&full, error), 1);
            assert!(!report.skips.is_empty(), "{:?}", report.skip_obstacle);
            assert_eq!(format!("{:?}", report.streams), format!("{:?}", expected.streams));
            let [end, full_end] = [&report, &expected].map(|report| report.totals.end.as_ps() as f64);
            assert!((end / full_end - 1.0).abs() < 0.01, "{end} ps, expected {full_end} ps");
        }
    }
}

#[test]
fn streams_without_end_are_skipped_by_as_many_messages_as_they_complete() {
    let mut skips = 0;
    for bytes in [1_000, 81_920, 10_000_000] {
        let full = beside(&Incast { sources: 3, message: Bytes::new(bytes), ..Incast::default() });
        let (expected, report) = (run(&full, 1), run(&forwarded(&full, Share::percent(2)), 1));
        let counts = |report: &Report| {
            let messages = report.streams.iter().map(|row| row.messages).sum::<u64>();
            [messages, report.totals.packet_hops].map(|count| count as f64)
        };
        for (count, full) in counts(&report).into_iter().zip(counts(&expected)) {
            assert!((count - full).abs() <= 0.02 * full, "{count}, expected {full}, messages of {bytes} B");
        }
        skips += report.skips.len();
        assert_eq!(measured(&run(&forwarded(&full, Share::percent(2)), 7)), measured(&report));
    }
    assert!(skips > 0, "messages of 1 kB are many");
}

/// Streams end late in the loop: too few repetitions are left for a plateau of half of them.
#[test]
fn repetitions_that_repeat_others_are_skipped_at_any_error() {
    let full = beside(&Incast { sources: 3, messages: Some(150), ..Incast::default() });
    let skips = |error| run(&forwarded(&full, error), 1).skips;
    let exact = skips(Share::NONE);
    assert!(!exact.is_empty());
    for error in [1, 10].map(Share::percent) {
        assert_eq!(format!("{:?}", skips(error)), format!("{exact:?}"));
    }
}

#[test]
fn the_steady_level_names_what_is_missing() {
    let reason = |iterations, error| {
        let workload = AllToAll { ranks: 8, bytes: Bytes::new(20_000), iterations, ..AllToAll::default() };
        run(&forwarded(&tree(tcp(), &Workload::AllToAll(workload)), error), 1).skip_obstacle.unwrap_or_default()
    };
    let short = reason(16, Share::percent(1));
    assert!(short.contains("repetitions in a row are too few for four batches of 4"), "{short}");
    let strict = reason(40, Share::MIN);
    assert!(strict.starts_with("ranks drift by ") && strict.contains("0.000 ns are within the error"), "{strict}");
}

/// Messages that are long, and no loops.
fn long_messages() -> Vec<Workload> {
    let incast = |sources, outstanding| {
        let (message, messages) = (Bytes::new(2_000_000), Some(2));
        Workload::Incast(Incast { sources, message, messages, outstanding, ..Incast::default() })
    };
    let permutation = Permutation { ranks: 8, bytes: Bytes::new(4_000_000), iterations: 2, ..Permutation::default() };
    vec![
        Workload::Permutation(permutation),
        Workload::AllToAll(AllToAll { ranks: 8, bytes: Bytes::new(2_000_000), iterations: 1, ..AllToAll::default() }),
        incast(1, 1),
        incast(2, 1),
        incast(7, 1),
        incast(7, 2),
    ]
}

/// Share of the events that exact skips leave out, once the tables are those of the full run on some threads.
fn shortened(full: &Experiment, name: &str) -> f64 {
    let expected = measured(&run(full, 1));
    let share = |threads| {
        let report = run(&forwarded(full, Share::NONE), threads);
        assert_eq!(measured(&report), expected, "{name} on {threads} threads");
        assert!(report.skips.iter().all(|row| row.level == SkipLevel::Repeated && row.is_of_messages == 1), "{name}");
        report.skips.iter().map(|row| row.events).sum::<u64>() as f64 / report.totals.events as f64
    };
    let shares = [1, 2, 7].map(share);
    assert!(shares.windows(2).all(|shares| shares[0] == shares[1]), "{name}: {shares:?}");
    shares[0]
}

/// Windows are so small that queues and NICs settle, of several flows after many packets.
#[test]
fn long_messages_are_shortened_and_the_tables_are_those_of_the_full_run() {
    let (window, ack_every) = (Bytes::new(65_536), 4);
    let transport: Transport = RoceParams { window, ack_every, ..RoceParams::default() }.into();
    for (number, workload) in long_messages().into_iter().enumerate() {
        let full = tree(SimParams { transport: transport.clone(), ..roce() }, &workload);
        let share = shortened(&full, workload.name());
        let share_min = [0.05, 0.05, 0.6, 0.6, 0.0, 0.0][number];
        assert!(share >= share_min, "{}: {share}", workload.name());
    }
}

#[test]
fn messages_are_shortened_over_transports_whose_states_repeat() {
    let (bytes, iterations) = (Bytes::new(6_000_000), 1);
    let workload = Workload::Permutation(Permutation { ranks: 4, bytes, iterations, ..Permutation::default() });
    let topology = SingleSwitch { hosts: 4, ..SingleSwitch::default() }.generate().unwrap();
    for (name, transport) in settling() {
        let share = shortened(&experiment(topology.clone(), unmarked(transport), vec![job(&workload)]), name);
        // The rate of HPCC varies in its last digits; Timely and NSCC settle after more packets.
        assert!(share > 0.8 || ["hpcc", "timely", "uet with nscc"].contains(&name), "{name}: {share}");
    }
}

/// Without small windows a queue grows until pauses begin and end in turn.
#[test]
fn messages_under_pauses_keep_their_tables() {
    for workload in long_messages() {
        shortened(&tree(roce(), &workload), workload.name());
    }
}

/// Completion times of streams and iterations, and the end of the run [ps].
fn completions(report: &Report) -> Vec<f64> {
    let streams = report.streams.iter().map(|row| row.end.since(row.start).as_ps());
    let iterations = report.iterations.iter().map(|row| row.duration.as_ps());
    streams.chain(iterations).chain([report.totals.end.as_ps()]).map(|ps| ps as f64).collect()
}

/// Flows of two sources to one host, and of a random permutation, at switches that mark; by congestion control.
fn controlled() -> Vec<(&'static str, Experiment)> {
    let (message, bytes, iterations) = (Bytes::new(200_000_000), Bytes::new(100_000_000), 1);
    let (sources, outstanding) = (2, 1);
    let incast = Incast { sources, message, messages: Some(1), outstanding, ..Incast::default() };
    let permutation = Permutation { ranks: 8, bytes, iterations, ..Permutation::default() };
    let workloads = [Workload::Incast(incast), Workload::Permutation(permutation)];
    let (queue_min, queue_max) = (Bytes::new(100_000), Bytes::new(400_000));
    let marking = EcnMarking { queue_min, queue_max, share_max: 0.2, mark_at: MarkAt::Dequeue, last_hop: true };
    let controls = settling().into_iter().filter(|(name, _)| ["hpcc", "dcqcn", "swift"].contains(name));
    let experiments = controls.flat_map(|(name, transport)| {
        let ecn = transport.heeds_marks().then_some(marking);
        let mut params = SimParams { transport, ..roce() };
        params.switch.ecn = ecn;
        workloads.each_ref().map(|workload| (name, tree(params.clone(), workload)))
    });
    experiments.collect()
}

/// Rates of DCQCN move against each other in tens of milliseconds, so that little of it is skipped.
#[test]
fn messages_at_steady_rates_end_at_the_times_of_the_full_run() {
    let mut errors = Vec::new();
    for (number, (name, full)) in controlled().into_iter().enumerate() {
        let skipping = forwarded(&full, Share::percent(1));
        let (expected, report) = (run(&full, 1), run(&skipping, 1));
        let skipped: u64 = report.skips.iter().map(|row| row.events).sum();
        let is_incast = number % 2 == 0;
        assert!(
            2 * skipped > report.totals.events || name == "dcqcn" || !is_incast,
            "{name}: {:?}",
            report.skip_obstacle
        );
        assert_eq!(measured(&run(&skipping, 3)), measured(&report), "{name}");
        if skipped == 0 {
            continue;
        }
        let pairs = completions(&report).into_iter().zip(completions(&expected));
        errors.extend(pairs.map(|(own, full)| (own / full - 1.0).abs()));
    }
    errors.sort_by(f64::total_cmp);
    let (median, worst) = (errors[errors.len() / 2], errors[errors.len() - 1]);
    assert!(median <= 0.005 && worst <= 0.02, "{median}, at most {worst}");
}
