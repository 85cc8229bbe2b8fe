//! The two decisions and their members.

use etherweave_primitives::{ChannelId, HostId, SwitchId};
use etherweave_topology::Topology;

use crate::{EcmpHash, FlowKey, HashSelection, RoutingError, Table, shortest_path, up_down};

/// What is legal.
pub trait Routing: Send + Sync {
    /// Appends the channels that a packet for `dst` may take out of switch `at`, the channels to one next hop side by
    /// side. None when there is no way.
    fn candidates(&self, at: SwitchId, dst: HostId, out: &mut Vec<ChannelId>);
}

/// What is preferred.
pub trait Selection: Send + Sync {
    /// The channel that a packet of flow `key` takes out of switch `at`.
    ///
    /// # Panics
    /// When there are no candidates.
    fn pick(&self, at: SwitchId, key: &FlowKey, candidates: &[ChannelId]) -> ChannelId;
}

/// Everything that follows from the list of routings, each with the module that computes its table.
macro_rules! routings {
    ($($(#[$meta:meta])* $routing:ident => $module:ident,)*) => {
        /// A routing by its name: `routing = "up_down"` in a scenario.
        #[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum RoutingKind {
            $($(#[$meta])* $routing,)*
        }

        impl RoutingKind {
            /// Every member.
            pub const ALL: &[RoutingKind] = &[$(RoutingKind::$routing),*];

            /// Computes the routing for a topology, in time linear in links × switches with hosts.
            ///
            /// # Errors
            /// When some host has no legal way to some other.
            pub fn build(&self, topology: &Topology) -> Result<Table, RoutingError> {
                match self {
                    $(RoutingKind::$routing => $module::table(topology),)*
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
