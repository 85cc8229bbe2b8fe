//! The paper's simulator on the same network: FOGSim, public version 5, measured on a dragonfly of 1,056 hosts (p 4,
//! a 8, h 4, palm tree, 33 groups) with the switch of the default parameters, 3 local and 2 global channels, and
//! least-recently-served arbiters. FOGSim's outputs serve transit before injection by default (`TransitPriority`); the
//! figures here are without it, but for those of one test.
//!
//! Latencies below 80 % of saturation agree within 10 %, accepted loads within 0.03, but for two points at full load.

use crate::fabric::Fabric;
use etherweave_openloop::{Arbiter, Pattern, SwitchParams};
use etherweave_routing::{Conditional, DragonflyMinimal, PacketRouting, Piggyback, ValiantGroup};

/// Measured values: mean latency [ns] where it counts, accepted load.
struct Expected {
    load: f64,
    latency_ns: Option<f64>,
    accepted: f64,
}

fn at(load: f64, latency_ns: f64) -> Expected {
    Expected { load, latency_ns: Some(latency_ns), accepted: load }
}

fn saturated(accepted: f64) -> Expected {
    Expected { load: 1.0, latency_ns: None, accepted }
}

fn dragonfly() -> Fabric {
    Fabric { arbiter: Arbiter::LeastRecentlyServed, ..Fabric::balanced(4) }
}

fn check<R: PacketRouting>(fabric: &Fabric, routing: impl Fn() -> R, pattern: &Pattern, rows: &[Expected]) {
    for Expected { load, latency_ns, accepted } in rows {
        let report = fabric.run(routing(), pattern.clone(), *load, 60);
        let latency = report.latency_ns_mean.unwrap();
        assert!((report.load_accepted - accepted).abs() < 0.03, "load {load}: accepted {}", report.load_accepted);
        let differs = latency_ns.map_or(0.0, |expected| latency / expected - 1.0);
        assert!(differs.abs() < 0.1, "load {load}: {latency} ns differs by {differs}");
    }
}

#[test]
fn minimal_routing_agrees() {
    let fabric = dragonfly();
    let routing = || DragonflyMinimal { plan: fabric.plan.clone() };
    // Saturated at 0.884: 0.8 is above 80 % of that, and agrees none the less.
    let rows = [at(0.2, 1531.0), at(0.5, 1846.0), at(0.8, 3095.0), saturated(0.884)];
    check(&fabric, routing, &Pattern::default(), &rows);
    check(&fabric, routing, &fabric.adversarial(), &[saturated(0.031)]);
}

#[test]
fn valiant_routing_agrees() {
    let fabric = dragonfly();
    let routing = || ValiantGroup { plan: fabric.plan.clone() };
    check(&fabric, routing, &Pattern::default(), &[at(0.2, 2443.0), at(0.4, 3271.0), saturated(0.494)]);
    check(&fabric, routing, &fabric.adversarial(), &[at(0.3, 2502.0), saturated(0.483)]);
}

#[test]
fn conditional_routing_agrees() {
    let fabric = dragonfly();
    let routing = || Conditional { plan: fabric.plan.clone(), h: 4 };
    check(&fabric, routing, &Pattern::default(), &[at(0.5, 1846.0)]);
    // Saturated at 0.502: of 0.45 only the accepted load counts.
    let near = Expected { load: 0.45, latency_ns: None, accepted: 0.45 };
    check(&fabric, routing, &fabric.adversarial(), &[at(0.3, 7588.0), near, saturated(0.502)]);
}

/// The whole load at 0.3 is accepted only where hosts and other switches are served alike. By FOGSim's default, transit
/// comes first, and hosts at the switch of the full minimal link wait.
#[test]
fn conditional_routing_agrees_where_transit_goes_first() {
    let fabric = dragonfly();
    for (load, accepted) in [(0.3, 0.264), (0.4, 0.350)] {
        let routing = Conditional { plan: fabric.plan.clone(), h: 4 };
        let switch = SwitchParams { arbiter: fabric.arbiter, transit_first: true, ..SwitchParams::default() };
        let report = fabric.run_with(switch, routing, fabric.adversarial(), load, 60).unwrap();
        assert!((report.load_accepted - accepted).abs() < 0.01, "load {load}: accepted {}", report.load_accepted);
    }
}

/// Under UN at full load FOGSim accepts 0.815. That point depends on the arbiter: 0.70 here with round robin, 0.86
/// with the least recently served, 0.88 with the longest waiting.
#[test]
fn piggyback_agrees_below_saturation_and_under_adv() {
    let fabric = dragonfly();
    let routing = || Piggyback::new(fabric.plan.clone());
    check(&fabric, routing, &Pattern::default(), &[at(0.5, 2217.0)]);
    check(&fabric, routing, &fabric.adversarial(), &[at(0.3, 3050.0), saturated(0.413)]);
}

/// Under UN at full load FOGSim accepts 0.904, after a time that its figures do not name, and we 0.87 after the time of
/// the other rows: no agreement is claimed. Once the queues of hosts are full, packets that leave the minimal path cost
/// others theirs, so that the figure falls with time.
#[test]
fn conditional_rules_lose_throughput_at_full_load_under_un_while_queues_fill() {
    let fabric = dragonfly();
    let run = |us| fabric.run(Conditional { plan: fabric.plan.clone(), h: 4 }, Pattern::default(), 1.0, us);
    let [early, late] = [30, 250].map(|us| run(us).load_accepted);
    assert!(late < early - 0.05, "{early}, then {late}");
}
