//! Jobs over RoCE and over TCP on the same hosts, NICs and links.

use etherweave_primitives::{BitRate, Bytes, Duration, Length, Priority};
use etherweave_sim::params::{FlowControl, Pfc, RoceParams, SimParams, Transport};
use etherweave_sim::{Experiment, Job, Report};
use etherweave_topology::{Family, SingleSwitch};
use etherweave_workload::{AllToAll, OsuLatency, Traffic, Workload};

use crate::common::{experiment, job_of, one_switch, roce, run, run_for, tcp};
use crate::credits::stream;

/// RoCE in priority 1, which loses nothing, and TCP beside it; the classes of both have half of each link.
fn both() -> SimParams {
    let mut params = SimParams { other_transports: vec![tcp().transport], ..roce() };
    params.flow_control = FlowControl::Pfc(Pfc { priorities: vec![Priority::new(1)], ..Pfc::default() });
    params.ets.weights = [50, 50, 0, 0, 0, 0, 0, 0];
    params
}

fn over_roce(traffic: Traffic) -> Job {
    Job { name: "roce".into(), ..job_of(traffic, Priority::new(1)) }
}

fn over_tcp(traffic: Traffic) -> Job {
    Job { name: "tcp".into(), transport: 1, ..job_of(traffic, Priority::new(0)) }
}

/// Two hosts on links of 10 Gb/s, which a processor of the kernel can fill.
fn slow_links(jobs: Vec<Job>) -> Experiment {
    let (rate, cable) = (BitRate::from_gbps(10), Length::from_m(10));
    let topology = SingleSwitch { hosts: 2, rate, cable: cable.into(), ..SingleSwitch::default() }.generate().unwrap();
    experiment(topology, both(), jobs)
}

fn endless() -> Traffic {
    Traffic::Streams(vec![stream(0, 1, 1 << 20, None)])
}

fn goodput(report: &Report, job: &str) -> f64 {
    report.streams.iter().find(|row| report.jobs[row.job as usize] == job).map_or(0.0, |row| row.goodput_gbps())
}

/// Half of 10 Gb/s each. A packet of RoCE has 4,096 B of payload and 86 B around it on the wire, a segment of TCP 4,448
/// and 94: 8 of preamble and 12 of gap, 22 of Ethernet with its tag, 40 of UDP and RoCE or 52 of IPv4 and TCP.
#[test]
fn a_stream_over_each_gets_the_share_of_its_class() {
    let mut both = slow_links(vec![over_roce(endless()), over_tcp(endless())]);
    both.warm_up = Duration::from_ms(4);
    let report = run_for(&both, Duration::from_ms(12));
    let shares = [("roce", 5.0 * 4_096.0 / 4_182.0), ("tcp", 5.0 * 4_448.0 / 4_542.0)];
    for (job, expected) in shares {
        let rate = goodput(&report, job);
        assert!((rate / expected - 1.0).abs() < 0.01, "{job}: {rate} of {expected} Gb/s");
    }
    assert_eq!(report.totals.dropped, 0);
    let names: Vec<_> = report.flows.iter().map(|flow| flow.transport).collect();
    assert!(names.contains(&"roce") && names.contains(&"tcp"));
}

/// The other class takes what one leaves.
#[test]
fn a_stream_alone_gets_the_whole_link() {
    for (job, name, expected) in
        [(over_roce(endless()), "roce", 4_096.0 / 4_182.0), (over_tcp(endless()), "tcp", 4_448.0 / 4_542.0)]
    {
        let mut alone = slow_links(vec![job]);
        alone.warm_up = Duration::from_ms(4);
        let rate = goodput(&run_for(&alone, Duration::from_ms(12)), name) / 10.0;
        assert!((rate / expected - 1.0).abs() < 0.01, "{name}: {rate} of {expected}");
    }
}

fn ping_pong() -> Traffic {
    let latency = OsuLatency { bytes: Bytes::new(64 << 10), warm_up: 1, iterations: 3, ..OsuLatency::default() };
    Workload::OsuLatency(latency).traffic(1).unwrap()
}

/// One job after the other: each as in a run of its own.
#[test]
fn a_job_takes_as_long_as_where_all_have_its_transport() {
    let start = Duration::from_ms(50);
    let later = |job: Job| Job { start, ..job };
    let durations = |params: SimParams, jobs: Vec<Job>| -> Vec<Duration> {
        let report = run(&experiment(one_switch(2), params, jobs), 1);
        report.iterations.iter().map(|row| row.duration).collect()
    };
    let single =
        |params: SimParams, priority: u8| durations(params, vec![later(job_of(ping_pong(), Priority::new(priority)))]);
    let mixed = durations(both(), vec![over_roce(ping_pong()), later(over_tcp(ping_pong()))]);
    let [by_roce, by_tcp] = [
        SimParams { other_transports: Vec::new(), ..both() },
        SimParams { transport: tcp().transport, other_transports: Vec::new(), ..both() },
    ];
    assert_eq!(mixed, [single(by_roce, 1), single(by_tcp, 0)].concat());
    assert!(mixed[0] < mixed[mixed.len() - 1], "the kernel is slower");
}

#[test]
fn two_transports_end_the_same_on_any_number_of_threads() {
    let all_to_all = || Workload::AllToAll(AllToAll { ranks: 4, ..Default::default() }).traffic(1).unwrap();
    let experiment = experiment(one_switch(4), both(), vec![over_roce(all_to_all()), over_tcp(all_to_all())]);
    let (first, second) = (run(&experiment, 1), run(&experiment, 2));
    assert_eq!((first.fingerprint, first.iterations), (second.fingerprint, second.iterations));
}

/// 3 messages of 64 KiB are 48 packets of 4 KiB, or 192 of 1 KiB, on the same hosts.
#[test]
fn two_jobs_have_parameters_of_their_own_for_one_transport() {
    let small = RoceParams { path_mtu: Bytes::new(1_024), ack_every: 1, ..RoceParams::default() };
    let params = SimParams { other_transports: vec![Transport::Roce(small)], ..roce() };
    let traffic = || Traffic::Streams(vec![stream(0, 1, 64 << 10, Some(3))]);
    let jobs = vec![
        job_of(traffic(), Priority::new(0)),
        Job { name: "small".into(), transport: 1, ..job_of(traffic(), Priority::new(0)) },
    ];
    let reports = [1, 2].map(|threads| run(&experiment(one_switch(2), params.clone(), jobs.clone()), threads));
    let packets: Vec<u64> = reports[0].flows.iter().map(|flow| flow.packets).filter(|&packets| packets > 0).collect();
    assert_eq!(packets, [48, 192]);
    assert_eq!(reports[0].fingerprint, reports[1].fingerprint);
}
