//! Adaptive routing on a Slim Fly: Besta and Hoefler, SC 2014, section V.

use crate::fabric::offered;
use etherweave_openloop::{Arrival, OfferedTraffic, Pattern, RunParams};
use etherweave_primitives::Duration;
use etherweave_routing::RoutingKind;
use etherweave_topology::{Family, SlimFly};
use etherweave_workload::pattern::Shift;

/// Hosts of each of the 50 switches, which have seven links to others.
const HOSTS: f64 = 4.0;
const LINKS: f64 = 7.0;

/// Share of a load that 200 hosts accept.
fn accepted(routing: RoutingKind, pattern: Pattern, load: f64) -> f64 {
    let topology = SlimFly::default().generate().unwrap();
    let run = RunParams::fixed(load, Duration::from_us(60), Duration::from_us(30), 1);
    let traffic = OfferedTraffic { arrival: Arrival::default(), ..offered(&topology, pattern, run) };
    traffic.run_with(routing, 1).unwrap().load_accepted
}

#[test]
fn ugal_goes_around_the_link_that_all_hosts_of_a_switch_share() {
    // All hosts of a switch to those of the next, by one shortest path: a link for four.
    let next = || Pattern::Shift(Shift { offset: HOSTS as u32 });
    let minimal = accepted(RoutingKind::AdaptiveMinimal, next(), 1.0);
    assert!(minimal < 1.05 / HOSTS, "{minimal}");
    // By a random switch: of 50 one is the own, seven are one and 42 two links away, twice.
    let bound = LINKS / (HOSTS * 2.0 * (7.0 + 42.0 * 2.0) / 50.0);
    let valiant = accepted(RoutingKind::Valiant, next(), 1.0);
    assert!((0.85 * bound..1.02 * bound).contains(&valiant), "{valiant}, at most {bound}");
    for routing in [RoutingKind::UgalLocal(Default::default()), RoutingKind::UgalGlobal(Default::default())] {
        let [partial, full] = [0.3, 1.0].map(|load| accepted(routing, next(), load));
        println!("{}: {partial:.3} of 0.3, {full:.3} of 1; VAL {valiant:.3}, minimal {minimal:.3}", routing.name());
        // More than the links of minimal paths have room for.
        assert!(partial > 0.99 * 0.3 && full > partial, "{}: {partial}, {full}", routing.name());
    }
}

#[test]
fn ugal_stays_on_minimal_paths_where_they_are_free() {
    let [minimal, local, global, valiant] = [
        RoutingKind::AdaptiveMinimal,
        RoutingKind::UgalLocal(Default::default()),
        RoutingKind::UgalGlobal(Default::default()),
        RoutingKind::Valiant,
    ]
    .map(|routing| accepted(routing, Pattern::default(), 1.0));
    println!("uniform: minimal {minimal:.3}, UGAL-L {local:.3}, UGAL-G {global:.3}, VAL {valiant:.3}");
    assert!(valiant < 0.55 && minimal > 0.8, "{valiant}, {minimal}");
    assert!(local > 0.8 * minimal && global > 0.9 * minimal, "{local}, {global} of {minimal}");
}
