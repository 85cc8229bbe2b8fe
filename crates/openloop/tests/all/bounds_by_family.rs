//! Bounds of butterflies and trees by hand.

use etherweave_openloop::Pattern;
use etherweave_primitives::Time;
use etherweave_routing::bounds::{Bound, ChannelLoads, host_groups};
use etherweave_routing::{
    ButterflyDimensionOrder, ButterflyPlan, ClosPlan, FabricPlan, HashScope, PacketRouting, UpByHash, Valiant,
};
use etherweave_topology::{Dimension, Family, FatTree, HyperX, KAryFatTree, LinkClass, Topology};
use etherweave_workload::pattern::{Shift, Tornado};

fn loads<'a>(topology: &'a Topology, routing: &impl PacketRouting, pattern: &Pattern) -> ChannelLoads<'a> {
    let destinations = pattern.plan(&host_groups(topology).unwrap(), 1).unwrap();
    ChannelLoads::new(topology, &[], routing.oblivious().unwrap(), &destinations, Time::ZERO).unwrap()
}

fn check(loads: &ChannelLoads<'_>, load: f64) -> Bound {
    let bound = loads.bound().unwrap();
    assert!((bound.load / load - 1.0).abs() < 1e-9, "{bound:?}, expected {load}");
    bound
}

/// Rows of these sizes, four hosts on every switch.
fn butterfly(dimensions: Vec<Dimension>) -> (Topology, ButterflyPlan) {
    let topology = HyperX { hosts_per_switch: 4, dimensions, ..HyperX::default() }.generate().unwrap();
    let plan = ButterflyPlan::of(&topology).unwrap();
    (topology, plan)
}

#[test]
fn a_tornado_on_a_row_has_one_link_on_the_minimal_path_and_two_sixths_of_all_by_random_switches() {
    let (topology, plan) = butterfly(vec![Dimension::of(6)]);
    let tornado = Pattern::Tornado(Tornado { extents: vec![] });
    // All four hosts of a switch go to the switch two further.
    let bound = check(&loads(&topology, &ButterflyDimensionOrder { plan: plan.clone() }, &tornado), 1.0 / 4.0);
    let ends = topology.channel(bound.channel);
    assert_eq!((topology.name(ends.from.node), topology.name(ends.to.node)), ("switch0", "switch2"));
    // A sixth of what four hosts send goes to each switch first, and a sixth of what four hosts get comes from each.
    check(&loads(&topology, &Valiant { plan }, &tornado), 6.0 / (2.0 * 4.0));
}

#[test]
fn uniform_traffic_by_dimension_order_shares_parallel_links() {
    // Of 24 hosts 23 others: on a row of 3 the link to a switch takes what 4 hosts send to its column of 8, as x goes
    // first; the three links of a column what all 12 hosts of a row send to 4 hosts in the other.
    let (topology, plan) = butterfly(vec![Dimension::of(3), Dimension { lag: 3, ..Dimension::of(2) }]);
    let loads = loads(&topology, &ButterflyDimensionOrder { plan }, &Pattern::default());
    let (row, column) = (4.0 * 8.0 / 23.0, 12.0 * 4.0 / 23.0 / 3.0);
    let channel_loads: Vec<f64> = (0..topology.channels().len())
        .map(etherweave_primitives::ChannelId::from_index)
        .filter(|&channel| topology.channel(channel).class != LinkClass::Host)
        .map(|channel| loads.of(channel))
        .collect();
    // 6 switches with 2 neighbours in their row, and 3 links to the other row.
    let count = |load: f64| channel_loads.iter().filter(|other| (*other / load - 1.0).abs() < 1e-9).count();
    assert_eq!((channel_loads.len(), count(row), count(column)), (30, 12, 18), "{channel_loads:?}");
    check(&loads, 1.0 / row);
}

#[test]
fn a_full_tree_accepts_all_and_a_tapered_one_what_its_uplinks_take() {
    let of = |topology: &Topology, pattern: &Pattern, hash_scope| {
        let plan = ClosPlan::of(topology).unwrap();
        loads(topology, &UpByHash { plan, hash_scope }, pattern).bound().unwrap()
    };
    let full = KAryFatTree { k: 4, ..KAryFatTree::default() }.generate().unwrap();
    // Half of all hosts further, every packet climbs to the cores.
    for pattern in [Pattern::default(), Pattern::Shift(Shift { offset: 8 })] {
        for hash_scope in [HashScope::PerPacket, HashScope::PerFlow] {
            assert!((of(&full, &pattern, hash_scope).load - 1.0).abs() < 1e-9, "{pattern:?}");
        }
    }
    // 8 leaves of 12 hosts and 4 uplinks: 84 of 95 others are below other leaves.
    let tapered = FatTree::default().generate().unwrap();
    let bound = of(&tapered, &Pattern::default(), HashScope::PerPacket);
    assert!((bound.load / (4.0 * 95.0 / (12.0 * 84.0)) - 1.0).abs() < 1e-9, "{bound:?}");
}
