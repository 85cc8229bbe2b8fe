//! Whether routings can deadlock on a fabric.

use etherweave_forwarding::{FabricTables, TableParams};
use etherweave_routing::{ChannelOrder, Routing, RoutingKind, prove};
use etherweave_topology::{GroupShape, RowShape, Shape, Topology, TopologyKind};

/// Result of the proof of one routing.
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
    /// The order of the channels that packets take where switches decide for each; absent where none do, or only
    /// paths of flows are asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_packet: Option<ChannelOrder>,
}

#[derive(Clone, Copy)]
pub(crate) struct ProvedFabric<'a> {
    pub kind: &'a TopologyKind,
    pub topology: &'a Topology,
    /// Most links between switches that hosts are apart.
    pub diameter: u32,
    /// Most priorities of a routing: those that switches have.
    pub priorities_max: Option<u8>,
}

impl RoutingProof {
    /// Proves one routing: its legal hops, and the decisions for every packet if it makes any or `is_asked`; or says
    /// why it is not for this fabric.
    pub(crate) fn of(routing: RoutingKind, fabric: ProvedFabric<'_>, is_asked: bool) -> Result<RoutingProof, String> {
        let ProvedFabric { kind, topology, diameter, priorities_max } = fabric;
        let params = TableParams::default();
        let tables = FabricTables { kind, topology, params: &params };
        let is_by_packet = routing.decides_per_packet() && (is_asked || !routing.is_by_flow());
        let order = is_by_packet.then(|| routing.channel_order(&tables, priorities_max, diameter));
        let order = order.transpose().map_err(|error| error.reason());
        let legal = RoutingProof::of_legal_hops(routing, fabric);
        match (legal, order) {
            (Ok(legal), order) => Ok(legal.with_order(order.ok().flatten())),
            (Err(_), Ok(Some(order))) => Ok(RoutingProof::of_order(routing, order, priorities_max)),
            (Err(reason), _) if routing.has_plan() => Err(reason),
            (Err(reason), order) => Err(order.err().unwrap_or(reason)),
        }
    }

    /// Proof by legal hops in at most `priorities_max` priorities. Hosts of the fabric are at most `diameter` links
    /// between switches apart.
    fn of_legal_hops(routing: RoutingKind, fabric: ProvedFabric<'_>) -> Result<RoutingProof, String> {
        let ProvedFabric { topology, diameter, priorities_max, .. } = fabric;
        let legality = routing.legality(topology).map_err(|error| error.reason())?;
        let needed = legality.priorities();
        let legality = match priorities_max {
            Some(priorities_max) => legality.with_priorities(priorities_max),
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
            per_packet: None,
        })
    }

    /// Adds the decisions for every packet: of a routing that gives flows no paths, both must be free.
    fn with_order(self, order: Option<ChannelOrder>) -> RoutingProof {
        let problem = order.as_ref().and_then(|order| order.problem.clone());
        let problem = problem.filter(|_| self.is_free && !self.routing.is_by_flow());
        RoutingProof {
            is_free: self.is_free && problem.is_none(),
            verdict: problem.unwrap_or(self.verdict),
            per_packet: order,
            ..self
        }
    }

    fn of_order(routing: RoutingKind, order: ChannelOrder, priorities_max: Option<u8>) -> RoutingProof {
        let priorities = order.channels_per_port;
        RoutingProof {
            routing,
            priorities,
            priorities_given: priorities_max.map_or(priorities, |limit| limit.clamp(1, priorities)),
            hops_max: order.hops_max,
            is_free: order.problem.is_none(),
            verdict: order.problem.clone().unwrap_or_else(|| "free, because channels ascend".to_owned()),
            channels: order.channels,
            dependencies: order.dependencies,
            is_exact: false,
            states: order.decisions,
            per_packet: Some(order),
        }
    }
}

pub(crate) fn known_for(kind: &TopologyKind) -> &'static [RoutingKind] {
    use RoutingKind::*;
    match kind.shape() {
        Shape::Single | Shape::Tree | Shape::Rails { .. } => &[UpDown],
        Shape::Grid { row: RowShape::Full, .. } => &[DimensionOrder, AdaptiveMinimal, Valiant, Conditional],
        Shape::Grid { row: RowShape::Ring | RowShape::Line, .. } => &[DimensionOrder, AdaptiveMinimal],
        Shape::Groups(GroupShape::Full) => &[Minimal, ValiantGroup, ValiantSwitch, Conditional],
        Shape::Groups(GroupShape::Tree) | Shape::Graph { .. } => &[UpStarDownStar, ShortestPath],
    }
}

/// The routing that a name means in a design. `dimension_adaptive` is DAL, as everywhere; designs once called the
/// minimal paths in any order of dimensions so, and still do where DAL does not exist.
pub(crate) fn meant(routing: RoutingKind, topology: &Topology, missing: &mut Vec<String>) -> RoutingKind {
    let (name, minimal) = (RoutingKind::DimensionAdaptive.name(), RoutingKind::AdaptiveMinimal);
    if routing != RoutingKind::DimensionAdaptive {
        return routing;
    }
    if routing.works_on(topology) {
        missing.push(format!("minimal paths in any order of dimensions: {name} is DAL, {} has them", minimal.name()));
        return routing;
    }
    missing.push(format!("{name}: DAL is for flattened butterflies and HyperX; this is {}", minimal.name()));
    minimal
}
