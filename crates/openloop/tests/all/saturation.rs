//! Saturation throughput of flattened butterflies, trees and dragonflies, by hand.

use crate::fabric::offered;
use etherweave_openloop::{Arrival, OfferedTraffic, Pattern, RunParams, SwitchParams};
use etherweave_primitives::Duration;
use etherweave_routing::RoutingKind;
use etherweave_topology::{Dragonfly, Family, FatTree, FlattenedButterfly, KAryFatTree, Topology};
use etherweave_workload::pattern::{Adversarial, Listed, Shift};

/// Returns the accepted part of a load, through switches with crossbars and output queues so large that an input seldom
/// holds up packets behind its first one: formulas know no such effect.
fn accepted_of(load: f64, routing: RoutingKind, topology: &Topology, pattern: &Pattern) -> f64 {
    let span = Duration::from_us(200);
    let run = RunParams::fixed(load, span, span, 1);
    let switch = SwitchParams { speed_up: 4, output_queue: 64, ..SwitchParams::default() };
    let arrival = Arrival::default();
    let traffic = OfferedTraffic { switch, arrival, ..offered(topology, pattern.clone(), run) };
    traffic.run_with(routing, 1).unwrap().load_accepted
}

/// Returns the accepted part of full load.
fn accepted(routing: RoutingKind, topology: &Topology, pattern: &Pattern) -> f64 {
    accepted_of(1.0, routing, topology, pattern)
}

fn butterfly(hosts_per_switch: u32, side: u32) -> Topology {
    let sizes = vec![side; 2];
    FlattenedButterfly { hosts_per_switch, sizes, ..FlattenedButterfly::default() }.generate().unwrap()
}

/// Every host to one of the next switch of its row.
fn shift_in_rows(hosts_per_switch: u32, side: u32) -> Pattern {
    let next = |host: u32| {
        let (switch, port) = (host / hosts_per_switch, host % hosts_per_switch);
        let x = switch % side;
        (switch - x + (x + 1) % side) * hosts_per_switch + port
    };
    let pairs = (0..side * side * hosts_per_switch).map(|host| [host, next(host)]).collect();
    Pattern::Listed(Listed { pairs })
}

/// Nine tenths of the bound are carried, and of full load no more than a hundredth above it: of 25,000 packets or more,
/// those for any third of the hosts deviate by 0.9 % (three standard errors).
fn check(routing: RoutingKind, topology: &Topology, pattern: &Pattern, bound: f64) {
    let [carried, most] = [0.9 * bound, 1.0].map(|load| accepted_of(load, routing, topology, pattern));
    assert!((carried / (0.9 * bound) - 1.0).abs() < 0.01, "{}: {carried} of {}", routing.name(), 0.9 * bound);
    assert!(most <= bound * 1.01, "{}: {most} above {bound}", routing.name());
}

#[test]
fn minimal_routings_under_un_share_a_link_among_the_hosts_of_a_switch() {
    // Of c hosts' packets, those for the H/k hosts at one place of a dimension take the same link, nobody sending to
    // itself: c (H/k) / (H - 1) of a link.
    for (c, k) in [(6, 3), (8, 4)] {
        let topology = butterfly(c, k);
        let hosts = f64::from(c * k * k);
        let bound = f64::from(k) * (hosts - 1.0) / (f64::from(c) * hosts);
        for routing in [RoutingKind::DimensionOrder, RoutingKind::AdaptiveMinimal] {
            check(routing, &topology, &Pattern::default(), bound);
        }
    }
}

#[test]
fn a_shift_within_rows_leaves_minimal_routings_one_link_for_all_hosts_of_a_switch() {
    let (c, k) = (4, 4);
    for routing in [RoutingKind::DimensionOrder, RoutingKind::AdaptiveMinimal] {
        let load = accepted(routing, &butterfly(c, k), &shift_in_rows(c, k));
        assert!((load * f64::from(c) - 1.0).abs() < 0.001, "{}: {load}", routing.name());
    }
}

#[test]
fn a_shift_within_rows_by_other_switches_takes_every_link_twice() {
    // VAL: on each of its two parts, c / k of a link's packets for each of the k places. DAL: half of the packets by
    // the link ahead, the others by the k - 2 other places of the row, two links each: (c/2 + c/2) / (k/2) of every
    // link.
    let (c, k) = (4, 4);
    let bound = f64::from(k) / (2.0 * f64::from(c));
    check(RoutingKind::Valiant, &butterfly(c, k), &shift_in_rows(c, k), bound);
    check(RoutingKind::DimensionAdaptive, &butterfly(c, k), &shift_in_rows(c, k), bound);
    // Its minimal packets take the link ahead, which is saturated: more than 1/c, but not all that the others leave.
    let ugal = accepted(RoutingKind::UgalLocal(Default::default()), &butterfly(c, k), &shift_in_rows(c, k));
    assert!(ugal > 1.0 / f64::from(c) && ugal <= bound, "{ugal}");
}

/// Two levels: 16 leaves of 8 hosts below so many cores.
fn two_levels(cores: u32) -> Topology {
    FatTree { leaves: 16, hosts_per_leaf: 8, cores, links_per_core: 1, ..FatTree::default() }.generate().unwrap()
}

#[test]
fn trees_under_un_accept_what_their_uplinks_carry_by_the_shortest_queue() {
    let three_levels = KAryFatTree { k: 8, ..KAryFatTree::default() }.generate().unwrap();
    // Of 127 others, 120 are on other leaves; the tapered tree has one uplink for two hosts.
    for (topology, bound) in [(two_levels(8), 1.0), (three_levels, 1.0), (two_levels(4), 0.5 * 127.0 / 120.0)] {
        let [ecmp, spray, adaptive] = [RoutingKind::Ecmp, RoutingKind::Spray, RoutingKind::AdaptiveUp]
            .map(|routing| accepted(routing, &topology, &Pattern::default()));
        check(RoutingKind::AdaptiveUp, &topology, &Pattern::default(), bound);
        assert!(ecmp < spray && spray < adaptive, "{ecmp} {spray} {adaptive}");
    }
}

#[test]
fn a_permutation_by_ecmp_leaves_uplinks_idle() {
    // 8 flows of a leaf draw one of 8 uplinks each: 1 - (7/8)^8 = 0.656 of them have any. The number of empty ones has
    // the variance 8 7 (6/8)^8 + 8 (7/8)^8 - 64 (7/8)^16 = 0.80; three deviations of the mean over 16 leaves are 0.084.
    let topology = two_levels(8);
    let busy = 1.0 - 0.875_f64.powi(8) + 0.084;
    let shift = Pattern::Shift(Shift { offset: 40 });
    let throughput = |routing| accepted(routing, &topology, &shift);
    let [ecmp, spray, adaptive] = [RoutingKind::Ecmp, RoutingKind::Spray, RoutingKind::AdaptiveUp].map(throughput);
    assert!(ecmp < busy && busy < spray && spray < adaptive, "{ecmp} {busy} {spray} {adaptive}");
}

#[test]
fn by_a_group_adv_h_meets_on_one_local_link_and_by_a_switch_it_does_not() {
    // García et al., "On-the-fly adaptive routing in high-radix hierarchical networks", ICPP 2012: what comes to a
    // switch of the intermediate group by its h global links leaves that group by one and the same other switch.
    let (p, h) = (4, 4);
    let topology = Dragonfly { p, a: 2 * p, h, ..Dragonfly::default() }.generate().unwrap();
    let pattern = Pattern::Adversarial(Adversarial { offset: h, ..Adversarial::default() });
    let by_group = accepted(RoutingKind::ValiantGroup, &topology, &pattern);
    let by_switch = accepted(RoutingKind::ValiantSwitch, &topology, &pattern);
    assert!(by_group <= 1.0 / f64::from(h), "{by_group}");
    assert!(by_switch > 1.5 * by_group, "{by_switch}");
}

#[test]
fn on_a_dragonfly_under_adv_later_queues_are_more_useful_than_those_of_the_first_switch() {
    let topology = Dragonfly { p: 3, a: 6, h: 3, ..Dragonfly::default() }.generate().unwrap();
    let pattern = Pattern::Adversarial(Adversarial::default());
    let throughput = |routing| accepted(routing, &topology, &pattern);
    let [local, progressive, global] = [
        RoutingKind::UgalLocal(Default::default()),
        RoutingKind::ProgressiveAdaptive(Default::default()),
        RoutingKind::UgalGlobal(Default::default()),
    ]
    .map(throughput);
    assert!(local < progressive && local < global, "{local} {progressive} {global}");
}
