//! Runs of every routing on every small fabric that it works on. What packets do step by step, whatever is queued, is
//! in `crates/forwarding/tests/all/every_packet_routing.rs`.

use crate::small;
use std::sync::LazyLock;

use crate::small::Small;
use etherweave_forwarding::{FabricTables, TableParams};
use etherweave_openloop::{Arrival, ControllerParams, Links, OfferedTraffic, Pattern, Report, RunParams, SwitchParams};
use etherweave_primitives::{BitRate, Duration, InputErrors};
use etherweave_routing::{FabricOf, RoutingKind};
use etherweave_topology::{Custom, Family, FlattenedButterfly, Metrics, Topology, Torus};
use etherweave_workload::pattern::{Adversarial, Shift};

/// A run: what is sent, how much, for how long after how long.
struct Run {
    pattern: Pattern,
    load: f64,
    warm_up_us: u64,
    measured_us: u64,
}

impl Run {
    fn of<'a>(&self, routing: RoutingKind, fabric: impl Into<FabricOf<'a>>, threads: usize) -> Report {
        self.try_of(routing, fabric, threads).unwrap()
    }

    fn try_of<'a>(
        &self,
        routing: RoutingKind,
        fabric: impl Into<FabricOf<'a>>,
        threads: usize,
    ) -> Result<Report, InputErrors> {
        let fabric = fabric.into();
        let (warm_up, measured) = (Duration::from_us(self.warm_up_us), Duration::from_us(self.measured_us));
        let run = RunParams::fixed(self.load, warm_up, measured, 1);
        // All links between switches are as long, so that latencies give their number.
        let links = Links::alike(fabric.topology, BitRate::from_gbps(40), [40, 400, 400].map(Duration::from_ns));
        let switch = SwitchParams::default();
        let (pattern, arrival) = (self.pattern.clone(), Arrival::default());
        // A controller that takes its time would be minimal.
        let controller = ControllerParams { reaction: Duration::ZERO };
        let traffic = OfferedTraffic { fabric, links, switch, pattern, arrival, controller, run };
        traffic.run_with(routing, threads)
    }
}

fn tables(small: &Small) -> FabricTables<'_> {
    static DEFAULT: LazyLock<TableParams> = LazyLock::new(TableParams::default);
    FabricTables { kind: &small.kind, topology: &small.topology, params: &DEFAULT }
}

fn each(mut check: impl FnMut(RoutingKind, &Small, &str)) {
    for small in small::all() {
        for routing in RoutingKind::all().into_iter().filter(|routing| routing.works_on(&tables(&small))) {
            check(routing, &small, &format!("{} on {} switches", routing.name(), small.topology.switches()));
        }
    }
}

/// All of a group, or of a switch, to the next; on trees from one half to the other.
fn worst(small: &Small) -> Pattern {
    if small.topology.axes()[0] == "level" {
        return Pattern::Shift(Shift { offset: small.topology.hosts() as u32 / 2 });
    }
    Pattern::Adversarial(Adversarial::default())
}

#[test]
fn without_load_a_packet_takes_its_links_and_crossbars_and_where_possible_a_shortest_path() {
    each(|routing, small, name| {
        let run = Run { pattern: Pattern::default(), load: 0.001, warm_up_us: 1, measured_us: 20_000 };
        // Tests run side by side; two threads of each would wait for each other at every window.
        let report = run.of(routing, &tables(small), 1);
        // 40 ns in and out, 200 for 1,000 bytes at 40 Gb/s; 200 per switch, 400 per link between two.
        let hops = report.hops_mean.unwrap();
        let expected = 40.0 + 40.0 + 200.0 + 200.0 * hops + 400.0 * (hops - 1.0);
        // A thousandth of the packets at each of up to seven links follow another, and wait 100 ns on average. Over a
        // cable of a tree half of the hosts may send half of what they send, and so may every cable of a path.
        let wait_max = match routing {
            // So may all hosts that share the only uplink in use.
            RoutingKind::DisjointTrees | RoutingKind::ElasticTree { .. } => {
                hops * small.topology.hosts() as f64 / 4.0 * 0.1
            }
            _ => 1.0,
        };
        let mean = report.latency_ns_mean.unwrap();
        assert!((0.0..wait_max).contains(&(mean - expected)), "{name}: {mean}, expected {expected}");
        assert_eq!((report.source_blocked, report.made), (0, report.delivered + report.in_flight), "{name}");
        // Hosts make a packet in 200 us each, and the longest path is below 6 us.
        assert!(report.in_flight <= small.topology.hosts() as u64 / 4, "{name}: {} in flight", report.in_flight);
        let leaves_shortest = [RoutingKind::Valiant, RoutingKind::DisjointTrees].contains(&routing);
        if small.topology.axes() != ["group", "switch"] && !leaves_shortest {
            let shortest = 1.0 + Metrics::of(&small.kind, &small.topology).distances.mean;
            // 100 packets of each of 30 hosts or more, whose paths deviate by at most 1.5 switches: 4 standard errors.
            assert!((hops - shortest).abs() < 0.11, "{name}: {hops}, expected {shortest}");
            assert!(report.misrouted_share.unwrap() < 0.007, "{name}: {:?}", report.misrouted_share);
        }
    });
}

#[test]
fn the_number_of_threads_changes_nothing() {
    each(|routing, small, name| {
        let run = Run { pattern: worst(small), load: 0.8, warm_up_us: 5, measured_us: 10 };
        let alone = run.of(routing, &tables(small), 1);
        for threads in [2, 3] {
            assert_eq!(run.of(routing, &tables(small), threads), alone, "{name} on {threads} threads");
        }
    });
}

#[test]
fn at_full_load_all_hosts_go_on_sending() {
    each(|routing, small, name| {
        for pattern in [Pattern::default(), worst(small)] {
            // Queues are full long before: 100 packets of a host take 20 us on its link.
            let run = Run { pattern, load: 1.0, warm_up_us: 100, measured_us: 60 };
            let report = run.of(routing, &tables(small), 1);
            let (accepted, least) = (report.load_accepted, report.fairness.least_to_most().unwrap());
            // The worst of these: 8 hosts of a group share one global link by minimal paths; half of all hosts one
            // cable of a tree.
            let share = match routing {
                RoutingKind::DisjointTrees => 2.0 / small.topology.hosts() as f64,
                _ => 1.0 / 8.0,
            };
            assert!(accepted > 0.99 * share && least > 0.0, "{name}, {:?}: {accepted}, {least}", run.pattern);
        }
    });
}

#[test]
fn a_routing_that_does_not_work_on_a_fabric_is_rejected_with_the_reason_and_those_that_work() {
    let butterfly = FlattenedButterfly::default().generate().unwrap();
    let torus = Torus::default().generate().unwrap();
    let run = Run { pattern: Pattern::default(), load: 0.5, warm_up_us: 1, measured_us: 1 };
    let complete = "minimal, for a complete dragonfly with hosts on every switch";
    let paths = "up_down, which gives every flow one path and decides for no packet";
    let every = "ugal_local, conditional, dimension_order, adaptive_minimal, valiant, dimension_adaptive, \
                 shortest_path, disjoint_trees";
    let few = "dimension_order, valiant, shortest_path, disjoint_trees";
    for (routing, topology, reason, known) in [
        (RoutingKind::Minimal, &butterfly, complete, every),
        (RoutingKind::Minimal, &torus, complete, few),
        (RoutingKind::UpDown, &torus, paths, few),
    ] {
        let error = run.try_of(routing, topology, 1).unwrap_err().to_string();
        assert_eq!(error, format!("routing: {reason}; expected one of {known} on this fabric"));
    }
}

/// Hosts at opposite places of a ring of 70 switches, 35 links apart: a packet has eight priorities, and counts up to
/// 63 links, where a tree of the ring has paths of twice 35.
fn long_ring() -> Topology {
    let ring: String = (0..70).map(|at| format!("s{at},s{}\n", (at + 1) % 70)).collect();
    Custom { links: format!("h0,s0\nh1,s35\n{ring}"), ..Custom::default() }.generate().unwrap()
}

#[test]
fn on_a_fabric_that_no_decision_suits_the_error_says_so_and_names_those_that_exist() {
    let ring = long_ring();
    let run = Run { pattern: Pattern::default(), load: 0.5, warm_up_us: 1, measured_us: 1 };
    for routing in RoutingKind::all() {
        let error = run.try_of(routing, &ring, 1).unwrap_err().to_string();
        let expected = "; no routing decides for every packet on this fabric";
        assert!(error.ends_with(expected) && !error.contains("one of  on"), "{}: {error}", routing.name());
    }
    let error = run.try_of(RoutingKind::UpDown, &ring, 1).unwrap_err().to_string();
    assert!(error.contains("expected a complete dragonfly with hosts on every switch, or a flattened"), "{error}");
    assert!(error.contains("a torus or mesh"), "{error}");
}
