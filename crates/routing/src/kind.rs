//! The routings and selections, each listed once: what a user may name, whatever for. A routing is a file in `kind`
//! with its legal hops or its decisions, its module and its entry here.

use std::fmt;

use etherweave_primitives::InputError;
use etherweave_topology::Topology;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use crate::per_packet::tables::{ConditionalTableRouting, MinimalTableRouting};
use crate::per_packet::{
    ButterflyPlan, ClosPlan, DragonflyPlan, FabricOf, GridPlan, HashScope, PacketRouting, RoutingBasis,
};
use crate::plan::RoutingPlan;
use crate::{DestinationModulo, EcmpHash, HashSelection, Legality, RoutingTable};

mod adaptive_minimal;
mod adaptive_up;
mod butterfly_conditional;
mod butterfly_dimension_adaptive;
mod butterfly_dimension_order;
mod butterfly_shares;
mod conditional;
mod controller;
mod dimension_adaptive;
mod dimension_order;
mod dimension_valiant;
mod disjoint_trees;
mod dragonfly_minimal;
mod dragonfly_non_minimal;
mod dragonfly_shares;
mod dragonfly_valiant;
mod elastic_tree;
mod global_load_balancing;
mod grid_adaptive_minimal;
mod grid_dimension_order;
mod grid_valiant;
mod minimal;
mod piggyback;
mod progressive_adaptive;
pub(crate) mod shortest_path;
mod shortest_path_by_packet;
mod slim_fly;
mod ugal_global;
mod ugal_local;
mod up_by_hash;
mod up_down;
mod up_star_down_star;
mod valiant;
mod valiant_group;
mod valiant_switch;

pub use adaptive_minimal::AdaptiveMinimal;
pub use adaptive_up::AdaptiveUp;
pub use butterfly_conditional::ButterflyConditional;
pub use butterfly_dimension_adaptive::ButterflyDimensionAdaptive;
pub use butterfly_dimension_order::ButterflyDimensionOrder;
pub use conditional::Conditional;
pub use controller::{Controller, ControllerParams, MeasurementParams};
pub use disjoint_trees::DisjointTrees;
pub use elastic_tree::{ElasticPlan, ElasticTree, ElasticTreeParams};
pub use global_load_balancing::{ClosNeighbours, GlobalLoadBalancing};
pub use grid_adaptive_minimal::{GridAdaptiveMinimal, LowGridPlan};
pub use grid_dimension_order::GridDimensionOrder;
pub use grid_valiant::GridValiant;
pub use minimal::DragonflyMinimal;
pub use piggyback::{Piggyback, PiggybackParams};
pub use progressive_adaptive::ProgressiveAdaptive;
pub use shortest_path_by_packet::ShortestPath;
pub use slim_fly::{SlimFlyAdaptiveMinimal, SlimFlyPlan, SlimFlyUgalGlobal, SlimFlyUgalLocal, SlimFlyValiant};
pub use ugal_global::UgalGlobal;
pub use ugal_local::{UgalLocal, UgalParams};
pub use up_by_hash::{FlowletParams, UpByHash};
pub use valiant::{ButterflyUgalLocal, Valiant};
pub use valiant_group::ValiantGroup;
pub use valiant_switch::ValiantSwitch;

/// An operation on a decision per packet that is known by its name only.
pub trait Visit {
    /// Its result.
    type Output;

    /// Does it.
    fn visit<R: PacketRouting>(self, routing: R) -> Self::Output;
}

/// Calls `visit` with a routing, in debug builds with one that checks its decisions.
fn checked<R: PacketRouting, V: Visit>(routing: R, fabric: FabricOf<'_>, visit: V) -> V::Output {
    #[cfg(debug_assertions)]
    let routing = crate::per_packet::Checked::new(routing, fabric.topology);
    #[cfg(not(debug_assertions))]
    let _ = fabric;
    visit.visit(routing)
}

fn made<B, R>(basis: B, make: impl FnOnce(B) -> R) -> R {
    make(basis)
}

/// A routing with the parameters that are the next value of a table.
macro_rules! read_member {
    ($map:ident, $routing:ident) => {
        $map.next_value::<NoParams>().map(|NoParams {}| RoutingKind::$routing)
    };
    ($map:ident, $routing:ident, $params:ty) => {
        $map.next_value::<$params>().map(RoutingKind::$routing)
    };
}

/// Whether the parameters of a routing are within range, if it has any.
macro_rules! check_params {
    ($name:literal) => {
        Ok(())
    };
    ($name:literal $own:ident) => {
        $own.check().map_err(|error| error.within($name))
    };
}

/// A routing with its parameters, if it has any that are not its defaults.
macro_rules! table_of {
    ($routing:ident) => {
        None
    };
    ($routing:ident $own:ident) => {
        ($own != Default::default()).then_some(RoutingWithParams::$routing($own))
    };
}

/// Whether something is given.
macro_rules! given {
    () => {
        false
    };
    ($($any:tt)+) => {
        true
    };
}

/// The plan of a module, if one is given.
macro_rules! plan_of {
    ($topology:ident) => {
        None
    };
    ($topology:ident $module:ident) => {
        Some($module::plan($topology))
    };
}

/// Parameters of a routing: `[routing.ugal_local]` in a scenario.
trait RoutingParams: Copy + Default + PartialEq + serde::Serialize + for<'de> Deserialize<'de> + JsonSchema {
    /// Rejects values out of range.
    ///
    /// # Errors
    /// With the key below the routing's name.
    fn check(&self) -> Result<(), InputError> {
        Ok(())
    }
}

/// The table of a routing without parameters.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoParams {}

/// Reader of a routing by its name alone, or as a table with its parameters.
struct NameOrTable;

/// Everything that follows from the list of routings. Each has parameters, bound to the name by which its decision
/// reads them, or none; its name; where it has one, the module of its plan, `plan(&Topology)`, the legal steps between
/// switches, `by flow` where a run gives flows such paths; and where it has one, its decision for every packet, `in
/// order` where packets of a flow take one path as long as switches are joined by one link, with how it is made for the
/// fabrics it works on.
macro_rules! routings {
    ($(
        $(#[$meta:meta])*
        $routing:ident $(($own:ident: $params:ty))? = $name:literal
            $(, plan $module:ident $(by $flow:ident)?)?
            $(, packets $(in $order:ident)? [$($basis:ident => $make:expr),+ $(,)?])?;
    )*) => {
        /// A routing, by its name with parameters: `routing = "up_down"`, `[routing.ugal_local]`.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum RoutingKind {
            $($(#[$meta])* $routing $(($params))?,)*
        }

        /// A routing by its name.
        #[derive(Default, schemars::JsonSchema)]
        #[allow(dead_code, reason = "it is there for its schema")]
        enum RoutingName {
            $($(#[$meta])* #[serde(rename = $name)] $routing,)*
        }

        /// A routing with parameters.
        #[derive(serde::Serialize, schemars::JsonSchema)]
        enum RoutingWithParams {
            $($(#[serde(rename = $name)] $routing($params),)?)*
        }

        impl RoutingKind {
            /// Every member, with the parameters that its name alone stands for.
            pub fn all() -> Vec<RoutingKind> {
                vec![$(RoutingKind::$routing $((<$params>::default()))?),*]
            }

            const NAMES: &[&str] = &[$($name),*];

            /// Returns the name of the routing in a scenario.
            pub const fn name(self) -> &'static str {
                match self {
                    $(RoutingKind::$routing { .. } => $name,)*
                }
            }

            /// The routing of a name.
            pub fn named(name: &str) -> Option<RoutingKind> {
                RoutingKind::all().into_iter().find(|kind| kind.name() == name)
            }

            /// The routing of a name, with the parameters that are the next value of a table.
            fn read<'de, A: MapAccess<'de>>(name: &str, map: &mut A) -> Result<RoutingKind, A::Error> {
                match name {
                    $($name => read_member!(map, $routing $(, $params)?),)*
                    _ => Err(A::Error::unknown_variant(name, RoutingKind::NAMES)),
                }
            }

            /// Rejects parameters out of range.
            ///
            /// # Errors
            /// With the key, from the routing's name on.
            pub fn check(&self) -> Result<(), InputError> {
                match self {
                    $(RoutingKind::$routing $(($own))? => check_params!($name $($own)?),)*
                }
            }

            /// The routing with its parameters; none where they are what its name alone stands for.
            fn table(self) -> Option<RoutingWithParams> {
                match self {
                    $(RoutingKind::$routing $(($own))? => table_of!($routing $($own)?),)*
                }
            }

            /// The legal steps; none where only a decision for every packet is known.
            fn plan(self, topology: &Topology) -> Option<Result<Box<dyn RoutingPlan>, InputError>> {
                match self {
                    $(RoutingKind::$routing { .. } => plan_of!(topology $($module)?),)*
                }
            }

            /// Whether the legal hops are known by themselves, apart from decisions.
            pub const fn has_plan(self) -> bool {
                match self {
                    $(RoutingKind::$routing { .. } => given!($($module)?),)*
                }
            }

            /// Whether a run gives every flow one of the legal paths, by a hash: a routing that is a table of
            /// destinations. With the others it decides for every packet.
            pub const fn is_by_flow(self) -> bool {
                match self {
                    $(RoutingKind::$routing { .. } => given!($($($flow)?)?),)*
                }
            }

            /// Whether packets of a flow take one path, on which none overtakes another.
            pub const fn keeps_order(self) -> bool {
                match self {
                    $(RoutingKind::$routing { .. } => given!($($($flow)?)? $($($order)?)?),)*
                }
            }

            /// Returns the fabrics that its decision for every packet works on, in words.
            pub const fn fabrics(self) -> &'static [&'static str] {
                match self {
                    $(RoutingKind::$routing { .. } => &[$($(<$basis as RoutingBasis>::FABRIC),+)?],)*
                }
            }

            /// Whether its decision for every packet works on a fabric.
            pub fn works_on<'a>(self, fabric: impl Into<FabricOf<'a>>) -> bool {
                let fabric = fabric.into();
                match self {
                    $(RoutingKind::$routing { .. } => {
                        let suits: &[fn(FabricOf<'_>) -> bool] = &[$($(<$basis as RoutingBasis>::suits),+)?];
                        suits.iter().any(|suits| suits(fabric))
                    })*
                }
            }

            /// Makes the decision for a fabric and calls `visit` with it, or returns what is wrong with the fabric;
            /// nothing where there is no such decision.
            fn make<V: Visit>(self, fabric: FabricOf<'_>, visit: V) -> Result<V::Output, Option<InputError>> {
                match self {
                    $(RoutingKind::$routing $(($own))? => {
                        let unsuited: Option<InputError> = None;
                        $($(
                            let unsuited = match <$basis as RoutingBasis>::of(fabric) {
                                Ok(basis) => return Ok(checked(made(basis, $make), fabric, visit)),
                                Err(error) => unsuited.or(Some(error)),
                            };
                        )+)?
                        Err(unsuited)
                    })*
                }
            }
        }
    };
}

routings! {
    /// Up only as far as necessary, then down, a path for every flow; deadlock-free on every topology.
    #[default]
    UpDown = "up_down", plan up_down by flow;
    /// Every shortest path that never climbs after it descended, up being towards a root; on every topology.
    UpStarDownStar = "up_star_down_star", plan up_star_down_star by flow;
    /// MIN: at most a local, a global and a local hop of a dragonfly.
    Minimal = "minimal",
        plan dragonfly_minimal,
        packets in order [DragonflyPlan => |plan| DragonflyMinimal { plan }];
    /// VAL: by a random group of a dragonfly.
    ValiantGroup = "valiant_group",
        plan valiant_group,
        packets [DragonflyPlan => |plan| ValiantGroup { plan }];
    /// VAL: by a random switch of another group of a dragonfly.
    ValiantSwitch = "valiant_switch",
        plan valiant_switch,
        packets [DragonflyPlan => |plan| ValiantSwitch { plan }];
    /// UGAL-L: minimal or VAL, by the queues of the source's switch; dragonfly, flattened butterfly, HyperX, Slim Fly.
    UgalLocal(own: UgalParams) = "ugal_local", packets [
        DragonflyPlan => |plan| UgalLocal { plan, threshold: own.threshold.into() },
        ButterflyPlan => |plan| ButterflyUgalLocal { plan, threshold: own.threshold.into() },
        SlimFlyPlan => |plan| SlimFlyUgalLocal { plan, threshold: own.threshold.into() },
    ];
    /// UGAL-G: one of both, by the queues of all global links of a dragonfly's group, or along paths of a Slim Fly.
    UgalGlobal(own: UgalParams) = "ugal_global", packets [
        DragonflyPlan => |plan| UgalGlobal { plan, threshold: own.threshold.into() },
        SlimFlyPlan => |plan| SlimFlyUgalGlobal { plan, threshold: own.threshold.into() },
    ];
    /// PAR: one of both, decided anew at every switch of the source's group.
    ProgressiveAdaptive(own: UgalParams) = "progressive_adaptive",
        packets [DragonflyPlan => |plan| ProgressiveAdaptive { plan, threshold: own.threshold.into() }];
    /// PB: one of both, by which global links of the group are saturated.
    Piggyback(own: PiggybackParams) = "piggyback", packets [DragonflyPlan => |plan| Piggyback::of(plan, own)];
    /// Minimal while a minimal output takes packets, otherwise by the host's own port to another group of a dragonfly,
    /// to another place of a row of a flattened butterfly or HyperX: conditional rules.
    Conditional = "conditional",
        plan dragonfly_non_minimal,
        packets [
            DragonflyPlan => |plan| Conditional { h: plan.global_ports(), plan },
            ButterflyPlan => |plan| ButterflyConditional { plan },
        ];
    /// Random group where a central controller found links between groups overloaded a while ago, else minimal.
    Controller = "controller", packets [DragonflyPlan => Controller::new];
    /// DOR: one dimension after the other: flattened butterfly, HyperX, mesh, torus (with dateline).
    DimensionOrder = "dimension_order", plan dimension_order by flow,
        packets in order [
            ButterflyPlan => |plan| ButterflyDimensionOrder { plan },
            GridPlan => |plan| GridDimensionOrder { plan },
        ];
    /// MIN AD: by the shortest path with the shortest queue: flattened butterfly, HyperX, mesh, torus, Slim Fly.
    AdaptiveMinimal = "adaptive_minimal", plan dimension_adaptive,
        packets [
            ButterflyPlan => |plan| AdaptiveMinimal { plan },
            LowGridPlan => |plan| GridAdaptiveMinimal { plan },
            SlimFlyPlan => |plan| SlimFlyAdaptiveMinimal { plan },
        ];
    /// VAL: by a random switch of a flattened butterfly, HyperX, torus, mesh or Slim Fly.
    Valiant = "valiant",
        plan dimension_valiant,
        packets [
            ButterflyPlan => |plan| Valiant { plan },
            GridPlan => |plan| GridValiant { plan },
            SlimFlyPlan => |plan| SlimFlyValiant { plan },
        ];
    /// DAL: in each dimension minimal, or once by another switch of the row, by the queues.
    DimensionAdaptive = "dimension_adaptive", packets [ButterflyPlan => |plan| ButterflyDimensionAdaptive { plan }];
    /// ECMP: up by a random port that is the same for all packets of a host to another.
    Ecmp = "ecmp", packets in order [ClosPlan => |plan| UpByHash { plan, hash_scope: HashScope::PerFlow }];
    /// Up by a random port for each packet.
    Spray = "spray", packets [ClosPlan => |plan| UpByHash { plan, hash_scope: HashScope::PerPacket }];
    /// Up by a random port that is the same for packets of a host to another in close succession.
    Flowlet(own: FlowletParams) = "flowlet", packets [
        ClosPlan => |plan| UpByHash { plan, hash_scope: own.hash_scope() },
    ];
    /// Up by the port with the shortest queue.
    AdaptiveUp = "adaptive_up", packets [ClosPlan => |plan| AdaptiveUp { plan }];
    /// Up by the first uplinks of a tree alone, as many as a controller found that the traffic of a while ago needs, so
    /// that the other links can sleep; a path for every flow.
    ElasticTree(own: ElasticTreeParams) = "elastic_tree", packets [ElasticPlan => |plan| ElasticTree::new(plan, own)];
    /// GLB: up by the port of two with the shorter queue together with the next switch's queue towards the destination.
    GlobalLoadBalancing = "global_load_balancing",
        packets [ClosNeighbours => |fabric| GlobalLoadBalancing { fabric }];
    /// Any shortest path: a path for every flow, on one priority, which may deadlock; decided for every packet, a
    /// priority for each hop, and tables that are computed anew after links have failed or returned.
    ShortestPath = "shortest_path", plan shortest_path by flow, packets [ShortestPath => |routing| routing];
    /// One of several spanning trees without a common cable, as TCP-Bolt does, a tree for every flow; one priority
    /// keeps any fabric from a deadlock.
    DisjointTrees = "disjoint_trees", packets in order [DisjointTrees => |trees| trees];
    /// Minimal paths by the flow tables that would be deployed.
    MinimalTables = "minimal_tables", packets in order [MinimalTableRouting => |tables| tables.0];
    /// Flow tables with rules that a paused port deactivates, and alternatives.
    ConditionalTables = "conditional_tables", packets [ConditionalTableRouting => |tables| tables.0];
}

impl serde::Serialize for RoutingKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.table() {
            Some(table) => table.serialize(serializer),
            None => serializer.serialize_str(self.name()),
        }
    }
}

impl<'de> Deserialize<'de> for RoutingKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RoutingKind, D::Error> {
        deserializer.deserialize_any(NameOrTable)
    }
}

impl<'de> Visitor<'de> for NameOrTable {
    type Value = RoutingKind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a routing's name, or a table of one with its parameters")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<RoutingKind, E> {
        RoutingKind::named(name).ok_or_else(|| E::unknown_variant(name, RoutingKind::NAMES))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RoutingKind, A::Error> {
        let name: String = map.next_key()?.ok_or_else(|| A::Error::custom("an empty table; expected a routing"))?;
        let kind = RoutingKind::read(&name, &mut map)?;
        match map.next_key::<String>()? {
            None => Ok(kind),
            Some(other) => Err(A::Error::custom(format!("{name} and {other} at once; expected one routing"))),
        }
    }
}

impl JsonSchema for RoutingKind {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RoutingKind".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (mut schema, tables) = (RoutingName::json_schema(generator), RoutingWithParams::json_schema(generator));
        let text = "A routing, by its name or as a table with its parameters: `routing = \"up_down\"`, \
                    `routing.ugal_local.threshold = 2`.";
        schema.insert("description".to_owned(), text.into());
        if let Some(members) = schema.get_mut("oneOf").and_then(|members| members.as_array_mut()) {
            members.extend(tables.get("oneOf").and_then(|tables| tables.as_array()).into_iter().flatten().cloned());
        }
        schema
    }
}

impl RoutingKind {
    /// Whether its name alone says all: it has no parameters, or they are its defaults.
    pub fn is_default(self) -> bool {
        self.table().is_none()
    }

    /// Whether there is a decision for every packet, on some fabric.
    pub const fn decides_per_packet(self) -> bool {
        !self.fabrics().is_empty()
    }

    /// The hops that the routing allows on a topology, with their priorities.
    ///
    /// # Errors
    /// When the routing is not for such a topology, needs more than eight priorities, some host has no legal path to
    /// some other, or it only decides packet by packet.
    pub fn legality(&self, topology: &Topology) -> Result<Legality, InputError> {
        let plan = self.plan(topology).unwrap_or_else(|| {
            let mistake = format!("{}, which only decides packet by packet", self.name());
            Err(InputError::new("", mistake, "a routing with legal hops of its own"))
        });
        Legality::new(topology, plan?)
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

    /// How often [`build`](RoutingKind::build) looks at a channel for a destination; 0 where channels follow from
    /// coordinates, or switches decide for every packet.
    pub fn looks(self, topology: &Topology) -> u64 {
        let axes = topology.axes();
        let is_level = |axis: &String| axis == "level" || axis.starts_with('x');
        let is_tree = axes.first().is_some_and(|axis| axis == "level") && axes.iter().all(is_level);
        if !self.is_by_flow() || (self == RoutingKind::UpDown && is_tree) {
            return 0;
        }
        crate::table::destinations(topology).len() as u64 * topology.channels().len() as u64
    }

    /// Makes the decision for every packet for a fabric and does something with it.
    ///
    /// # Errors
    /// When the routing gives flows paths only, or does not work on the fabric.
    pub fn with<'a, V: Visit>(self, fabric: impl Into<FabricOf<'a>>, visit: V) -> Result<V::Output, InputError> {
        let fabric = fabric.into();
        self.make(fabric, visit).map_err(|wrong| self.unsuited(fabric, wrong))
    }

    /// Names what works on a fabric instead; where nothing does, what is wrong with the fabric.
    fn unsuited(self, fabric: FabricOf<'_>, wrong: Option<InputError>) -> InputError {
        let others = RoutingKind::all().into_iter().filter(|&other| other != self);
        let names: Vec<_> = others.filter(|other| other.works_on(fabric)).map(|other| other.name()).collect();
        let mistake = match wrong {
            Some(wrong) if names.is_empty() => {
                return InputError { expected: format!("{}; {NO_DECISION}", wrong.expected), ..wrong };
            }
            Some(_) => format!("{}, for {}", self.name(), self.fabrics().join(" or ")),
            None => format!("{}, which gives every flow one path and decides for no packet", self.name()),
        };
        let expected = match names.is_empty() {
            false => format!("one of {} on this fabric", names.join(", ")),
            true => format!("{}; {NO_DECISION}", suited_fabrics().join(", or ")),
        };
        InputError::new("routing", mistake, expected)
    }
}

/// End of an error about a fabric that no decision suits.
const NO_DECISION: &str = "no routing decides for every packet on this fabric";

/// The fabrics on which some routing decides for every packet, in words.
fn suited_fabrics() -> Vec<&'static str> {
    let mut all = Vec::new();
    for fabric in RoutingKind::all().into_iter().flat_map(RoutingKind::fabrics) {
        if !all.contains(fabric) {
            all.push(*fabric);
        }
    }
    all
}

/// A selection with its parameters: `[selection.ecmp_hash]` in a scenario.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SelectionKind {
    /// A static hash per flow: first the next hop, then the member of the port channel.
    EcmpHash(EcmpHash),
    /// The destination, modulo the choices: D-Mod-K.
    DestinationModulo(DestinationModulo),
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
            SelectionKind::DestinationModulo(parameters) => parameters.build(topology),
        }
    }
}
