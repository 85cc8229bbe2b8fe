//! Several ranks on a host: shared memory between them, one NIC for all.

use etherweave_primitives::{BitRate, Bytes, Duration, HostId, Priority, Rank};
use etherweave_sim::params::{Binding, CoreParams, Noise, SharedMemoryParams, SimParams};
use etherweave_sim::{Experiment, Job, Report};
use etherweave_workload::collective::{Algorithm, Collective};
use etherweave_workload::{Block, Op, OsuCollective, OsuLatency, Program, Traffic, Workload};

use crate::common::{experiment, job_of, one_switch, roce, run, tcp};

/// `traffic` of ranks on these hosts of a switch with two.
fn on_hosts(params: SimParams, traffic: Traffic, hosts: &[u32]) -> Experiment {
    let hosts = hosts.iter().map(|&host| HostId::new(host)).collect();
    let job = Job { hosts, ..job_of(traffic, Priority::new(0)) };
    experiment(one_switch(2), params, vec![job])
}

/// The round trip of a ping-pong between two ranks of a host.
fn round_trip(memory: &SharedMemoryParams, params: SimParams, bytes: u64) -> (Duration, Report) {
    let latency = OsuLatency { bytes: Bytes::new(bytes), warm_up: 1, iterations: 1, ..Default::default() };
    let mut params = params;
    params.host.shared_memory = memory.clone();
    let report = run(&on_hosts(params, Workload::OsuLatency(latency).traffic(1).unwrap(), &[1, 1]), 1);
    (report.iterations[0].duration, report)
}

/// Post, copy in, latency, handling, copy out: twice. Posting a receive falls into the latency.
#[test]
fn an_eager_message_between_neighbours_takes_the_sum_of_its_parts() {
    let memory = SharedMemoryParams::default();
    let copies = (memory.eager_send_per_kib + memory.eager_receive_per_kib) * 4;
    let one_way = memory.send_overhead + memory.latency + memory.handling_overhead + copies;
    for params in [roce(), tcp()] {
        let (duration, report) = round_trip(&memory, params, 4 << 10);
        assert_eq!(duration, one_way * 2, "the transport between hosts does not matter");
        assert_eq!(report.totals.created, 0, "no packet goes to the NIC");
    }
}

/// The request, its handling, the copy by the receiver, which then posts the completion. The sender handles that while
/// the receiver posts its answer, and only then posts its receive.
#[test]
fn a_long_message_between_neighbours_is_copied_once() {
    let memory = SharedMemoryParams::default();
    let (duration, _) = round_trip(&memory, roce(), 64 << 10);
    let request = memory.send_overhead + memory.latency + memory.handling_overhead;
    let copy = memory.single_copy_overhead + memory.single_copy_per_kib * 64 + memory.send_overhead;
    let posting = roce().host.mpi_roce.receive_overhead;
    assert_eq!(duration, (request + copy + posting) * 2);
    let slow = SharedMemoryParams { eager_send_per_kib: Duration::from_us(1), ..memory.clone() };
    assert_eq!(round_trip(&slow, roce(), 64 << 10).0, duration);
    let eager = SharedMemoryParams { eager_max: Bytes::new(64 << 10), ..memory };
    assert_ne!(round_trip(&eager, roce(), 64 << 10).0, duration);
}

/// Each of the first `pairs` ranks sends `bytes` to the rank so many after it.
fn pairs(pairs: u32, bytes: u64) -> Traffic {
    let program = |op: Op| Program::new([Block::unmeasured(vec![op, Op::WaitAll])]);
    let sends = (0..pairs).map(|rank| program(Op::Isend { peer: Rank::new(rank + pairs), tag: 1, bytes }));
    let receives = (0..pairs).map(|rank| program(Op::Irecv { peer: Rank::new(rank), tag: 1, bytes }));
    Traffic::Ranks(sends.chain(receives).collect())
}

/// 8 MiB take 671 us at 100 Gb/s; those of four pairs follow each other on one wire.
#[test]
fn ranks_of_a_host_share_the_rate_of_its_nic() {
    let bytes = 8 << 20;
    let time = |count: u32| {
        let hosts: Vec<u32> = (0..2 * count).map(|rank| rank / count).collect();
        run(&on_hosts(roce(), pairs(count, bytes), &hosts), 1).totals.end.as_ps() as f64
    };
    let more = (time(4) - time(1)) / (3.0 * bytes as f64 * 80.0);
    assert!((1.0..1.03).contains(&more), "headers take 2 %: {more}");
}

fn iteration(ops: &[Op]) -> Program {
    let marked = [&[Op::IterationStart], ops, &[Op::IterationEnd]].concat();
    Program::new([Block::measured(marked, 1)])
}

const COMPUTE: Duration = Duration::from_us(1_000);

/// Ranks of one core take turns.
#[test]
fn two_ranks_of_a_core_compute_one_after_the_other() {
    let times = |cores: [u32; 2]| {
        let mut params = roce();
        params.host.cores = Some(CoreParams { sockets: 1, per_socket: 2 });
        let program = iteration(&[Op::Compute { duration: COMPUTE }]);
        let mut experiment = on_hosts(params, Traffic::Ranks(vec![program; 2]), &[0, 0]);
        experiment.jobs[0].binding = Binding::Listed(cores.into());
        run(&experiment, 1).iterations.iter().map(|row| row.duration).collect::<Vec<_>>()
    };
    assert_eq!(times([0, 1]), [COMPUTE, COMPUTE]);
    assert_eq!(times([0, 0]), [COMPUTE, COMPUTE * 2]);
}

/// Jobs bind their ranks from core 0 on, and share the cores that both have.
#[test]
fn two_jobs_of_a_host_share_its_cores() {
    let times = |second: u32| {
        let mut params = roce();
        params.host.cores = Some(CoreParams { sockets: 1, per_socket: 2 });
        let program = iteration(&[Op::Compute { duration: COMPUTE }]);
        let mut both = on_hosts(params, Traffic::Ranks(vec![program; 1]), &[0]);
        both.jobs.push(Job { name: "other".into(), binding: Binding::Listed(vec![second]), ..both.jobs[0].clone() });
        run(&both, 1).iterations.iter().map(|row| row.duration).collect::<Vec<_>>()
    };
    assert_eq!(times(0), [COMPUTE, COMPUTE * 2]);
    assert_eq!(times(1), [COMPUTE, COMPUTE]);
}

/// 8 MiB take 671 us at 100 Gb/s; those of both jobs follow each other on one wire.
#[test]
fn two_jobs_of_a_host_share_the_rate_of_its_nic() {
    let bytes = 8 << 20;
    let end = |jobs: usize| {
        let mut params = roce();
        // Packets of two connections in turn would make the receiving NIC slower than the wire.
        params.nic.context_switch = Duration::ZERO;
        let mut all = on_hosts(params, pairs(1, bytes), &[0, 1]);
        all.jobs = vec![all.jobs[0].clone(); jobs];
        run(&all, 1).totals.end.as_ps() as f64
    };
    let more = (end(2) - end(1)) / (bytes as f64 * 80.0);
    assert!((1.0..1.03).contains(&more), "headers take 2 %: {more}");
}

/// 100 ns every 10 us are 1 %; that of 1,000 interruptions has a standard deviation of sqrt(2 / 1000).
#[test]
fn the_operating_system_takes_its_share_from_computation() {
    let times = |seed: u64, parts: u32, noise: Option<Noise>| {
        let mut params = SimParams { seed, ..roce() };
        params.host.noise = noise;
        let compute = Op::Compute { duration: Duration::from_us(10_000 / u64::from(parts)) };
        let program = iteration(&vec![compute; parts as usize]);
        let report = run(&on_hosts(params, Traffic::Ranks(vec![program; 2]), &[0, 1]), 1);
        report.iterations.iter().map(|row| row.duration).collect::<Vec<_>>()
    };
    let noise = Some(Noise { every: Duration::from_us(10), duration: Duration::from_ns(100) });
    assert_eq!(times(1, 1, None), [Duration::from_us(10_000); 2]);
    for parts in [1, 1_000] {
        let durations = times(1, parts, noise);
        let shares = durations.iter().map(|time| time.as_ps() as f64 / 1e10 - 1.0);
        assert!(shares.clone().all(|share| (0.008..0.012).contains(&share)), "{durations:?}");
        assert_ne!(durations[0], durations[1], "every rank draws its own");
        assert_eq!(durations, times(1, parts, noise));
        assert_ne!(durations, times(2, parts, noise));
    }
}

/// The only receive queue interrupts core 0. The rank there computes; what another rank of the host receives takes it a
/// frame and a batch. On cores of their own, as without `cores`, nothing does.
#[test]
fn the_interrupt_side_takes_time_from_the_rank_of_its_core() {
    let time = |cores: Option<CoreParams>, computing: u32| {
        let mut params = tcp();
        params.host.receive.queues = 1;
        params.host.cores = cores;
        let compute = iteration(&[Op::Compute { duration: COMPUTE }]);
        let receive = iteration(&[Op::Irecv { peer: Rank::new(2), tag: 1, bytes: 8 }, Op::WaitAll]);
        let send = iteration(&[Op::Isend { peer: Rank::new(1), tag: 1, bytes: 8 }, Op::WaitAll]);
        let mut experiment = on_hosts(params, Traffic::Ranks(vec![compute, receive, send]), &[0, 0, 1]);
        experiment.jobs[0].binding = Binding::Listed(vec![computing, 1]);
        run(&experiment, 1).iterations[0].duration
    };
    let cores = || Some(CoreParams { sockets: 1, per_socket: 3 });
    let cpu = tcp().host.cpu;
    assert_eq!(time(cores(), 0), COMPUTE + cpu.receive_frame + cpu.receive_batch);
    assert_eq!(time(cores(), 2), COMPUTE);
    assert_eq!(time(None, 0), COMPUTE);
}

/// Four ranks of a host copy 4 MiB each from four others at once: alone a copy takes 0.36 ms, all four at 40 Gb/s 3.36
/// ms.
#[test]
fn ranks_of_a_host_share_the_rate_of_its_memory() {
    let bytes = 4 << 20;
    let time = |count: u32, rate: Option<BitRate>, cached_max: u64| {
        let mut params = roce();
        (params.host.memory_rate, params.host.cached_max) = (rate, Bytes::new(cached_max));
        let Traffic::Ranks(programs) = pairs(count, bytes) else { unreachable!() };
        let timed = programs.iter().map(|program| iteration(&program.blocks[0].ops)).collect();
        let report = run(&on_hosts(params, Traffic::Ranks(timed), &vec![0; 2 * count as usize]), 1);
        report.iterations[count as usize..].iter().map(|row| row.duration).max().unwrap()
    };
    let rate = BitRate::from_gbps(40);
    let SharedMemoryParams { send_overhead, latency, handling_overhead, .. } = SharedMemoryParams::default();
    let request = send_overhead + latency + handling_overhead;
    assert_eq!(time(4, Some(rate), 0), request + rate.serialization_time(Bytes::new(bytes)) * 4);
    assert_eq!(time(4, None, 0), time(1, None, 0));
    assert_eq!(time(1, Some(BitRate::from_gbps(400)), 0), time(1, None, 0), "a core alone is slower than the memory");
    assert_eq!(time(4, Some(rate), bytes), time(4, None, 0), "caches serve these copies");
}

/// A rank adds up what others sent it: of an all-reduce of two ranks by recursive doubling, all of the vector once.
/// 100 ns for each KiB, or 40 ns where three vectors fit the rank's cache.
#[test]
fn what_a_collective_adds_up_takes_time() {
    let time = |reduce_ns, cache| {
        let mut params = roce();
        params.host.mpi_roce.reduce_per_kib = Duration::from_ns(reduce_ns);
        params.host.mpi_roce.reduce_cached_per_kib = Some(Duration::from_ns(40));
        params.host.shared_memory.cache = Bytes::new(cache);
        let operation = Collective::Allreduce { bytes: Bytes::new(4 << 10) };
        let workload = OsuCollective { ranks: 2, operation, warm_up: 0, iterations: 1, ..Default::default() };
        let traffic = Workload::OsuCollective(workload).traffic(1).unwrap();
        run(&on_hosts(params, traffic, &[0, 1]), 1).iterations[0].duration
    };
    let none = time(0, 12 << 10);
    assert_eq!(time(100, (12 << 10) - 1), none + Duration::from_ns(400));
    assert_eq!(time(100, 12 << 10), none + Duration::from_ns(160));
}

/// An all-reduce of 4 KiB copies the vector to its result, 100 ns for each KiB, and takes a temporary buffer as long.
/// The kernel maps those of `temporary_min` or more, 50 ns for each KiB. A ring of two has twice half of it.
#[test]
fn buffers_of_an_allreduce_take_time() {
    let time = |self_ns, temporary_ns, temporary_min, algorithm| {
        let mut params = roce();
        params.host.mpi_roce.self_per_kib = Duration::from_ns(self_ns);
        params.host.mpi_roce.temporary_per_kib = Duration::from_ns(temporary_ns);
        params.host.mpi_roce.temporary_min = Bytes::new(temporary_min);
        let operation = Collective::Allreduce { bytes: Bytes::new(4 << 10) };
        let workload =
            OsuCollective { ranks: 2, operation, algorithm, warm_up: 0, iterations: 1, ..Default::default() };
        let traffic = Workload::OsuCollective(workload).traffic(1).unwrap();
        run(&on_hosts(params, traffic, &[0, 1]), 1).iterations[0].duration
    };
    for algorithm in [None, Some(Algorithm::Ring)] {
        let none = time(0, 0, 0, algorithm);
        assert_eq!(time(100, 0, 0, algorithm), none + Duration::from_ns(400));
        assert_eq!(time(0, 50, 4 << 10, algorithm), none + Duration::from_ns(200));
        assert_eq!(time(0, 50, (4 << 10) + 1, algorithm), none);
    }
}

/// Each look of a rank asks for the state of its connections to the other host, two of them: the rank beside it has
/// none. 100 looks of 400 ns and 2 x 100 ns.
#[test]
fn a_look_for_messages_takes_longer_with_every_connection() {
    let time = |poll, poll_per_connection| {
        let mut params = tcp();
        (params.host.mpi_tcp.poll, params.host.mpi_tcp.poll_per_connection) = (poll, poll_per_connection);
        let ranks = 0..4;
        let program = |rank: u32| {
            let peers = || ranks.clone().filter(|&peer| peer != rank).map(Rank::new);
            let receives = peers().map(|peer| Op::Irecv { peer, tag: 1, bytes: 8 });
            let sends = peers().map(|peer| Op::Isend { peer, tag: 1, bytes: 8 });
            let exchange: Vec<Op> = receives.chain(sends).chain([Op::WaitAll]).collect();
            let looks = vec![Op::IterationStart, Op::Poll { times: 100 }, Op::IterationEnd];
            Program::new([Block::unmeasured(exchange), Block::measured(looks, 1)])
        };
        let programs = ranks.clone().map(program).collect();
        run(&on_hosts(params, Traffic::Ranks(programs), &[0, 0, 1, 1]), 1).iterations[0].duration
    };
    let (poll, per_connection) = (Duration::from_ns(400), Duration::from_ns(100));
    assert_eq!(time(Duration::ZERO, Duration::ZERO), Duration::ZERO);
    assert_eq!(time(poll, Duration::ZERO), poll * 100);
    assert_eq!(time(poll, per_connection), (poll + per_connection * 2) * 100);
}

/// Ranks 0 and 1 share a cache, ranks 2 and 3 the next.
#[test]
fn messages_between_core_complexes_take_longer() {
    let time = |other: u32| {
        let far_latency = Some(Duration::from_ns(280));
        let memory = SharedMemoryParams { complex: Some(2), far_latency, ..SharedMemoryParams::default() };
        let mut params = roce();
        params.host.shared_memory = memory;
        let send = |peer| Block::unmeasured(vec![Op::Isend { peer: Rank::new(peer), tag: 1, bytes: 8 }, Op::WaitAll]);
        let receive = vec![Op::Irecv { peer: Rank::new(0), tag: 1, bytes: 8 }, Op::WaitAll];
        let mut programs = vec![Program::default(); 4];
        programs[0] = Program::new([send(other)]);
        programs[other as usize] = Program::new([Block::unmeasured(receive)]);
        run(&on_hosts(params, Traffic::Ranks(programs), &[0; 4]), 1).totals.end
    };
    assert_eq!(time(2), time(1) + Duration::from_ns(200));
    assert_eq!(time(3), time(2));
}

/// Order, counts and bytes between neighbours and others at once, on any number of threads.
#[test]
fn an_all_to_all_over_both_paths_ends_the_same_on_any_number_of_threads() {
    let workload = Workload::AllToAll(etherweave_workload::AllToAll { ranks: 8, ..Default::default() });
    let traffic = workload.traffic(1).unwrap();
    for params in [roce(), tcp()] {
        let experiment = on_hosts(params, traffic.clone(), &[0, 1, 0, 1, 0, 1, 0, 1]);
        let (one, two) = (run(&experiment, 1), run(&experiment, 2));
        assert_eq!((one.fingerprint, one.iterations), (two.fingerprint, two.iterations));
    }
}
