//! Reduction in the network: bytes on every link and times by formula, limits of switches, and what is refused.

use std::collections::BTreeMap;

use etherweave_primitives::{BitRate, Bytes, Duration, HostId, InputErrors, Priority, SwitchId};
use etherweave_sim::frame::size::RoceSizes;
use etherweave_sim::params::{FlowControl, PortChoice, ReductionParams, RoceVersion, SimParams, SwitchModel};
use etherweave_sim::{Experiment, Job, PairConnections, PathPart, Report, Simulation, tree_costs};
use etherweave_topology::{Custom, Family, FatTree, KAryFatTree, Node, Topology, Torus};
use etherweave_workload::collective::{Algorithm, Collective, Communicator, Rule};
use etherweave_workload::{Block, Op, Program, Traffic};

use crate::common::{experiment, job_of, one_switch, run};
use crate::credits::{MTU, frames, ideal, with_credits};
use crate::threads::assert_same_on_any_threads;

/// Packets of one MPI message of `bytes`, and what all of them take [B on the wire].
fn packets(params: &SimParams, bytes: u64) -> (u64, u64) {
    let sizes = RoceSizes::new(RoceVersion::V2, true);
    let length = params.host.mpi_roce.header.get() + bytes;
    let count = length.div_ceil(MTU);
    let padded = (length - (count - 1) * MTU).next_multiple_of(4) + (count - 1) * MTU;
    // Each packet says where it belongs, so that it may overtake others.
    (count, padded + count * u64::from(sizes.first_overhead()))
}

fn ack_wire() -> u64 {
    u64::from(RoceSizes::new(RoceVersion::V2, true).acknowledgement())
}

fn reducing(mut params: SimParams) -> SimParams {
    params.switch.reduction = Some(ReductionParams::default());
    params
}

fn rule(segment: Option<u64>) -> Rule {
    Rule { algorithm: Some(Algorithm::InNetwork), segment: segment.map(Bytes::new), ..Rule::default() }
}

/// All-reduces of `bytes` on `ranks` ranks, before each of which rank `r` computes `r` times `late`.
fn allreduces(ranks: u32, bytes: u64, segment: Option<u64>, times: u32, late: Duration) -> Traffic {
    calls(&Collective::Allreduce { bytes: Bytes::new(bytes) }, ranks, segment, times, late)
}

fn calls(collective: &Collective, ranks: u32, segment: Option<u64>, times: u32, late: Duration) -> Traffic {
    let world = Communicator::world(ranks);
    let program = |me: u32| {
        let ops = collective.lower(&rule(segment), &world, me);
        let compute = Op::Compute { duration: late * u64::from(me) };
        let call = [compute, Op::IterationStart].into_iter().chain(ops).chain([Op::IterationEnd]);
        // Until the last acknowledgement is there.
        let rest = Op::Sleep { duration: Duration::from_us(50) };
        Program::new([Block::measured(call.collect::<Vec<_>>(), times), Block::unmeasured(vec![rest])])
    };
    Traffic::Ranks((0..ranks).map(program).collect())
}

fn reduction(topology: Topology, params: SimParams, traffic: Traffic) -> Experiment {
    experiment(topology, reducing(params), vec![job_of(traffic, Priority::new(0))])
}

/// Leaves with four hosts each below two cores.
fn tree(leaves: u32) -> Topology {
    FatTree { leaves, hosts_per_leaf: 4, cores: 2, links_per_core: 1, ..FatTree::default() }.generate().unwrap()
}

/// Packets and bytes that a node has sent to another in the priority of the job.
fn sent(report: &Report, node: &str, peer: &str) -> (u64, u64) {
    let ports = report.ports.iter().filter(|port| port.node == node && port.peer == peer);
    ports.fold((0, 0), |(packets, bytes), port| (packets + port.tx_packets, bytes + port.tx_bytes))
}

fn errors(experiment: &Experiment) -> String {
    let errors: InputErrors = Simulation::check(experiment).unwrap_err();
    errors.to_string()
}

/// Every link carries the vector once in each direction, whatever the number of ranks; links of hosts also the
/// acknowledgements of results, one for each packet.
#[test]
fn every_link_carries_the_vector_once_in_each_direction() {
    for (leaves, bytes) in [(2, 1_000_000), (4, 8), (8, 100_000)] {
        let (params, ranks) = (ideal(), 4 * leaves);
        let (count, wire) = packets(&params, bytes);
        let report = run(&reduction(tree(leaves), params, allreduces(ranks, bytes, None, 1, Duration::ZERO)), 1);
        let with_acks = (2 * count, wire + count * ack_wire());
        for host in 0..ranks {
            let (host, leaf) = (format!("host{host}"), format!("leaf{}", host / 4));
            assert_eq!(sent(&report, &host, &leaf), with_acks, "{host} of {ranks}, {bytes} B");
            assert_eq!(sent(&report, &leaf, &host), with_acks, "to {host} of {ranks}, {bytes} B");
        }
        for leaf in (0..leaves).map(|leaf| format!("leaf{leaf}")) {
            assert_eq!(sent(&report, &leaf, "core0"), (count, wire), "{leaf}, {bytes} B");
            assert_eq!(sent(&report, "core0", &leaf), (count, wire), "to {leaf}, {bytes} B");
            assert_eq!(sent(&report, &leaf, "core1"), (0, 0), "one tree has one root");
        }
        assert_eq!(report.totals.created, report.totals.delivered);
    }
}

/// A tree has the links of a single plane, and the next one those of another: so many trees take half of the time on
/// two planes, but for the latency. Packets that take ports in turn climb no tree that way.
#[test]
fn a_tree_is_in_a_plane_and_trees_take_planes_in_turn() {
    let (count, wire) = packets(&ideal(), 500_000);
    let times = [1, 2].map(|planes| {
        let mut experiment = reduction(tree(2), ideal(), allreduces(8, 1_000_000, Some(500_000), 1, Duration::ZERO));
        experiment.topology = tree(2).in_planes(planes).unwrap();
        experiment.jobs[0].connections = PairConnections::InTurn(2);
        experiment.params.ports.choice = PortChoice::PerPacket;
        let report = assert_same_on_any_threads(&experiment);
        for plane in (0..planes).filter(|_| planes > 1) {
            let [leaf, core] = ["leaf0", "core0"].map(|name| format!("plane{plane}.{name}"));
            assert_eq!(sent(&report, &leaf, &core), (count, wire), "{leaf}");
            assert_eq!(sent(&report, &core, &leaf), (count, wire), "to {leaf}");
            assert_eq!(sent(&report, "host3", &leaf), (2 * count, wire + count * ack_wire()));
            assert_eq!(sent(&report, &leaf, &format!("plane{plane}.core1")), (0, 0), "one tree has one root");
        }
        report.iterations.iter().map(|row| row.duration.as_ps()).max().unwrap() as f64
    });
    assert!((1.9..2.0).contains(&(times[0] / times[1])), "{times:?}");
}

/// An all-reduce on idle links takes the time of its bytes on one link of a host, however many planes there are, and
/// whatever its packets would do elsewhere.
#[test]
fn the_line_of_a_tree_is_one_link_of_its_plane() {
    for (planes, choice) in [(1, PortChoice::RoundRobin), (2, PortChoice::RoundRobin), (2, PortChoice::PerPacket)] {
        let mut experiment = reduction(tree(2), ideal(), allreduces(8, 1_000_000, None, 1, Duration::ZERO));
        experiment.topology = tree(2).in_planes(planes).unwrap();
        experiment.params.ports.choice = choice;
        experiment.observes_ranks = true;
        let path = run(&experiment, 1).observed.expect("ranks are observed").path;
        let time = |part| -> u64 {
            let rows = path.iter().filter(|row| row.part == part);
            rows.map(|row| row.end.since(row.start).as_ps()).sum()
        };
        let [line, queues] = [PathPart::Line, PathPart::Network].map(time);
        assert!(line > 10 * queues, "{planes} planes, {choice:?}: {line} ps on the link, {queues} ps in queues");
    }
}

/// The level of each switch, and the first rank below it.
fn places(topology: &Topology) -> BTreeMap<String, (u8, u32)> {
    let mut switches: Vec<_> = (0..topology.switches()).map(SwitchId::from_index).collect();
    switches.sort_by_key(|&at| topology.level(at));
    let mut first = BTreeMap::new();
    for host in (0..topology.hosts()).map(HostId::from_index) {
        first.entry(topology.switch_of(host)).or_insert(host.get());
    }
    for &at in &switches {
        for &channel in topology.out_channels(at) {
            if let Node::Switch(to) = topology.channel(channel).to.node {
                let rank = first[&at];
                first.entry(to).or_insert(rank);
            }
        }
    }
    let place = |(at, rank): (SwitchId, u32)| (topology.switch_name(at).to_owned(), (topology.level(at), rank));
    first.into_iter().map(place).collect()
}

/// A sum of `bytes`: who adds to it, and who gets it.
struct Sum {
    bytes: u64,
    adds: Vec<u32>,
    takes: Vec<u32>,
}

/// Sums of a collective: all of a vector, or one for each rank's part.
fn sums_of(collective: &Collective, ranks: u32) -> Vec<Sum> {
    let (bytes, root) = (collective.sizes()[0].get(), collective.root());
    let (all, but) = (|| (0..ranks).collect(), |own| (0..ranks).filter(|&rank| rank != own).collect());
    let each = |part: &dyn Fn(u32) -> Sum| (0..ranks).map(part).collect();
    match collective {
        Collective::Allreduce { .. } => vec![Sum { bytes, adds: all(), takes: all() }],
        Collective::Reduce { .. } => vec![Sum { bytes, adds: all(), takes: vec![root] }],
        Collective::Bcast { .. } => vec![Sum { bytes, adds: vec![root], takes: but(root) }],
        Collective::ReduceScatter { .. } => {
            each(&|own| Sum { bytes: bytes / u64::from(ranks), adds: all(), takes: vec![own] })
        }
        Collective::Allgather { .. } => each(&|own| Sum { bytes, adds: vec![own], takes: but(own) }),
        other => panic!("{other:?} is not summed in the network"),
    }
}

/// Bytes up and down a link with these ranks behind it: of each sum payloads in the direction in which any of them
/// adds to it, or gets it, and headers in both.
fn expected(sums: &[Sum], behind: std::ops::Range<u32>) -> [u64; 2] {
    let overhead = u64::from(RoceSizes::new(RoceVersion::V2, true).first_overhead());
    let is_any = |ranks: &[u32]| ranks.iter().any(|rank| behind.contains(rank));
    let wire = |sum: &Sum, is_full| {
        let (count, full) = packets(&ideal(), sum.bytes);
        if is_full { full } else { count * overhead }
    };
    [
        sums.iter().map(|sum| wire(sum, is_any(&sum.adds))).sum(),
        sums.iter().map(|sum| wire(sum, is_any(&sum.takes))).sum(),
    ]
}

/// A single switch, leaves below cores, and three levels; each with ranks below its leaves and, of three, its pods.
#[test]
fn payloads_take_links_to_whom_they_concern_and_headers_the_others() {
    let levels = KAryFatTree { k: 4, ..KAryFatTree::default() }.generate().unwrap();
    let (bytes, root) = (Bytes::new(100_000), 1);
    let vector = Bytes::new(16 * 8 * 1_000);
    for (topology, sizes) in [(one_switch(6), vec![6]), (tree(4), vec![4, 16]), (levels, vec![2, 4, 16])] {
        let ranks = topology.hosts() as u32;
        let places = places(&topology);
        for collective in [
            Collective::Allreduce { bytes },
            Collective::Reduce { bytes, root },
            Collective::Bcast { bytes, root },
            Collective::ReduceScatter { bytes: if ranks == 16 { vector } else { Bytes::new(6 * 8_000) } },
            Collective::Allgather { bytes: Bytes::new(9_000) },
        ] {
            let sums = sums_of(&collective, ranks);
            let traffic = calls(&collective, ranks, None, 1, Duration::ZERO);
            let report = run(&reduction(topology.clone(), ideal(), traffic), 1);
            let acks = ack_wire() * sums.iter().map(|sum| packets(&ideal(), sum.bytes).0).sum::<u64>();
            for rank in 0..ranks {
                let host = format!("host{rank}");
                let leaf = report.ports.iter().find(|port| port.node == host).unwrap().peer.clone();
                let links = [sent(&report, &host, &leaf).1, sent(&report, &leaf, &host).1];
                assert_eq!(links, expected(&sums, rank..rank + 1).map(|wire| wire + acks), "{collective:?} {host}");
            }
            let mut links = BTreeMap::<(u8, u32), [u64; 2]>::new();
            for port in &report.ports {
                let (Some(&from), Some(&to)) = (places.get(&port.node), places.get(&port.peer)) else { continue };
                links.entry(from.min(to)).or_default()[usize::from(from > to)] += port.tx_bytes;
            }
            for ((level, first), wire) in links {
                let behind = first..first + sizes[usize::from(level)];
                assert_eq!(wire, expected(&sums, behind.clone()), "{collective:?}, ranks {behind:?}");
            }
            assert_eq!(report.totals.created, report.totals.delivered, "{collective:?}");
        }
    }
}

/// Streaming aggregation reaches 95 % of the bandwidth of a link with long vectors (Graham et al., ISC 2020).
#[test]
fn long_vectors_are_reduced_at_the_rate_of_a_link() {
    let bytes = 16_000_000;
    let time = |leaves: u32| {
        let traffic = allreduces(4 * leaves, bytes, None, 1, Duration::ZERO);
        run(&reduction(tree(leaves), ideal(), traffic), 1).iterations[0].duration.as_ns_f64()
    };
    let line = BitRate::from_gbps(100).serialization_time(Bytes::new(bytes)).as_ns_f64();
    for leaves in [1, 2, 8] {
        let share = line / time(leaves);
        assert!((0.95..1.0).contains(&share), "{leaves} leaves: {share}");
    }
}

/// Nobody has a result before the last has begun, and no wait counts as a loss.
#[test]
fn a_result_waits_for_the_last_rank() {
    let late = Duration::from_ms(30);
    let report = run(&reduction(tree(2), ideal(), allreduces(8, 64, None, 3, late)), 1);
    let begun: Vec<_> = report.iterations.iter().filter(|row| row.rank == 7).collect();
    for row in &report.iterations {
        let last = begun.iter().find(|last| last.iteration == row.iteration).unwrap();
        assert!(row.start + row.duration > last.start, "{row:?} before {last:?}");
    }
    let resent: u64 = report.flows.iter().map(|flow| flow.retransmissions).sum();
    assert_eq!((report.totals.dropped, resent), (0, 0));
}

/// Whatever stops senders: pauses, credits of shared buffers, credits of input queues.
#[test]
fn any_lossless_network_reduces_the_same_on_any_threads() {
    let credits = with_credits(ideal(), frames(8));
    let mut queued = credits.clone();
    queued.switch.model = SwitchModel::InputQueued;
    let bytes = Bytes::new(300_000);
    for collective in [Collective::Allreduce { bytes }, Collective::Bcast { bytes, root: 5 }] {
        let ends = [ideal(), credits.clone(), queued.clone()].map(|params| {
            let traffic = calls(&collective, 16, Some(50_000), 2, Duration::from_us(1));
            let mut experiment = reduction(tree(4), params, traffic);
            experiment.jobs[0].connections = PairConnections::InTurn(3);
            let report = assert_same_on_any_threads(&experiment);
            assert_eq!(report.iterations.len(), 32);
            [sent(&report, "leaf0", "core0"), sent(&report, "core0", "leaf1")]
        });
        assert_eq!((ends[0], ends[0]), (ends[1], ends[2]), "{collective:?}");
    }
}

/// Trees of three levels, and several of them, each with a root of its own.
#[test]
fn trees_take_roots_in_turn() {
    let topology = KAryFatTree { k: 4, ..KAryFatTree::default() }.generate().unwrap();
    let mut experiment = reduction(topology, ideal(), allreduces(16, 400_000, Some(100_000), 1, Duration::ZERO));
    experiment.jobs[0].connections = PairConnections::InTurn(4);
    let report = run(&experiment, 1);
    let (count, _) = packets(&ideal(), 100_000);
    // Each of four roots has the packets of one message from each of four pods.
    for core in 0..4 {
        let down: u64 =
            report.ports.iter().filter(|port| port.node == format!("core{core}")).map(|port| port.tx_packets).sum();
        assert_eq!(down, 4 * count, "core{core}");
    }
}

/// Each of two jobs has a root by itself.
#[test]
fn jobs_take_roots_in_turn() {
    let calls = || job_of(allreduces(4, 400_000, None, 1, Duration::ZERO), Priority::new(0));
    let hosts = [[0, 1, 4, 5], [2, 3, 6, 7]];
    let jobs = hosts.map(|hosts| Job { hosts: hosts.map(HostId::new).to_vec(), ..calls() });
    let report = run(&experiment(tree(2), reducing(ideal()), jobs.to_vec()), 1);
    let (count, _) = packets(&ideal(), 400_000);
    for core in ["core0", "core1"] {
        assert_eq!(sent(&report, core, "leaf0").0 + sent(&report, core, "leaf1").0, 2 * count, "{core}");
    }
}

/// Jobs in pods A, B and A of two roots each: those of pod A have a root by themselves, whoever comes between. Their 16
/// hosts are those of two pods of two leaves.
#[test]
fn jobs_of_a_pod_take_its_roots_in_turn_whatever_others_do() {
    let topology = KAryFatTree { k: 4, ..KAryFatTree::default() }.generate().unwrap();
    let calls = || job_of(allreduces(2, 400_000, None, 1, Duration::ZERO), Priority::new(0));
    let jobs = [[0, 2], [4, 6], [1, 3]].map(|hosts| Job { hosts: hosts.map(HostId::new).to_vec(), ..calls() });
    let report = run(&experiment(topology, reducing(ideal()), jobs.to_vec()), 1);
    let (count, _) = packets(&ideal(), 400_000);
    let mut down: Vec<u64> = [0, 1, 2, 3]
        .map(|number| format!("spine{number}"))
        .map(|node| report.ports.iter().filter(|port| port.node == node).map(|port| port.tx_packets).sum())
        .to_vec();
    down.sort_unstable();
    assert_eq!(down, [0, 2 * count, 2 * count, 2 * count]);
}

/// Leaves s0 and s1 below s3 and s4, s2 below s5, and s6 above these three. The first job climbs from s0 by s3; leaves
/// of the second one meet in one switch all the same, so that its vector goes to s6 once.
#[test]
fn leaves_of_a_tree_meet_below_its_root_whatever_other_trees_load() {
    let cables = [(0, 3), (0, 4), (1, 3), (1, 4), (2, 5), (3, 6), (4, 6), (5, 6)];
    let hosts: String = (0..6).map(|host| format!("h{host},s{},100Gb/s,3m\n", host / 2)).collect();
    let links = hosts + &cables.map(|(a, b)| format!("s{a},s{b},100Gb/s,3m\n")).concat();
    let topology = Custom { hosts: 6, links, ..Custom::default() }.generate().unwrap();
    let calls = |hosts: &[u32]| Job {
        hosts: hosts.iter().copied().map(HostId::new).collect(),
        ..job_of(allreduces(hosts.len() as u32, 400_000, None, 1, Duration::ZERO), Priority::new(0))
    };
    let report = run(&experiment(topology, reducing(ideal()), vec![calls(&[0, 4]), calls(&[1, 2, 3, 5])]), 1);
    let (count, _) = packets(&ideal(), 400_000);
    let packets = |from, to| sent(&report, from, to).0;
    assert_eq!(packets("s3", "s6") + packets("s4", "s6"), 2 * count, "each job once");
    assert_eq!(packets("s6", "s3") + packets("s6", "s4"), 2 * count, "and back");
}

/// Two trees over two leaves of four ranks each, with a root each.
#[test]
fn switches_need_groups_and_buffers_for_each_of_their_trees() {
    let mut experiment = reduction(tree(2), ideal(), allreduces(8, 64, None, 1, Duration::ZERO));
    experiment.jobs[0].connections = PairConnections::InTurn(2);
    let open = ReductionParams::default().buffer.get().div_ceil(MTU) + 1;
    let rows: Vec<_> = tree_costs(&experiment)
        .unwrap()
        .into_iter()
        .map(|cost| (cost.trees, cost.entries, cost.segment_packets, cost.buffer.get()))
        .collect();
    let (leaf, core) = ((2, 2 * (4 + 1), 2 * 4, 8 * open * MTU), (1, 2, 2, 2 * open * MTU));
    assert_eq!(rows, [leaf, leaf, core, core]);
    experiment.params.switch.reduction = Some(ReductionParams { trees: 1, ..ReductionParams::default() });
    let error = tree_costs(&experiment).unwrap_err().to_string();
    assert_eq!(error, "switch.reduction.trees: 1; expected at least 2, which leaf1 needs");
}

#[test]
fn a_barrier_is_a_round_trip_to_the_root() {
    let world = Communicator::world(8);
    let program = |me| {
        let ops = Collective::Barrier.lower(&rule(None), &world, me);
        Program::new([Block::measured(ops, 1)])
    };
    let report = run(&reduction(tree(2), ideal(), Traffic::Ranks((0..8).map(program).collect())), 1);
    assert_eq!(sent(&report, "leaf0", "core0").0, 1);
}

#[test]
fn what_cannot_reduce_is_named() {
    let traffic = || allreduces(8, 64, None, 1, Duration::ZERO);
    let mut none = reduction(tree(2), ideal(), traffic());
    none.params.switch.reduction = None;
    assert!(errors(&none).starts_with("switch.reduction: none"), "{}", errors(&none));
    let mut lossy = reduction(tree(2), ideal(), traffic());
    lossy.params.flow_control = FlowControl::None {};
    assert!(errors(&lossy).contains("flow_control: a priority that loses packets"), "{}", errors(&lossy));
    let mut trees = reduction(tree(2), ideal(), traffic());
    trees.jobs[0].connections = PairConnections::InTurn(3);
    trees.params.switch.reduction = Some(ReductionParams { trees: 2, ..ReductionParams::default() });
    assert_eq!(errors(&trees), "switch.reduction.trees: 2; expected at least 3, which leaf1 needs");
    let mut radix = reduction(one_switch(8), ideal(), traffic());
    radix.params.switch.reduction = Some(ReductionParams { radix: 7, ..ReductionParams::default() });
    assert_eq!(errors(&radix), "switch.reduction.radix: 7; expected at least 8, which switch0 needs");
    let torus = Torus::default().generate().unwrap();
    let mut leaves = reduction(tree(2), ideal(), allreduces(4, 64, None, 1, Duration::ZERO));
    leaves.topology = tree(2).on_leaves(2).unwrap();
    leaves.jobs[0].hosts.truncate(4);
    let leaves = errors(&leaves);
    assert!(leaves.contains("host_ports: several ports in a fabric; expected one, or one in each of"), "{leaves}");
    let flat = errors(&reduction(torus, ideal(), traffic()));
    assert!(flat.contains("no switch is above all of its hosts"), "{flat}");
}
