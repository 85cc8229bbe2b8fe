//! Small experiments for tests.

use etherweave_primitives::{BitRate, Duration, Length, Priority, Rank, Time};
use etherweave_routing::RoutingKind;
use etherweave_sim::params::{Reliability, RoceParams, SimParams, Transport};
use etherweave_sim::{Experiment, Finish, Job, Paths, Report, Simulation};
use etherweave_topology::{Family, SingleSwitch, Topology};
use etherweave_workload::{StreamSpec, Traffic, Workload};

/// A switch with `hosts` hosts at 100 Gb/s on cables of 10 m.
pub fn one_switch(hosts: u32) -> Topology {
    let (rate, cable) = (BitRate::from_gbps(100), Length::from_m(10));
    SingleSwitch { hosts, rate, cable: cable.into(), ..SingleSwitch::default() }.generate().unwrap()
}

/// RoCE with an acknowledgement for every packet.
pub fn roce() -> SimParams {
    let transport = Transport::Roce(RoceParams { ack_every: 1, ..RoceParams::default() });
    SimParams { transport, ..SimParams::default() }
}

/// The same with selective repeat.
pub fn selective(mut params: SimParams) -> SimParams {
    let Transport::Roce(roce) = &mut params.transport else { unreachable!("only RoCE repeats selectively") };
    roce.reliability = Reliability::SelectiveRepeat;
    params
}

/// Kernel TCP.
pub fn tcp() -> SimParams {
    SimParams { transport: Transport::Tcp(Default::default()), ..SimParams::default() }
}

/// A job on the first hosts.
pub fn job(workload: &Workload) -> Job {
    job_of(workload.traffic(1).unwrap(), Priority::new(0))
}

/// A job of given traffic on the first hosts.
pub fn job_of(traffic: Traffic, priority: Priority) -> Job {
    Job { priority, ..Job::of_first_hosts(traffic) }
}

/// A stream of a message from a rank to another.
pub fn one_message(src: u32, dst: u32, bytes_per_message: u64) -> StreamSpec {
    let (src_rank, dst_rank) = (Rank::new(src), Rank::new(dst));
    let (stream, outstanding, messages) = (0, 1, Some(1));
    StreamSpec { src_rank, dst_rank, stream, bytes_per_message, outstanding, messages, flow_start: None }
}

/// An experiment with the usual limits.
pub fn experiment(topology: Topology, params: SimParams, jobs: Vec<Job>) -> Experiment {
    let paths = Paths::per_flow(RoutingKind::ShortestPath, &topology).unwrap();
    Experiment::new(topology, paths, params, jobs)
}

/// Runs to the end of all jobs.
pub fn run(experiment: &Experiment, threads: usize) -> Report {
    let mut simulation = Simulation::build(experiment, threads).unwrap();
    assert_eq!(simulation.run(Time::MAX, &mut |_| true), Finish::Complete);
    simulation.report()
}

/// Runs for `span`.
pub fn run_for(experiment: &Experiment, span: Duration) -> Report {
    let mut simulation = Simulation::build(experiment, 1).unwrap();
    assert_eq!(simulation.run(Time::ZERO + span, &mut |_| true), Finish::TimeLimit);
    simulation.report()
}
