//! Times a permutation of large messages on a fat tree: packet-hops per second of the bare core.

use std::time::Instant;

use etherweave_primitives::{Bytes, Duration, HostId, Priority, Time};
use etherweave_routing::{RoutingKind, SelectionKind};
use etherweave_sim::params::{RoceParams, SimParams, Transport};
use etherweave_sim::{Experiment, Job, Paths, Simulation};
use etherweave_topology::{Family, KAryFatTree};
use etherweave_workload::{Permutation, Workload};

fn main() {
    let arguments: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let (k, threads) = (arguments.first().copied().unwrap_or(8) as u32, arguments.get(1).copied().unwrap_or(1));
    let started = Instant::now();
    let tree = KAryFatTree { k, ..KAryFatTree::default() };
    let topology = tree.generate().expect("an even k makes a tree");
    let hosts = topology.hosts();
    let routing = RoutingKind::UpDown.build(&topology).expect("a fat tree has levels");
    let selection = SelectionKind::default().build(&topology);
    let workload = Workload::Permutation(Permutation {
        ranks: hosts as u32,
        bytes: Bytes::new(2 << 20),
        ..Permutation::default()
    });
    let job = Job {
        name: "permutation".into(),
        hosts: (0..hosts).map(HostId::from_index).collect(),
        traffic: workload.traffic(1).expect("a permutation of two or more"),
        priority: Priority::new(0),
        start: Duration::ZERO,
        is_background: false,
    };
    let transport = Transport::Roce(RoceParams { ack_every: 1, ..RoceParams::default() });
    let params = SimParams { transport, ..SimParams::default() };
    let (warm_up, stall_limit) = (Duration::ZERO, Duration::from_ms(1_000));
    let experiment = Experiment {
        topology,
        paths: Paths::PerFlow { routing, selection },
        params,
        jobs: vec![job],
        degraded: Vec::new(),
        outages: Vec::new(),
        warm_up,
        stall_limit,
        capture: Vec::new(),
        fingerprint: false,
    };
    println!("tables {:?}", started.elapsed());
    let mut simulation = Simulation::build(&experiment, threads).expect("the experiment fits");
    println!("set-up {:?}", started.elapsed());
    let started = Instant::now();
    let finish = simulation.run(Time::MAX, &mut |_| true);
    let wall = started.elapsed();
    let report = simulation.report();
    println!("{finish:?} {:?}", report.totals);
    println!("{:.3} M packet-hops/s in {wall:?}", report.totals.packet_hops as f64 / wall.as_secs_f64() / 1e6);
}
