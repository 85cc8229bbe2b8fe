//! Input-queued switches: latencies, head-of-line blocking, orders of the crossbar, deadlock, rejected keys.

use etherweave_primitives::{Bytes, Duration, Length, Priority, Purpose, Stream, Time};
use etherweave_sim::params::{
    Arbiter, Credits, EcnMarking, FlowControl, Forwarding, MarkAt, Pfc, RoceVersion, SimParams, SwitchModel,
    SwitchParams, Threshold,
};
use etherweave_sim::{Report, Simulation, frame::size::RoceSizes};
use etherweave_topology::{Custom, Family, FatTree, Topology};
use etherweave_workload::StreamSpec;

use crate::common::{experiment, job, one_switch, roce, run, run_for, tcp};
use crate::credits::{BYTE, MTU, exchange, frames, ideal, largest, line, stream, streams, with_credits};
use crate::threads::assert_same_on_any_threads;

const ARBITERS: [Arbiter; 3] = [Arbiter::Age, Arbiter::RoundRobin, Arbiter::LeastRecentlyServed];

fn input_queued(mut params: SimParams, speed_up: u32, output_queue: u64) -> SimParams {
    let output_queue = Bytes::new(output_queue);
    params.switch = SwitchParams { model: SwitchModel::InputQueued, speed_up, output_queue, ..params.switch };
    params
}

/// When a single message has arrived.
fn end(topology: Topology, params: SimParams, bytes: u64) -> Time {
    let hosts = topology.hosts() as u32;
    run(&streams(vec![stream(0, 1, bytes, Some(1))], hosts, topology, params), 1).streams[0].end
}

#[test]
fn a_packet_alone_takes_as_long_through_both_models() {
    let (cable, sizes) = (40, RoceSizes::new(RoceVersion::V2, true));
    for (forwarding, bytes) in
        [(Forwarding::CutThrough, MTU), (Forwarding::CutThrough, 4), (Forwarding::StoreAndForward, 700)]
    {
        for (speed_up, output_queue) in [(1, 0), (2, 40_000), (16, 10_000)] {
            let mut params = with_credits(ideal(), Credits::default());
            params.switch.forwarding = forwarding;
            // Two switches, three links: the header, or all of it, on each of the first two, and all of it on the last.
            let wire = bytes + u64::from(sizes.first_overhead());
            let before = match forwarding {
                Forwarding::CutThrough => params.switch.header.get(),
                Forwarding::StoreAndForward => wire,
            };
            let fixed = params.host.mpi_roce.send_overhead
                + params.nic.transmit_latency
                + params.switch.latency * 2
                + params.nic.receive_latency
                + Length::from_m(cable + 2).propagation_time();
            let expected = Time::ZERO + fixed + Duration::from_ps((2 * before + wire) * BYTE);
            assert_eq!(end(line(cable), params.clone(), bytes), expected, "{forwarding:?}, {bytes} B");
            let time = end(line(cable), input_queued(params, speed_up, output_queue), bytes);
            assert_eq!(time, expected, "{forwarding:?}, {bytes} B, speed-up {speed_up}");
        }
    }
}

#[test]
fn a_faster_output_waits_for_the_tail_in_both_models() {
    let links = "h0,s0,25Gb/s,1m\nh1,s1,100Gb/s,1m\ns0,s1,100Gb/s,7m\n".to_owned();
    let topology = Custom { hosts: 2, links, ..Custom::default() }.generate().unwrap();
    let params = with_credits(ideal(), Credits::default());
    let expected = end(topology.clone(), params.clone(), MTU);
    assert_eq!(end(topology, input_queued(params, 2, 40_000), MTU), expected);
}

/// The share of time for which `ports` outputs of one switch send, each fed by as many inputs that are never empty,
/// with packets of one length for random outputs.
fn saturation(ports: u32, params: &SimParams) -> f64 {
    let slots = 3_000;
    let spec = |number: u32| {
        let mut random = Stream::new(7, Purpose::Traffic, number.into());
        let (src, dst) = (number % ports, ports + random.below(ports.into()) as u32);
        StreamSpec { stream: number, ..stream(src, dst, MTU, Some(1)) }
    };
    let list = (0..ports * slots).map(spec).collect();
    let span = Duration::from_ps(largest() * BYTE * u64::from(slots));
    let params = with_credits(params.clone(), frames(16));
    let report = run_for(&streams(list, 2 * ports, one_switch(2 * ports), params), span);
    let is_sink = |peer: &str| peer.strip_prefix("host").is_some_and(|host| host.parse::<u32>().unwrap() >= ports);
    let rows = report.ports.iter().filter(|row| row.node == "switch0" && is_sink(&row.peer));
    let bytes: u64 = rows.map(|row| row.tx_bytes).sum();
    Duration::from_ps(bytes * BYTE).as_ps() as f64 / span.as_ps() as f64 / f64::from(ports)
}

/// M. Karol, M. Hluchyj, S. Morgan, Input versus output queueing on a space-division packet switch, IEEE Transactions
/// on Communications 35(12), 1987, table I; 2 - sqrt 2 = 0.5858 for infinitely many ports.
#[test]
fn one_queue_an_input_carries_what_karol_hluchyj_and_morgan_computed() {
    let params = input_queued(ideal(), 1, 0);
    for (ports, expected) in [(2, 0.75), (3, 0.6825), (4, 0.6553), (8, 0.6184)] {
        let throughput = saturation(ports, &params);
        println!("{ports} ports: {throughput:.4}, expected {expected}");
        assert!((throughput - expected).abs() < 0.01, "{ports} ports: {throughput}, expected {expected}");
    }
    for arbiter in ARBITERS {
        let mut params = params.clone();
        params.switch.arbiter = arbiter;
        let throughput = saturation(32, &params);
        println!("32 ports, {arbiter:?}: {throughput:.4}");
        assert!((0.5858 - 0.005..0.605).contains(&throughput), "{arbiter:?}: {throughput}");
    }
}

#[test]
fn speed_up_and_queues_at_outputs_take_the_blocking_away() {
    let [one, two, shared] = [input_queued(ideal(), 1, 40_000), input_queued(ideal(), 2, 40_000), ideal()]
        .map(|params| saturation(8, &params));
    println!("speed-up 1: {one:.4}, 2: {two:.4}, shared buffer: {shared:.4}");
    assert!(one < 0.65 && two > 0.9 && shared > two - 0.05, "{one}, {two}, {shared}");
}

#[test]
fn inputs_share_an_output_equally_in_every_order() {
    for arbiter in ARBITERS {
        let mut params = input_queued(with_credits(ideal(), frames(6)), 1, 0);
        params.switch.arbiter = arbiter;
        let all = (1..6).map(|source| stream(source, 0, 1 << 20, None)).collect();
        let report = run_for(&streams(all, 6, one_switch(6), params), Duration::from_ms(1));
        let bytes: Vec<u64> = report.streams.iter().map(|row| row.bytes).collect();
        let (least, most) = (bytes.iter().min().unwrap(), bytes.iter().max().unwrap());
        assert!(most - least <= 3 * MTU, "{arbiter:?}: {bytes:?}");
    }
}

#[test]
fn a_priority_passes_another_that_waits_for_credits() {
    // Host 0 sends to host 1, which drains slowly, and to host 2: with one priority it is blocked behind the first.
    let free = |priorities: u8| {
        let priorities: Vec<Priority> = (0..priorities).map(Priority::new).collect();
        let credits = Credits { priorities: priorities.clone(), ..frames(4) };
        let mut params = input_queued(with_credits(ideal(), credits), 2, 0);
        params.ets.weights = [50, 50, 0, 0, 0, 0, 0, 0];
        let slow = (2..6).map(|source| stream(source, 1, 1 << 20, None)).chain([stream(0, 1, 1 << 20, None)]);
        let slow = streams(slow.collect(), 7, one_switch(7), params);
        let mut fast = streams(vec![stream(0, 6, 1 << 20, None)], 7, one_switch(7), slow.params.clone());
        fast.jobs[0].priority = priorities[priorities.len() - 1];
        let jobs = vec![slow.jobs[0].clone(), fast.jobs[0].clone()];
        let report = run_for(&experiment(one_switch(7), slow.params, jobs), Duration::from_us(500));
        let row = report.streams.iter().find(|row| row.destination == 6).unwrap();
        row.bytes as f64 * 8.0 / 500e-6 / 1e9
    };
    let (behind, beside) = (free(1), free(2));
    println!("{behind:.1} Gb/s behind, {beside:.1} Gb/s beside");
    // A fifth of the rate of host 1 behind, what that leaves of the own link beside.
    assert!(behind < 25.0 && beside > 70.0, "{behind}, {beside}");
}

/// How long first packets lack credits where long and short ones leave a switch by one link, which carries three of the
/// longest in a round trip: credits that come back are those of short ones, too.
fn wait_of_long_and_short(params: SimParams) -> Duration {
    let list = [MTU, 4, 700].map(|bytes| stream(0, 1, bytes, Some(50)));
    let list = list.into_iter().enumerate().map(|(number, spec)| StreamSpec { stream: number as u32, ..spec });
    let report = run(&streams(list.collect(), 2, line(1_000), with_credits(params, frames(3))), 1);
    let mut rows = report.ports.iter().filter(|row| row.node == "s0" && row.peer == "s1");
    rows.next().unwrap().credit_wait_duration
}

#[test]
fn a_packet_waits_until_it_has_all_its_credits_in_both_models() {
    let expected = wait_of_long_and_short(ideal());
    assert!(!expected.is_zero());
    assert_eq!(wait_of_long_and_short(input_queued(ideal(), 1, 0)), expected);
}

fn tree() -> Topology {
    FatTree { cores: 2, links_per_core: 1, ..FatTree::default() }.generate().unwrap()
}

#[test]
fn input_queued_switches_are_the_same_on_any_threads() {
    for arbiter in ARBITERS {
        let mut params = input_queued(with_credits(roce(), frames(2)), 2, 20_000);
        params.switch.arbiter = arbiter;
        let report = assert_same_on_any_threads(&experiment(tree(), params, vec![job(&exchange(96, 100_000))]));
        assert_eq!(report.totals.dropped, 0);
        assert!(report.ports.iter().any(|row| !row.credit_wait_duration.is_zero()));
    }
    let params = input_queued(with_credits(tcp(), Credits::default()), 1, 0);
    assert_same_on_any_threads(&experiment(tree(), params, vec![job(&exchange(96, 100_000))]));
}

#[test]
fn queues_of_ports_are_those_of_their_inputs() {
    let params = input_queued(with_credits(ideal(), frames(5)), 1, 0);
    let list = (1..4).map(|source| stream(source, 0, 60 * MTU, Some(1))).collect();
    let report: Report = run(&streams(list, 4, one_switch(4), params), 1);
    let most = |peer: &str| {
        let mut rows = report.ports.iter().filter(|row| row.node == "switch0" && row.peer == peer);
        rows.next().unwrap().occupancy_bytes_max
    };
    // Inputs hold up to five frames each; the output that all want has no queue.
    for source in ["host1", "host2", "host3"] {
        assert!((3 * MTU..=5 * largest()).contains(&most(source)), "{source}: {}", most(source));
    }
    assert!(most("host0") < MTU, "only acknowledgements come in there: {}", most("host0"));
}

#[test]
fn keys_that_do_not_go_together_are_rejected_by_name() {
    let rejected = |change: &dyn Fn(&mut SimParams)| {
        let mut params = input_queued(with_credits(roce(), Credits::default()), 2, 40_000);
        change(&mut params);
        let built = Simulation::build(&experiment(one_switch(4), params, vec![job(&exchange(4, 1))]), 1);
        built.err().map_or_else(String::new, |errors| errors.to_string())
    };
    assert_eq!(rejected(&|_| ()), "");
    let check = |change: &dyn Fn(&mut SimParams), start: &str| {
        let error = rejected(change);
        assert!(error.starts_with(start), "{error}");
    };
    check(
        &|params| params.flow_control = FlowControl::Pfc(Pfc::default()),
        "switch.model: input_queued with flow_control.pfc; expected input_queued with flow_control.credits",
    );
    check(&|params| params.flow_control = FlowControl::None {}, "switch.model: input_queued with flow_control.none");
    check(&|params| params.switch.buffer = Bytes::new(1 << 20), "switch.buffer: ");
    check(&|params| params.switch.reserve = Bytes::new(1 << 10), "switch.reserve: ");
    check(&|params| params.switch.ingress_threshold = Threshold::Alpha(1.0), "switch.ingress_threshold: ");
    check(&|params| params.switch.egress_threshold = Threshold::Alpha(1.0), "switch.egress_threshold: ");
    let ecn = EcnMarking {
        queue_min: Bytes::new(1),
        queue_max: Bytes::new(2),
        share_max: 1.0,
        mark_at: MarkAt::Dequeue,
        last_hop: true,
    };
    check(&|params| params.switch.ecn = Some(ecn), "switch.ecn: ");
    check(&|params| params.switch.output_queue = Bytes::new(100), "switch.output_queue: ");
    check(&|params| params.switch.speed_up = 0, "switch.speed_up: 0; expected 1 to 16");
    check(
        &|params| {
            let FlowControl::Credits(credits) = &mut params.flow_control else { unreachable!("they have credits") };
            credits.priorities = vec![Priority::new(3)];
        },
        "flow_control.credits.priorities: [3]; expected 0 too, of job.0: input_queued has no other queues",
    );
    let shared = |change: &dyn Fn(&mut SimParams), start: &str| {
        check(
            &|params| {
                *params = roce();
                change(params);
            },
            start,
        );
    };
    shared(&|params| params.switch.speed_up = 3, "switch.speed_up: ");
    shared(&|params| params.switch.output_queue = Bytes::ZERO, "switch.output_queue: ");
    shared(&|params| params.switch.arbiter = Arbiter::RoundRobin, "switch.arbiter: ");
}
