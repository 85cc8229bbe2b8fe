//! The routing of a run: that of its family unless the scenario names one, its paths, and whether it may deadlock.

use etherweave_primitives::InputError;
use etherweave_routing::{FabricOf, Outage, RoutingKind, Verdict, prove};
use etherweave_sim::params::{FlowControl, Reliability};
use etherweave_sim::{Paths, PreparedRouting};
use etherweave_topology::{Family, Topology, TopologyKind};

use crate::Scenario;

/// Pairs of two switches up to which every packet is followed before a run: a second or two.
const FOLLOWED_MAX: usize = 1 << 20;

/// The routing of a family: minimal where one priority keeps that free of deadlock, else up/down. A run gives each job
/// one priority: the dateline of a torus and the hops of a dragonfly need two.
pub(crate) fn of(kind: &TopologyKind) -> RoutingKind {
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
    if is_regular { RoutingKind::DimensionOrder } else { RoutingKind::UpDown }
}

/// The paths of a run. Shortest paths that are computed anew around failures are a decision for every packet.
///
/// # Errors
/// When the routing does not work on the fabric or not in a run, or a key cannot take effect.
pub(crate) fn paths(scenario: &Scenario, topology: &Topology, outages: &[Outage]) -> Result<Paths, InputError> {
    let (routing, reroute_after) = (scenario.routing, scenario.faults.reroute_after);
    let is_rerouted = routing == RoutingKind::ShortestPath && !outages.is_empty();
    if let Some(delay) = reroute_after.filter(|_| !is_rerouted) {
        let expected = "none, without the routing shortest_path and `faults.down`";
        return Err(InputError::new("faults.reroute_after", delay, expected));
    }
    if routing.is_by_flow() && reroute_after.is_none() {
        let routing = routing.build(topology).map_err(|error| error.within("routing"))?;
        return Ok(Paths::PerFlow { routing, selection: scenario.selection.build(topology) });
    }
    let tables = scenario.open_loop.fabric_tables(&scenario.topology, topology);
    let fabric = FabricOf { tables: Some(&tables), topology, outages, reroute_after };
    PreparedRouting::new(routing, fabric).map(Paths::PerPacket)
}

/// Rejects a controller that the routing does not ask.
///
/// # Errors
/// With the routing.
pub(crate) fn check_controller(scenario: &Scenario) -> Result<(), InputError> {
    let is_used = scenario.controller.is_none() || scenario.routing == RoutingKind::Controller;
    let expected = "routing = \"controller\" beside it";
    InputError::unless(is_used, "controller", format!("given with routing = \"{}\"", scenario.routing.name()), expected)
}

/// What must be known before a run: that it may deadlock, and that packets overtake each other which the transport then
/// takes for lost.
pub(crate) fn warnings(scenario: &Scenario, topology: &Topology) -> Vec<String> {
    [deadlock_warning(scenario, topology), reordering_warning(scenario)].into_iter().flatten().collect()
}

fn reordering_warning(scenario: &Scenario) -> Option<String> {
    let suffers = scenario.transport.roce().is_some_and(|roce| roce.reliability == Reliability::GoBackN);
    let name = scenario.routing.name();
    (suffers && !scenario.routing.keeps_order()).then(|| {
        let cause = format!("go_back_n takes packets for lost that others overtake, as {name} lets them");
        format!("transport.roce.reliability: {cause}; selective_repeat does not")
    })
}

/// The warning that a lossless run may deadlock, from the proof of its routing. Up/down is free on every fabric, and a
/// routing that decides for every packet is rejected without the priorities that it needs.
fn deadlock_warning(scenario: &Scenario, topology: &Topology) -> Option<String> {
    let (kind, name) = (scenario.routing, scenario.routing.name());
    if !kind.is_by_flow() || matches!(scenario.flow_control, FlowControl::None {}) || kind == RoutingKind::UpDown {
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
            let routing = of(&kind);
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
    fn go_back_n_where_packets_overtake_each_other_is_warned_of() {
        let found = |routing: &str, reliability: &str| {
            let text = format!(
                "routing = \"{routing}\"\n[topology.fat_tree]\n[transport.roce]\nreliability = \"{reliability}\"\n"
            );
            reordering_warning(&Scenario::parse(&text, "x.toml", &[]).unwrap())
        };
        let warning = found("spray", "go_back_n").unwrap();
        assert!(warning.starts_with("transport.roce.reliability: go_back_n takes packets for lost"), "{warning}");
        assert_eq!(found("spray", "selective_repeat"), None);
        assert_eq!([found("ecmp", "go_back_n"), found("up_down", "go_back_n")], [None, None]);
    }

    #[test]
    fn a_key_comes_before_the_default() {
        let hyperx = "topology.hyperx.dimensions = [{ size = 3 }, { size = 3 }]\n";
        let routing = |text: &str| Scenario::parse(text, "x.toml", &[]).unwrap().routing;
        assert_eq!(routing(hyperx), RoutingKind::DimensionOrder);
        assert_eq!(routing(&format!("routing = \"up_down\"\n{hyperx}")), RoutingKind::UpDown);
        let resolved = Scenario::parse(hyperx, "x.toml", &[]).unwrap().resolved();
        assert!(resolved.contains("routing = \"dimension_order\""), "{resolved}");
    }
}
