//! Whether routings can deadlock on a fabric.

use etherweave_routing::{Routing, RoutingKind, prove};
use etherweave_topology::{Topology, TopologyKind};

/// What is known of one routing.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct RoutingProof {
    /// The routing.
    pub routing: RoutingKind,
    /// Priorities (virtual channels) that it needs.
    pub priorities: u8,
    /// Priorities that it has here.
    pub priorities_given: u8,
    /// Links between switches on the longest path that the routing allows.
    pub hops_max: u32,
    /// Whether it cannot deadlock, because dependencies are acyclic.
    pub is_free: bool,
    /// The verdict in words; a ring line by line.
    pub verdict: String,
    /// Pairs of a channel and a priority that packets use.
    pub channels: u64,
    /// Dependencies between those.
    pub dependencies: u64,
    /// Whether packets have all of these; otherwise they are an upper bound, on fabrics too large to follow packets.
    pub is_exact: bool,
    /// States of packets that were looked at.
    pub states: u64,
}

impl RoutingProof {
    /// Proves one routing, with no more than `given` priorities, on a fabric whose hosts are at most `diameter` links
    /// between switches apart; or says why it is not for this fabric.
    pub(crate) fn of(
        routing: RoutingKind,
        topology: &Topology,
        given: Option<u8>,
        diameter: u32,
    ) -> Result<RoutingProof, String> {
        let legality = routing.legality(topology).map_err(|error| error.reason())?;
        let needed = legality.priorities();
        let legality = match given {
            Some(given) => legality.with_priorities(given),
            None => legality,
        };
        let proof = prove(topology, &legality);
        Ok(RoutingProof {
            routing,
            priorities: needed,
            priorities_given: proof.priorities,
            // A table of shortest paths only knows that no switch is on a path twice.
            hops_max: if routing == RoutingKind::ShortestPath { diameter } else { legality.hops_max() },
            is_free: proof.is_free(),
            verdict: proof.verdict.describe(topology),
            channels: proof.channels,
            dependencies: proof.dependencies,
            is_exact: proof.is_exact,
            states: proof.states,
        })
    }
}

/// The routings that a family is known for.
pub(crate) fn known_for(kind: &TopologyKind) -> &'static [RoutingKind] {
    use RoutingKind::*;
    match kind {
        TopologyKind::SingleSwitch(_)
        | TopologyKind::FatTree(_)
        | TopologyKind::KAryFatTree(_)
        | TopologyKind::StagedFatTree(_)
        | TopologyKind::FoldedClos(_)
        | TopologyKind::RailOptimised(_) => &[UpDown],
        TopologyKind::FlattenedButterfly(_) | TopologyKind::HyperX(_) => {
            &[DimensionOrder, DimensionAdaptive, DimensionValiant]
        }
        TopologyKind::Torus(_) | TopologyKind::Mesh(_) => &[DimensionOrder, DimensionAdaptive],
        TopologyKind::Dragonfly(_) => {
            &[DragonflyMinimal, DragonflyValiantGroup, DragonflyValiantSwitch, DragonflyNonMinimal]
        }
        TopologyKind::DragonflyPlus(_) | TopologyKind::SlimFly(_) | TopologyKind::Custom(_) => {
            &[UpStarDownStar, ShortestPath]
        }
    }
}
