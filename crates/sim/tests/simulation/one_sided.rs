//! Put, get, accumulate and fetch-and-op: what each takes, part by part, and who takes part.

use etherweave_primitives::{BitRate, Bytes, Duration, HostId, Priority, Rank};
use etherweave_sim::params::{Fidelity, RoceVersion, SimParams};
use etherweave_sim::{Job, Report, frame::size::RoceSizes};
use etherweave_workload::{Access, Block, Op, OsuOneSidedBw, OsuOneSidedLatency, Program, Traffic, Workload};

use crate::common::{experiment, job, job_of, one_switch, roce, run, tcp};

const EVERY: [Access; 6] =
    [Access::Put, Access::Get, Access::Accumulate, Access::FetchAndOp, Access::GetAccumulate, Access::CompareAndSwap];

/// NICs that are never the bottleneck.
fn ideal() -> SimParams {
    let mut params = roce();
    params.nic.drain_rate = BitRate::from_gbps(1_000);
    params.nic.context_switch = Duration::ZERO;
    params
}

fn latency(params: SimParams, access: Access, bytes: u64) -> Report {
    let latency = OsuOneSidedLatency { access, bytes: Bytes::new(bytes), warm_up: 2, iterations: 3 };
    run(&experiment(one_switch(2), params, vec![job(&Workload::OsuOneSidedLatency(latency))]), 1)
}

fn time(params: SimParams, access: Access, bytes: u64) -> Duration {
    latency(params, access, bytes).iterations[1].duration
}

/// A frame of `wire` bytes between two hosts of a switch that cuts through, at 100 Gb/s on 10 m of cable.
fn trip(params: &SimParams, wire: u32) -> Duration {
    let at_rate = |bytes: u64| Duration::from_ps(80 * bytes);
    let switch = params.switch.latency + at_rate(params.switch.header.get().min(wire.into()));
    let nics = params.nic.transmit_latency + params.nic.receive_latency;
    nics + switch + Duration::from_ns(50) * 2 + at_rate(wire.into())
}

/// Post, request, answer, completion: a put is answered by an acknowledgement, a get of a packet by that packet behind
/// an acknowledgement. What an accumulate does are four of these, of which it posts only the first.
#[test]
fn operations_over_roce_take_the_sum_of_their_parts() {
    let (params, sizes) = (ideal(), RoceSizes::new(RoceVersion::V2, true));
    let mpi = &params.host.mpi_roce;
    let round = |there: u32, back: u32| trip(&params, there) + trip(&params, back) + mpi.handling_overhead;
    let behind = |answer: u32| trip(&params, answer) + Duration::from_ps(80 * u64::from(sizes.acknowledgement()));
    let fetch = |there: u32, back: u32| trip(&params, there) + behind(back) + mpi.handling_overhead;
    for bytes in [8, 1_000, 4_096] {
        let put = round(bytes + sizes.first_overhead(), sizes.acknowledgement());
        let get = fetch(16 + sizes.middle_overhead(), bytes + sizes.read_edge_overhead());
        let word = fetch(28 + sizes.middle_overhead(), 8 + sizes.read_edge_overhead());
        let took = |access| time(ideal(), access, bytes.into()) - mpi.send_overhead;
        assert_eq!([took(Access::Put), took(Access::Get)], [put, get], "{bytes} B");
        let updated = word * 2 + get + put;
        assert_eq!([took(Access::Accumulate), took(Access::GetAccumulate)], [updated; 2], "{bytes} B");
        if bytes == 8 {
            assert_eq!([took(Access::FetchAndOp), took(Access::CompareAndSwap)], [word; 2]);
        }
    }
}

/// Returns the time of an access of rank 0 to rank 1, which computes for a millisecond.
fn time_beside_a_busy_target(params: SimParams, access: Access) -> Duration {
    let op = Op::OneSided { access, peer: Rank::new(1), bytes: 8 };
    let origin = Program::new([Block::measured(vec![Op::IterationStart, op, Op::WaitAll, Op::IterationEnd], 1)]);
    let target = Program::new([Block::unmeasured(vec![Op::Compute { duration: Duration::from_ms(1) }])]);
    let job = job_of(Traffic::Ranks(vec![origin, target]), Priority::new(0));
    run(&experiment(one_switch(2), params, vec![job]), 1).iterations[0].duration
}

/// RoCE needs no processor of the target; over TCP its library answers when the rank waits, if only for the others'
/// end.
#[test]
fn a_target_that_computes_delays_operations_over_tcp_alone() {
    for access in EVERY {
        assert!(time_beside_a_busy_target(roce(), access) < Duration::from_us(20), "{access:?}");
        let over_tcp = time_beside_a_busy_target(tcp(), access);
        assert!((Duration::from_ms(1)..Duration::from_us(1_200)).contains(&over_tcp), "{access:?}: {over_tcp}");
    }
}

/// A window of 64 operations of 64 KiB at line rate less headers: 4,096 of 4,162 B and more.
#[test]
fn windows_of_puts_and_gets_fill_the_link() {
    for access in [Access::Put, Access::Get] {
        let bandwidth = OsuOneSidedBw {
            access,
            bytes: Bytes::new(64 << 10),
            window: 64,
            warm_up: 1,
            iterations: 3,
            bidirectional: false,
        };
        let report = run(&experiment(one_switch(2), ideal(), vec![job(&Workload::OsuOneSidedBw(bandwidth))]), 1);
        let ps = report.iterations[2].duration.as_ps() as f64;
        let gbps = (64.0 * 65_536.0 * 8.0) / ps * 1e3;
        assert!((97.0..98.5).contains(&gbps), "{access:?}: {gbps}");
    }
}

/// The origin copies by itself: there and back, of an accumulate.
#[test]
fn neighbours_reach_into_each_other_by_a_copy() {
    let params = roce();
    let memory = params.host.shared_memory.clone();
    let calls = memory.send_overhead + memory.single_copy_overhead;
    for (access, copies) in [(Access::Put, 64), (Access::Get, 64), (Access::Accumulate, 128)] {
        let latency = OsuOneSidedLatency { access, bytes: Bytes::new(64 << 10), warm_up: 0, iterations: 1 };
        let traffic = Workload::OsuOneSidedLatency(latency).traffic(1).unwrap();
        let job = Job { hosts: vec![HostId::new(0); 2], ..job_of(traffic, Priority::new(0)) };
        let report = run(&experiment(one_switch(2), params.clone(), vec![job]), 1);
        assert_eq!(report.iterations[0].duration, calls + memory.single_copy_per_kib * copies, "{access:?}");
        assert_eq!(report.totals.created, 0, "no packet goes to the NIC");
    }
}

/// Whole messages at the rates of links take as long as packets, where nothing else is in flight.
#[test]
fn flow_level_mode_takes_as_long_where_nothing_else_is_in_flight() {
    for access in EVERY {
        let mut params = ideal();
        params.fidelity = Fidelity::Flow;
        let (flows, packets) = (time(params, access, 8), time(ideal(), access, 8));
        let ratio = flows.as_ps() as f64 / packets.as_ps() as f64;
        assert!((0.95..1.05).contains(&ratio), "{access:?}: {ratio}");
    }
}

/// Four ranks, each of which puts to and gets from all others at once.
#[test]
fn results_do_not_depend_on_threads() {
    for params in [roce(), tcp()] {
        let program = |rank: u32| {
            let peers = (0..4).filter(|&peer| peer != rank).map(Rank::new);
            let both = peers.flat_map(|peer| EVERY.map(|access| Op::OneSided { access, peer, bytes: 8 }));
            let ops = [Op::IterationStart].into_iter().chain(both).chain([Op::WaitAll, Op::IterationEnd]);
            Program::new([Block::measured(ops.collect::<Vec<_>>(), 5)])
        };
        let job = job_of(Traffic::Ranks((0..4).map(program).collect()), Priority::new(0));
        let experiment = experiment(one_switch(4), params, vec![job]);
        let [one, three] = [1, 3].map(|threads| run(&experiment, threads));
        assert_eq!(one.iterations, three.iterations);
        assert_eq!((one.iterations.len(), one.totals.dropped), (20, 0));
    }
}
