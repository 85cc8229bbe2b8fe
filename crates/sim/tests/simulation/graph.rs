//! Ranks that perform graphs: as sequences where a graph is one, and more than those where it is not.

use std::{io::Cursor, sync::Arc};

use etherweave_primitives::{BitRate, Bytes, Duration, HostId, Priority, Rank, Time};
use etherweave_sim::params::{CoreParams, Fidelity, SimParams};
use etherweave_sim::{Experiment, Finish, Job, Report, Simulation};
use etherweave_topology::{Family, FatTree};
use etherweave_workload::{
    ALL_LINKS, AllToAll, ExecutionStream, Fft, Goal, Graph, GraphBuilder, GraphOp, OsuBibw, OsuCollective, OsuLatency,
    Program, TraceFile, Traffic, Workload, collective::Collective, collective::TAG_BASE,
};

use crate::common::{experiment, job_of, one_switch, roce, run, tcp};
use crate::threads::assert_same_on_any_threads;

const CORE: ExecutionStream = ExecutionStream::Core;
const ACCELERATOR: ExecutionStream = ExecutionStream::Accelerator;

fn graph(streams: &[ExecutionStream], build: impl FnOnce(&mut GraphBuilder)) -> Arc<Graph> {
    let mut builder = GraphBuilder::default();
    streams.iter().for_each(|&stream| {
        builder.stream(stream);
    });
    build(&mut builder);
    Arc::new(builder.build().unwrap())
}

fn compute(us: u64) -> GraphOp {
    GraphOp::Compute { duration: Duration::from_us(us) }
}

fn transfer(us: u64) -> GraphOp {
    GraphOp::Transfer { duration: Duration::from_us(us), share: ALL_LINKS }
}

fn send(peer: u32, tag: u32, bytes: u64) -> GraphOp {
    GraphOp::Send { peer: Rank::new(peer), tag, bytes }
}

fn receive(peer: u32, tag: u32, bytes: u64) -> GraphOp {
    GraphOp::Receive { peer: Some(Rank::new(peer)), tag: Some(tag), bytes }
}

fn graphs(ranks: Vec<Arc<Graph>>) -> Traffic {
    Traffic::Graphs { ranks, iterations: 1 }
}

/// A trace of 65,536 messages of collectives had tags that said a share in a sum of switches: messages had no payload.
#[test]
fn tags_of_messages_between_ranks_say_nothing_of_sums() {
    let took = |tag: u32| {
        let single = |op| {
            graph(&[CORE], |builder| {
                builder.add(0, op, &[]);
            })
        };
        let ranks = vec![single(send(1, tag, 8_000)), single(receive(0, tag, 8_000))];
        durations(roce(), ranks)
    };
    for role in 1..4 {
        assert_eq!(took(TAG_BASE | role << 16), took(TAG_BASE), "bits 16 and 17 are {role:02b}");
    }
}

/// A job on hosts of one switch.
fn on_switch(params: SimParams, traffic: Traffic) -> Experiment {
    experiment(one_switch(traffic.ranks().max(2)), params, vec![job_of(traffic, Priority::new(0))])
}

fn durations(params: SimParams, ranks: Vec<Arc<Graph>>) -> Vec<Duration> {
    run(&on_switch(params, graphs(ranks)), 1).iterations.iter().map(|row| row.duration).collect()
}

fn of_program(program: &Program) -> Arc<Graph> {
    graph(&[CORE], |builder| {
        builder.sequence(0, program.ops(), &[]);
    })
}

fn on_hosts(params: SimParams, traffic: Traffic, ranks_per_host: u32) -> Report {
    let hosts = (0..traffic.ranks()).map(|rank| HostId::new(rank / ranks_per_host)).collect();
    let job = Job { hosts, ..job_of(traffic, Priority::new(0)) };
    run(&experiment(one_switch(job.traffic.ranks().max(2)), params, vec![job]), 1)
}

/// Eager, by rendezvous and in fragments; over both transports, in memory, and in flow-level mode.
#[test]
fn a_program_takes_exactly_as_long_as_a_graph() {
    let flow_level = SimParams { fidelity: Fidelity::Flow, ..roce() };
    let mut slow_memory = tcp();
    slow_memory.host.memory_rate = Some(BitRate::from_gbps(40));
    let mut interrupted = tcp();
    interrupted.host.cores = Some(CoreParams { sockets: 1, per_socket: 2 });
    let mut in_fragments = roce();
    in_fragments.host.mpi_roce.eager_max = Bytes::new(128 << 10);
    in_fragments.host.mpi_roce.fragment = Some(Bytes::new(8 << 10));
    let latency = |bytes| OsuLatency { bytes: Bytes::new(bytes), warm_up: 1, iterations: 3, ..OsuLatency::default() };
    let operation = Collective::Allreduce { bytes: Bytes::new(1 << 16) };
    let workloads = [
        Workload::OsuLatency(latency(8)),
        Workload::OsuLatency(latency(1 << 20)),
        Workload::OsuBibw(OsuBibw { bytes: Bytes::new(1 << 16), iterations: 3, ..OsuBibw::default() }),
        Workload::OsuCollective(OsuCollective { ranks: 6, operation, iterations: 2, ..OsuCollective::default() }),
        Workload::AllToAll(AllToAll { ranks: 6, iterations: 2, ..AllToAll::default() }),
        Workload::Fft(Fft { iterations: 1, ..Fft::default() }),
    ];
    for params in [roce(), tcp(), flow_level, in_fragments, slow_memory, interrupted] {
        for workload in &workloads {
            let Traffic::Ranks(programs) = workload.traffic(1).unwrap() else { panic!("ranks") };
            let ranks = graphs(programs.iter().map(of_program).collect());
            for ranks_per_host in [1, 2] {
                let sequence = on_hosts(params.clone(), Traffic::Ranks(programs.clone()), ranks_per_host);
                let graph = on_hosts(params.clone(), ranks.clone(), ranks_per_host);
                let outcome = (graph.totals.end, graph.fingerprint, graph.totals.created);
                let expected = (sequence.totals.end, sequence.fingerprint, sequence.totals.created);
                assert_eq!(outcome, expected, "{} {ranks_per_host}", workload.name());
            }
        }
    }
}

/// The same job as GOAL: with its graphs in memory, of a text, and in the file of a binary.
fn as_goal(traffic: &Traffic) -> [Traffic; 2] {
    let (mut text, mut binary) = (Vec::new(), Cursor::new(Vec::new()));
    Goal::write(traffic, &mut text).unwrap();
    Goal::write_binary(traffic, &mut binary).unwrap();
    let Traffic::Graphs { iterations, .. } = *traffic else { panic!("graphs") };
    [text, binary.into_inner()].map(|bytes| {
        let is_binary = Goal::is_binary(&bytes);
        let content = Some(TraceFile::new(bytes, String::new()));
        let ranks = Goal { content, ..Goal::default() }.graphs().unwrap();
        assert!(ranks.iter().all(|graph| graph.is_in_file() == is_binary));
        Traffic::Graphs { ranks, iterations }
    })
}

/// Streams side by side, receives from any rank, several iterations; one and two ranks per host.
#[test]
fn a_graph_in_a_file_is_performed_as_one_in_memory_on_any_number_of_threads() {
    let operation = Collective::Allreduce { bytes: Bytes::new(1 << 14) };
    let workloads = [
        Workload::OsuCollective(OsuCollective {
            ranks: 6,
            operation,
            warm_up: 1,
            iterations: 20,
            ..OsuCollective::default()
        }),
        Workload::AllToAll(AllToAll { ranks: 6, iterations: 8, ..AllToAll::default() }),
    ];
    let sequences = workloads.iter().map(|workload| {
        let Traffic::Ranks(programs) = workload.traffic(1).unwrap() else { panic!("ranks") };
        Traffic::Graphs { ranks: programs.iter().map(of_program).collect(), iterations: 2 }
    });
    let any = GraphOp::Receive { peer: None, tag: None, bytes: 1 << 12 };
    let sink = graph(&[CORE; 3], |builder| {
        for step in 0..300 {
            let received = builder.chain((step % 2) as u8, any);
            let computed = builder.add(2, compute(1), &[received]);
            builder.after_start(computed, &[received]);
        }
    });
    let source = |rank: u32| {
        graph(&[CORE; 2], |builder| {
            for step in 0..100 {
                let work = builder.chain(0, compute(u64::from(rank)));
                builder.add(1, send(0, step, 1 << 12), &[work]);
            }
        })
    };
    let many_to_one = Traffic::Graphs { ranks: vec![sink, source(1), source(2), source(3)], iterations: 3 };
    for traffic in sequences.chain([many_to_one]) {
        for params in [roce(), tcp()] {
            let on_any_threads = |traffic| assert_same_on_any_threads(&on_switch(params.clone(), traffic));
            let [in_memory, in_file] = as_goal(&traffic).map(on_any_threads);
            assert_eq!(in_file.fingerprint, in_memory.fingerprint);
            assert_eq!(in_file.iterations, in_memory.iterations);
        }
    }
}

#[test]
fn streams_compute_side_by_side_and_their_operations_one_after_another() {
    let two = |streams: [ExecutionStream; 2], both_on_first: bool, cores: Option<u32>| {
        let mut params = roce();
        params.host.cores = cores.map(|per_socket| CoreParams { sockets: 1, per_socket });
        let rank = graph(&streams, |builder| {
            builder.add(0, compute(5), &[]);
            builder.add(u8::from(!both_on_first), compute(7), &[]);
        });
        durations(params, vec![rank])[0]
    };
    let us = Duration::from_us;
    assert_eq!(two([CORE, CORE], true, None), us(12));
    assert_eq!(two([CORE, CORE], false, None), us(7));
    assert_eq!(two([CORE, CORE], false, Some(2)), us(7));
    assert_eq!(two([CORE, CORE], false, Some(1)), us(12), "threads of one core take turns");
    assert_eq!(two([CORE, ACCELERATOR], false, Some(1)), us(7), "an accelerator needs no core");
}

/// A computation of 2 ms hides a message of 1 MiB, which takes 84 us on the wire at 100 Gb/s.
#[test]
fn an_accelerator_computes_while_messages_are_in_flight() {
    let bytes = 1 << 20;
    let rank = |peer: u32, computed: u64, is_ordered: bool| {
        graph(&[ACCELERATOR, CORE], |builder| {
            let work = builder.add(0, compute(computed), &[]);
            let after = if is_ordered { vec![work] } else { Vec::new() };
            builder.add(1, send(peer, 1, bytes), &after);
            builder.add(1, receive(peer, 1, bytes), &after);
        })
    };
    for params in [roce(), tcp()] {
        let time = |computed, is_ordered| {
            durations(params.clone(), vec![rank(1, computed, is_ordered), rank(0, computed, is_ordered)])[0]
        };
        let message = time(0, false);
        assert_eq!(time(2_000, false), Duration::from_us(2_000));
        assert_eq!(time(2_000, true), Duration::from_us(2_000) + message);
    }
}

/// The second message completes at once; the first only when rank 1 posts its receive, after 1 ms.
#[test]
fn what_waits_for_a_message_waits_for_no_other() {
    let bytes = 1 << 20;
    let first = graph(&[CORE, ACCELERATOR], |builder| {
        builder.add(0, send(1, 1, bytes), &[]);
        let second = builder.add(0, send(2, 1, bytes), &[]);
        builder.add(1, compute(900), &[second]);
    });
    let late = graph(&[ACCELERATOR, CORE], |builder| {
        let work = builder.add(0, compute(1_000), &[]);
        builder.add(1, receive(0, 1, bytes), &[work]);
    });
    let ready = graph(&[CORE], |builder| {
        builder.add(0, receive(0, 1, bytes), &[]);
    });
    for params in [roce(), tcp()] {
        let times = durations(params, vec![first.clone(), late.clone(), ready.clone()]);
        assert!(times[0] < Duration::from_us(1_900), "{times:?}");
        assert!(times[0] > Duration::from_us(1_000), "{times:?}");
    }
}

/// Payloads of two sends to a rank arrive in the order in which it receives, not in that of the sends.
#[test]
fn a_send_completes_when_its_own_receive_is_posted() {
    let (bytes, us) = (1 << 20, Duration::from_us);
    let sender = |awaited: usize| {
        graph(&[CORE, ACCELERATOR], |builder| {
            let sends = [1, 2].map(|tag| builder.add(0, send(1, tag, bytes), &[]));
            builder.add(1, compute(2_000), &[sends[awaited]]);
        })
    };
    let receiver = graph(&[CORE, ACCELERATOR], |builder| {
        builder.add(0, receive(0, 2, bytes), &[]);
        let work = builder.add(1, compute(1_000), &[]);
        builder.add(0, receive(0, 1, bytes), &[work]);
    });
    for params in [roce(), tcp()] {
        let time = |awaited| durations(params.clone(), vec![sender(awaited), receiver.clone()])[0];
        assert!(time(1) < us(2_900), "{}", time(1));
        assert!(time(0) > us(3_000), "{}", time(0));
    }
}

/// Every rank but the first sends to it; it answers whoever is first, whatever the tag.
#[test]
fn receives_from_any_rank_are_the_same_on_any_threads() {
    let workers: u32 = 40;
    let any = GraphOp::Receive { peer: None, tag: None, bytes: 4_096 };
    let first = graph(&[CORE, CORE], |builder| {
        (0..3 * workers).for_each(|_| {
            builder.chain(0, any);
        });
    });
    let worker = |rank: u32| {
        graph(&[CORE], |builder| {
            builder.chain(0, compute(u64::from(rank * 7 % 11)));
            (0..3).for_each(|tag| {
                builder.chain(0, send(0, tag, 4_096));
            });
        })
    };
    let ranks = std::iter::once(first).chain((1..=workers).map(worker)).collect();
    let topology = FatTree::default().generate().unwrap();
    let traffic = Traffic::Graphs { ranks, iterations: 2 };
    let report = assert_same_on_any_threads(&experiment(topology, roce(), vec![job_of(traffic, Priority::new(0))]));
    assert_eq!(report.iterations.len(), 2 * (workers as usize + 1));
}

#[test]
fn every_iteration_of_every_rank_is_a_row_from_the_end_of_the_one_before() {
    let rank = graph(&[CORE], |builder| {
        builder.chain(0, compute(5));
        builder.chain(0, compute(6));
    });
    let traffic = Traffic::Graphs { ranks: vec![rank.clone(), rank], iterations: 3 };
    let report = run(&on_switch(roce(), traffic), 1);
    let rows: Vec<_> = report.iterations.iter().map(|row| (row.rank, row.iteration, row.start, row.duration)).collect();
    let row = |rank, iteration: u32| {
        (rank, iteration, Time::ZERO + Duration::from_us(11) * u64::from(iteration), Duration::from_us(11))
    };
    assert_eq!(rows, [row(0, 0), row(0, 1), row(0, 2), row(1, 0), row(1, 1), row(1, 2)]);
}

#[test]
fn a_rank_that_waits_for_any_message_for_ever_is_reported() {
    let waiting = graph(&[CORE], |builder| {
        builder.add(0, GraphOp::Receive { peer: None, tag: Some(7), bytes: 8 }, &[]);
    });
    let idle = graph(&[CORE], |_| {});
    let experiment = on_switch(roce(), graphs(vec![waiting, idle]));
    let Finish::Stuck(report) = Simulation::build(&experiment, 1).unwrap().run(Time::MAX, &mut |_| true) else {
        panic!("no rank sends")
    };
    assert_eq!(report, "job job: rank 0 on host0 waits for 1 request: a message of any rank with tag 7 (operation 0)");
}

/// A transfer of 10 us has 4 us behind it when one of 3 us joins it: both have half of the links for 6 us, and the
/// first has 3 us left. A stream that has posted a transfer is free.
#[test]
fn transfers_in_a_node_share_its_links_beside_computation() {
    let both = graph(&[ACCELERATOR], |builder| {
        builder.add(0, transfer(10), &[]);
        let computed = builder.add(0, compute(4), &[]);
        builder.add(0, transfer(3), &[computed]);
    });
    let idle = graph(&[ACCELERATOR], |_| {});
    assert_eq!(durations(SimParams::default(), vec![both, idle])[0], Duration::from_us(13));
}
