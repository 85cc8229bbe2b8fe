//! The routings by name, each with the fabrics it works on.

use etherweave_primitives::InputError;

use super::tables::{ConditionalTableRouting, MinimalTableRouting};
use super::{
    AdaptiveMinimal, AdaptiveUp, ButterflyDimensionAdaptive, ButterflyDimensionOrder, ButterflyPlan,
    ButterflyUgalLocal, ClosPlan, Conditional, Controller, DragonflyMinimal, DragonflyPlan, FabricOf, HashScope,
    PacketRouting, Piggyback, ProgressiveAdaptive, RoutingBasis, ShortestPath, UgalGlobal, UgalLocal, UpByHash,
    Valiant, ValiantGroup, ValiantSwitch,
};

/// An operation on a routing that is known by its name only.
pub trait Visit {
    /// Its result.
    type Output;

    /// Does it.
    fn visit<R: PacketRouting>(self, routing: R) -> Self::Output;
}

/// Calls `visit` with a routing, in debug builds with one that checks its decisions.
fn checked<R: PacketRouting, V: Visit>(routing: R, fabric: FabricOf<'_>, visit: V) -> V::Output {
    #[cfg(debug_assertions)]
    let routing = super::checked::Checked::new(routing, fabric.topology);
    #[cfg(not(debug_assertions))]
    let _ = fabric;
    visit.visit(routing)
}

/// Everything that follows from the list of routings, each with how it is made for the fabrics it works on.
macro_rules! routings {
    ($($(#[$doc:meta])* $routing:ident = $name:literal: [$($plan:ident => $make:expr),+ $(,)?],)*) => {
        /// A routing decided packet by packet, by its name: `routings = ["minimal"]` in a scenario.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum PacketRoutingKind {
            $($(#[$doc])* #[serde(rename = $name)] $routing,)*
        }

        impl PacketRoutingKind {
            /// Every member.
            pub const ALL: &[PacketRoutingKind] = &[$(PacketRoutingKind::$routing),*];

            /// What a scenario calls the routing.
            pub const fn name(self) -> &'static str {
                match self {
                    $(PacketRoutingKind::$routing => $name,)*
                }
            }

            /// What fabrics it works on, in words.
            pub const fn fabrics(self) -> &'static [&'static str] {
                match self {
                    $(PacketRoutingKind::$routing => &[$(<$plan as RoutingBasis>::FABRIC),+],)*
                }
            }

            /// Whether the routing works on a fabric.
            pub fn works_on<'a>(self, fabric: impl Into<FabricOf<'a>>) -> bool {
                let fabric = fabric.into();
                match self {
                    $(PacketRoutingKind::$routing => [$(<$plan as RoutingBasis>::suits(fabric)),+].contains(&true),)*
                }
            }

            /// Makes the routing for a fabric and calls `visit` with it, or returns what is wrong with the fabric.
            fn make<V: Visit>(self, fabric: FabricOf<'_>, visit: V) -> Result<V::Output, InputError> {
                match self {
                    $(PacketRoutingKind::$routing => {
                        let mut unsuited = None;
                        $(match <$plan as RoutingBasis>::of(fabric) {
                            Ok(plan) => {
                                let make: fn($plan) -> _ = $make;
                                return Ok(checked(make(plan), fabric, visit));
                            }
                            Err(error) => unsuited = unsuited.or(Some(error)),
                        })+
                        Err(unsuited.expect("a routing works on some fabric"))
                    })*
                }
            }
        }
    };
}

/// A gap without a packet that starts another flowlet [ns]: five packets of 1,000 bytes at 40 Gb/s.
const FLOWLET_GAP_NS: u32 = 1_000;

routings! {
    /// MIN: at most a local, a global and a local hop.
    Minimal = "minimal": [DragonflyPlan => |plan| DragonflyMinimal { plan }],
    /// VAL: by a random group.
    ValiantGroup = "valiant_group": [DragonflyPlan => |plan| ValiantGroup { plan }],
    /// VAL: by a random switch of another group.
    ValiantSwitch = "valiant_switch": [DragonflyPlan => |plan| ValiantSwitch { plan }],
    /// UGAL-L: minimal or VAL, by the queues of the source's switch.
    UgalLocal = "ugal_local": [
        DragonflyPlan => |plan| UgalLocal { plan, threshold: 0 },
        ButterflyPlan => |plan| ButterflyUgalLocal { plan, threshold: 0 },
    ],
    /// UGAL-G: one of both, by the queues of all global links of the group.
    UgalGlobal = "ugal_global": [DragonflyPlan => |plan| UgalGlobal { plan, threshold: 0 }],
    /// PAR: one of both, decided anew at every switch of the source's group.
    ProgressiveAdaptive = "progressive_adaptive": [DragonflyPlan => |plan| ProgressiveAdaptive { plan, threshold: 0 }],
    /// PB: one of both, by which global links of the group are saturated.
    Piggyback = "piggyback": [DragonflyPlan => Piggyback::new],
    /// Minimal while the minimal output takes packets, otherwise the global port of the host: conditional rules.
    Conditional = "conditional": [DragonflyPlan => |plan| Conditional { h: plan.global_ports(), plan }],
    /// By a random group where a central controller found links between groups overloaded a while ago, else minimal.
    Controller = "controller": [DragonflyPlan => Controller::new],
    /// DOR: one dimension after the other.
    DimensionOrder = "dimension_order": [ButterflyPlan => |plan| ButterflyDimensionOrder { plan }],
    /// MIN AD: the dimensions in any order, whichever has the shortest queue.
    AdaptiveMinimal = "adaptive_minimal": [ButterflyPlan => |plan| AdaptiveMinimal { plan }],
    /// VAL: by a random switch.
    Valiant = "valiant": [ButterflyPlan => |plan| Valiant { plan }],
    /// DAL: in each dimension minimal, or once by another switch of the row, by the queues.
    DimensionAdaptive = "dimension_adaptive": [ButterflyPlan => |plan| ButterflyDimensionAdaptive { plan }],
    /// ECMP: up by a random port that is the same for all packets of a host to another.
    Ecmp = "ecmp": [ClosPlan => |plan| UpByHash { plan, hash_scope: HashScope::PerFlow }],
    /// Up by a random port for each packet.
    Spray = "spray": [ClosPlan => |plan| UpByHash { plan, hash_scope: HashScope::PerPacket }],
    /// Up by a random port that is the same for packets of a host to another in close succession.
    Flowlet = "flowlet": [
        ClosPlan => |plan| UpByHash { plan, hash_scope: HashScope::PerFlowlet { gap_ns: FLOWLET_GAP_NS } },
    ],
    /// Up by the port with the shortest queue.
    AdaptiveUp = "adaptive_up": [ClosPlan => |plan| AdaptiveUp { plan }],
    /// Any shortest path, by tables that are computed anew after links have failed or returned.
    ShortestPath = "shortest_path": [ShortestPath => |routing| routing],
    /// Minimal paths by the flow tables that would be deployed.
    MinimalTables = "minimal_tables": [MinimalTableRouting => |tables| tables.0],
    /// Flow tables with rules that a paused port deactivates, and alternatives.
    ConditionalTables = "conditional_tables": [ConditionalTableRouting => |tables| tables.0],
}

impl PacketRoutingKind {
    /// Makes the routing for a fabric and does something with it.
    ///
    /// # Errors
    /// When the routing does not work on the fabric.
    pub fn with<'a, V: Visit>(self, fabric: impl Into<FabricOf<'a>>, visit: V) -> Result<V::Output, InputError> {
        let fabric = fabric.into();
        self.make(fabric, visit).map_err(|wrong| self.unsuited(fabric, wrong))
    }

    /// Names what works on a fabric instead; where nothing does, what is wrong with the fabric.
    fn unsuited(self, fabric: FabricOf<'_>, wrong: InputError) -> InputError {
        let others = PacketRoutingKind::ALL.iter().filter(|&&other| other != self);
        let names: Vec<_> = others.filter(|other| other.works_on(fabric)).map(|other| other.name()).collect();
        if names.is_empty() {
            return wrong;
        }
        let expected = format!("one of {} on this fabric", names.join(", "));
        InputError::new("routing", format!("{}, for {}", self.name(), self.fabrics().join(" or ")), expected)
    }
}
