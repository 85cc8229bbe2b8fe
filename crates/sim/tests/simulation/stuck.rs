//! A run without progress reports which ports and ranks wait for what.

use std::sync::Arc;

use etherweave_primitives::{Bytes, Duration, HostId, Priority, Rank, Time};
use etherweave_sim::params::Threshold;
use etherweave_sim::{Finish, Simulation};
use etherweave_topology::{Custom, Family};
use etherweave_workload::{Block, ExecutionStream, GraphBuilder, GraphOp, Op, Program, StreamSpec, Traffic};

use crate::common::{experiment, job_of, one_switch, roce};

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

/// What a run that ends stuck says.
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

#[test]
fn a_cycle_of_pauses_is_detected_and_its_ports_are_named() {
    let mut params = roce();
    params.switch.buffer = Bytes::new(150_000);
    params.switch.reserve = Bytes::new(0);
    params.switch.ingress_threshold = Threshold::Alpha(0.25);
    let stream = |i: u32| StreamSpec {
        src_rank: Rank::new(i),
        dst_rank: Rank::new((i + 2) % 5),
        stream: 0,
        bytes_per_message: 10_000_000,
        outstanding: 1,
        messages: Some(1),
    };
    let mut job = job_of(Traffic::Streams((0..5).map(stream).collect()), Priority::new(0));
    job.hosts = (0..5).map(HostId::new).collect();
    let experiment = experiment(ring().generate().unwrap(), params, vec![job]);
    let Finish::Stuck(report) = Simulation::build(&experiment, 1).unwrap().run(Time::MAX, &mut |_| true) else {
        panic!("a cycle of full buffers stops")
    };
    for i in 0..5 {
        let (at, next) = (format!("s{i} port"), format!("priority 0 is paused by s{}", (i + 1) % 5));
        assert!(report.lines().any(|line| line.starts_with(&at) && line.contains(&next)), "{report}");
    }
}
