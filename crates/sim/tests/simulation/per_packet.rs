//! Routings that decide for every packet at every switch, under hosts with RoCE and PFC.

use std::sync::LazyLock;

use etherweave_forwarding::{FabricTables, TableParams};
use etherweave_primitives::{Bytes, Duration, Priority, Time};
use etherweave_routing::{ElasticTreeParams, FabricOf, MeasurementParams, Outage, RoutingKind};
use etherweave_sim::params::{
    Credits, FlowControl, LossDetection, Pfc, SimParams, SwitchModel, SwitchParams, Transport, Trimming,
};
use etherweave_sim::{Experiment, FlowRow, Paths, PreparedRouting, Report, Simulation};
use etherweave_topology::{Dragonfly, FatTree, FlattenedButterfly, Topology, TopologyKind};
use etherweave_transport::uet::UetParams;
use etherweave_workload::{Permutation, StreamSpec, Traffic, Workload};

use crate::common::{experiment, job_of, one_message, roce, run, selective};
use crate::credits::MODELS;
use crate::threads::assert_same_without_fingerprint;

#[path = "../../../forwarding/tests/all/fabrics/small.rs"]
mod small;

/// PFC for so many priorities from 0 on.
fn lossless(mut params: SimParams, priorities: u8) -> SimParams {
    let priorities = (0..priorities).map(Priority::new).collect();
    params.flow_control = FlowControl::Pfc(Pfc { priorities, ..Pfc::default() });
    params.switch.buffer = Bytes::new(8_000_000);
    params
}

/// Every host sends a message to the one `offset` hosts on.
pub fn shift(topology: &Topology, offset: u32, bytes: u64) -> Traffic {
    let hosts = topology.hosts() as u32;
    let stream =
        |src: u32| StreamSpec { stream: src, messages: Some(4), ..one_message(src, (src + offset) % hosts, bytes) };
    Traffic::Streams((0..hosts).map(stream).collect())
}

fn with_routing(topology: &Topology, prepared: PreparedRouting, params: SimParams, traffic: Traffic) -> Experiment {
    let params = lossless(params, prepared.priorities());
    let experiment = experiment(topology.clone(), params, vec![job_of(traffic, Priority::new(0))]);
    Experiment { paths: Paths::PerPacket(prepared), ..experiment }
}

/// Every routing that runs, on every small fabric that it is for.
pub fn each(mut check: impl FnMut(RoutingKind, &Topology, PreparedRouting)) {
    static DEFAULT: LazyLock<TableParams> = LazyLock::new(TableParams::default);
    for small::Small { kind, topology, .. } in &small::all() {
        let tables = FabricTables { kind, topology, params: &DEFAULT };
        for routing in RoutingKind::all() {
            if let Ok(prepared) = PreparedRouting::new(routing, &tables) {
                check(routing, topology, prepared);
            }
        }
    }
}

#[test]
fn every_routing_delivers_everything_and_loses_nothing_on_any_number_of_threads() {
    let mut seen = 0;
    each(|routing, topology, prepared| {
        let traffic = shift(topology, topology.hosts() as u32 / 2 + 1, 20_000);
        let experiment = with_routing(topology, prepared, roce(), traffic);
        let reports = [1, 2, 7].map(|threads| run(&experiment, threads));
        let name = format!("{} on {} switches", routing.name(), topology.switches());
        for Report { totals, lossless_drops, streams, .. } in &reports {
            assert!(totals.dropped == 0 && lossless_drops.is_empty(), "{name}: {totals:?}");
            assert_eq!(totals.created, totals.delivered + totals.in_flight, "{name}");
            assert!(streams.iter().all(|stream| stream.messages == 4), "{name}");
        }
        for other in &reports[1..] {
            assert_eq!(reports[0].fingerprint, other.fingerprint, "{name}");
            assert_eq!(reports[0].streams, other.streams, "{name}");
        }
        assert_same_without_fingerprint(&experiment, &reports[0], &name);
        seen += 1;
    });
    assert!(seen >= 40, "{seen} routings on fabrics");
}

#[test]
fn every_routing_delivers_everything_under_credits() {
    each(|routing, topology, prepared| {
        let priorities = (0..prepared.priorities()).map(Priority::new).collect();
        // Buffers of three frames: packets wait for credits at every hop.
        let credits = Credits { priorities, buffer: Some(Bytes::new(13_000)), ..Credits::default() };
        let traffic = shift(topology, topology.hosts() as u32 / 2 + 1, 20_000);
        let mut experiment = with_routing(topology, prepared, roce(), traffic);
        experiment.params.flow_control = FlowControl::Credits(credits);
        for model in MODELS {
            experiment.params.switch = SwitchParams { model, ..SwitchParams::default() };
            let reports = [1, 3].map(|threads| run(&experiment, threads));
            let name = format!("{} on {} switches, {model:?}", routing.name(), topology.switches());
            assert_eq!(reports[0].totals.dropped, 0, "{name}");
            assert!(reports[0].streams.iter().all(|stream| stream.messages == 4), "{name}");
            assert_eq!(reports[0].fingerprint, reports[1].fingerprint, "{name}");
            assert_same_without_fingerprint(&experiment, &reports[0], &name);
        }
    });
}

/// A dragonfly whose groups all send to the next one: eight hosts of 100 Gb/s for one link of 100 Gb/s.
fn adversarial(params: SimParams, routing: RoutingKind, traffic: impl Fn(&Topology) -> Traffic) -> Report {
    let kind = TopologyKind::Dragonfly(Dragonfly { p: 2, a: 4, h: 2, ..Dragonfly::default() });
    let topology = kind.generate().unwrap();
    let prepared = PreparedRouting::new(routing, &topology).unwrap();
    let mut experiment = with_routing(&topology, prepared, params, traffic(&topology));
    experiment.params.switch.buffer = Bytes::new(1_500_000);
    run(&experiment, 1)
}

/// The same that finds losses by the timer alone.
fn patient(mut params: SimParams) -> SimParams {
    let Transport::Roce(roce) = &mut params.transport else { unreachable!("only RoCE repeats selectively") };
    roce.loss_detection = Some(LossDetection::Timeout);
    params
}

/// When its last stream ends [us].
fn end_us(report: &Report) -> f64 {
    report.streams.iter().map(|stream| stream.end.as_ps()).max().unwrap() as f64 / 1e6
}

/// Every host sends `count` packets to the host eight further on, each on a connection of its own, so that none waits
/// for another.
fn single_packets(topology: &Topology, count: u32) -> Traffic {
    let hosts = topology.hosts() as u32;
    let stream =
        |number: u32| StreamSpec { stream: number, ..one_message(number % hosts, (number + 8) % hosts, 4_096) };
    Traffic::Streams((0..count * hosts).map(stream).collect())
}

#[test]
fn routings_that_leave_the_minimal_path_spread_what_one_global_link_would_carry() {
    let end = |routing| {
        let report = adversarial(roce(), routing, |topology| single_packets(topology, 100));
        assert!(report.flows.iter().all(|flow| flow.retransmissions == 0));
        end_us(&report)
    };
    // 800 packets of about 4,200 B take 269 us on the one link; over all eight links of a group, with each packet on
    // two of them, at least 67 us.
    let minimal = end(RoutingKind::Minimal);
    assert!((269.0..300.0).contains(&minimal), "{minimal}");
    // Conditional rules act once the buffers before the minimal port are full, and 3 MB are soon over.
    for (routing, most) in [
        (RoutingKind::ValiantGroup, 0.6),
        (RoutingKind::UgalLocal(Default::default()), 0.6),
        (RoutingKind::ProgressiveAdaptive(Default::default()), 0.6),
        (RoutingKind::UgalGlobal(Default::default()), 0.6),
        (RoutingKind::Piggyback(Default::default()), 0.6),
        (RoutingKind::Conditional, 0.9),
    ] {
        let spread = end(routing);
        assert!((67.0..most * minimal).contains(&spread), "{}: {spread} of {minimal} us", routing.name());
    }
}

#[test]
fn conditional_rules_of_a_butterfly_go_by_another_place_of_the_row() {
    // 4 x 4 switches of 4 hosts, each of which sends 400 kB to the host four further on, on the next switch: four hosts
    // share a link, which takes 128 us without headers. Only two of them have it as their own place of the row.
    let sizes = vec![4, 4];
    let kind = TopologyKind::FlattenedButterfly(FlattenedButterfly { sizes, ..FlattenedButterfly::default() });
    let topology = kind.generate().unwrap();
    let mean_us = |routing| {
        let prepared = PreparedRouting::new(routing, &topology).unwrap();
        let credits =
            Credits { priorities: (0..prepared.priorities()).map(Priority::new).collect(), ..Credits::default() };
        let params = patient(selective(roce()));
        let mut experiment = with_routing(&topology, prepared, params, shift(&topology, 4, 100_000));
        experiment.params.flow_control = FlowControl::Credits(credits);
        experiment.params.switch = SwitchParams { model: SwitchModel::InputQueued, ..SwitchParams::default() };
        let ends: Vec<f64> = run(&experiment, 1).streams.iter().map(|stream| stream.end.as_ps() as f64 / 1e6).collect();
        ends.iter().sum::<f64>() / ends.len() as f64
    };
    let [minimal, conditional] = [RoutingKind::DimensionOrder, RoutingKind::Conditional].map(mean_us);
    assert!((128.0..140.0).contains(&minimal), "{minimal}");
    assert!((32.0..0.75 * minimal).contains(&conditional), "{conditional} of {minimal} us");
}

/// Prints the figures of `docs/models/roce.md`:
/// `cargo test -p etherweave-sim --test simulation overtake -- --nocapture`.
#[test]
fn go_back_n_repeats_packets_that_overtake_each_other_and_selective_repeat_places_them() {
    let report = |params, routing| adversarial(params, routing, |topology| shift(topology, 8, 20_000));
    let minimal = report(roce(), RoutingKind::Minimal);
    let transports = [roce(), selective(roce()), patient(selective(roce()))];
    let [back, selective, by_timeout] = transports.map(|params| report(params, RoutingKind::ValiantGroup));
    let sum = |report: &Report, of: fn(&FlowRow) -> u64| report.flows.iter().map(of).sum::<u64>();
    let again = |report: &Report| sum(report, |flow| flow.retransmissions);
    let named = [("minimal", &minimal), ("go-back-N", &back), ("by time", &selective), ("by timeout", &by_timeout)];
    for (name, report) in named {
        let sent = sum(report, |flow| flow.packets);
        println!("{name}: {} of {sent} packets sent again, {:.0} us", again(report), end_us(report));
    }
    assert_eq!([&minimal, &by_timeout].map(again), [0, 0]);
    assert!(sum(&selective, |flow| flow.out_of_order) > 0 && sum(&selective, |flow| flow.naks) == 0);
    assert!(again(&selective) < again(&back));
    // Go-back-N ends with a wait for its timer, the others need none.
    assert_eq!([&minimal, &selective, &by_timeout].map(report_timeouts), [0, 0, 0]);
    assert!(end_us(&by_timeout) < end_us(&selective));
    assert!(report_timeouts(&back) > 0 && end_us(&selective) < end_us(&minimal) && end_us(&minimal) < end_us(&back));
}

#[test]
fn where_there_is_one_path_a_decision_per_packet_changes_nothing() {
    let kind = TopologyKind::FatTree(FatTree {
        leaves: 3,
        hosts_per_leaf: 4,
        cores: 1,
        links_per_core: 1,
        ..FatTree::default()
    });
    let topology = kind.generate().unwrap();
    let jobs = || vec![job_of(shift(&topology, 5, 100_000), Priority::new(0))];
    let per_flow = experiment(topology.clone(), lossless(roce(), 1), jobs());
    let prepared = PreparedRouting::new(RoutingKind::Spray, &topology).unwrap();
    let per_packet = Experiment { paths: Paths::PerPacket(prepared), ..per_flow.clone() };
    assert_eq!(run(&per_packet, 1).fingerprint, run(&per_flow, 1).fingerprint);
}

#[test]
fn ranks_exchange_messages_on_any_number_of_threads() {
    let kind = TopologyKind::FatTree(FatTree { leaves: 4, hosts_per_leaf: 4, cores: 4, ..FatTree::default() });
    let topology = kind.generate().unwrap();
    let prepared = PreparedRouting::new(RoutingKind::Ecmp, &topology).unwrap();
    let permutation = Permutation { ranks: 16, bytes: Bytes::new(100_000), ..Permutation::default() };
    let traffic = Workload::Permutation(permutation).traffic(1).unwrap();
    let experiment = with_routing(&topology, prepared, roce(), traffic);
    let [one, four] = [1, 4].map(|threads| run(&experiment, threads));
    assert_eq!((one.fingerprint, one.iterations), (four.fingerprint, four.iterations));
}

#[test]
fn priorities_that_a_routing_needs_must_be_lossless() {
    let kind = TopologyKind::Dragonfly(Dragonfly::default());
    let topology = kind.generate().unwrap();
    let prepared = PreparedRouting::new(RoutingKind::UgalLocal(Default::default()), &topology).unwrap();
    let rejected = |priority: u8, lossless_priorities: u8| {
        let mut experiment = with_routing(&topology, prepared.clone(), roce(), shift(&topology, 1, 1));
        experiment.params = lossless(experiment.params, lossless_priorities);
        experiment.jobs[0].priority = Priority::new(priority);
        let built = Simulation::build(&experiment, 1);
        built.err().map(|errors| errors.to_string())
    };
    assert_eq!(rejected(0, 3), None);
    let expected = "flow_control.pfc.priorities: [0, 1]; expected 0, 1, 2, not coupled: ugal_local \
                    raises the priority of packets with their hops";
    assert_eq!(rejected(0, 2).as_deref(), Some(expected));
    assert_eq!(rejected(6, 7).as_deref(), Some("job.0.priority: 6; expected at most 5: ugal_local takes 3 priorities"));
}

/// Packets of priority 0 are raised to 1 and 2.
#[test]
fn raised_priorities_are_apart_from_queues_of_trimmed_packets() {
    let topology = TopologyKind::Dragonfly(Dragonfly::default()).generate().unwrap();
    let prepared = PreparedRouting::new(RoutingKind::UgalLocal(Default::default()), &topology).unwrap();
    let rejected = |priority, queue| {
        let params = SimParams { transport: Transport::Uet(UetParams::default()), ..SimParams::default() };
        let mut experiment = with_routing(&topology, prepared.clone(), params, shift(&topology, 1, 1));
        experiment.params.flow_control = FlowControl::None {};
        let priority = Priority::new(priority);
        experiment.params.switch.trimming = Some(Trimming { priority, queue, ..Trimming::default() });
        Simulation::build(&experiment, 1).err().map(|errors| errors.to_string())
    };
    let expected = |key| {
        let apart =
            format!("expected priorities apart from switch.trimming.{key}: trimmed packets would join the queue");
        Some(format!("job.0.priority: 0, raised up to 2; {apart} that is full"))
    };
    assert_eq!([rejected(5, None), rejected(5, Some(3))], [None, None]);
    assert_eq!([rejected(5, Some(1)), rejected(2, None)], [expected("queue"), expected("priority")]);
}

/// 800 packets for the one link to the next group, of each of nine groups, under a controller.
fn controlled(reaction: Duration) -> Experiment {
    let kind = TopologyKind::Dragonfly(Dragonfly { p: 2, a: 4, h: 2, ..Dragonfly::default() });
    let topology = kind.generate().unwrap();
    let prepared = PreparedRouting::new(RoutingKind::Controller, &topology).unwrap();
    let mut experiment = with_routing(&topology, prepared, roce(), single_packets(&topology, 100));
    experiment.params.switch.buffer = Bytes::new(1_500_000);
    experiment.params.controller.reaction = reaction;
    experiment
}

#[test]
fn a_controller_takes_other_groups_once_it_has_measured_that_a_link_is_full() {
    let us = Duration::from_us;
    let ends = [30, 90, 3_000].map(|reaction| end_us(&run(&controlled(us(reaction)), 1)));
    let minimal = end_us(&adversarial(roce(), RoutingKind::Minimal, |topology| single_packets(topology, 100)));
    println!("after 30, 90, 3,000 us: {ends:.0?}; minimal {minimal:.0} us");
    // One that reacts after the end changes nothing; the sooner another reacts, the sooner all is sent.
    assert_eq!(ends[2], minimal);
    assert!(ends[0] < ends[1] && ends[1] < minimal, "{ends:?} of {minimal}");
    let reports = [1, 2, 7].map(|threads| run(&controlled(us(30)), threads).fingerprint);
    assert!(reports[0] == reports[1] && reports[0] == reports[2]);
}

/// Interval, then share of a link that a large flow takes, then packets of which one is counted.
fn measured(interval: Option<Duration>, flow_min: f64, sampling: u32) -> Experiment {
    let mut experiment = controlled(Duration::from_us(30));
    let reaction = experiment.params.controller.reaction;
    experiment.params.controller = MeasurementParams { reaction, interval, flow_min, sampling, change_max: None };
    experiment
}

#[test]
fn a_controller_that_samples_or_reroutes_large_flows_alone_is_the_same_on_any_number_of_threads() {
    let us = Duration::from_us;
    let all = run(&controlled(us(30)), 1).fingerprint;
    assert!(run(&measured(Some(us(10)), 0.0, 1), 1).fingerprint == all, "a third is the default");
    for (interval, flow_min, sampling) in [(Some(us(1)), 0.0, 1), (Some(us(10)), 0.5, 3)] {
        let experiment = measured(interval, flow_min, sampling);
        let reports = [1, 2, 7].map(|threads| run(&experiment, threads).fingerprint);
        assert!(reports[0] == reports[1] && reports[0] == reports[2], "{flow_min} {sampling}");
        assert!(reports[0] != all, "{flow_min} {sampling}");
    }
}

#[test]
fn a_controller_moves_what_it_counts_and_of_that_large_flows_alone() {
    let minimal = end_us(&adversarial(roce(), RoutingKind::Minimal, |topology| single_packets(topology, 100)));
    let ends = [measured(None, 0.0, 1), measured(None, 0.5, 1), measured(None, 0.0, 201)];
    let [all, large, sampled] = ends.map(|experiment| end_us(&run(&experiment, 1)));
    // Hosts fill their links in the first interval, and have an eighth of the link between groups then.
    assert!(all < large && large < minimal, "{all}, {large}, {minimal}");
    // Of a host's 100 packets and 100 acknowledgements none is the 201st.
    assert_eq!(sampled, minimal);
}

#[test]
fn a_controller_that_predicts_moves_what_two_intervals_sent_alike() {
    let ends = [None, Some(0.2), Some(0.0)].map(|change_max| {
        let mut experiment = controlled(Duration::from_us(30));
        experiment.params.controller.change_max = change_max;
        let reports = [1, 2, 7].map(|threads| run(&experiment, threads).fingerprint);
        assert!(reports[0] == reports[1] && reports[0] == reports[2], "{change_max:?}");
        end_us(&run(&experiment, 1))
    });
    println!("all {:.0} us, within 20 % {:.0} us, equal {:.0} us", ends[0], ends[1], ends[2]);
    // Nothing was sent before the first interval, so that its traffic is rerouted an interval later than without.
    assert!(ends[0] < ends[1] && ends[1] <= ends[2], "{ends:?}");
}

#[test]
fn settings_of_a_controller_that_do_not_fit_are_named() {
    let us = Duration::from_us;
    let error = |experiment: &Experiment| Simulation::build(experiment, 1).err().unwrap().to_string();
    let late = error(&measured(Some(us(16)), 0.0, 1));
    assert_eq!(late, "controller.interval: 16us; expected 300ns to 15us");
    assert_eq!(error(&measured(None, 1.5, 1)), "controller.flow_min: 1.5; expected 0 to 1");
    assert_eq!(error(&measured(None, 0.0, 0)), "controller.sampling: 0; expected 1 to 65536");
    let mut changing = measured(None, 0.0, 1);
    changing.params.controller.change_max = Some(1.5);
    assert_eq!(error(&changing), "controller.change_max: 1.5; expected 0 to 1");
    let soon = error(&measured(Some(us(15)), 0.0, 1));
    assert!(soon.starts_with("controller.reaction: 30us; expected intervals of at least "), "{soon}");
}

#[test]
fn a_controller_cannot_react_before_it_could_have_measured() {
    let error = Simulation::build(&controlled(Duration::from_ns(100)), 1).err().unwrap().to_string();
    assert!(error.starts_with("controller.reaction: 100ns; expected at least "), "{error}");
}

/// 16 hosts that each send four messages to the next leaf, over as few uplinks as a controller finds needed, which
/// reacts after so long.
fn elastic(routing: RoutingKind, bytes: u64, reaction: Duration) -> Experiment {
    let kind = TopologyKind::FatTree(FatTree { leaves: 4, hosts_per_leaf: 4, cores: 4, ..FatTree::default() });
    let topology = kind.generate().unwrap();
    let prepared = PreparedRouting::new(routing, &topology).unwrap();
    let mut experiment = with_routing(&topology, prepared, selective(roce()), shift(&topology, 4, bytes));
    experiment.params.controller.reaction = reaction;
    experiment
}

/// Bytes that leaves sent to each core.
fn sent_to_cores(report: &Report) -> Vec<u64> {
    let sent = |core: u32| {
        let peer = format!("core{core}");
        report.ports.iter().filter(|port| port.peer == peer).map(|port| port.tx_bytes).sum()
    };
    (0..4).map(sent).collect()
}

#[test]
fn a_tree_leaves_uplinks_idle_that_its_traffic_does_not_need() {
    let us = Duration::from_us;
    let tree = |reaction| elastic(RoutingKind::ElasticTree(ElasticTreeParams::default()), 10_000, reaction);
    // Rules that come after the end change nothing: flows use all cores, as with ECMP.
    let all = run(&tree(us(3_000)), 1);
    assert_eq!(all.fingerprint, run(&elastic(RoutingKind::Ecmp, 10_000, us(3_000)), 1).fingerprint);
    assert!(sent_to_cores(&all).iter().all(|&bytes| bytes > 0), "{:?}", sent_to_cores(&all));
    // Four messages of 10 kB a host, one after the other: one link carries what four hosts send between readings.
    let few = run(&tree(us(3)), 1);
    let (before, after) = (sent_to_cores(&all), sent_to_cores(&few));
    println!("{before:?}, {after:?} with rules");
    assert!(after[0] > before[0] && after[3] < before[3] / 2);
    let reports = [2, 7].map(|threads| run(&tree(us(3)), threads).fingerprint);
    assert_eq!(reports, [few.fingerprint, few.fingerprint]);
}

#[test]
fn a_tree_whose_links_fill_uses_more_of_them() {
    let us = Duration::from_us;
    let tree = elastic(RoutingKind::ElasticTree(ElasticTreeParams::default()), 1_000_000, us(30));
    let ends = [RoutingKind::Ecmp, RoutingKind::ElasticTree(ElasticTreeParams::default())]
        .map(|routing| end_us(&run(&elastic(routing, 1_000_000, us(30)), 1)));
    println!("ECMP {:.0} us, elastic {:.0} us", ends[0], ends[1]);
    // Hosts fill their links, so that leaves need all uplinks.
    assert!(ends[1] < 1.5 * ends[0], "{ends:?}");
    assert!(sent_to_cores(&run(&tree, 1)).iter().all(|&bytes| bytes > 0));
}

/// A tree of 16 hosts whose first uplink is down from each time on, until it returns [us].
fn failing_experiment(routing: RoutingKind, down: &[(u64, Option<u64>)]) -> Experiment {
    let kind = TopologyKind::FatTree(FatTree { leaves: 4, hosts_per_leaf: 4, cores: 4, ..FatTree::default() });
    let topology = kind.generate().unwrap();
    let channel = topology.cables("leaf0 - core0")[0];
    let us = Duration::from_us;
    let outage = |&(from, until): &(u64, Option<u64>)| Outage { channel, from: us(from), until: until.map(us) };
    let outages: Vec<_> = down.iter().map(outage).collect();
    let fabric = FabricOf { outages: &outages, reroute_after: Some(Duration::from_us(50)), ..(&topology).into() };
    let prepared = PreparedRouting::new(routing, fabric).unwrap();
    let experiment = with_routing(&topology, prepared, roce(), shift(&topology, 4, 100_000));
    Experiment { outages: outages.clone(), ..experiment }
}

/// The uplink is down from 10 us on, for so long.
fn failing(routing: RoutingKind, until: Option<u64>) -> Report {
    let experiment = failing_experiment(routing, &[(10, until)]);
    let [one, two] = [1, 2].map(|threads| run(&experiment, threads));
    assert_eq!((one.fingerprint, one.totals.lost), (two.fingerprint, two.totals.lost));
    // The end of a run asserts that lost packets take no credits with them.
    let mut by_credits = experiment;
    let priorities = (0..8).map(Priority::new).collect();
    by_credits.params.flow_control = FlowControl::Credits(Credits { priorities, ..Credits::default() });
    for model in MODELS {
        by_credits.params.switch = SwitchParams { model, ..SwitchParams::default() };
        assert!(run(&by_credits, 1).totals.lost > 0);
    }
    one
}

#[test]
fn what_a_failed_link_loses_is_sent_again_when_it_returns_or_by_another_path() {
    let returning = failing(RoutingKind::Ecmp, Some(500));
    let rerouted = failing(RoutingKind::ShortestPath, None);
    for report in [&returning, &rerouted] {
        let totals = report.totals;
        assert!(totals.lost > 0 && totals.dropped == 0, "{totals:?}");
        assert_eq!(totals.created, totals.delivered + totals.lost + totals.in_flight);
        assert!(report.streams.iter().all(|stream| stream.messages == 4));
    }
    // A flow by the failed link ends after its return; tables computed 50 us after the failure need none.
    assert!(end_us(&returning) > 500.0 && report_timeouts(&returning) > 0);
    assert!(report_timeouts(&rerouted) > 0);
}

#[test]
fn a_report_says_what_a_failed_link_lost_until_routes_avoided_it_and_when_it_was_made_good() {
    let us = |time: Time| time.as_ns_f64() / 1e3;
    let recovered = |report: &Report| report.flows.iter().map(|flow| us(flow.recovered)).fold(0.0, f64::max);
    let returning = failing(RoutingKind::Ecmp, Some(500));
    let rerouted = failing(RoutingKind::ShortestPath, None);
    for (report, until) in [(&returning, Some(500.0)), (&rerouted, None)] {
        let ends: Vec<_> = report.failures.iter().map(|row| (row.node.as_str(), row.peer.as_str())).collect();
        assert_eq!(ends, [("leaf0", "core0"), ("core0", "leaf0")]);
        assert!(report.failures.iter().all(|row| us(row.from) == 10.0 && row.until.map(us) == until));
        assert_eq!(report.failures.iter().map(|row| row.packets_lost).sum::<u64>(), report.totals.lost);
        assert!(report.failures.iter().all(|row| row.bytes_lost > row.packets_lost * 64));
        // Flows without losses are not said to have recovered.
        assert!(report.flows.iter().all(|flow| (flow.recovered > Time::ZERO) == (flow.retransmissions > 0)));
        assert!(recovered(report) <= end_us(report));
    }
    // Tables change 50 us after the failure, and a switch sees to it within a packet's time.
    let last_loss =
        |report: &Report| report.failures.iter().filter_map(|row| row.last_loss).map(us).fold(0.0, f64::max);
    assert!((50.0..61.0).contains(&last_loss(&rerouted)), "{}", last_loss(&rerouted));
    assert!((10.0..500.0).contains(&last_loss(&returning)), "{}", last_loss(&returning));
    assert!(recovered(&returning) > 500.0 && recovered(&rerouted) > last_loss(&rerouted));
    // What each direction lost arrived again by then, later than it was lost.
    for report in [&returning, &rerouted] {
        let of_failures = report.failures.iter().filter_map(|row| Some((row, us(row.recovered?))));
        let last = of_failures.clone().map(|(_, at)| at).fold(0.0, f64::max);
        assert!(of_failures.clone().all(|(row, at)| row.connections > 0 && at > us(row.last_loss.unwrap())));
        assert!(last > 0.0 && last <= recovered(report), "{last} of {}", recovered(report));
    }
}

/// The first uplink of a leaf is down for 20 us, twice.
#[test]
fn each_of_several_failures_has_its_own_recovery() {
    let us = Duration::from_us;
    let mut experiment = failing_experiment(RoutingKind::ShortestPath, &[(10, Some(30)), (200, Some(220))]);
    experiment.jobs = vec![job_of(shift(&experiment.topology, 4, 1_000_000), Priority::new(0))];
    let [one, two] = [1, 2].map(|threads| run(&experiment, threads));
    assert_eq!(one.failures, two.failures);
    for from in [us(10), us(200)] {
        let rows = one.failures.iter().filter(|row| row.from == Time::ZERO + from && row.connections > 0);
        for row in rows.clone() {
            // RoCE's timer repeats what was lost at the tail, 67 ms later at most.
            let took = row.recovered.expect("all arrives again").since(row.from);
            assert!(took > Duration::ZERO && took < us(68_000), "{row:?}");
        }
        assert!(rows.count() > 0, "{:?}", one.failures);
    }
}

fn report_timeouts(report: &Report) -> u64 {
    report.flows.iter().map(|flow| flow.timeouts).sum()
}
