//! The path that limits a job: its parts add up to the time of the job, and one known limit is named.

use std::{collections::BTreeSet, sync::Arc};

use etherweave_primitives::{BitRate, Bytes, ChannelId, Duration, HostId, Length, Priority, Rank, Time};
use etherweave_sim::params::{CoreParams, Dcqcn, EcnMarking, Fidelity, MarkAt, Pcie, RoceParams, SimParams, Transport};
use etherweave_sim::{ActivityRow, Experiment, Finish, Job, PathPart, PathRow, Simulation, WaitRow};
use etherweave_topology::{Channel, Family, FatTree, SingleSwitch, Topology};
use etherweave_transport::uet::UetParams;
use etherweave_workload::collective::{Collective, Communicator, Kind, Rule, kind_of};
use etherweave_workload::{
    ALL_LINKS, AllToAll, Block, ExecutionStream, GraphBuilder, GraphOp, Halo3d, Op, OsuOneSidedLatency, Program,
    Traffic, Workload,
};

use crate::common::{experiment, job_of, one_switch, roce, run, tcp};
use crate::{credits::frames, credits::with_credits, degraded::degraded, threads::assert_same_on_any_threads};

/// Rank 0 does something, and sends so much to rank 1, which answers by a byte; three times.
fn asked(first: Op, bytes: u64) -> Traffic {
    let (asks, answers) = (Rank::new(0), Rank::new(1));
    let to = |peer, tag, bytes| Op::Isend { peer, tag, bytes };
    let from = |peer, tag, bytes| Op::Irecv { peer, tag, bytes };
    let ask = [first, to(answers, 1, bytes), from(answers, 2, 1), Op::WaitAll];
    let answer = [from(asks, 1, bytes), Op::WaitAll, to(asks, 2, 1), Op::WaitAll];
    let program = |ops: &[Op]| Program::new([Block { repeat: 3, ..Block::unmeasured(ops.to_vec()) }]);
    Traffic::Ranks(vec![program(&ask), program(&answer)])
}

const NOTHING: Op = Op::Compute { duration: Duration::ZERO };

fn of_two(params: SimParams, traffic: Traffic) -> Experiment {
    let job = Job { ..job_of(traffic, Priority::new(0)) };
    Experiment { observes_ranks: true, ..experiment(one_switch(2), params, vec![job]) }
}

fn path(experiment: &Experiment) -> Vec<PathRow> {
    run(experiment, 1).observed.expect("ranks are observed").path
}

/// The share of a part in the time of the only job.
fn share(path: &[PathRow], part: PathPart) -> f64 {
    let time = |row: &PathRow| row.end.since(row.start).as_ps();
    let all: u64 = path.iter().map(time).sum();
    let own: u64 = path.iter().filter(|row| row.part == part).map(time).sum();
    own as f64 / all as f64
}

/// Asserts that a part takes nearly all of the time of what two ranks do.
fn assert_limited_by(part: PathPart, params: SimParams, traffic: Traffic) {
    let path = path(&of_two(params, traffic));
    let share = share(&path, part);
    assert!(share > 0.9, "{part:?} takes {share} of {path:?}");
}

fn changed(mut params: SimParams, change: impl FnOnce(&mut SimParams)) -> SimParams {
    change(&mut params);
    params
}

#[test]
fn each_known_limit_is_named() {
    let (ms, us) = (Duration::from_ms(1), Duration::from_us(900));
    assert_limited_by(PathPart::Computation, roce(), asked(Op::Compute { duration: ms }, 8));
    assert_limited_by(PathPart::Sleep, roce(), asked(Op::Sleep { duration: ms }, 8));
    let calls = changed(roce(), |params| params.host.mpi_roce.handling_overhead = ms);
    assert_limited_by(PathPart::MpiCall, calls, asked(NOTHING, 8));
    let copies = changed(roce(), |params| params.host.mpi_roce.eager_receive_per_kib = us);
    assert_limited_by(PathPart::MpiCopy, copies, asked(NOTHING, 4_096));
    let socket_copies = changed(tcp(), |params| params.host.cpu.receive_per_kib = us);
    assert_limited_by(PathPart::SocketCopy, socket_copies, asked(NOTHING, 4_096));
    let socket_calls = changed(tcp(), |params| params.host.cpu.receive_call = ms);
    assert_limited_by(PathPart::SocketCall, socket_calls, asked(NOTHING, 8));
    let interrupts = changed(tcp(), |params| params.host.cpu.interrupt = ms);
    assert_limited_by(PathPart::Kernel, interrupts, asked(NOTHING, 8));
    // 100 MB take 8 ms, the rest some microseconds.
    let eager = changed(roce(), |params| params.host.mpi_roce.eager_max = Bytes::new(1 << 30));
    assert_limited_by(PathPart::Line, eager.clone(), asked(NOTHING, 100_000_000));
    assert_limited_by(PathPart::Line, roce(), asked(NOTHING, 100_000_000));
    let drained = changed(eager.clone(), |params| params.nic.drain_rate = BitRate::from_gbps(4));
    assert_limited_by(PathPart::Bus, drained, asked(NOTHING, 10_000_000));
    let bus = Pcie { generation: 3, width: 1, ..Pcie::default() };
    let share = share(
        &path(&of_two(changed(eager, |params| params.nic.pcie = Some(bus)), asked(NOTHING, 10_000_000))),
        PathPart::Bus,
    );
    assert!((share - 0.93).abs() < 0.02, "{share}: 7 of 100 Gb/s, of which 2 % are headers");
}

/// Data of 1 ms and of 0.5 ms share the links of a node behind a computation of 10 us, then rank 0 sends to rank 1: the
/// links take 1.5 ms, to the picosecond, and all parts add up. Data of 2 us that pass while it computes take nothing.
#[test]
fn links_of_a_node_take_what_all_transfers_on_the_path_do() {
    let transfer = |us| GraphOp::Transfer { duration: Duration::from_us(us), share: ALL_LINKS };
    let mut sender = GraphBuilder::default();
    let [computing, links] = std::array::from_fn(|_| sender.stream(ExecutionStream::Core));
    sender.add(links, transfer(2), &[]);
    let computed = sender.add(computing, GraphOp::Compute { duration: Duration::from_us(10) }, &[]);
    let transfers = [1_000, 500].map(|us| sender.add(links, transfer(us), &[computed]));
    sender.add(computing, GraphOp::Send { peer: Rank::new(1), tag: 7, bytes: 8 }, &transfers);
    let mut receiver = GraphBuilder::default();
    let stream = receiver.stream(ExecutionStream::Core);
    receiver.add(stream, GraphOp::Receive { peer: Some(Rank::new(0)), tag: Some(7), bytes: 8 }, &[]);
    let ranks = [sender, receiver].map(|graph| Arc::new(graph.build().unwrap())).to_vec();
    let report = run(&of_two(roce(), Traffic::Graphs { ranks, iterations: 1 }), 1);
    let observed = report.observed.expect("ranks are observed");
    let time = |part| {
        let rows = observed.path.iter().filter(|row| row.part == part);
        rows.map(|row| row.end.since(row.start)).fold(Duration::ZERO, |sum, span| sum + span)
    };
    let path = &observed.path;
    assert_eq!([PathPart::NodeLinks, PathPart::Computation].map(time), [1_500, 10].map(Duration::from_us), "{path:?}");
    assert_eq!(time(PathPart::Idle), Duration::ZERO, "{path:?}");
    assert!(path.windows(2).all(|pair| pair[0].end == pair[1].start), "{path:?}");
    let activities = observed.activities();
    let ends = |row: &&ActivityRow| row.rank == 0 && row.kind.name() == "node_transfer";
    let transfers: Vec<_> = activities.iter().filter(ends).map(|row| (row.start, row.end)).collect();
    let at = |us| Time::ZERO + Duration::from_us(us);
    assert_eq!(transfers, [(at(0), at(2)), (at(10), at(1_510))]);
    assert_eq!(path.last().map(|row| row.end), activities.iter().map(|row| row.end).max());
}

/// Two hosts, 100 km apart: a byte takes half a millisecond, and a request and its answer take two.
#[test]
fn light_limits_what_is_far_and_a_small_socket_what_is_long() {
    let cable = Length::from_m(50_000).into();
    let topology = SingleSwitch { hosts: 2, cable, ..SingleSwitch::default() }.generate().unwrap();
    let far = |params, traffic| Experiment { topology: topology.clone(), ..of_two(params, traffic) };
    // A NIC asks for the bytes of a rendezvous, which takes another round trip.
    for (bytes, trips) in [(8, 2), (100_000, 4)] {
        let path = path(&far(roce(), asked(NOTHING, bytes)));
        assert!(share(&path, PathPart::Latency) > 0.9);
        let [end, expected] = [path.last().unwrap().end, Time::ZERO + Duration::from_us(3 * trips * 500)];
        assert!(end > expected && end.as_ps() < expected.as_ps() / 10 * 11, "{end:?}");
    }
    let small = changed(tcp(), |params| {
        let Transport::Tcp(tcp) = &mut params.transport else { unreachable!("it is TCP") };
        tcp.send_buffer = Bytes::new(64 << 10);
        params.host.mpi_tcp.eager_max = Bytes::new(1 << 30);
    });
    assert!(share(&path(&far(small, asked(NOTHING, 4_000_000))), PathPart::Room) > 0.9);
}

/// Programs and one-sided operations, over RoCE, TCP and in flow-level mode.
#[test]
fn parts_follow_each_other_without_a_gap_and_are_alike_on_any_number_of_threads() {
    let flow_level = |params| SimParams { fidelity: Fidelity::Flow, ..params };
    let bytes = Bytes::new(1 << 16);
    let workloads = [
        Workload::Halo3d(Halo3d { iterations: 2, ..Halo3d::default() }),
        Workload::AllToAll(AllToAll { ranks: 6, bytes, iterations: 2, ..AllToAll::default() }),
        Workload::OsuOneSidedLatency(OsuOneSidedLatency { bytes, iterations: 3, ..OsuOneSidedLatency::default() }),
    ];
    for params in [roce(), tcp(), flow_level(roce())] {
        for workload in &workloads {
            let job = job_of(workload.traffic(1).unwrap(), Priority::new(0));
            let topology = one_switch(job.hosts.len() as u32);
            let experiment = Experiment { observes_ranks: true, ..experiment(topology, params.clone(), vec![job]) };
            let report = assert_same_on_any_threads(&experiment);
            let observed = report.observed.expect("ranks are observed");
            let (activities, path) = (observed.activities(), &observed.path);
            assert!(path.windows(2).all(|pair| pair[0].end == pair[1].start), "{path:?}");
            let end = activities.iter().map(|row| row.end).max();
            assert_eq!((path.first().map(|row| row.start), path.last().map(|row| row.end)), (Some(Time::ZERO), end));
        }
    }
}

/// Two ranks add up twice, with computation between, in each of three iterations.
#[test]
fn parts_have_the_iteration_and_the_call_of_a_collective_to_which_they_belong() {
    let world = Communicator::world(2);
    let allreduce = Collective::Allreduce { bytes: Bytes::new(4_096) };
    let program = |rank| {
        let calls = allreduce.lower(&Rule::default(), &world, rank);
        let compute = Op::Compute { duration: Duration::from_us(3) };
        let ops = [vec![Op::IterationStart], calls.clone(), vec![compute], calls, vec![Op::IterationEnd]].concat();
        Program::new([Block::measured(ops, 3)])
    };
    let path = path(&of_two(roce(), Traffic::Ranks(vec![program(0), program(1)])));
    let time = |rows: &[&PathRow]| rows.iter().map(|row| row.end.since(row.start).as_ps()).sum::<u64>();
    let (inside, outside): (Vec<&PathRow>, _) =
        path.iter().partition(|row| row.tag.and_then(kind_of) == Some(Kind::Allreduce));
    let is_computation = |row: &&PathRow| row.part == PathPart::Computation;
    assert!(outside.iter().all(is_computation) && inside.iter().all(|row| row.bytes == 4_096), "{path:?}");
    assert_eq!(time(&outside), 9_000_000);
    let calls: BTreeSet<(Option<u32>, Option<u32>)> = inside.iter().map(|row| (row.iteration, row.call)).collect();
    assert_eq!(calls, (0..6).map(|call| (Some(call / 2), Some(call))).collect());
    assert_eq!(time(&inside) + time(&outside), path.last().unwrap().end.as_ps());
}

/// Rank 0 measures its round trips, and rank 1 measures nothing: what rank 1 does is of the round trip of rank 0.
#[test]
fn iterations_of_a_pair_are_those_of_the_rank_that_measures() {
    let (asks, answers) = (Rank::new(0), Rank::new(1));
    let to = |peer, tag| Op::Isend { peer, tag, bytes: 8 };
    let from = |peer, tag| Op::Irecv { peer, tag, bytes: 8 };
    let ask = vec![Op::IterationStart, to(answers, 1), from(answers, 2), Op::WaitAll, Op::IterationEnd];
    let answer = vec![from(asks, 1), Op::WaitAll, to(asks, 2), Op::WaitAll];
    let programs = [Block::measured(ask, 3), Block { repeat: 3, ..Block::unmeasured(answer) }];
    let report = run(&of_two(roce(), Traffic::Ranks(programs.map(|block| Program::new([block])).into())), 1);
    let path = report.observed.expect("ranks are observed").path;
    let own = |number| path.iter().filter(move |row| row.iteration == number);
    let time = |number| own(number).map(|row| row.end.since(row.start).as_ps()).sum::<u64>();
    let of_rank_0: Vec<u64> = report.iterations.iter().map(|row| row.duration.as_ps()).collect();
    assert_eq!((0..3).map(|number| time(Some(number))).collect::<Vec<_>>(), of_rank_0, "{path:?}");
}

/// Rank 0 sends 1 MiB with tag 7, and rank 1 answers with tag 9: over both transports, within a host, and in flow-level
/// mode.
#[test]
fn parts_of_graphs_have_the_tags_of_their_messages() {
    let bytes = 1 << 20;
    let to = |peer, tag| GraphOp::Send { peer: Rank::new(peer), tag, bytes };
    let from = |peer, tag| GraphOp::Receive { peer: Some(Rank::new(peer)), tag: Some(tag), bytes };
    let rank = |ops: [GraphOp; 2]| {
        let mut graph = GraphBuilder::default();
        graph.stream(ExecutionStream::Core);
        ops.into_iter().for_each(|op| _ = graph.chain(0, op));
        Arc::new(graph.build().unwrap())
    };
    let ranks = vec![rank([to(1, 7), from(1, 9)]), rank([from(0, 7), to(0, 9)])];
    let traffic = Traffic::Graphs { ranks, iterations: 1 };
    let flow_level = SimParams { fidelity: Fidelity::Flow, ..roce() };
    for (params, are_near) in [(roce(), false), (tcp(), false), (flow_level, false), (roce(), true)] {
        let mut experiment = of_two(params, traffic.clone());
        if are_near {
            experiment.jobs[0].hosts = vec![experiment.jobs[0].hosts[0]; 2];
        }
        let path = path(&experiment);
        let is_named = |row: &PathRow| {
            row.tag.is_some() || matches!(row.part, PathPart::SocketCopy | PathPart::SocketCall | PathPart::Room)
        };
        assert!(path.iter().all(is_named), "{path:?}");
        let mut tags: Vec<u32> = path.iter().filter_map(|row| row.tag).collect();
        assert!(tags.is_sorted(), "{path:?}");
        tags.dedup();
        assert_eq!(tags, [7, 9], "{path:?}");
        assert!(path.iter().all(|row| row.call.is_none() && row.bytes == row.tag.map_or(0, |_| bytes)));
    }
}

/// One rank sends to another of its host at 1 Gb/s to the outside: the copy is in memory.
#[test]
fn messages_within_a_host_take_no_link() {
    let rate = BitRate::from_gbps(1);
    let topology = SingleSwitch { hosts: 1, rate, ..SingleSwitch::default() }.generate().unwrap();
    let job = job_of(asked(NOTHING, 1 << 20), Priority::new(0));
    let hosts = vec![job.hosts[0]; 2];
    let experiment = Experiment { topology, ..of_two(roce(), asked(NOTHING, 1 << 20)) };
    let experiment = Experiment { jobs: vec![Job { hosts, ..job }], ..experiment };
    let path = path(&experiment);
    assert!(share(&path, PathPart::MpiCopy) > 0.8 && share(&path, PathPart::Line) == 0.0, "{path:?}");
}

/// Two ranks on a host with one core, which compute as long as each other: half of the time each waits for the other.
#[test]
fn ranks_that_share_a_core_wait_for_it() {
    let core = changed(roce(), |params| params.host.cores = Some(CoreParams { sockets: 1, per_socket: 1 }));
    let compute = Op::Compute { duration: Duration::from_ms(1) };
    let program = || Program::new([Block::unmeasured([compute])]);
    let job = job_of(Traffic::Ranks(vec![program(), program()]), Priority::new(0));
    let hosts = vec![job.hosts[0]; 2];
    let jobs = vec![Job { hosts, ..job }];
    let experiment = Experiment { jobs, ..of_two(core, asked(NOTHING, 8)) };
    let path = path(&experiment);
    assert_eq!([PathPart::Core, PathPart::Computation].map(|part| share(&path, part)), [0.5, 0.5]);
}

/// Waits of messages on the path at ports, of an experiment that runs twice: they add up to the parts of the path.
fn waits(topology: Topology, params: SimParams, traffic: Traffic) -> Vec<WaitRow> {
    waits_of(experiment(topology, params, vec![job_of(traffic, Priority::new(0))]))
}

fn waits_of(experiment: Experiment) -> Vec<WaitRow> {
    let experiment = Experiment { observes_ranks: true, ..experiment };
    let observed = run(&experiment, 1).observed.expect("ranks are observed");
    let mut again = Simulation::build(&Experiment { observes_ranks: false, ..experiment }, 1).unwrap();
    again.trace(&observed.messages);
    assert_eq!(again.run(Time::MAX, &mut |_| true), Finish::Complete);
    let rows = again.waits(&observed.messages);
    let of_path = observed
        .path
        .iter()
        .filter(|row| matches!(row.part, PathPart::Network | PathPart::Rendezvous | PathPart::Room));
    let expected: u64 = of_path.map(|row| row.end.since(row.start).as_ps()).sum();
    assert_eq!(rows.iter().map(|row| row.time.as_ps()).sum::<u64>(), expected, "{rows:?}");
    rows
}

/// The share of some rows in what messages wait.
fn share_of(rows: &[WaitRow], is_counted: impl Fn(&WaitRow) -> bool) -> f64 {
    let time = |row: &WaitRow| row.time.as_ps() as f64;
    rows.iter().filter(|row| is_counted(row)).map(time).sum::<f64>() / rows.iter().map(time).sum::<f64>()
}

/// Each of so many ranks sends so many bytes to the rank that many behind the first of them, all at once.
fn to_others(senders: u32, bytes: u64, receiver: impl Fn(u32) -> u32) -> Traffic {
    let mut programs = vec![Vec::new(); 2 * senders as usize];
    for sender in 0..senders {
        let (tag, receiver) = (sender, receiver(sender));
        programs[sender as usize].extend([Op::Isend { peer: Rank::new(receiver), tag, bytes }]);
        programs[receiver as usize].extend([Op::Irecv { peer: Rank::new(sender), tag, bytes }]);
    }
    let program = |mut ops: Vec<Op>| {
        ops.push(Op::WaitAll);
        Program::new([Block::unmeasured(ops)])
    };
    Traffic::Ranks(programs.into_iter().map(program).collect())
}

/// RoCE whose messages of any length are sent at once.
fn eager() -> SimParams {
    changed(roce(), |params| params.host.mpi_roce.eager_max = Bytes::new(1 << 30))
}

/// Three flows over two uplinks: two of them collide whatever the hash.
#[test]
fn a_collision_of_paths_is_named_by_its_uplink_and_by_whose_packets_go_first() {
    let topology = FatTree { leaves: 2, hosts_per_leaf: 3, cores: 2, links_per_core: 1, ..FatTree::default() };
    let rows = waits(topology.generate().unwrap(), eager(), to_others(3, 50_000, |sender| sender + 3));
    let is_at_uplink = |row: &WaitRow| row.node == "leaf0" && row.peer.starts_with("core");
    assert!(share_of(&rows, is_at_uplink) > 0.8, "{rows:?}");
    let is_behind_others = |row: &WaitRow| is_at_uplink(row) && row.reason == "queue" && row.of_rank != row.source;
    assert!(share_of(&rows, is_behind_others) > 0.3, "{rows:?}");
}

/// Windows of long messages are full while their packets wait for those of others at an uplink.
#[test]
fn windows_of_long_messages_wait_for_the_uplink_at_which_their_packets_do() {
    let topology = FatTree { leaves: 2, hosts_per_leaf: 3, cores: 1, links_per_core: 1, ..FatTree::default() };
    let rows = waits(topology.generate().unwrap(), roce(), to_others(3, 4 << 20, |sender| sender + 3));
    let is_caused = |row: &WaitRow| row.cause_node == "leaf0" && row.cause_peer == "core0";
    assert!(share_of(&rows, |row| row.reason == "window" && is_caused(row)) > 0.5, "{rows:?}");
    let is_behind_others = |row: &WaitRow| is_caused(row) && row.of_job == "job" && row.of_rank != row.source;
    assert!(share_of(&rows, is_behind_others) > 0.3, "{rows:?}");
}

#[test]
fn a_loss_is_named_by_the_link_on_which_it_happens() {
    let topology = FatTree { leaves: 2, hosts_per_leaf: 1, cores: 1, links_per_core: 1, ..FatTree::default() };
    let topology = topology.generate().unwrap();
    let ends = |channel: &Channel| [channel.from, channel.to].map(|end| topology.name(end.node).to_owned());
    let of_uplink = topology.channels().iter().position(|channel| ends(channel) == ["leaf0", "core0"]).unwrap();
    let damage = degraded(ChannelId::new(of_uplink as u32), 1e-6);
    let job = job_of(to_others(1, 4 << 20, |_| 1), Priority::new(0));
    let rows = waits_of(Experiment { degraded: vec![damage], ..experiment(topology, eager(), vec![job]) });
    let is_lost = |row: &WaitRow| row.reason == "lost";
    assert!(share_of(&rows, is_lost) > 0.1, "{rows:?}");
    assert!(
        rows.iter().filter(|row| is_lost(row)).all(|row| (&*row.node, &*row.peer) == ("leaf0", "core0")),
        "{rows:?}"
    );
}

/// A message longer than its socket: what damage costs is in the waits for room, most of it one timer of 200 ms.
#[test]
fn a_wait_for_room_in_a_socket_is_divided_by_the_losses_behind_its_port() {
    let topology = one_switch(2);
    let ends = |channel: &Channel| [channel.from, channel.to].map(|end| topology.name(end.node).to_owned());
    let of_host = topology.channels().iter().position(|channel| ends(channel) == ["host0", "switch0"]).unwrap();
    let damage = degraded(ChannelId::new(of_host as u32), 1e-6);
    let job = job_of(to_others(1, 4 << 20, |_| 1), Priority::new(0));
    let small = changed(tcp(), |params| params.host.mpi_tcp.eager_max = Bytes::new(1 << 30));
    let lossy = Experiment { degraded: vec![damage], observes_ranks: true, ..experiment(topology, small, vec![job]) };
    assert!(share(&path(&lossy), PathPart::Room) > 0.9);
    let rows = waits_of(lossy);
    let is_lost = |row: &WaitRow| row.reason == "lost" && row.rank == row.source;
    assert!(share_of(&rows, is_lost) > 0.9, "{rows:?}");
    let is_of_link = |row: &WaitRow| (&*row.node, &*row.peer) == ("host0", "switch0");
    assert!(rows.iter().filter(|row| is_lost(row)).all(is_of_link), "{rows:?}");
}

/// Three hosts send what is longer than their sockets to one: acknowledgements wait for the slow link to the receiver.
#[test]
fn a_wait_for_room_in_a_socket_is_named_by_the_port_of_an_incast() {
    let small = changed(tcp(), |params| {
        let Transport::Tcp(tcp) = &mut params.transport else { unreachable!("it is TCP") };
        tcp.send_buffer = Bytes::new(64 << 10);
        params.host.mpi_tcp.eager_max = Bytes::new(1 << 30);
    });
    let topology = SingleSwitch { hosts: 6, rate: BitRate::from_gbps(1), ..SingleSwitch::default() };
    let rows = waits(topology.generate().unwrap(), small, to_others(3, 1 << 20, |_| 3));
    let of_room: Vec<WaitRow> = rows.into_iter().filter(|row| row.rank == row.source).collect();
    let is_at = |node: &str, peer: &str| (node, peer) == ("switch0", "host3");
    let is_incast = |row: &WaitRow| is_at(&row.node, &row.peer) || is_at(&row.cause_node, &row.cause_peer);
    assert!(share_of(&of_room, is_incast) > 0.5, "{}", share_of(&of_room, is_incast));
}

/// Packets of a short message have those of a long one marked, whose rate stays below that of its link afterwards.
#[test]
fn a_rate_that_dcqcn_has_lowered_is_named_where_no_packet_waits() {
    let (queue_min, queue_max, mark_at) = (Bytes::new(5_000), Bytes::new(20_000), MarkAt::Dequeue);
    let marked = changed(eager(), |params| {
        let Transport::Roce(roce) = &mut params.transport else { unreachable!("it is RoCE") };
        let (rpg_time_reset, rpg_byte_reset) = (Duration::from_ms(10), Bytes::new(10_000_000));
        roce.dcqcn = Some(Dcqcn { rpg_time_reset, rpg_byte_reset, ..Dcqcn::default() });
        params.switch.ecn = Some(EcnMarking { queue_min, queue_max, share_max: 1.0, mark_at, last_hop: true });
    });
    let message = |sender: u32| (Rank::new(sender), sender, [4 << 20, 100_000][sender as usize]);
    let sends = [0, 1].map(message).map(|(_, tag, bytes)| vec![Op::Isend { peer: Rank::new(2), tag, bytes }]);
    let receives = [0, 1].map(message).map(|(peer, tag, bytes)| Op::Irecv { peer, tag, bytes });
    let programs = sends.into_iter().chain([receives.to_vec()]);
    let program = |ops: Vec<Op>| Program::new([Block::unmeasured([ops, vec![Op::WaitAll]].concat())]);
    let rows = waits(one_switch(3), marked, Traffic::Ranks(programs.map(program).collect()));
    let is_of_rate = |row: &WaitRow| (&*row.reason, &*row.node, &*row.cause_node) == ("window", "host0", "");
    assert!(share_of(&rows, is_of_rate) > 0.9, "{rows:?}");
}

/// Messages of a job in flow-level mode share the only uplink with packets.
#[test]
fn packets_wait_for_messages_of_flow_level_mode_at_the_port_that_both_use() {
    let topology = FatTree { leaves: 2, hosts_per_leaf: 2, cores: 1, links_per_core: 1, ..FatTree::default() };
    let hosts = |first| [first, first + 2].map(HostId::new).to_vec();
    let job = |first, bytes| Job { hosts: hosts(first), ..job_of(to_others(1, bytes, |_| 1), Priority::new(0)) };
    let flows = Job { fidelity: Some(Fidelity::Flow), is_background: true, ..job(1, 1 << 30) };
    let rows = waits_of(experiment(topology.generate().unwrap(), eager(), vec![job(0, 200_000), flows]));
    let is_uplink = |row: &WaitRow| (&*row.reason, &*row.node, &*row.peer) == ("queue", "leaf0", "core0");
    assert!(share_of(&rows, |row| is_uplink(row) && row.of_job.is_empty()) > 0.5, "{rows:?}");
    assert!(share_of(&rows, |row| row.reason == "other") < 0.01, "{rows:?}");
}

/// Twice 64 messages of 1 MiB at once over 100 km: a round trip takes 1 ms, in which the link carries 12.5 MB. Of a
/// window of less all is the window's, however little of the time the link is free; of a larger one all is the link's.
#[test]
fn a_full_window_and_a_full_link_are_named_apart() {
    let send = |tag| Op::Isend { peer: Rank::new(1), tag, bytes: 1 << 20 };
    let receive = |tag| Op::Irecv { peer: Rank::new(0), tag, bytes: 1 << 20 };
    let compute = Op::Compute { duration: Duration::from_ms(9) };
    let program = |first, message: &dyn Fn(u32) -> Op| {
        let ops: Vec<Op> = [first].into_iter().chain((0..64).map(message)).chain([Op::WaitAll]).collect();
        Program::new([Block { repeat: 2, ..Block::unmeasured(ops) }])
    };
    let traffic = Traffic::Ranks(vec![program(compute, &send), program(NOTHING, &receive)]);
    let check = |params, metres, reason| {
        let cable = Length::from_m(metres).into();
        let topology = SingleSwitch { hosts: 2, cable, ..SingleSwitch::default() }.generate().unwrap();
        let rows = waits(topology, params, traffic.clone());
        let share = share_of(&rows, |row| row.reason == reason && row.node == "host0");
        assert!(share > 0.95, "{share} of {reason} over {metres} m: {rows:?}");
    };
    let roce = |window| RoceParams { ack_every: 1, window: Bytes::new(window), ..RoceParams::default() };
    let of = |transport| SimParams { transport, ..eager() };
    for (window, reason) in [(1 << 20, "window"), (10 << 20, "window"), (64 << 20, "link")] {
        check(of(Transport::Roce(roce(window))), 50_000, reason);
    }
    // 1,024 packets of 4 KiB may be outstanding.
    let uet = UetParams { retransmission_timeout: Duration::from_ms(10), ..UetParams::default() };
    for (metres, reason) in [(50_000, "window"), (5_000, "link")] {
        check(of(Transport::Uet(uet.clone())), metres, reason);
    }
}

/// A window of ten segments, which doubles in each round trip of 1 ms: 1 MB takes several, and 0.1 ms of its link.
#[test]
fn a_congestion_window_that_grows_is_named() {
    let cable = Length::from_m(50_000).into();
    let topology = SingleSwitch { hosts: 2, cable, ..SingleSwitch::default() }.generate().unwrap();
    let params = changed(tcp(), |params| params.host.mpi_tcp.eager_max = Bytes::new(1 << 30));
    let rows = waits(topology, params, to_others(1, 1_000_000, |_| 1));
    assert!(share_of(&rows, |row| row.reason == "window" && row.node == "host0") > 0.95, "{rows:?}");
}

/// Rank 0 waits for a message that rank 1 sends when it has computed, and rank 1 for none.
#[test]
fn a_rank_that_others_wait_for_is_named_with_what_it_does() {
    let compute = Op::Compute { duration: Duration::from_ms(1) };
    let late = vec![compute, Op::Isend { peer: Rank::new(0), tag: 0, bytes: 8 }, Op::WaitAll];
    let early = vec![Op::Irecv { peer: Rank::new(1), tag: 0, bytes: 8 }, Op::WaitAll];
    let programs = [early, late].map(|ops| Program::new([Block::unmeasured(ops)]));
    let path = path(&of_two(roce(), Traffic::Ranks(programs.into())));
    let of_other: Vec<&PathRow> = path.iter().filter(|row| row.part == PathPart::Computation).collect();
    assert!(of_other.iter().all(|row| row.rank == 1) && share(&path, PathPart::Computation) > 0.9, "{path:?}");
}

#[test]
fn an_incast_is_named_by_the_port_to_its_receiver() {
    let rows = waits(one_switch(6), eager(), to_others(3, 50_000, |_| 3));
    let is_incast = |row: &WaitRow| (&*row.node, &*row.peer) == ("switch0", "host3");
    assert!(share_of(&rows, |row| is_incast(row) && row.reason == "queue") > 0.5, "{rows:?}");
    assert!(share_of(&rows, is_incast) > 0.8, "{rows:?}");
}

/// A host takes a tenth of what its link brings, and pauses the switch before it, and that the ones before: the last
/// message of three takes its own time at the receiver, and waits for that of the others.
#[test]
fn a_pause_is_named_by_the_slow_receiver_that_causes_it() {
    let slow = || changed(eager(), |params| params.nic.drain_rate = BitRate::from_gbps(10));
    let is_caused = |row: &WaitRow| (&*row.cause_node, &*row.cause_peer) == ("host3", "");
    let leaves = FatTree { leaves: 2, hosts_per_leaf: 3, cores: 1, links_per_core: 3, ..FatTree::default() };
    for topology in [one_switch(6), leaves.generate().unwrap()] {
        let rows = waits(topology.clone(), slow(), to_others(3, 500_000, |_| 3));
        assert!(share_of(&rows, |row| is_caused(row) && row.reason == "pause") > 0.8, "{rows:?}");
        // Long messages wait for their windows, which open at the pace of the receiver.
        let rows = waits(topology, slow(), to_others(3, 4_000_000, |_| 3));
        assert!(share_of(&rows, is_caused) > 0.8, "{rows:?}");
        assert!(share_of(&rows, |row| row.reason == "window" && row.node.starts_with("host")) > 0.3, "{rows:?}");
    }
}

/// Three hosts send to one, and wait for credits of the switch: its port to the receiver frees them, and sends packets
/// of these hosts meanwhile.
#[test]
fn missing_credits_are_named_by_the_port_that_frees_them() {
    let rows = waits(one_switch(6), with_credits(eager(), frames(8)), to_others(3, 200_000, |_| 3));
    let cause = |row: &WaitRow| (&*row.reason, &*row.cause_node, &*row.cause_peer) == ("credits", "switch0", "host3");
    assert!(share_of(&rows, |row| cause(row) && row.node.starts_with("host")) > 0.5, "{rows:?}");
    assert!(rows.iter().filter(|row| cause(row)).all(|row| row.of_job == "job" && row.of_rank < 3), "{rows:?}");
}
