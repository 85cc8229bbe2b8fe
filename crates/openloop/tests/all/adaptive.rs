//! Adaptive routings without load, under adversarial and under uniform traffic.

use crate::fabric::Fabric;
use etherweave_openloop::Pattern;
use etherweave_routing::{Conditional, DragonflyMinimal, Piggyback, UgalLocal, ValiantGroup};

#[test]
fn without_load_adaptive_routings_are_minimal() {
    // Queues are empty when one packet at a time is in flight: 72 hosts, a packet per host in 2 ms.
    let fabric = Fabric::balanced(2);
    let plan = || fabric.plan.clone();
    let minimal = fabric.run(DragonflyMinimal { plan: plan() }, Pattern::default(), 0.0001, 20_000);
    let ugal = fabric.run(UgalLocal { plan: plan(), threshold: 0 }, Pattern::default(), 0.0001, 20_000);
    let piggyback = fabric.run(Piggyback::new(plan()), Pattern::default(), 0.0001, 20_000);
    let conditional = fabric.run(Conditional { plan: plan(), h: 2 }, Pattern::default(), 0.0001, 20_000);
    assert_eq!(conditional, minimal);
    for report in [ugal, piggyback] {
        // One packet in 140 finds another of the last 200 ns in its group, which may take the same link.
        assert!(report.misrouted_share.unwrap() < 0.007, "{:?}", report.misrouted_share);
    }
}

#[test]
fn under_adv_the_group_reports_what_a_switch_does_not_see() {
    // A switch without the global link sees no queue for it: UGAL-L sends too much there, PB does not.
    let fabric = Fabric::balanced(3);
    let plan = || fabric.plan.clone();
    let run = |load| {
        let local = fabric.run(UgalLocal { plan: plan(), threshold: 0 }, fabric.adversarial(), load, 50);
        let known = fabric.run(Piggyback::new(plan()), fabric.adversarial(), load, 50);
        let blind = fabric.run(ValiantGroup { plan: plan() }, fabric.adversarial(), load, 50);
        [local, known, blind].map(|report| (report.load_accepted, report.latency_ns_mean.unwrap()))
    };
    let [(_, local), (_, known), (_, blind)] = run(0.3);
    assert!(blind < known && known < local, "latencies {blind} {known} {local}");
    let [(local, _), (known, _), (blind, _)] = run(1.0);
    assert!(local < known && known < blind, "accepted {local} {known} {blind}");
}

#[test]
fn under_un_piggyback_is_slower_than_minimal_and_conditional_is_not() {
    // Benito et al. 2015, section VI-B, figure 12a.
    let fabric = Fabric::balanced(3);
    let plan = || fabric.plan.clone();
    let latency = |report: etherweave_openloop::Report| report.latency_ns_mean.unwrap();
    for load in [0.2, 0.5, 0.7] {
        let minimal = latency(fabric.run(DragonflyMinimal { plan: plan() }, Pattern::default(), load, 50));
        let piggyback = latency(fabric.run(Piggyback::new(plan()), Pattern::default(), load, 50));
        let conditional = latency(fabric.run(Conditional { plan: plan(), h: 3 }, Pattern::default(), load, 50));
        assert!(piggyback > minimal, "load {load}: {piggyback} {minimal}");
        assert!((conditional / minimal - 1.0).abs() < 0.1, "load {load}: {conditional} {minimal}");
    }
}
