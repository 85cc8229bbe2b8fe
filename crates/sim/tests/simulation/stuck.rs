//! A run without progress reports which ports and ranks wait for what.

use std::sync::Arc;

use etherweave_primitives::{Bytes, Duration, HostId, Priority, Rank, Time};
use etherweave_sim::params::{
    Credits, Fidelity, FlowControl, GlobalPause, SimParams, SwitchModel, Threshold, Transport,
};
use etherweave_sim::{Experiment, Finish, Simulation};
use etherweave_topology::{Custom, Family};
use etherweave_workload::{Block, ExecutionStream, GraphBuilder, GraphOp, Op, Program, Traffic};

use crate::common::{experiment, job_of, one_message, one_switch, roce};

#[test]
fn a_rank_that_waits_for_ever_is_reported() {
    let receive = Op::Irecv { peer: Rank::new(1), tag: 7, bytes: 8 };
    let waiting = Program::new([Block::unmeasured(vec![receive, Op::WaitAll])]);
    let traffic = Traffic::Ranks(vec![waiting, Program::default()]);
    let experiment = experiment(one_switch(2), roce(), vec![job_of(traffic, Priority::new(0))]);
    let Finish::Stuck(report) = Simulation::build(&experiment, 1).unwrap().run(Time::MAX, &mut |_| true) else {
        panic!("no rank sends")
    };
    assert_eq!(report, "job job: rank 0 on host0 waits for 1 request: a message of rank 1 with tag 7");
}

/// Returns the report of a run that ends stuck.
fn stuck_report(traffic: Traffic) -> String {
    let experiment = experiment(one_switch(2), roce(), vec![job_of(traffic, Priority::new(0))]);
    match Simulation::build(&experiment, 1).unwrap().run(Time::MAX, &mut |_| true) {
        Finish::Stuck(report) => report,
        other => panic!("no receive is posted: {other:?}"),
    }
}

const BYTES: u64 = 1_000_000;

fn waiting_line(rank: u32, operation: &str) -> String {
    let peer = 1 - rank;
    format!(
        "job job: rank {rank} on host{rank} waits for 1 request: a send of {BYTES} B to rank {peer} with tag \
         7{operation}, longer than host.mpi_roce.eager_max"
    )
}

#[test]
fn sends_of_sequences_that_no_receive_takes_are_named() {
    let program = |peer| {
        let (peer, tag) = (Rank::new(peer), 7);
        let send = [Op::Isend { peer, tag, bytes: BYTES }, Op::WaitAll];
        Program::new([Block::unmeasured([&send[..], &[Op::Irecv { peer, tag, bytes: BYTES }, Op::WaitAll]].concat())])
    };
    let report = stuck_report(Traffic::Ranks(vec![program(1), program(0)]));
    assert_eq!(report, [waiting_line(0, ""), waiting_line(1, "")].join("\n"));
}

#[test]
fn sends_of_graphs_that_no_receive_takes_are_named_with_their_operation() {
    let graph = |peer| {
        let mut graph = GraphBuilder::default();
        let (stream, peer, bytes) = (graph.stream(ExecutionStream::Core), Rank::new(peer), BYTES);
        graph.chain(stream, GraphOp::Compute { duration: Duration::from_us(1) });
        graph.chain(stream, GraphOp::Send { peer, tag: 7, bytes });
        graph.chain(stream, GraphOp::Receive { peer: Some(peer), tag: Some(7), bytes });
        Arc::new(graph.build().unwrap())
    };
    let report = stuck_report(Traffic::Graphs { ranks: vec![graph(1), graph(0)], iterations: 1 });
    assert_eq!(report, [waiting_line(0, " (operation 1)"), waiting_line(1, " (operation 1)")].join("\n"));
}

/// Five switches in a ring; every host sends two switches on, so that each link waits for the next.
fn ring() -> Custom {
    let links: String = (0..5).map(|i| format!("h{i},s{i},100Gb/s,3m\ns{i},s{},40Gb/s,20m\n", (i + 1) % 5)).collect();
    Custom { hosts: 5, links, ..Custom::default() }
}

/// Every host of the ring sends `bytes` with these parameters.
pub fn around_the_ring(params: SimParams, bytes: u64) -> Experiment {
    let stream = |i: u32| one_message(i, (i + 2) % 5, bytes);
    let mut job = job_of(Traffic::Streams((0..5).map(stream).collect()), Priority::new(0));
    job.hosts = (0..5).map(HostId::new).collect();
    experiment(ring().generate().unwrap(), params, vec![job])
}

/// Small buffers, so that the ring fills.
pub fn small_buffers() -> SimParams {
    let mut params = roce();
    params.switch.buffer = Bytes::new(150_000);
    params.switch.reserve = Bytes::new(0);
    params.switch.ingress_threshold = Threshold::Alpha(0.25);
    params
}

fn global_pause() -> SimParams {
    SimParams { flow_control: FlowControl::GlobalPause(GlobalPause::default()), ..small_buffers() }
}

fn credits() -> SimParams {
    SimParams { flow_control: FlowControl::Credits(Credits::default()), ..small_buffers() }
}

fn input_queued() -> SimParams {
    let mut params = SimParams { flow_control: FlowControl::Credits(Credits::default()), ..roce() };
    params.switch.model = SwitchModel::InputQueued;
    params
}

#[test]
fn a_cycle_of_pauses_is_detected_and_its_ports_are_named() {
    let experiment = around_the_ring(small_buffers(), 10_000_000);
    let Finish::Stuck(report) = Simulation::build(&experiment, 1).unwrap().run(Time::MAX, &mut |_| true) else {
        panic!("a cycle of full buffers stops")
    };
    for i in 0..5 {
        let (at, next) = (format!("s{i} port"), format!("priority 0 is paused by s{}", (i + 1) % 5));
        assert!(report.lines().any(|line| line.starts_with(&at) && line.contains(&next)), "{report}");
    }
}

/// The link of each switch to the next one is the second that is listed at s0, and the third elsewhere.
const CYCLE: &str = "Deadlock: s0 port 1 (priority 0), s1 port 2 (priority 0), s2 port 2 (priority 0), \
                     s3 port 2 (priority 0), s4 port 2 (priority 0) wait for each other";

#[test]
fn a_deadlock_at_the_time_limit_is_one_under_every_flow_control() {
    for (name, params) in [
        ("pfc", small_buffers()),
        ("global pause", global_pause()),
        ("credits", credits()),
        ("input-queued", input_queued()),
    ] {
        for threads in [1, 2] {
            let experiment = around_the_ring(params.clone(), 10_000_000);
            let mut simulation = Simulation::build(&experiment, threads).unwrap();
            // 100 MB/s of each host at the start: the ring is full within a millisecond.
            let finish = simulation.run(Time::ZERO + Duration::from_ms(5), &mut |_| true);
            let Finish::Stuck(report) = finish else { panic!("{name} on {threads} threads: {finish:?}") };
            assert_eq!(report.lines().next(), Some(CYCLE), "{name} on {threads} threads");
            let end = simulation.report().totals.end;
            // Pauses are refreshed, so that it is found after a millisecond without progress.
            let is_refreshed = ["pfc", "global pause"].contains(&name);
            assert_eq!(end < Time::ZERO + Duration::from_ms(3), is_refreshed, "{name} at {end:?}");
        }
    }
}

#[test]
fn ports_that_are_paused_for_a_while_are_no_deadlock() {
    for (name, params) in [
        ("pfc", small_buffers()),
        ("global pause", global_pause()),
        ("credits", credits()),
        ("input-queued", input_queued()),
    ] {
        let sources = (1..5).map(|i| one_message(i, 0, 10_000_000));
        let mut experiment = around_the_ring(params, 1);
        experiment.jobs[0].traffic = Traffic::Streams(sources.collect());
        let finish = Simulation::build(&experiment, 1).unwrap().run(Time::ZERO + Duration::from_ms(1), &mut |_| true);
        assert_eq!(finish, Finish::TimeLimit, "{name}");
    }
}

/// Retransmissions reach switches for ever, and nothing new reaches a host. The end is that of the last byte, 1 s of
/// the stall limit later, and a window.
#[test]
fn packets_that_are_sent_again_and_again_are_no_progress() {
    for mut params in [credits(), input_queued()] {
        let Transport::Roce(roce) = &mut params.transport else { unreachable!("RoCE is asked for") };
        roce.retransmission_timeout = Duration::from_us(300);
        // A host with room for more sends again what it has sent, into the buffers of its own switch.
        let experiment = around_the_ring(params, 1_000_000);
        let mut simulation = Simulation::build(&experiment, 1).unwrap();
        let finish = simulation.run(Time::ZERO + Duration::from_ms(20_000), &mut |progress| {
            progress.now < Time::ZERO + Duration::from_ms(10_000)
        });
        assert!(matches!(&finish, Finish::Stuck(report) if report.starts_with(CYCLE)), "{finish:?}");
        let end = simulation.report().totals.end;
        assert!(end < Time::ZERO + Duration::from_ms(1_010), "{end}");
    }
}

/// 10 GB at 100 Gb/s take 0.8 s, and the limit is half of it: bytes arrive all the time.
#[test]
fn a_long_message_of_flow_level_mode_is_progress() {
    let stream = one_message(0, 1, 10_000_000_000);
    let params = SimParams { fidelity: Fidelity::Flow, ..roce() };
    let job = job_of(Traffic::Streams(vec![stream]), Priority::new(0));
    let mut experiment = experiment(one_switch(2), params, vec![job]);
    experiment.stall_limit = Duration::from_ms(400);
    assert_eq!(Simulation::build(&experiment, 1).unwrap().run(Time::MAX, &mut |_| true), Finish::Complete);
}
