//! A bus between NIC and host memory that is slower than the link.

use etherweave_primitives::{Bytes, Duration, Priority, Rank};
use etherweave_sim::frame::size::RoceSizes;
use etherweave_sim::params::{
    ContextCache, DynamicConnections, Fidelity, Pcie, RoceParams, RoceVersion, SimParams, Transport,
};
use etherweave_workload::{Block, Incast, Op, OsuBw, OsuLatency, Program, StreamSpec, Traffic, Workload};

use crate::common::{experiment, job, job_of, one_message, one_switch, roce, run, run_for};

/// Payload of a packet [B].
const PAYLOAD: u32 = 4_096;

/// Gb/s on the wire from the switch to host 1, which takes an endless stream, and sends one where `is_duplex`, over a
/// link of 100 Gb/s and half of a bus for it.
fn received_gbps(is_duplex: bool) -> f64 {
    let transport = Transport::Roce(RoceParams { ack_every: 64, ..RoceParams::default() });
    let mut params = SimParams { transport, ..SimParams::default() };
    params.nic.pcie = Some(half_bus());
    params.nic.context_switch = Duration::ZERO;
    let stream = |src, dst| StreamSpec { outstanding: 8, messages: None, ..one_message(src, dst, 1 << 20) };
    let streams = if is_duplex { vec![stream(0, 1), stream(1, 0)] } else { vec![stream(0, 1)] };
    let job = job_of(Traffic::Streams(streams), Priority::new(0));
    let report = run_for(&experiment(one_switch(2), params, vec![job]), Duration::from_ms(2));
    assert_eq!(report.totals.dropped, 0);
    let received: u64 = report.ports.iter().filter(|row| row.peer == "host1").map(|row| row.tx_bytes).sum();
    received as f64 * 8.0 / 2e6
}

fn half_bus() -> Pcie {
    Pcie { width: 8, ..Pcie::default() }
}

/// Returns the rate that the bus leaves, when a packet of the wire costs it `bytes`.
fn rate_gbps(bytes: u32) -> f64 {
    let wire = PAYLOAD + RoceSizes::new(RoceVersion::V2, true).middle_overhead();
    half_bus().rate().as_bps() as f64 / 1e9 * f64::from(wire) / f64::from(bytes)
}

#[test]
fn a_narrow_bus_pauses_the_link_at_the_rate_of_its_transactions() {
    let (found, expected) = (received_gbps(false), rate_gbps(half_bus().write_bytes(PAYLOAD)));
    assert!((found / expected - 1.0).abs() < 0.01, "{found} against {expected} Gb/s");
}

/// Both ends send what both receive: each packet also costs the requests that read one.
#[test]
fn reading_what_is_sent_takes_from_what_is_received() {
    let bus = half_bus();
    let (found, expected) = (received_gbps(true), rate_gbps(bus.write_bytes(PAYLOAD) + bus.read_bytes(PAYLOAD)));
    assert!((found / expected - 1.0).abs() < 0.01, "{found} against {expected} Gb/s");
}

/// The round trip of a ping-pong [ps].
fn round_trip(bytes: u64, store_and_forward: bool) -> u64 {
    let mut params = SimParams::default();
    params.nic.pcie = Some(Pcie { store_and_forward, ..Pcie::default() });
    params.host.mpi_roce.eager_max = Bytes::new(1 << 20);
    let latency = OsuLatency { bytes: Bytes::new(bytes), warm_up: 1, iterations: 1, ..Default::default() };
    let report = run(&experiment(one_switch(2), params, vec![job(&Workload::OsuLatency(latency))]), 1);
    report.iterations[0].duration.as_ps()
}

/// The round trip of a ping-pong of `bytes` with such a bus, in packets or in flow-level mode.
fn with_bus(pcie: Pcie, bytes: u64, fidelity: Fidelity) -> Duration {
    let mut params = SimParams { fidelity, ..SimParams::default() };
    params.nic.pcie = Some(pcie);
    let latency = OsuLatency { bytes: Bytes::new(bytes), warm_up: 1, iterations: 1, ..Default::default() };
    run(&experiment(one_switch(2), params, vec![job(&Workload::OsuLatency(latency))]), 1).iterations[0].duration
}

/// A message of 228 B with its envelope of 8 B is as long as a work request can hold, and goes with the doorbell.
/// Another of 229 B waits until the NIC has read it, in either direction. Of a rendezvous, the response is read.
#[test]
fn a_nic_reads_what_does_not_go_with_the_doorbell() {
    let read_latency = Duration::from_ns(500);
    let reading = Pcie { inline_max: Bytes::new(236), read_latency, ..Pcie::default() };
    for fidelity in [Fidelity::Packet, Fidelity::Flow] {
        let added = |bytes| with_bus(reading.clone(), bytes, fidelity) - with_bus(Pcie::default(), bytes, fidelity);
        assert_eq!([228, 229].map(added), [Duration::ZERO, read_latency * 2], "{fidelity:?}");
        // A rank posts its next receive while the response is read.
        let posting = SimParams::default().host.mpi_roce.receive_overhead * 2;
        assert!((read_latency * 2 - posting..=read_latency * 2).contains(&added(64 << 10)), "{fidelity:?}");
    }
}

/// Messages behind the first are read while it is sent: 64 of them take one read longer.
#[test]
fn reads_of_messages_that_follow_each_other_overlap() {
    let time = |read_latency| {
        let mut params = SimParams::default();
        params.nic.pcie = Some(Pcie { inline_max: Bytes::new(236), read_latency, ..Pcie::default() });
        let window = OsuBw { bytes: Bytes::new(4 << 10), warm_up: 1, iterations: 1, ..Default::default() };
        run(&experiment(one_switch(2), params, vec![job(&Workload::OsuBw(window))]), 1).iterations[0].duration
    };
    let read_latency = Duration::from_ns(500);
    let added = time(read_latency) - time(Duration::ZERO);
    assert!((read_latency..read_latency * 2).contains(&added), "{added}");
}

/// The first packet of a message is read, and the last one written, before it goes on, in each direction: of a message
/// of a packet the same one. The envelope of MPI travels in it.
#[test]
fn a_nic_that_holds_packets_adds_the_bus_twice_in_each_direction() {
    let envelope = SimParams::default().host.mpi_roce.header.get();
    let bus = Pcie::default();
    let of = |bytes: u64| bus.rate().serialization_time(Bytes::new(bus.write_bytes(bytes as u32).into())).as_ps();
    for bytes in [8, 1_000, 4_000] {
        let added = round_trip(bytes, true) - round_trip(bytes, false);
        let expected = 4 * of(bytes + envelope);
        // The engine rounds the time of a byte up to 2^-10 ps.
        assert!(added.abs_diff(expected) <= expected / 1_000, "{bytes} B: {added} against {expected} ps");
    }
    let many = round_trip(40_000, true) - round_trip(40_000, false);
    assert!(many < 6 * of(u64::from(PAYLOAD)), "packets between the first and the last overlap: {many} ps");
}

/// Packets of two connections in turn: where the NIC holds one state, each packet of the other waits for a read.
#[test]
fn a_connection_whose_state_is_elsewhere_takes_a_read() {
    let packets_per_second = |entries| {
        let mut params = roce();
        let miss = Duration::from_us(1);
        params.nic.context_cache = Some(ContextCache { entries, miss });
        let incast = Incast { sources: 2, message: Bytes::new(4_096), ..Incast::default() };
        let report =
            run_for(&experiment(one_switch(3), params, vec![job(&Workload::Incast(incast))]), Duration::from_ms(5));
        report.streams.iter().map(|row| row.bytes).sum::<u64>() as f64 / 4_096.0 / report.totals.end.as_ns_f64()
    };
    let (held, missed) = (packets_per_second(1_000), packets_per_second(1));
    let nic = SimParams::default().nic;
    let drain = nic.drain_rate.serialization_time(Bytes::new(4_096)) + nic.context_switch;
    assert!(held > 1.5 * missed && missed * (drain.as_ns_f64() + 1_000.0) > 0.9, "{held} {missed} a ns");
}

/// A rank sends to others at once, which answer. Destinations share its initiators in turn, each of which connects, and
/// so does each answer. Where nobody else took it, an initiator is still connected in the second round.
#[test]
fn destinations_connect_one_behind_the_other_where_initiators_are_few() {
    let time = |initiators, peers: u32, rounds, connect| {
        let mut params = roce();
        params.nic.dynamic_connections = Some(DynamicConnections { initiators, connect });
        let [answers, sends] = [
            |peer| Op::Irecv { peer: Rank::new(peer), tag: 1, bytes: 8 },
            |peer| Op::Isend { peer: Rank::new(peer), tag: 1, bytes: 8 },
        ];
        let round: Vec<Op> = (1..=peers).flat_map(|peer| [answers(peer), sends(peer)]).chain([Op::WaitAll]).collect();
        let ops = [vec![Op::IterationStart], round.repeat(rounds), vec![Op::IterationEnd]].concat();
        let first = Program::new([Block::measured(ops, 1)]);
        let answer = || vec![answers(0), Op::WaitAll, sends(0), Op::WaitAll];
        let other = || Program::new([Block { repeat: rounds as u32, ..Block::unmeasured(answer()) }]);
        let programs = std::iter::once(first).chain((0..peers).map(|_| other())).collect();
        let job = job_of(Traffic::Ranks(programs), Priority::new(0));
        run(&experiment(one_switch(peers + 1), params, vec![job]), 1).iterations[0].duration
    };
    let step = Duration::from_us(10);
    for (initiators, peers, rounds, connections) in [(2, 6, 1, 4), (6, 6, 1, 2), (32, 1, 2, 2), (1, 2, 2, 5)] {
        let [short, long] = [step, step * 2].map(|connect| time(initiators, peers, rounds, connect));
        assert_eq!(long - short, step * connections, "{initiators} initiators, {peers} destinations");
    }
}
