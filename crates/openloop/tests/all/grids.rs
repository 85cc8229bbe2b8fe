//! Tori and meshes against their capacity.

use crate::fabric::offered;
use etherweave_openloop::{OfferedTraffic, Pattern, RunParams, SwitchParams};
use etherweave_primitives::Duration;
use etherweave_routing::RoutingKind;
use etherweave_topology::{Dimension, Family, Mesh, Topology, Torus};
use etherweave_workload::pattern::Uniform;

fn square(size: u32) -> Vec<Dimension> {
    vec![Dimension::of(size); 2]
}

fn torus(size: u32) -> Topology {
    Torus { dimensions: square(size), ..Torus::default() }.generate().unwrap()
}

fn mesh(size: u32) -> Topology {
    Mesh { dimensions: square(size), ..Mesh::default() }.generate().unwrap()
}

fn traffic(topology: &Topology, load: f64) -> OfferedTraffic<'_> {
    let span = Duration::from_us(60);
    // Hardly any head-of-line blocking.
    let switch = SwitchParams { speed_up: 4, output_queue: 64, ..SwitchParams::default() };
    let run = RunParams::fixed(load, span, span, 1);
    OfferedTraffic { switch, ..offered(topology, Pattern::Uniform(Uniform::default()), run) }
}

/// Dally and Towles, section 3.2: uniform traffic takes k/4 links in each dimension of a torus, of 4 channels a
/// switch; half of a mesh's crosses the k links in its middle.
#[test]
fn tori_and_meshes_carry_uniform_traffic_up_to_their_capacity() {
    for (name, topology, capacity) in [("torus", torus(10), 8.0 / 10.0), ("mesh", mesh(6), 4.0 / 6.0)] {
        let switches = topology.switches() as f64;
        // No host sends to itself.
        let capacity = capacity * (switches - 1.0) / switches;
        let bound = traffic(&topology, 1.0).bound_with(RoutingKind::DimensionOrder).unwrap().unwrap();
        assert!((bound.load_accepted - capacity).abs() < 1e-9, "{name}: {bound:?}, expected {capacity}");
        for routing in [RoutingKind::DimensionOrder, RoutingKind::AdaptiveMinimal] {
            let report = |load| traffic(&topology, load).run_with(routing, 1).unwrap();
            let (below, above) = (report(0.9 * capacity), report(1.0).load_accepted);
            let share = below.load_accepted / below.load_offered;
            assert!((share - 1.0).abs() < 0.01, "{name}, {}: {share} of what is offered", routing.name());
            // The mean may exceed the bound of the most loaded link: links at the rim of a mesh have room.
            let share_max = if name == "torus" { 1.0 } else { 1.1 };
            // Full queues block others: beyond saturation adaptive routing falls below its largest load.
            let is_carried = (0.8 * capacity..=share_max * capacity).contains(&above);
            assert!(is_carried, "{name}, {}: {above} of {capacity}", routing.name());
        }
    }
}

#[test]
fn valiant_on_a_torus_carries_half_of_its_capacity() {
    let topology = torus(10);
    let bound = traffic(&topology, 1.0).bound_with(RoutingKind::Valiant).unwrap().unwrap();
    assert!((bound.load_accepted - 4.0 / 10.0).abs() < 1e-9, "{bound:?}");
    let accepted = traffic(&topology, 0.35).run_with(RoutingKind::Valiant, 1).unwrap().load_accepted;
    assert!((accepted - 0.35).abs() < 0.01, "{accepted}");
}
