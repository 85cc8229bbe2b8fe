//! Watchdogs of switches against storms of pauses.

use etherweave_primitives::{Duration, HostId, Priority, Time};
use etherweave_sim::params::{FlowControl, Pfc, PfcWatchdog, SimParams, WatchdogAction};
use etherweave_sim::{Experiment, Finish, PauseStorm, Report, Simulation, StormRow};
use etherweave_workload::{StreamSpec, Traffic};

use crate::common::{experiment, job_of, one_message, one_switch, roce, run, run_for};
use crate::{stuck::around_the_ring, stuck::small_buffers, threads::assert_same_on_any_threads};

fn us(time: u64) -> Duration {
    Duration::from_us(time)
}

/// Looks every 50 us, detects after 100 and restores after 100.
fn watchdog(action: WatchdogAction) -> PfcWatchdog {
    PfcWatchdog { detection: us(100), restoration: us(100), poll: us(50), action }
}

fn watched(params: SimParams, watchdog: Option<PfcWatchdog>) -> SimParams {
    SimParams { flow_control: FlowControl::Pfc(Pfc { watchdog, ..Pfc::default() }), ..params }
}

fn stream(from: u32, to: u32, messages: Option<u64>) -> StreamSpec {
    StreamSpec { outstanding: 2, messages, ..one_message(from, to, 65_536) }
}

/// Host 0 sends to host 1, which pauses the switch, and host 2 to host 3; from 300 us on host 1 sends to host 3 too.
fn beside_a_storm(from: u64, until: u64, watchdog: Option<PfcWatchdog>) -> Experiment {
    let job = job_of(Traffic::Streams(vec![stream(0, 1, None), stream(2, 3, None)]), Priority::new(0));
    let mut later = job_of(Traffic::Streams(vec![stream(0, 1, None)]), Priority::new(0));
    (later.hosts, later.start) = ([1, 3].map(HostId::new).to_vec(), us(300));
    let mut experiment = experiment(one_switch(4), watched(roce(), watchdog), vec![job, later]);
    let (host, priorities) = (HostId::new(1), vec![Priority::new(0)]);
    experiment.storms = vec![PauseStorm { host, port: None, priorities, from: us(from), until: Some(us(until)) }];
    experiment
}

fn storm(report: &Report) -> &StormRow {
    let [storm] = &report.storms[..] else { panic!("there is one storm: {:?}", report.storms) };
    assert_eq!((storm.node.as_str(), storm.port, storm.peer.as_str()), ("switch0", 1, "host1"));
    storm
}

/// Returns the bytes that a stream has brought to its receiver [B].
fn received(report: &Report, number: usize) -> u64 {
    report.streams[number].bytes
}

/// The storm begins behind the look at 0 us and before that at 50: that at 100 finds 50 us of it, that at 150 has
/// found a hundred.
/// It ends before the look at 1,050, which still finds 5 us of it, so that the one at 1,150 restores the queue.
#[test]
fn a_storm_is_detected_and_ended_by_the_polls_after_its_times() {
    for (begin, detected) in [(10, 150), (49, 150), (51, 200), (99, 200)] {
        let report = run_for(&beside_a_storm(begin, 1_005, Some(watchdog(WatchdogAction::Drop))), us(2_000));
        let storm = storm(&report);
        assert_eq!(storm.detected, Time::ZERO + us(detected), "from {begin} us on");
        assert_eq!(storm.restored, Some(Time::ZERO + us(1_150)), "from {begin} us on");
        let latency = detected - begin;
        assert!((100..=150).contains(&latency), "between the detection time and a period more: {latency} us");
    }
}

/// Each of two planes has a port of host 1, of which the second pauses its switch.
#[test]
fn a_storm_may_be_that_of_a_port_of_several() {
    let paused = |port| {
        let mut experiment = beside_a_storm(10, 500, None);
        experiment.topology = one_switch(4).in_planes(2).unwrap();
        experiment.storms[0].port = port;
        let report = run_for(&experiment, us(1_000));
        [0, 1].map(|port| {
            let rows = report.ports.iter().filter(|row| row.node == "host1" && row.port == port);
            rows.map(|row| row.tx_pauses.xoff).sum::<u32>()
        })
    };
    assert_eq!([None, Some(0), Some(1)].map(paused), [[1, 1], [1, 0], [0, 1]]);
}

#[test]
fn a_storm_shorter_than_the_detection_time_triggers_nothing_and_loses_nothing() {
    for until in [60, 105] {
        let report = run_for(&beside_a_storm(10, until, Some(watchdog(WatchdogAction::Drop))), us(1_000));
        assert!(report.storms.is_empty(), "{:?}", report.storms);
        assert_eq!(report.totals.dropped, 0);
    }
}

#[test]
fn a_watchdog_that_drops_loses_what_the_stormed_port_sends_and_receives_and_nothing_else() {
    let report = run_for(&beside_a_storm(10, 1_005, Some(watchdog(WatchdogAction::Drop))), us(2_000));
    let storm = storm(&report);
    assert!(storm.tx_drops > 0 && storm.rx_drops > 0, "{storm:?}");
    assert_eq!((storm.tx_ok, storm.rx_ok), (0, 0));
    assert_eq!(report.totals.dropped, storm.tx_drops + storm.rx_drops);
    assert!(report.lossless_drops.is_empty(), "none of them is an overflow: {:?}", report.lossless_drops);
    let pauses = |node: &str, peer: &str| {
        let row = report.ports.iter().find(|row| row.node == node && row.peer == peer).expect("the port is active");
        row.tx_pause_duration
    };
    // The queue is emptied at 150 us: host 0 is not paused for longer.
    assert!(pauses("switch0", "host0") < us(150), "{:?}", pauses("switch0", "host0"));
    assert_eq!(pauses("host1", "switch0").as_ps() / 1_000_000, 995);
}

#[test]
fn a_watchdog_that_forwards_sends_through_the_storm_and_loses_nothing() {
    let of = |action: Option<WatchdogAction>| run_for(&beside_a_storm(10, 1_005, action.map(watchdog)), us(1_000));
    let (forward, alert, without) = (of(Some(WatchdogAction::Forward)), of(Some(WatchdogAction::Alert)), of(None));
    assert_eq!((forward.totals.dropped, storm(&forward).tx_drops), (0, 0));
    // From 150 to 1,000 us at most of 100 Gb/s: more than 9 of 10.6 MB.
    assert!(received(&forward, 0) > 9_000_000, "{}", received(&forward, 0));
    assert!(received(&alert, 0) < 200_000, "{}", received(&alert, 0));
    assert_eq!((storm(&alert).detected, storm(&alert).tx_drops), (storm(&forward).detected, 0));
    assert_eq!(alert.fingerprint, without.fingerprint, "an alert changes no packet");
    // A pause holds the queue that a watchdog reports alone; 850 us of 100 Gb/s are 2,500 packets and more. What the
    // other way brings is accepted, answers at least.
    assert_eq!((storm(&alert).tx_ok, storm(&forward).rx_drops), (0, 0));
    assert!(storm(&forward).tx_ok > 9_000_000 / 4_096, "{:?}", storm(&forward));
    assert!(storm(&forward).rx_ok > 100, "{:?}", storm(&forward));
}

#[test]
fn a_deadlock_of_five_switches_is_broken() {
    let watched = watched(small_buffers(), Some(watchdog(WatchdogAction::Drop)));
    let stuck =
        Simulation::build(&around_the_ring(small_buffers(), 1_000_000), 1).unwrap().run(Time::MAX, &mut |_| true);
    assert!(matches!(stuck, Finish::Stuck(_)), "{stuck:?}");
    let report = assert_same_on_any_threads(&around_the_ring(watched, 1_000_000));
    assert!(!report.storms.is_empty());
    assert!(report.streams.iter().all(|stream| stream.bytes == 1_000_000), "{:?}", report.streams);
}

/// The ring is full at 90 us, and the look at 150 us finds it so: only a watchdog that acts goes on after that.
#[test]
fn a_deadlock_at_the_time_limit_is_final_unless_a_watchdog_acts() {
    let finish = |watchdog| {
        let experiment = around_the_ring(watched(small_buffers(), watchdog), 1_000_000);
        let mut simulation = Simulation::build(&experiment, 1).unwrap();
        let finish = simulation.run(Time::ZERO + us(90), &mut |_| true);
        assert!(simulation.report().deadlock.is_some(), "the ring is full");
        finish
    };
    for action in [WatchdogAction::Drop, WatchdogAction::Forward] {
        assert_eq!(finish(Some(watchdog(action))), Finish::TimeLimit, "{action:?}");
    }
    for watchdog in [None, Some(watchdog(WatchdogAction::Alert))] {
        assert!(matches!(finish(watchdog), Finish::Stuck(_)));
    }
}

#[test]
fn a_watchdog_that_finds_nothing_changes_nothing() {
    let of = |watchdog| {
        let streams = (1..4).map(|from| stream(from, 0, Some(20))).collect();
        let job = job_of(Traffic::Streams(streams), Priority::new(0));
        run(&experiment(one_switch(4), watched(roce(), watchdog), vec![job]), 1)
    };
    let (watched, without) = (of(Some(PfcWatchdog::default())), of(None));
    assert_eq!((watched.fingerprint, &watched.ports), (without.fingerprint, &without.ports));
}

/// A switch with PFC heeds pauses of lossless priorities alone; frames of 802.3x name none.
#[test]
fn pauses_of_lossy_priorities_and_of_802_3x_have_no_effect_beside_pfc() {
    let of = |priorities: &[u8]| {
        let mut experiment = beside_a_storm(10, 905, Some(watchdog(WatchdogAction::Drop)));
        experiment.storms[0].priorities = priorities.iter().copied().map(Priority::new).collect();
        run_for(&experiment, us(1_000))
    };
    let mut quiet = beside_a_storm(10, 905, None);
    quiet.storms.clear();
    let quiet = run_for(&quiet, us(1_000));
    for (priorities, frames) in [(&[][..], 0), (&[5, 6], 2)] {
        let report = of(priorities);
        assert!(report.storms.is_empty(), "{:?}", report.storms);
        assert_eq!(report.totals.dropped, 0);
        // Frames of 84 B make room for themselves.
        assert!(received(&report, 0) > received(&quiet, 0) - 100_000, "{}", received(&report, 0));
        let of_host = |row: &&etherweave_sim::PortRow| row.node == "switch0" && row.peer == "host1";
        let xoff: u32 = report.ports.iter().filter(of_host).map(|row| row.rx_pauses.xoff).sum();
        assert!(xoff >= frames, "{xoff} of {priorities:?}");
    }
}
