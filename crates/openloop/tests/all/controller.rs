//! Central controller under traffic that changes faster than it reacts, or slower; and reaction times of routings.

use crate::fabric::offered;
use etherweave_forwarding::ConditionalTables;
use etherweave_openloop::{
    Arrival, ControllerParams, Experiment, OfferedTraffic, Pattern, Report, RunLength, RunParams, SwitchParams,
};
use etherweave_primitives::Duration;
use etherweave_routing::{
    Conditional, Controller, DragonflyMinimal, DragonflyPlan, FabricPlan, PacketRouting, Piggyback, ValiantGroup,
};
use etherweave_topology::{Dragonfly, Topology, TopologyKind};
use etherweave_workload::pattern::{Adversarial, Alternating, Switching};

/// Eight hosts of a group share one link to the next by minimal paths.
const MINIMAL_MAX: f64 = 1.0 / 8.0;
/// Load that hosts offer to their links: twice what minimal paths carry, and what others do.
const LOAD: f64 = 0.25;

/// Traffic over 72 hosts in nine groups.
struct Bench {
    kind: TopologyKind,
    topology: Topology,
    pattern: Pattern,
    reaction: Duration,
    length: RunLength,
}

impl Bench {
    fn new(pattern: Pattern, reaction: Duration, warm_up: Duration, measured: Duration) -> Bench {
        let length = RunLength { batch: Duration::from_us(6), ..RunLength::fixed(warm_up, measured) };
        let kind = TopologyKind::Dragonfly(Dragonfly { p: 2, a: 4, h: 2, ..Dragonfly::default() });
        let topology = kind.generate().unwrap();
        Bench { kind, topology, pattern, reaction, length }
    }

    fn plan(&self) -> DragonflyPlan {
        DragonflyPlan::of(&self.topology).unwrap()
    }

    fn run<R: PacketRouting>(&self, mut routing: R) -> Report {
        // What waits at hosts when the traffic changes is little, so that it need not be separated.
        let switch = SwitchParams { injection_queue: 10, ..SwitchParams::default() };
        let run = RunParams { load: LOAD, length: self.length.clone(), records_steps: false, seed: 1 };
        let (topology, controller) = (&self.topology, ControllerParams { reaction: self.reaction });
        let usual = offered(topology, self.pattern.clone(), run);
        let traffic = OfferedTraffic { switch, arrival: Arrival::default(), controller, ..usual };
        routing.learn(|| traffic.known()).unwrap();
        let OfferedTraffic { links, switch, pattern, arrival, run, .. } = traffic;
        Experiment { topology, links, switch, routing, pattern, arrival, outages: Vec::new(), run }.run(1).unwrap()
    }

    fn controlled(&self) -> Report {
        self.run(Controller::new(self.plan()))
    }
}

fn adversarial(offset: u32) -> Pattern {
    Pattern::Adversarial(Adversarial { offset, hosts_per_switch: None })
}

/// All of a group to the next, then to the third from it, by turns.
fn by_turns(period: Duration) -> Pattern {
    Pattern::Alternating(Alternating { patterns: vec![adversarial(1), adversarial(3)], period })
}

fn times(count: u64, span: Duration) -> Duration {
    Duration::from_ps(count * span.as_ps())
}

#[test]
fn one_that_reacts_at_once_is_valiant_for_overloaded_pairs_and_minimal_for_others() {
    let us = Duration::from_us;
    let bench = |pattern, reaction| Bench::new(pattern, reaction, us(30), us(60));
    let known = bench(adversarial(1), Duration::ZERO);
    let valiant = known.run(ValiantGroup { plan: known.plan() });
    assert_eq!(known.controlled(), valiant);
    for unknown in [bench(Pattern::default(), Duration::ZERO), bench(adversarial(1), us(90))] {
        let minimal = unknown.run(DragonflyMinimal { plan: unknown.plan() });
        assert_eq!(unknown.controlled().fingerprint, minimal.fingerprint);
    }
}

#[test]
fn rules_come_into_force_a_reaction_after_the_traffic_changed() {
    let us = Duration::from_us;
    let bench = Bench::new(adversarial(1), us(60), Duration::ZERO, us(120));
    let report = bench.controlled();
    let misrouted: Vec<u64> = report.batches.iter().map(|batch| batch.misrouted).collect();
    // Batches of 6 us, and the longest path takes less than one.
    assert!(misrouted[..10].iter().all(|&count| count == 0) && misrouted[11..20].iter().all(|&count| count > 0));
}

#[test]
fn a_controller_that_takes_43_iterations_is_always_late_and_one_of_44_is_right_by_chance() {
    // A fifth of the iteration of CG, to save time: 324 us.
    let period = Duration::from_us(324);
    let of = |reaction| {
        let bench = Bench::new(by_turns(period), reaction, times(44, period), times(6, period));
        let [late, minimal] = [bench.controlled(), bench.run(DragonflyMinimal { plan: bench.plan() })];
        (late.load_accepted, minimal.load_accepted)
    };
    // At a change no more waits of the pattern before than hosts (10 packets each) and the path to the gateway hold
    // (three local links of 32 and 10 packets, a queue of 10, for eight hosts), of 200 ns each: it may come later.
    let left_over = (10.0 + (3.0 * 42.0 + 10.0) / 8.0) * 0.2 / 324.0;
    let (late, minimal) = of(times(43, period));
    let most = (MINIMAL_MAX + left_over) * 1.01;
    assert!(late < most && minimal < most && most < 0.6 * LOAD, "{late} {minimal}, at most {most}");
    let (by_chance, _) = of(times(44, period));
    assert!(by_chance > 0.98 * LOAD, "{by_chance}");
    // After 43.2 iterations for a fifth of the time; then also what was left over while its rules were wrong comes.
    let (partly, _) = of(Duration::from_us(324 * 432 / 10));
    let expected = 0.2 * LOAD + 0.8 * MINIMAL_MAX;
    assert!((0.99 * expected..1.01 * (expected + 2.0 * left_over)).contains(&partly), "{partly}, expected {expected}");
}

#[test]
fn where_every_phase_is_43_times_as_long_as_its_reaction_a_controller_helps() {
    let reaction = Duration::from_us(70);
    let period = times(43, reaction);
    let bench = Bench::new(by_turns(period), reaction, period, times(2, period));
    let late_share = 1.0 / 43.0;
    // While it is late, minimal paths carry what they can. A percent for the spread of 200,000 arrivals and more.
    let least = 0.99 * (LOAD - (LOAD - MINIMAL_MAX) * late_share);
    let accepted = bench.controlled().load_accepted;
    assert!(accepted > least, "{accepted}, at least {least}");
}

#[test]
fn what_a_switch_sees_itself_makes_it_react_before_a_controller_and_minimal_routing_never_does() {
    let (us, change_ns, reaction_us) = (Duration::from_us, 60_000, 700);
    let to = Box::new(adversarial(1));
    let pattern = Pattern::Switching(Switching { at: us(60), to, ..Switching::default() });
    let mut bench = Bench::new(pattern, us(reaction_us), us(60), us(1_800));
    // A tenth of the 2,700 packets of a batch is five standard deviations.
    bench.length.batch = us(30);
    let reacts = |report: Report| report.reaction_ns(change_ns).map(|ns| u64::from(ns) / 1_000);
    assert_eq!(reacts(bench.run(DragonflyMinimal { plan: bench.plan() })), None);
    let late = reacts(bench.controlled()).unwrap();
    // What is left over, 27 packets of a host, takes 200 ns each of the tenth that is free by random groups; then the
    // batch ends.
    assert!((reaction_us..=reaction_us + 54 + 30).contains(&late), "{late} us");
    let conditional = bench.run(Conditional { h: bench.plan().global_ports(), plan: bench.plan() });
    let tables = ConditionalTables { priorities: Some(2), ..ConditionalTables::default() };
    assert_eq!(bench.run(tables.build(&bench.kind, &bench.topology).unwrap()), conditional);
    let conditional = reacts(conditional).unwrap();
    let piggyback = reacts(bench.run(Piggyback::new(bench.plan()))).unwrap();
    assert!(conditional < reaction_us / 10 && piggyback < reaction_us / 10, "{conditional} us, {piggyback} us");
}
