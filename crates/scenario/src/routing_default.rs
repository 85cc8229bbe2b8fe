//! The routing that a run has unless its scenario names one, and whether it may deadlock.

use etherweave_routing::{RoutingKind, Verdict, prove};
use etherweave_sim::params::FlowControl;
use etherweave_topology::{Family, Topology, TopologyKind};

use crate::Scenario;
use crate::routing_spec::RoutingSpec;

/// Pairs of two switches up to which every packet is followed before a run: a second or two.
const FOLLOWED_MAX: usize = 1 << 20;

/// The routing of a family: minimal where one priority keeps that free of deadlock, else up/down. A run gives each job
/// one priority: the dateline of a torus and the hops of a dragonfly need two.
pub(crate) fn of(kind: &TopologyKind) -> RoutingSpec {
    let is_regular = match kind {
        TopologyKind::FlattenedButterfly(butterfly) => butterfly.as_built().is_regular(),
        TopologyKind::HyperX(hyperx) => hyperx.as_built().is_regular(),
        TopologyKind::Mesh(mesh) => mesh.as_built().is_regular(),
        TopologyKind::SingleSwitch(_)
        | TopologyKind::FatTree(_)
        | TopologyKind::KAryFatTree(_)
        | TopologyKind::StagedFatTree(_)
        | TopologyKind::FoldedClos(_)
        | TopologyKind::RailOptimised(_)
        | TopologyKind::Dragonfly(_)
        | TopologyKind::DragonflyPlus(_)
        | TopologyKind::SlimFly(_)
        | TopologyKind::Torus(_)
        | TopologyKind::Custom(_) => false,
    };
    RoutingSpec::PerFlow(if is_regular { RoutingKind::DimensionOrder } else { RoutingKind::UpDown })
}

/// The warning that a lossless run may deadlock, from the proof of its routing. Up/down is free on every fabric, and a
/// routing that decides for every packet is rejected without the priorities that it needs.
pub(crate) fn deadlock_warning(scenario: &Scenario, topology: &Topology) -> Option<String> {
    let RoutingSpec::PerFlow(kind) = scenario.routing else { return None };
    let name = kind.name();
    if matches!(scenario.flow_control, FlowControl::None {}) || kind == RoutingKind::UpDown {
        return None;
    }
    let safe = "up_down cannot";
    let is_small = topology.switches().saturating_mul(topology.switches()) <= FOLLOWED_MAX;
    if !is_small && kind == RoutingKind::ShortestPath {
        return Some(format!("routing: {name} may deadlock on this fabric, which is too large for a proof; {safe}"));
    }
    let legality = kind.legality(topology).ok()?;
    if !is_small && !legality.is_implicit() {
        return None;
    }
    match prove(topology, &legality).verdict {
        Verdict::Free => None,
        Verdict::Cycle(hops) => {
            let from = |channel| topology.name(topology.channel(channel).from.node);
            let cycle: Vec<&str> = hops.iter().map(|hop| from(hop.channel)).collect();
            let cycle = cycle.join(", ");
            Some(format!("routing: {name} may deadlock on this fabric: {cycle} may wait for each other; {safe}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_of_every_family_is_free_of_deadlock_on_one_priority() {
        for kind in TopologyKind::examples() {
            let topology = kind.generate().unwrap();
            let RoutingSpec::PerFlow(routing) = of(&kind) else { panic!("{kind:?}") };
            let legality = routing.legality(&topology).unwrap_or_else(|error| panic!("{kind:?}: {error}"));
            assert!(routing.build(&topology).is_ok(), "{kind:?}");
            assert!(prove(&topology, &legality.with_priorities(1)).is_free(), "{kind:?}");
        }
    }

    fn warning(text: &str) -> Option<String> {
        let scenario = Scenario::parse(text, "x.toml", &[]).unwrap();
        deadlock_warning(&scenario, &scenario.topology.generate().unwrap())
    }

    #[test]
    fn only_what_may_deadlock_without_loss_is_warned_of() {
        let ring = "topology.torus.dimensions = [{ size = 5 }]\n";
        let shortest = format!("routing = \"shortest_path\"\n{ring}");
        let found = warning(&shortest).unwrap();
        assert!(found.starts_with("routing: shortest_path may deadlock on this fabric: switch"), "{found}");
        assert_eq!(warning(ring), None);
        assert_eq!(warning(&format!("{shortest}[flow_control.none]\n[transport.tcp]\n")), None);
        assert_eq!(warning("routing = \"shortest_path\"\n[topology.fat_tree]"), None);
    }

    #[test]
    fn a_key_comes_before_the_default() {
        let hyperx = "topology.hyperx.dimensions = [{ size = 3 }, { size = 3 }]\n";
        let routing = |text: &str| Scenario::parse(text, "x.toml", &[]).unwrap().routing;
        assert_eq!(routing(hyperx), RoutingSpec::PerFlow(RoutingKind::DimensionOrder));
        assert_eq!(routing(&format!("routing = \"up_down\"\n{hyperx}")), RoutingSpec::PerFlow(RoutingKind::UpDown));
        let resolved = Scenario::parse(hyperx, "x.toml", &[]).unwrap().resolved();
        assert!(resolved.contains("routing = \"dimension_order\""), "{resolved}");
    }
}
