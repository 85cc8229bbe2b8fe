//! The routings and selections, each listed once.

use etherweave_topology::Topology;

use crate::plan::RoutingPlan;
use crate::{EcmpHash, HashSelection, Legality, RoutingTable, shortest_path, up_down};
use etherweave_primitives::InputError;

/// Everything that follows from the list of routings, each with the module that plans it: `plan(&Topology)` gives the
/// legal steps between switches.
macro_rules! routings {
    ($($(#[$meta:meta])* $routing:ident => $module:ident,)*) => {
        /// A routing by its name: `routing = "up_down"` in a scenario.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum RoutingKind {
            $($(#[$meta])* $routing,)*
        }

        impl RoutingKind {
            /// Every member.
            pub const ALL: &[RoutingKind] = &[$(RoutingKind::$routing),*];

            /// What a scenario calls the routing; modules have the same names.
            pub const fn name(self) -> &'static str {
                match self {
                    $(RoutingKind::$routing => stringify!($module),)*
                }
            }

            fn plan(&self, topology: &Topology) -> Result<Box<dyn RoutingPlan>, InputError> {
                match self {
                    $(RoutingKind::$routing => crate::$module::plan(topology),)*
                }
            }
        }
    };
}

routings! {
    /// Climb only as far as necessary, then descend; deadlock-free on every topology.
    #[default]
    UpDown => up_down,
    /// Any next hop on a shortest path; on topologies with rings it may deadlock.
    ShortestPath => shortest_path,
    /// Every shortest path that never climbs after it descended, up being towards a root; on every topology.
    UpStarDownStar => up_star_down_star,
    /// One dimension after the other: flattened butterfly, HyperX, mesh, torus (with dateline).
    DimensionOrder => dimension_order,
    /// The dimensions in any order that the switch prefers: flattened butterfly, HyperX, mesh, torus.
    DimensionAdaptive => dimension_adaptive,
    /// By dimension order to any switch, and from there to the destination: flattened butterfly, HyperX.
    DimensionValiant => dimension_valiant,
    /// To the destination's group by one global channel: dragonfly.
    DragonflyMinimal => dragonfly_minimal,
    /// To any group, and from there minimally: dragonfly.
    DragonflyValiantGroup => dragonfly_valiant_group,
    /// To any switch of any group, and from there minimally: dragonfly.
    DragonflyValiantSwitch => dragonfly_valiant_switch,
    /// Minimally, or first by a global channel of the source's own switch: dragonfly.
    #[serde(alias = "dragonfly_detour")]
    DragonflyNonMinimal => dragonfly_non_minimal,
}

impl RoutingKind {
    /// The hops that the routing allows on a topology, with their priorities.
    ///
    /// # Errors
    /// When the routing is not for such a topology, needs more than eight priorities, or some host has no legal path to
    /// some other.
    pub fn legality(&self, topology: &Topology) -> Result<Legality, InputError> {
        Legality::new(topology, self.plan(topology)?)
    }

    /// Computes the routing's table for a topology, in time linear in links × switches with hosts.
    ///
    /// # Errors
    /// As [`legality`](RoutingKind::legality), and when a packet's next channels do not follow from its destination
    /// alone, or it changes priorities.
    pub fn build(&self, topology: &Topology) -> Result<RoutingTable, InputError> {
        match self {
            RoutingKind::UpDown => up_down::table(topology),
            RoutingKind::ShortestPath => shortest_path::table(topology),
            other => RoutingTable::of(topology, &other.legality(topology)?),
        }
    }
}

/// A selection with its parameters: `[selection.ecmp_hash]` in a scenario.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SelectionKind {
    /// A static hash per flow: first the next hop, then the member of the port channel.
    EcmpHash(EcmpHash),
}

impl Default for SelectionKind {
    fn default() -> Self {
        SelectionKind::EcmpHash(EcmpHash::default())
    }
}

impl SelectionKind {
    /// Prepares the selection for a topology.
    pub fn build(&self, topology: &Topology) -> HashSelection {
        match self {
            SelectionKind::EcmpHash(parameters) => parameters.build(topology),
        }
    }
}
