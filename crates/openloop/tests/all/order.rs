//! Order of packets within a flow, by routing.

use crate::fabric::{Fabric, offered};
use etherweave_openloop::{Pattern, RunParams};
use etherweave_primitives::Duration;
use etherweave_routing::{DragonflyMinimal, RoutingKind, ValiantGroup};
use etherweave_topology::{Family, KAryFatTree};
use etherweave_workload::pattern::{RandomPermutation, Shift};

#[test]
fn one_path_per_flow_keeps_its_order_and_valiant_paths_do_not() {
    let fabric = Fabric::balanced(2);
    let pattern = || Pattern::RandomPermutation(RandomPermutation::default());
    for pattern in [pattern(), fabric.adversarial()] {
        let minimal = fabric.run(DragonflyMinimal { plan: fabric.plan.clone() }, pattern, 0.6, 100).reordering;
        assert_eq!((minimal.share(), minimal.extent()), (Some(0.0), 0));
    }
    let valiant = fabric.run(ValiantGroup { plan: fabric.plan.clone() }, pattern(), 0.3, 100).reordering;
    assert!(valiant.share().unwrap() > 0.05 && valiant.extent() > 0, "{valiant:?}");
}

#[test]
fn hashed_flows_keep_their_order_on_trees_and_sprayed_packets_do_not() {
    let topology = KAryFatTree { k: 4, ..KAryFatTree::default() }.generate().unwrap();
    let share = |routing: RoutingKind| {
        let run = RunParams::fixed(0.8, Duration::from_us(50), Duration::from_us(200), 1);
        let traffic = offered(&topology, Pattern::Shift(Shift { offset: 8 }), run);
        traffic.run_with(routing, 1).unwrap().reordering.share().unwrap()
    };
    assert_eq!(share(RoutingKind::Ecmp), 0.0);
    let [flowlets, packets] = [RoutingKind::Flowlet(Default::default()), RoutingKind::Spray].map(share);
    assert!(flowlets < packets / 2.0 && packets > 0.01, "{flowlets} {packets}");
}
