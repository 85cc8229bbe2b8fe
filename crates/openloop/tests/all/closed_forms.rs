//! Results that can be computed by hand.

use crate::fabric::{Fabric, every_tick, links};
use etherweave_openloop::{Arbiter, Arrival, Experiment, Pattern, RunParams, SwitchParams};
use etherweave_primitives::Duration;
use etherweave_routing::{DragonflyMinimal, ValiantGroup};
use etherweave_workload::{arrival::Poisson, pattern::Listed};

/// Only `source` sends, to `dst`.
fn pair(source: u32, dst: u32) -> Pattern {
    Pattern::Listed(Listed { pairs: vec![[source, dst]] })
}

#[test]
fn without_load_a_packet_takes_its_links_its_crossbars_and_its_own_length() {
    // p 2, a 4, h 2: 9 groups of 8 hosts; switch s of group 0 has global links to groups 8 - 2s and 7 - 2s, where they
    // end at switch 3 - s. 40 ns in; 200 ns per switch; 40 and 400 ns per link; 200 ns for 1,000 bytes at 40 Gb/s.
    let fabric = Fabric::balanced(2);
    let check = |dst: u32, switches: u32, local: u32, global: u32| {
        let report = fabric.run(DragonflyMinimal { plan: fabric.plan.clone() }, pair(0, dst), 0.001, 20_000);
        let expected = 40 + switches * 200 + local * 40 + global * 400 + 200;
        assert_eq!(report.hops_mean, Some(f64::from(switches)));
        // A thousandth of the packets follow another so closely that they wait, at most for its 200 ns.
        let mean = report.latency_ns_mean.unwrap();
        assert!((0.0..1.0).contains(&(mean - f64::from(expected))), "host {dst}: {mean}, expected {expected}");
    };
    check(1, 1, 0, 0);
    check(2, 2, 1, 0);
    check(8 * 8 + 3 * 2, 2, 0, 1);
    check(8 * 8, 3, 1, 1);
    check(8 * 6 + 2 * 2, 3, 1, 1);
    check(8 * 6, 4, 2, 1);
}

#[test]
fn a_single_flow_waits_as_the_theory_of_queues_says() {
    // Bernoulli arrivals of probability p at a server that takes T ticks (Geo/D/1): packets wait p T (T - 1) / 2 / (1 -
    // p T) on average, once, for the first link of their path; later ones they reach 200 ns apart.
    let fabric = Fabric::balanced(2);
    for load in [0.3, 0.6] {
        let report = fabric.run(DragonflyMinimal { plan: fabric.plan.clone() }, pair(0, 2), load, 20_000);
        let waits = load * 199.0 / (2.0 * (1.0 - load));
        let expected = 40.0 + 2.0 * 200.0 + 40.0 + 200.0 + waits;
        let mean = report.latency_ns_mean.unwrap();
        assert!((mean - expected).abs() < 0.04 * waits, "load {load}: {mean}, expected {expected}");
        assert!((report.load_accepted * 72.0 / load - 1.0).abs() < 0.02, "{}", report.load_accepted);
    }
}

#[test]
fn poisson_arrivals_wait_as_at_a_server_of_equal_times() {
    // M/D/1: load T / 2 / (1 - load). Packets come to their queue on whole ticks, half a tick later on average.
    let fabric = Fabric::balanced(2);
    for load in [0.05, 0.3] {
        let span = Duration::from_us(20_000);
        let experiment = Experiment {
            topology: &fabric.topology,
            links: links(&fabric.topology).with_ejection(&fabric.topology, Duration::ZERO),
            switch: SwitchParams::default(),
            routing: DragonflyMinimal { plan: fabric.plan.clone() },
            pattern: pair(0, 2),
            arrival: Arrival::Poisson(Poisson::default()),
            outages: Vec::new(),
            run: RunParams::fixed(load, span, span, 1),
        };
        let waits = load * 200.0 / (2.0 * (1.0 - load));
        let expected = 40.0 + 2.0 * 200.0 + 40.0 + 200.0 + waits;
        let mean = experiment.run(1).unwrap().latency_ns_mean.unwrap();
        // 5,000 packets at the lower load, whose waits are 0 for 19 of 20 and 100 ns on average for the others.
        assert!((mean - expected).abs() < 1.5, "load {load}: {mean}, expected {expected}");
    }
}

#[test]
fn every_arbiter_gives_each_input_an_equal_share() {
    // Hosts 2 and 3 share a switch and its link to switch 0, host 1 is there: of the link to host 0 the two get a
    // quarter each, host 1 a half. Jain's index is 1 / (3 (1/16 + 1/16 + 1/4)) = 8/9.
    let fabric = Fabric::balanced(2);
    for arbiter in [Arbiter::Age, Arbiter::RoundRobin, Arbiter::LeastRecentlyServed] {
        let (warm_up, measured) = (Duration::from_us(200), Duration::from_us(400));
        let experiment = Experiment {
            topology: &fabric.topology,
            links: links(&fabric.topology),
            switch: SwitchParams { arbiter, ..SwitchParams::default() },
            routing: DragonflyMinimal { plan: fabric.plan.clone() },
            pattern: Pattern::Listed(Listed { pairs: vec![[1, 0], [2, 0], [3, 0]] }),
            arrival: every_tick(),
            outages: Vec::new(),
            run: RunParams::fixed(1.0, warm_up, measured, 1),
        };
        let report = experiment.run(1).unwrap();
        // A link of 72 is always busy.
        assert!((report.load_accepted * 72.0 - 1.0).abs() < 0.001, "{arbiter:?}: {}", report.load_accepted);
        let (jain, ratio) = (report.fairness.jain().unwrap(), report.fairness.least_to_most().unwrap());
        assert!((jain - 8.0 / 9.0).abs() < 0.005 && (ratio - 0.5).abs() < 0.02, "{arbiter:?}: {jain} {ratio}");
    }
}

#[test]
fn minimal_routing_under_adv_gives_all_hosts_of_a_group_one_link() {
    // 1/(a p) of a host's rate; what waits in the source group hides nothing.
    let fabric = Fabric::balanced(3);
    let report = fabric.run(DragonflyMinimal { plan: fabric.plan.clone() }, fabric.adversarial(), 1.0, 100);
    let bound = 1.0 / f64::from(fabric.plan.hosts_per_group());
    assert!(report.load_accepted <= bound * 1.001, "{} above {bound}", report.load_accepted);
    assert!(report.load_accepted >= bound * 0.99, "{} below {bound}", report.load_accepted);
}

#[test]
fn valiant_routing_takes_every_global_link_twice_and_so_accepts_a_half() {
    // A packet takes two global links, but one when the intermediate group, one of 18 others, is the destination's:
    // p = h hosts per switch and h links give h / (p (2 - 1/18)).
    let fabric = Fabric::balanced(3);
    let report = fabric.run(ValiantGroup { plan: fabric.plan.clone() }, fabric.adversarial(), 1.0, 100);
    let bound = 1.0 / (2.0 - 1.0 / 18.0);
    assert!(report.load_accepted <= bound, "{} above {bound}", report.load_accepted);
    assert!(report.load_accepted >= bound * 0.93, "{} far below {bound}", report.load_accepted);
}
