//! The number of threads changes how long a run takes and nothing else.

use std::sync::atomic::{AtomicU64, Ordering};

use etherweave_primitives::{Bytes, Duration, Priority, Time};
use etherweave_sim::params::{
    Credits, FlowControl, LossDetection, Pcie, Pfc, Reliability, SimParams, SwitchModel, Transport,
};
use etherweave_sim::{Experiment, Paths, Report, Simulation, Totals};
use etherweave_topology::{Family, FatTree, Topology};
use etherweave_workload::{Fft, Permutation, Traffic, Workload};

use crate::common::{experiment, job, job_of, roce, run, tcp};
use crate::credits::{frames, stream};

pub fn assert_same_on_any_threads(experiment: &Experiment) -> Report {
    let alone = run(experiment, 1);
    for threads in [2, 3, 7] {
        assert_same(&run(experiment, threads), &alone, &format!("{threads} threads"));
    }
    assert_same_without_fingerprint(experiment, &alone, "one thread");
    alone
}

/// Asserts that a run which notes no arrivals, and takes shorter paths for it, says the same as `expected` of `what`.
pub fn assert_same_without_fingerprint(experiment: &Experiment, expected: &Report, what: &str) {
    let report = run(&Experiment { fingerprint: false, ..experiment.clone() }, 1);
    let report = Report { fingerprint: expected.fingerprint, ..report };
    assert_same(&report, expected, &format!("{what}, without a fingerprint"));
}

/// Asserts that all that two reports of `what` say is equal, but for what depends on shards: the memory that each took.
pub fn assert_same(report: &Report, expected: &Report, what: &str) {
    let totals = |report: &Report| Totals { packets_max: 0, ..report.totals };
    assert_eq!(totals(report), totals(expected), "{what}");
    assert_eq!(report.fingerprint, expected.fingerprint, "{what}");
    assert_eq!(report.iterations, expected.iterations, "{what}");
    assert_eq!(report.ports, expected.ports, "{what}");
    assert_eq!(report.streams, expected.streams, "{what}");
    assert_eq!(report.flows, expected.flows, "{what}");
    assert_eq!(report.failures, expected.failures, "{what}");
    assert_eq!(report.sleeps, expected.sleeps, "{what}");
    assert_eq!(report.learning, expected.learning, "{what}");
    assert_eq!(report.storms, expected.storms, "{what}");
    assert_eq!(report.replays, expected.replays, "{what}");
    assert_eq!(report.rates, expected.rates, "{what}");
    assert_eq!(report.lossless_drops, expected.lossless_drops, "{what}");
    assert_eq!(report.samples, expected.samples, "{what}");
    assert_eq!(report.observed, expected.observed, "{what}");
}

/// NICs that write packets to memory whole, and a retransmission timeout below a round trip under load.
fn impatient(mut params: SimParams, reliability: Reliability) -> SimParams {
    params.nic.pcie = Some(Pcie { store_and_forward: true, ..Pcie::default() });
    let Transport::Roce(roce) = &mut params.transport else { unreachable!("these are of RoCE") };
    (roce.reliability, roce.retransmission_timeout) = (reliability, Duration::from_us(12));
    if reliability == Reliability::SelectiveRepeat {
        roce.loss_detection = Some(LossDetection::Timeout);
    }
    params
}

/// Flow controls and models of switches, for a routing that takes so many priorities.
fn networks(priorities: u8) -> Vec<(FlowControl, SwitchModel)> {
    let priorities: Vec<Priority> = (0..priorities).map(Priority::new).collect();
    let pfc = FlowControl::Pfc(Pfc { priorities: priorities.clone(), ..Pfc::default() });
    let credits = FlowControl::Credits(Credits { priorities: priorities.clone(), ..frames(3) });
    let mut networks = vec![
        (FlowControl::None {}, SwitchModel::SharedBuffer),
        (pfc, SwitchModel::SharedBuffer),
        (credits.clone(), SwitchModel::SharedBuffer),
        (credits, SwitchModel::InputQueued),
    ];
    if priorities.len() == 1 {
        networks.push((FlowControl::GlobalPause(Default::default()), SwitchModel::SharedBuffer));
    }
    networks
}

/// Every host sends to another, and to host 0.
fn crossing_and_incast(topology: &Topology) -> Traffic {
    let hosts = topology.hosts() as u32;
    let of_host = |src: u32| [(src + hosts / 2 + 1) % hosts, 0].into_iter().filter(move |&dst| dst != src);
    let pairs = (0..hosts).flat_map(|src| of_host(src).map(move |dst| (src, dst)));
    Traffic::Streams(pairs.map(|(src, dst)| stream(src, dst, 9_000, Some(2))).collect())
}

fn run_to(experiment: &Experiment, threads: usize, span: Duration) -> Report {
    let mut simulation = Simulation::build(experiment, threads).unwrap();
    simulation.run(Time::ZERO + span, &mut |_| true);
    simulation.report()
}

/// Every decision per packet on every small fabric, under every flow control and model of a switch; go-back-N and
/// selective repeat in turn, whose timers expire.
#[test]
fn every_decision_per_packet_with_any_flow_control_is_the_same_on_any_threads() {
    let (mut turn, mut timeouts) = (0_usize, [0; 2]);
    crate::per_packet::each(|routing, topology, prepared| {
        for (flow_control, model) in networks(prepared.priorities()) {
            let reliability = [Reliability::GoBackN, Reliability::SelectiveRepeat][turn % 2];
            let threads = [2, 3, 7][turn % 3];
            let mut params = SimParams { flow_control, ..impatient(roce(), reliability) };
            params.switch.model = model;
            if model == SwitchModel::SharedBuffer {
                params.switch.buffer = Bytes::new(8_000_000);
            }
            let what = format!("{} on {} switches, {params:?}, {threads} threads", routing.name(), topology.switches());
            let job = job_of(crossing_and_incast(topology), Priority::new(0));
            let experiment = experiment(topology.clone(), params, vec![job]);
            let experiment = Experiment { paths: Paths::PerPacket(prepared.clone()), ..experiment };
            let [alone, together] = [1, threads].map(|threads| run_to(&experiment, threads, Duration::from_us(60)));
            assert_same(&together, &alone, &what);
            timeouts[turn % 2] += alone.flows.iter().map(|flow| flow.timeouts).sum::<u64>();
            turn += 1;
        }
        // Of four networks, each has another reliability on the next fabric.
        turn += 1;
    });
    println!("{turn} runs, {timeouts:?} timeouts");
    assert!(turn > 160 && timeouts.iter().all(|&count| count > 1_000), "{turn} runs, {timeouts:?} timeouts");
}

fn permutation(params: SimParams) -> Experiment {
    let topology = FatTree::default().generate().unwrap();
    let permutation = Permutation { ranks: 96, bytes: Bytes::new(200_000), ..Permutation::default() };
    experiment(topology, params, vec![job(&Workload::Permutation(permutation))])
}

#[test]
fn roce_with_pfc_is_the_same_on_any_threads() {
    let report = assert_same_on_any_threads(&permutation(roce()));
    assert_eq!(report.totals.dropped, 0);
}

#[test]
fn tcp_with_losses_is_the_same_on_any_threads() {
    let mut params = SimParams { flow_control: FlowControl::None {}, ..tcp() };
    params.host.receive.ring = 8;
    let report = assert_same_on_any_threads(&permutation(params));
    assert!(report.totals.dropped > 0, "a ring with so few buffers loses packets");
}

#[test]
fn two_jobs_are_the_same_on_any_threads() {
    let topology = FatTree::default().generate().unwrap();
    let fft = Workload::Fft(Fft { iterations: 3, ..Fft::default() });
    let halo = Workload::Permutation(Permutation { ranks: 48, bytes: Bytes::new(1 << 20), ..Permutation::default() });
    let mut second = job_of(halo.traffic(2).unwrap(), Priority::new(1));
    second.hosts.iter_mut().for_each(|host| *host = etherweave_primitives::HostId::new(host.get() * 2 + 1));
    second.is_background = true;
    assert_same_on_any_threads(&experiment(topology, roce(), vec![job(&fft), second]));
}

#[test]
fn times_of_windows_are_those_of_several_threads() {
    static READINGS: AtomicU64 = AtomicU64::new(0);
    let mut simulation = Simulation::build(&permutation(roce()), 3).unwrap();
    simulation.keep_window_times(|| READINGS.fetch_add(1, Ordering::Relaxed));
    simulation.run(Time::MAX, &mut |_| true);
    let (times, events): (Vec<_>, Vec<_>) = simulation.window_times().map(|(&times, events)| (times, events)).unzip();
    assert_eq!((events.len(), events.iter().sum()), (3, simulation.report().totals.events));
    let served: Vec<u64> = times.iter().map(|shard| shard.served).collect();
    for shard in &times {
        assert!(shard.windows > 10 && shard.windows == times[0].windows);
        assert!(*served.iter().max().unwrap() <= shard.slowest && shard.slowest <= served.iter().sum());
        assert!(shard.served >= shard.windows && shard.taken >= shard.windows, "a window is read twice");
    }
}
