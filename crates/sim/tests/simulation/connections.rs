//! Pairs of ranks with several connections, which messages take in turn.

use etherweave_primitives::{BitRate, Bytes, Duration, Priority, Rank, Time};
use etherweave_sim::{Experiment, Job, PairConnections, TransferRow, params::Fidelity, params::SimParams};
use etherweave_topology::{Family, SingleSwitch};
use etherweave_workload::{Block, Op, OsuBibw, OsuOneSidedLatency, Program, Traffic, Workload, collective::TAG_BASE};

use crate::common::{experiment, job_of, one_switch, roce, run, tcp};
use crate::threads::assert_same_on_any_threads;

const LONG: u64 = 16 << 20;

/// A job of two ranks on two hosts, with so many connections.
fn of_two(params: SimParams, traffic: Traffic, connections: u32) -> Experiment {
    let job = Job { connections: PairConnections::InTurn(connections), ..job_of(traffic, Priority::new(0)) };
    Experiment { observes_ranks: true, ..experiment(one_switch(2), params, vec![job]) }
}

/// A long message and a short one behind it, of the same pair.
fn long_and_short() -> Traffic {
    of_tags([1, 2])
}

fn of_tags([long, short]: [u32; 2]) -> Traffic {
    let (sender, receiver) = (Rank::new(0), Rank::new(1));
    let sends = [(long, LONG), (short, 8)].map(|(tag, bytes)| Op::Isend { peer: receiver, tag, bytes });
    let receives = [(long, LONG), (short, 8)].map(|(tag, bytes)| Op::Irecv { peer: sender, tag, bytes });
    let program = |ops: [Op; 2]| Program::new([Block::unmeasured([ops.as_slice(), &[Op::WaitAll]].concat())]);
    Traffic::Ranks(vec![program(sends), program(receives)])
}

fn arrival(experiment: &Experiment, tag: u32) -> Time {
    let transfers = run(experiment, 1).observed.expect("ranks are observed").transfers();
    let row = transfers.iter().find(|row: &&TransferRow| row.tag == tag);
    row.expect("each message arrives").end
}

/// A rank that computes while the payload comes waits for it no longer, where its NIC matches by itself.
#[test]
fn a_nic_that_matches_fetches_a_payload_while_the_rank_computes() {
    let duration = Duration::from_us(2_000);
    let (sender, receiver) = (Rank::new(0), Rank::new(1));
    let send = Op::Isend { peer: receiver, tag: 1, bytes: LONG };
    let receive = Op::Irecv { peer: sender, tag: 1, bytes: LONG };
    let program = |ops: &[Op]| Program::new([Block::unmeasured([ops, &[Op::WaitAll]].concat())]);
    let end = |matched_by_nic| {
        let mut params = roce();
        params.host.mpi_roce.matched_by_nic = matched_by_nic;
        let ranks = vec![program(&[send]), program(&[receive, Op::Compute { duration }])];
        arrival(&of_two(params, Traffic::Ranks(ranks), 1), 1)
    };
    let wire = BitRate::from_gbps(100).serialization_time(Bytes::new(LONG));
    assert!(end(true) < Time::ZERO + duration + Duration::from_us(1), "{}", end(true));
    assert!(end(false) > Time::ZERO + duration + wire, "{}", end(false));
}

/// Eager messages of RoCE, in one piece and in fragments, and of TCP: the receiver reads a long one by rendezvous.
#[test]
fn a_short_message_waits_for_a_long_one_on_its_own_connection_only() {
    let mut eager = roce();
    eager.host.mpi_roce.eager_max = Bytes::new(LONG);
    let mut in_fragments = eager.clone();
    in_fragments.host.mpi_roce.fragment = Some(Bytes::new(8 << 10));
    let mut by_tcp = tcp();
    by_tcp.host.mpi_tcp.eager_max = Bytes::new(LONG);
    for params in [eager, in_fragments, by_tcp] {
        let ends = |connections| {
            let experiment = of_two(params.clone(), long_and_short(), connections);
            [1, 2].map(|tag| arrival(&experiment, tag))
        };
        let ([long, behind], [long_alone, beside]) = (ends(1), ends(2));
        assert!(behind > long, "{behind} {long}");
        assert!(beside < long_alone, "{beside} {long_alone}");
    }
}

/// Collectives of two communicators have tags with their contexts. In flow-level mode the short message takes its share
/// of the link; of one communicator it waits on any number of connections.
#[test]
fn a_message_waits_for_others_of_its_communicator_only() {
    let mut params = roce();
    params.host.mpi_roce.collective_eager_max = Some(Bytes::new(LONG));
    for fidelity in [Fidelity::Packet, Fidelity::Flow] {
        params.fidelity = fidelity;
        let is_behind = |contexts: [u32; 2]| {
            let tags = contexts.map(|context| TAG_BASE | context << 8 | 1);
            let mut experiment = of_two(params.clone(), of_tags(tags), 1);
            experiment.jobs[0].connections = PairConnections::PerCommunicator;
            let [long, short] = tags.map(|tag| arrival(&experiment, tag));
            short >= long
        };
        assert_eq!([[2, 2], [2, 4]].map(is_behind), [true, false], "{fidelity:?}");
    }
}

#[test]
fn messages_behind_much_longer_ones_of_their_connection_are_counted() {
    let behind = |connections| run(&of_two(roce(), eager_puts(), connections), 1).totals.messages_behind;
    assert_eq!([1, 2, 3].map(behind), [1, 0, 0]);
}

/// A rank that is a step ahead: its request waits for the payload that it follows, so that the peer answers it before
/// it sends a request of its own. Its payload, once granted, stands before its own answer, and so on: two ranks that
/// exchange over one connection send in turn, as Open MPI 4.1.4 does over TCP (61.6 MB/s each way at 1 Gb/s, and
/// 118.9 MB/s with `btl_tcp_links = 2`).
#[test]
fn an_exchange_over_one_connection_of_tcp_sends_one_way_at_a_time_once_a_rank_is_ahead() {
    let (in_turn, at_once) = (exchange_time(tcp(), 1), exchange_time(tcp(), 2));
    assert!((1.7..2.1).contains(&(in_turn / at_once)), "{in_turn} {at_once}");
}

/// Over RoCE a rank that is a step ahead asks for the peer's payload while it answers: requester and responder of a NIC
/// take turns, so that payloads of 4 MiB and headers of at most 7 % of them keep both directions of the link busy.
#[test]
fn an_exchange_over_one_connection_of_roce_uses_both_directions_at_once() {
    let payload = BitRate::from_gbps(1).serialization_time(Bytes::new(u64::from(STEPS) * BYTES)).as_ps() as f64;
    for fidelity in [Fidelity::Packet, Fidelity::Flow] {
        let slowdown = exchange_time(SimParams { fidelity, ..roce() }, 1) / payload;
        assert!((1.0..1.1).contains(&slowdown), "{fidelity:?} {slowdown}");
    }
}

/// Steps of [`exchange`], and bytes each way in one.
const STEPS: u32 = 8;
const BYTES: u64 = 4 << 20;

/// Time of the exchange between two hosts at 1 Gb/s on so many connections [ps].
fn exchange_time(params: SimParams, connections: u32) -> f64 {
    let slow = SingleSwitch { hosts: 2, rate: BitRate::from_gbps(1), ..SingleSwitch::default() };
    let job = Job { connections: PairConnections::InTurn(connections), ..job_of(exchange(STEPS), Priority::new(0)) };
    run(&experiment(slow.generate().unwrap(), params, vec![job]), 1).totals.end.as_ps() as f64
}

/// Steps in which both ranks send to each other; the first of the second rank begins when it has the first's request.
fn exchange(steps: u32) -> Traffic {
    let step = |peer| {
        let (receive, send) = (Op::Irecv { peer, tag: 1, bytes: BYTES }, Op::Isend { peer, tag: 1, bytes: BYTES });
        vec![receive, send, Op::WaitAll]
    };
    let [first, second] = [0, 1].map(Rank::new);
    let mut ahead = step(second);
    ahead.insert(2, Op::Isend { peer: second, tag: 2, bytes: 8 });
    let notice = vec![Op::Irecv { peer: first, tag: 2, bytes: 8 }, Op::WaitAll];
    let later = |peer, repeat| Block { repeat, ..Block::unmeasured(step(peer)) };
    Traffic::Ranks(vec![
        Program::new([Block::unmeasured(ahead), later(second, steps - 1)]),
        Program::new([Block::unmeasured(notice), later(first, steps)]),
    ])
}

/// A long WRITE and a short one.
fn eager_puts() -> Traffic {
    let put = |bytes| Op::OneSided { peer: Rank::new(1), access: etherweave_workload::Access::Put, bytes };
    let send = Op::Isend { peer: Rank::new(1), tag: 1, bytes: 8 };
    let receive = Op::Irecv { peer: Rank::new(0), tag: 1, bytes: 8 };
    let sender = Program::new([Block::unmeasured([put(LONG), send, Op::WaitAll])]);
    Traffic::Ranks(vec![sender, Program::new([Block::unmeasured([receive, Op::WaitAll])])])
}

/// Every message, eager or by rendezvous, finds its receive, in packets and in flow-level mode, by calls and one-sided.
#[test]
fn all_messages_arrive_on_several_connections_and_alike_on_any_number_of_threads() {
    let flow_level = SimParams { fidelity: Fidelity::Flow, ..roce() };
    let bytes = Bytes::new(1 << 16);
    let workloads = [
        Workload::OsuBibw(OsuBibw { bytes, iterations: 2, ..OsuBibw::default() }),
        Workload::OsuOneSidedLatency(OsuOneSidedLatency { bytes, iterations: 3, ..OsuOneSidedLatency::default() }),
    ];
    for params in [roce(), tcp(), flow_level] {
        for workload in &workloads {
            for connections in [3, 64] {
                let traffic = workload.traffic(1).unwrap();
                let report = assert_same_on_any_threads(&of_two(params.clone(), traffic, connections));
                let used = report.flows.iter().filter(|row| row.bytes > 0).count() as u32;
                assert!(used > connections.min(4), "{used} directions of {connections} connections carried data");
            }
        }
    }
}
