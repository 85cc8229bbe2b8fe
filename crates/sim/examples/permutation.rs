//! Times a permutation or an all-to-all on a fat tree of switches with K ports: packet-hops per second of the bare
//! core, and on Linux the processor time of its first thread, which other processes disturb less.
//!
//! Arguments: K, threads, message size [KiB], and the words `all_to_all`, `fingerprint`, `input_queued` for these
//! switches, `minimal` or `ugal_local` for that routing on a dragonfly of K switches in a group instead, and `uet` for
//! Ultra Ethernet's transport, which sprays packets over paths of a tree whose switches trim and mark.

use std::time::{self, Instant};

use etherweave_primitives::{Bytes, Duration, Priority, Time};
use etherweave_routing::RoutingKind;
use etherweave_sim::params::{
    Credits, EcnMarking, FlowControl, MarkAt, Pfc, Reliability, RoceParams, SimParams, SwitchModel, Threshold,
    Transport, Trimming,
};
use etherweave_sim::{Experiment, Job, Paths, PreparedRouting, Simulation};
use etherweave_topology::{Dragonfly, Family, KAryFatTree, Topology};
use etherweave_transport::uet::{Nscc, UetParams};
use etherweave_workload::{AllToAll, Permutation, Workload};

fn main() {
    let arguments: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let argument = |place: usize, default: usize| arguments.get(place).copied().unwrap_or(default);
    let (k, threads, size) = (argument(0, 8) as u32, argument(1, 1), Bytes::new(argument(2, 2_048) as u64 * 1_024));
    let started = Instant::now();
    let is_word = |expected: &str| std::env::args().any(|word| word == expected);
    let (topology, paths, priorities) = if is_word("minimal") {
        dragonfly(k, RoutingKind::Minimal)
    } else if is_word("ugal_local") {
        dragonfly(k, RoutingKind::UgalLocal(Default::default()))
    } else if is_word("uet") {
        let (topology, _, priorities) = tree(k);
        let routing = PreparedRouting::new(RoutingKind::Ecmp, &topology).expect("a fat tree is a tree");
        (topology, Paths::PerPacket(routing), priorities)
    } else {
        tree(k)
    };
    let hosts = topology.hosts();
    let ranks = hosts as u32;
    let workload = if is_word("all_to_all") {
        Workload::AllToAll(AllToAll { ranks, bytes: size, iterations: 2, ..AllToAll::default() })
    } else {
        Workload::Permutation(Permutation { ranks, bytes: size, ..Permutation::default() })
    };
    let job = Job::of_first_hosts(workload.traffic(1).expect("two ranks or more"));
    let reliability = Reliability::SelectiveRepeat;
    let roce = match paths {
        Paths::PerFlow { .. } => RoceParams::default(),
        Paths::PerPacket(_) => RoceParams { reliability, ..RoceParams::default() },
    };
    let transport = Transport::Roce(RoceParams { ack_every: 1, ..roce });
    let mut params = SimParams { transport, ..SimParams::default() };
    params.flow_control = if is_word("input_queued") {
        params.switch.model = SwitchModel::InputQueued;
        FlowControl::Credits(Credits { priorities, ..Credits::default() })
    } else {
        FlowControl::Pfc(Pfc { priorities, ..Pfc::default() })
    };
    if is_word("uet") {
        spray(&mut params);
    }
    let fingerprint = is_word("fingerprint");
    let experiment = Experiment { fingerprint, ..Experiment::new(topology, paths, params, vec![job]) };
    println!("tables {:?}", started.elapsed());
    let mut simulation = Simulation::build(&experiment, threads).expect("the experiment fits");
    println!("set-up {:?}", started.elapsed());
    let (started, used) = (Instant::now(), processor_time());
    let finish = simulation.run(Time::MAX, &mut |_| true);
    let (wall, processor) = (started.elapsed(), processor_time() - used);
    let report = simulation.report();
    println!("{finish:?} {:?} {:?}", report.totals, report.fingerprint);
    let speed = report.totals.packet_hops as f64 / wall.as_secs_f64() / 1e6;
    println!("{speed:.3} M packet-hops/s in {wall:?}, {processor:?} of them on a processor");
}

/// Ultra Ethernet's transport and what it needs of switches, as in `bench/uet_1024.toml`.
fn spray(params: &mut SimParams) {
    let (low, high) = (Bytes::new(30_000), Bytes::new(120_000));
    let nscc = Nscc { base_round_trip: Duration::from_us(12), ..Nscc::default() };
    let control_priority = Some(Priority::new(6));
    params.transport = Transport::Uet(UetParams { control_priority, nscc: Some(nscc), ..UetParams::default() });
    params.flow_control = FlowControl::None {};
    params.ets.weights = [100, 0, 0, 0, 0, 0, 0, 0];
    let (mark_at, last_hop) = (MarkAt::Dequeue, true);
    params.switch.ecn = Some(EcnMarking { queue_min: low, queue_max: high, share_max: 1.0, mark_at, last_hop });
    params.switch.egress_threshold = Threshold::Static(Bytes::new(150_000));
    params.switch.trimming = Some(Trimming::default());
}

/// A fat tree, with its routing and the priorities that this needs.
fn tree(k: u32) -> (Topology, Paths, Vec<Priority>) {
    let topology = KAryFatTree { k, ..KAryFatTree::default() }.generate().expect("an even k makes a tree");
    let paths = Paths::per_flow(RoutingKind::UpDown, &topology).expect("a fat tree has levels");
    (topology, paths, vec![Priority::new(0)])
}

/// A balanced dragonfly of groups of `a` switches, with a routing and the priorities that this needs.
fn dragonfly(a: u32, routing: RoutingKind) -> (Topology, Paths, Vec<Priority>) {
    let family = Dragonfly { p: a / 2, a, h: a / 2, ..Dragonfly::default() };
    let topology = family.generate().expect("an even number of switches makes groups");
    let routing = PreparedRouting::new(routing, &topology).expect("a dragonfly has such paths");
    let priorities = (0..routing.priorities()).map(Priority::new).collect();
    (topology, Paths::PerPacket(routing), priorities)
}

/// Returns the processor time that the first thread has had; zero where the kernel does not report it.
fn processor_time() -> time::Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    time::Duration::from_nanos(text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0))
}
