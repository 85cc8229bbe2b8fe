//! The two decisions, legality and preference, and the members of each.

use etherweave_primitives::{ChannelId, HostId, SwitchId};
use etherweave_topology::Topology;

use crate::plan::RoutingPlan;
use crate::{
    ChannelHop, EcmpHash, FlowKey, HashSelection, Legality, RoutingError, RoutingTable, shortest_path, up_down,
};

/// What is legal.
pub trait Routing: Send + Sync {
    /// Appends the channels that a packet for `dst` may take out of switch `at`, the channels to one next hop side by
    /// side. None when there is no path. Where arrivals matter, those for packets that come from a host.
    fn candidates(&self, at: SwitchId, dst: HostId, out: &mut Vec<ChannelId>);

    /// How many priorities, from 0 on, packets travel with.
    fn priorities(&self) -> u8 {
        1
    }

    /// Appends the hops that a packet for `dst` may take out of switch `at`, where it arrived by a hop or, absent, from
    /// a host; hops to one next switch side by side. By default all candidates, on priority 0.
    fn hops(&self, at: SwitchId, _arrival: Option<ChannelHop>, dst: HostId, out: &mut Vec<ChannelHop>) {
        let mut candidates = Vec::new();
        self.candidates(at, dst, &mut candidates);
        out.extend(candidates.into_iter().map(ChannelHop::first));
    }
}

/// What is preferred.
pub trait Selection: Send + Sync {
    /// The channel that a packet of flow `key` takes out of switch `at`.
    ///
    /// # Panics
    /// When there are no candidates.
    fn pick(&self, at: SwitchId, key: &FlowKey, candidates: &[ChannelId]) -> ChannelId;
}

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

            fn plan(&self, topology: &Topology) -> Result<Box<dyn RoutingPlan>, RoutingError> {
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
    pub fn legality(&self, topology: &Topology) -> Result<Legality, RoutingError> {
        Legality::new(topology, self.plan(topology)?)
    }

    /// Computes the routing's table for a topology, in time linear in links × switches with hosts.
    ///
    /// # Errors
    /// As [`legality`](RoutingKind::legality), and when a packet's next channels do not follow from its destination
    /// alone, or it changes priorities.
    pub fn build(&self, topology: &Topology) -> Result<RoutingTable, RoutingError> {
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
