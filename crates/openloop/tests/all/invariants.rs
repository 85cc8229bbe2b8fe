//! Invariants of every run.

use crate::fabric::{Fabric, every_tick, links};
use etherweave_openloop::{Experiment, Pattern, RunParams, SwitchParams};
use etherweave_primitives::{Duration, InputError};
use etherweave_routing::{Conditional, DragonflyMinimal, DragonflyPlan, FabricPlan, ValiantGroup};

#[test]
fn the_same_seed_gives_the_same_report_on_any_number_of_threads() {
    let mut fabric = Fabric::balanced(3);
    let mut run = |threads| {
        fabric.threads = threads;
        fabric.run(Conditional { plan: fabric.plan.clone(), h: 3 }, fabric.adversarial(), 0.4, 20)
    };
    let alone = run(1);
    assert!(alone.misrouted_share.unwrap() > 0.0);
    for threads in [1, 2, 3, 64] {
        assert_eq!(run(threads), alone, "on {threads} threads");
    }
}

#[test]
fn another_seed_gives_another_run() {
    let fabric = Fabric::balanced(2);
    let run = |seed| {
        let span = Duration::from_us(10);
        let run = RunParams::fixed(0.5, span, span, seed);
        let routing = DragonflyMinimal { plan: fabric.plan.clone() };
        let switch = SwitchParams::default();
        let experiment = Experiment {
            topology: &fabric.topology,
            links: links(&fabric.topology),
            switch,
            routing,
            pattern: Pattern::default(),
            arrival: every_tick(),
            outages: Vec::new(),
            run,
        };
        experiment.run(1).unwrap().fingerprint
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn what_is_made_is_delivered_or_in_flight_and_queues_stay_within_their_depth() {
    let fabric = Fabric::balanced(2);
    let report = fabric.run(ValiantGroup { plan: fabric.plan.clone() }, fabric.adversarial(), 1.0, 50);
    assert_eq!(report.made, report.delivered + report.in_flight);
    assert!(report.source_blocked > 0, "a saturated fabric blocks sources");
    // Per switch 2 queues of hosts; 3 local and 2 global ports of 3 channels; what crosses to a host is not held back
    // by a buffer but by its queue of 10 and its link.
    let most = 36 * (2 * 100 + 3 * 3 * 32 + 2 * 3 * 64 + 2 * 11);
    assert!(report.in_flight <= most, "{} above {most}", report.in_flight);
}

#[test]
fn offered_and_accepted_load_agree_below_saturation() {
    let fabric = Fabric::balanced(3);
    let report = fabric.run(DragonflyMinimal { plan: fabric.plan.clone() }, Pattern::default(), 0.5, 100);
    assert_eq!((report.source_blocked, report.misrouted_share), (0, Some(0.0)));
    // 85,500 packets of a Bernoulli process: a deviation is 0.3 %.
    assert!((report.load_offered - 0.5).abs() < 0.008, "{}", report.load_offered);
    assert!((report.load_accepted - report.load_offered).abs() < 0.008, "{}", report.load_accepted);
    let percentiles = [0.5, 0.99, 0.999].map(|share| report.latency_ns.percentile(share).unwrap());
    assert!(percentiles.is_sorted() && f64::from(percentiles[2]) > report.latency_ns_mean.unwrap());
}

#[test]
fn a_fabric_that_is_no_dragonfly_is_rejected() {
    use etherweave_topology::{Family, KAryFatTree};
    let tree = KAryFatTree::default().generate().unwrap();
    let error: InputError = DragonflyPlan::of(&tree).unwrap_err();
    assert!(error.to_string().ends_with("expected a complete dragonfly with hosts on every switch"), "{error}");
}
