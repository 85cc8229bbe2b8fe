//! Routing by flow tables: what holds of whole runs, and against the algorithms.

use crate::fabric::links;
use etherweave_forwarding::{CompactionKind, ConditionalTables, MinimalTables, PlanKind};
use etherweave_openloop::{
    Arrival, ChannelScheduler, Experiment, FlowControl, Pattern, Report, RunParams, SwitchParams,
};
use etherweave_primitives::{Bytes, Duration};
use etherweave_routing::dependency_cycle;
use etherweave_routing::tables::{ChannelScheme, CompiledTables, LegalHops, Notification, Trigger};
use etherweave_routing::{
    ButterflyConditional, ButterflyPlan, Conditional, DragonflyMinimal, DragonflyPlan, FabricPlan, PacketRouting,
};
use etherweave_topology::{Dragonfly, FlattenedButterfly, FoldedClos, Topology, TopologyKind};
use etherweave_workload::pattern::{Adversarial, Listed, Uniform};

struct Bench {
    kind: TopologyKind,
    topology: Topology,
}

impl Bench {
    fn of(kind: TopologyKind) -> Bench {
        let topology = kind.generate().unwrap();
        Bench { kind, topology }
    }

    /// Balanced, complete: `a = 2p`, `h = p`, palm tree, one link between any two groups.
    fn dragonfly(p: u32) -> Bench {
        Bench::of(TopologyKind::Dragonfly(Dragonfly { p, a: 2 * p, h: p, ..Dragonfly::default() }))
    }

    /// 3 x 3 switches of 3 hosts.
    fn butterfly() -> Bench {
        Bench::rows(3, &[3, 3])
    }

    fn rows(hosts_per_switch: u32, sizes: &[u32]) -> Bench {
        let sizes = sizes.to_vec();
        let butterfly = FlattenedButterfly { hosts_per_switch, sizes, ..FlattenedButterfly::default() };
        Bench::of(TopologyKind::FlattenedButterfly(butterfly))
    }

    /// 8 leaves of 4 hosts and 4 uplinks.
    fn clos() -> Bench {
        Bench::of(TopologyKind::FoldedClos(FoldedClos::default()))
    }

    fn minimal(&self, params: &MinimalTables) -> CompiledTables {
        params.build(&self.kind, &self.topology).unwrap()
    }

    fn conditional(&self, params: &ConditionalTables) -> CompiledTables {
        params.build(&self.kind, &self.topology).unwrap()
    }

    fn plan(&self) -> DragonflyPlan {
        DragonflyPlan::of(&self.topology).unwrap()
    }

    fn run<R: PacketRouting>(&self, routing: R, pattern: Pattern, load: f64, us: u64) -> Report {
        self.run_with(SwitchParams::default(), routing, pattern, load, us)
    }

    fn run_with<R: PacketRouting>(
        &self,
        switch: SwitchParams,
        routing: R,
        pattern: Pattern,
        load: f64,
        us: u64,
    ) -> Report {
        let report = self.experiment(switch, routing, pattern, load, us).run(1).unwrap();
        assert_eq!(report.made, report.delivered + report.in_flight, "nothing is lost");
        report
    }

    fn experiment<R: PacketRouting>(
        &self,
        switch: SwitchParams,
        routing: R,
        pattern: Pattern,
        load: f64,
        us: u64,
    ) -> Experiment<'_, R> {
        let span = Duration::from_us(us);
        Experiment {
            topology: &self.topology,
            links: links(&self.topology),
            switch,
            routing,
            pattern,
            arrival: Arrival::default(),
            outages: Vec::new(),
            run: RunParams::fixed(load, span, span, 1),
        }
    }
}

fn pauses() -> SwitchParams {
    SwitchParams { flow_control: FlowControl::Pauses, ..SwitchParams::default() }
}

/// Every group to the next.
fn adversarial() -> Pattern {
    Pattern::Adversarial(Adversarial::default())
}

fn uniform() -> Pattern {
    Pattern::Uniform(Uniform::default())
}

/// Only some hosts send, each to one other.
fn flows(pairs: &[[u32; 2]]) -> Pattern {
    Pattern::Listed(Listed { pairs: pairs.to_vec() })
}

#[test]
fn tables_of_a_dragonfly_give_the_reports_of_the_algorithms() {
    for p in [2, 3] {
        let bench = Bench::dragonfly(p);
        for pattern in [uniform(), adversarial()] {
            for load in [0.2, 0.5, 1.0] {
                let run = |routing| bench.run(routing, pattern.clone(), load, 20);
                let algorithm = bench.run(DragonflyMinimal { plan: bench.plan() }, pattern.clone(), load, 20);
                assert_eq!(run(bench.minimal(&MinimalTables::default())), algorithm, "p {p} {pattern:?} {load}");
                let conditional = Conditional { plan: bench.plan(), h: p as u8 };
                let params = ConditionalTables { priorities: Some(conditional.channels()), ..Default::default() };
                let algorithm = bench.run(conditional, pattern.clone(), load, 20);
                assert_eq!(run(bench.conditional(&params)), algorithm, "p {p} {pattern:?} {load}");
            }
        }
    }
}

#[test]
fn tables_of_a_butterfly_give_the_reports_of_the_algorithm() {
    for bench in [Bench::rows(4, &[4, 4]), Bench::rows(3, &[3, 4, 3]), Bench::rows(3, &[3, 2, 4])] {
        for pattern in [uniform(), adversarial()] {
            for load in [0.2, 0.5, 1.0] {
                let plan = ButterflyPlan::of(&bench.topology).unwrap();
                let algorithm = bench.run(ButterflyConditional { plan }, pattern.clone(), load, 20);
                let tables = bench.conditional(&ConditionalTables::default());
                assert_eq!(bench.run(tables, pattern.clone(), load, 20), algorithm, "{pattern:?} {load}");
            }
        }
    }
}

#[test]
fn a_host_s_own_place_of_the_row_is_a_second_link_where_all_of_a_switch_send_to_another() {
    // Benito et al. 2015, section V-D. Hosts 0 to 2 of the first switch of a row of three send to the next switch: one
    // minimal link, which is also the first port of hosts 0 and 2. Host 1 goes by the third switch as far as it does
    // not get the minimal link as well; with a second port all of them fill both links.
    let bench = Bench::butterfly();
    let pattern = flows(&[[0, 3], [1, 4], [2, 5]]);
    let links = |alternatives| {
        let params = ConditionalTables { alternatives: Some(alternatives), ..ConditionalTables::default() };
        bench.run(bench.conditional(&params), pattern.clone(), 1.0, 2_000).load_accepted * 27.0
    };
    let [minimal, one, two] = [0, 1, 2].map(links);
    assert!((minimal - 1.0).abs() < 0.01, "{minimal}");
    assert!((1.5..2.0).contains(&one) && (two - 2.0).abs() < 0.02, "{one} {two}");
}

#[test]
fn a_butterfly_accepts_near_half_of_what_hosts_send_to_the_next_switch() {
    // As many hosts on a switch as places in a row: dimension order has a link for four, and all paths by another place
    // two links, 4 / (2 * 4).
    let bench = Bench::rows(4, &[4, 4]);
    let run = |alternatives| {
        let params = ConditionalTables { alternatives: Some(alternatives), ..ConditionalTables::default() };
        bench.run(bench.conditional(&params), adversarial(), 0.5, 100).load_accepted
    };
    let [minimal, one] = [0, 1].map(run);
    assert!(one > 1.5 * minimal && one < 0.5, "{minimal} {one}");
}

#[test]
fn every_plan_and_compaction_gives_the_same_report() {
    for bench in [Bench::dragonfly(2), Bench::butterfly()] {
        let expected = bench.run(bench.minimal(&MinimalTables::default()), uniform(), 0.7, 10);
        for (&plan, &kind) in
            PlanKind::ALL.iter().flat_map(|plan| CompactionKind::ALL.iter().map(move |kind| (plan, kind)))
        {
            let params = MinimalTables { address_plan: Some(plan), compaction: Some(kind) };
            let report = bench.run(bench.minimal(&params), uniform(), 0.7, 10);
            assert_eq!(report, expected, "{} {}", plan.name(), kind.name());
        }
    }
    let bench = Bench::dragonfly(2);
    let of = |compaction| {
        let params = ConditionalTables { compaction: Some(compaction), ..ConditionalTables::default() };
        bench.run(bench.conditional(&params), adversarial(), 0.7, 10)
    };
    assert_eq!(of(CompactionKind::Plain), of(CompactionKind::Prefixes));
}

#[test]
fn without_pauses_conditional_tables_are_minimal() {
    // Queues are empty when one packet at a time is in flight.
    for bench in [Bench::butterfly(), Bench::clos()] {
        let minimal = bench.run(bench.minimal(&MinimalTables::default()), uniform(), 0.0001, 20_000);
        let conditional = bench.run(bench.conditional(&ConditionalTables::default()), uniform(), 0.0001, 20_000);
        assert!(minimal.delivered > 100);
        assert_eq!(conditional, minimal);
    }
}

#[test]
fn under_pressure_alternatives_are_taken_and_carry_more() {
    // The 3 hosts of switch (0, 0) send to those of (1, 1): along y alone they share a link, along x there is another.
    let bench = Bench::butterfly();
    let pattern = flows(&[[0, 12], [1, 13], [2, 14]]);
    let minimal = bench.run(bench.minimal(&MinimalTables::default()), pattern.clone(), 1.0, 200);
    let params = ConditionalTables { alternatives: Some(0), ..ConditionalTables::default() };
    let conditional = bench.run(bench.conditional(&params), pattern, 1.0, 200);
    assert_eq!(minimal.misrouted_share, Some(0.0));
    let [one, two] = [&minimal, &conditional].map(|report| report.load_accepted * 27.0);
    assert!((one - 1.0).abs() < 0.005 && (two - 2.0).abs() < 0.01, "links: {one}, {two}");
    // Either path is two links long.
    assert_eq!([minimal.hops_mean, conditional.hops_mean], [Some(3.0); 2]);
    assert!((conditional.misrouted_share.unwrap() - 0.5).abs() < 0.01, "{:?}", conditional.misrouted_share);
}

#[test]
fn an_alternative_uplink_doubles_what_two_flows_of_one_share_carry() {
    // Hosts 0 and 1 of a leaf with 2 uplinks for 4 hosts have the same uplink; each wants all of it.
    let uplinks = vec![etherweave_topology::Uplinks { ports: Some(2), ..Default::default() }];
    let bench =
        Bench::of(TopologyKind::FoldedClos(FoldedClos { radix: 6, hosts: 16, uplinks, ..FoldedClos::default() }));
    let pattern = flows(&[[0, 8], [1, 9]]);
    // 10,000 packets of each flow: a deviation is 0.7 % of what they offer.
    let load = |routing| bench.run(routing, pattern.clone(), 1.0, 2_000).load_accepted * 16.0;
    let alone = load(bench.minimal(&MinimalTables::default()));
    let both = load(bench.conditional(&ConditionalTables::default()));
    assert!((alone - 1.0).abs() < 0.005, "one link: {alone}");
    assert!((both - 2.0).abs() < 0.02, "two links: {both}");
    let congestion = ConditionalTables { trigger: Trigger::Congestion { packets: 4 }, ..Default::default() };
    let both = load(bench.conditional(&congestion));
    assert!((both - 2.0).abs() < 0.02, "two links, chosen by congestion: {both}");
    // Nobody pauses the uplink, whose queue holds one flow too many: pause frames alone do not say that.
    let paused = |trigger| {
        let tables = bench.conditional(&ConditionalTables { trigger, ..Default::default() });
        bench.run_with(pauses(), tables, pattern.clone(), 1.0, 2_000).load_accepted * 16.0
    };
    let [alone, both] = [Trigger::Pause, Trigger::Full].map(paused);
    assert!((alone - 1.0).abs() < 0.005, "one link, by pauses alone: {alone}");
    assert!((both - 2.0).abs() < 0.02, "two links, by pauses and full queues: {both}");
}

/// A resumed port sends `n` packets of `T` before it is paused again, in `(n - 1) T + 2 delay`, and gets `3 · load`
/// times what it could send in that time: its queue grows where `3 · load > n T / ((n - 1) T + 2 delay)`. That is 2.5
/// with one packet of 200 ns between XOFF and XON, on 40 ns of cable, and 1.08 with eight; 3 · 0.45 is 1.35. The three
/// hosts beside the global link have no port that anyone pauses, and wait for it with all others: 15 of 18 are left.
/// Where full queues deactivate rules as well, 17 of 18 are left by strict priority: the host whose alternative is the
/// global link itself sends nothing on channel 0 while others fill channel 1. In turn, it has its share.
#[test]
fn pause_frames_alone_fail_where_a_resumed_port_gets_more_than_it_sends() {
    let bench = Bench::dragonfly(3);
    let share_by = |scheduler, trigger, resume_below| {
        let tables = bench.conditional(&ConditionalTables { trigger, ..Default::default() });
        let switch = SwitchParams { resume_below, scheduler, ..pauses() };
        bench.run_with(switch, tables, adversarial(), 0.45, 100).load_accepted / 0.45
    };
    let share = |trigger, resume_below| share_by(ChannelScheduler::Strict, trigger, resume_below);
    let [near, far] = [1, 8].map(|resume_below| share(Trigger::Pause, resume_below));
    assert!(near > 15.0 / 18.0 && far < 15.0 / 18.0, "{near} {far}");
    let full = [1, 8].map(|resume_below| share(Trigger::Full, resume_below));
    assert!(full.iter().all(|&share| (share - 17.0 / 18.0).abs() < 0.005), "{full:?}");
    let in_turn = [1, 8].map(|resume_below| share_by(ChannelScheduler::RoundRobin, Trigger::Full, resume_below));
    assert!(in_turn.iter().all(|&share| share > 0.98), "{in_turn:?}");
}

#[test]
fn the_lower_the_threshold_of_congestion_the_shorter_the_queues_that_packets_wait_in() {
    // Under ADV the minimal link's queue grows until packets are diverted: by 4 packets, by 16, by a full queue.
    let bench = Bench::dragonfly(3);
    let run = |trigger| {
        let params = ConditionalTables { trigger, ..ConditionalTables::default() };
        bench.run(bench.conditional(&params), adversarial(), 0.2, 50)
    };
    let [low, high, full] =
        [Trigger::Congestion { packets: 4 }, Trigger::Congestion { packets: 16 }, Trigger::Full].map(run);
    let [low, high, full] = [low, high, full].map(|report| report.latency_ns_mean.unwrap());
    assert!(low < high && high < full, "{low} {high} {full}");
}

/// Congestion points of 5,000 B, half of an output queue, and rules that stay inactive for as long as it takes to
/// notify the 6 switches of a group at 150 kB a sample: 6 * 30 us.
#[test]
fn congestion_notifications_that_switches_snoop_send_adversarial_traffic_by_other_groups() {
    let bench = Bench::dragonfly(3);
    let [set_point, sample_base] = [5_000, 150_000].map(Bytes::new);
    let notification = Notification { hold: Duration::from_us(180), set_point, weight: 2, sample_base };
    let params = ConditionalTables { trigger: Trigger::Notification(notification), ..ConditionalTables::default() };
    for switch in [SwitchParams::default(), pauses()] {
        let run = |threads| {
            let tables = bench.conditional(&params);
            bench.experiment(switch.clone(), tables, adversarial(), 0.3, 60).run(threads).unwrap()
        };
        let report = run(1);
        // Minimal paths carry 1 of 18, Valiant's half.
        assert!(report.load_accepted > 0.85 * 0.3, "{}", report.load_accepted);
        assert_eq!(run(3), report, "on three threads");
    }
}

#[test]
fn a_host_whose_alternative_is_its_default_gets_the_whole_of_the_next_one() {
    // Global port 0 of switch 0 leads to group 18: default and first non-minimal path of host 0, and default of the
    // hosts of switch 1, who have three non-minimal paths of their own. They and host 0 have the link in turn, a half
    // each. Only with a second alternative, global port 1, has host 0 all that it wants.
    let bench = Bench::dragonfly(3);
    let [first, group] = [18 * 18, 3];
    let pattern = flows(&[[0, first], [3, first + group], [4, first + 2 * group], [5, first + 3 * group]]);
    let run = |alternatives| {
        let params = ConditionalTables { alternatives: Some(alternatives), ..ConditionalTables::default() };
        bench.run(bench.conditional(&params), pattern.clone(), 1.0, 2_000).load_accepted * 342.0
    };
    let [one, two] = [1, 2].map(run);
    assert!((one - 3.5).abs() < 0.05, "{one}");
    assert!((two - 4.0).abs() < 0.05, "{two}");
}

#[test]
fn conditional_tables_of_a_dragonfly_are_free_of_deadlock_on_two_priorities_and_not_on_one() {
    for (bench, alternatives) in [(Bench::dragonfly(2), 1), (Bench::dragonfly(2), 2)] {
        let params =
            |priorities| ConditionalTables { priorities, alternatives: Some(alternatives), ..Default::default() };
        for priorities in [2, 3] {
            let tables = bench.conditional(&params(Some(priorities)));
            assert_eq!(tables.channels(), priorities);
            let cycle = dependency_cycle(&bench.topology, &LegalHops { topology: &bench.topology, tables: &tables });
            assert_eq!(cycle, None, "{priorities} priorities, {alternatives} alternatives");
        }
        let flow_tables = params(None).tables(&bench.kind, &bench.topology).unwrap().0;
        let tables = flow_tables.compile(ChannelScheme::One, Trigger::Pause).unwrap();
        let legal = LegalHops { topology: &bench.topology, tables: &tables };
        assert!(dependency_cycle(&bench.topology, &legal).is_some(), "one priority");
    }
}

#[test]
fn tables_of_butterflies_and_trees_are_free_of_deadlock_on_the_channels_they_ask_for() {
    let benches =
        [Bench::butterfly(), Bench::rows(2, &[3, 2, 3]), Bench::rows(2, &[2, 3]), Bench::clos(), Bench::dragonfly(2)];
    for bench in benches {
        for tables in [bench.minimal(&MinimalTables::default()), bench.conditional(&ConditionalTables::default())] {
            let legal = LegalHops { topology: &bench.topology, tables: &tables };
            assert_eq!(dependency_cycle(&bench.topology, &legal), None, "{}", bench.kind.name());
        }
    }
    // Dimensions in any order close rings on one channel.
    let bench = Bench::butterfly();
    for alternatives in [0, 1] {
        let params = ConditionalTables { alternatives: Some(alternatives), ..ConditionalTables::default() };
        assert_eq!(bench.conditional(&params).channels(), 2 + alternatives as u8, "a channel for each hop");
        let flow_tables = params.tables(&bench.kind, &bench.topology).unwrap().0;
        let tables = flow_tables.compile(ChannelScheme::One, Trigger::Pause).unwrap();
        assert!(dependency_cycle(&bench.topology, &LegalHops { topology: &bench.topology, tables: &tables }).is_some());
    }
}

#[test]
fn two_priorities_carry_what_three_do() {
    // Benito et al. 2015, section V-E: two classes of service are enough.
    let bench = Bench::dragonfly(3);
    let run = |priorities| {
        let params = ConditionalTables { priorities: Some(priorities), ..ConditionalTables::default() };
        bench.run(bench.conditional(&params), adversarial(), 0.3, 50)
    };
    let [two, three] = [2, 3].map(run);
    assert!((two.load_accepted - three.load_accepted).abs() < 0.01, "{} {}", two.load_accepted, three.load_accepted);
}

#[test]
fn tables_that_do_not_suit_a_family_are_rejected() {
    let check = |bench: &Bench, params: ConditionalTables, expected: &str| {
        let error = params.build(&bench.kind, &bench.topology).err().unwrap();
        assert_eq!(error.to_string(), expected);
    };
    let nested = ConditionalTables { compaction: Some(CompactionKind::PrefixesNested), ..Default::default() };
    let expected = "compaction: prefixes_nested; expected prefixes or plain under conditional rules on a dragonfly";
    check(&Bench::dragonfly(2), nested, expected);
    let none = ConditionalTables { alternatives: Some(0), ..Default::default() };
    check(&Bench::clos(), none, "alternatives: 0; expected 1 or more; minimal_tables have none");
    let single = ConditionalTables { priorities: Some(1), ..Default::default() };
    check(&Bench::dragonfly(2), single, "priorities: 1; expected 2 or 3");
    let torus = Bench::of(TopologyKind::Torus(Default::default()));
    let expected =
        "topology: torus; expected a dragonfly, flattened butterfly, HyperX or tree where packets go by tables";
    check(&torus, ConditionalTables::default(), expected);
}
