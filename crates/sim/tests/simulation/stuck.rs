//! A run without progress reports which ports and ranks wait for what.

use etherweave_primitives::{Bytes, HostId, Priority, Rank, Time};
use etherweave_sim::params::Threshold;
use etherweave_sim::{Finish, Simulation};
use etherweave_topology::{Custom, Family};
use etherweave_workload::{Block, Op, Program, StreamSpec, Traffic};

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
    assert_eq!(report, "job job: rank 0 on host0 waits for 1 requests: a message of rank 1 with tag 7");
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
