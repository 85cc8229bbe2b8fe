//! The routings by name, each with the fabrics it works on.

use etherweave_topology::Topology;

use crate::bounds::{Bound, bound};
use crate::routing::{
    AdaptiveMinimal, AdaptiveUp, ButterflyPlan, ButterflyUgalLocal, ClosPlan, Conditional, DimensionAdaptive,
    DimensionOrder, DragonflyPlan, FabricPlan, Lots, Minimal, Piggyback, ProgressiveAdaptive, Routing, UgalGlobal,
    UgalLocal, UpByLot, Valiant, ValiantGroup, ValiantSwitch,
};
use crate::{Arrival, Experiment, OpenLoopError, Outage, Pattern, Report, RunParams, SwitchParams};

/// What is done with a routing that is known by its name only.
pub trait Visit {
    /// What comes of it.
    type Output;

    /// Does it.
    fn visit<R: Routing>(self, routing: R) -> Self::Output;
}

/// Everything that follows from the list of routings, each with how it is made for the fabrics it works on.
macro_rules! routings {
    ($($(#[$doc:meta])* $routing:ident = $name:literal: [$($plan:ident => $make:expr),+ $(,)?],)*) => {
        /// A routing decided packet by packet, by its name: `routings = ["minimal"]` in a scenario.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum PacketRouting {
            $($(#[$doc])* #[serde(rename = $name)] $routing,)*
        }

        impl PacketRouting {
            /// Every member.
            pub const ALL: &[PacketRouting] = &[$(PacketRouting::$routing),*];

            /// What a scenario calls the routing.
            pub const fn name(self) -> &'static str {
                match self {
                    $(PacketRouting::$routing => $name,)*
                }
            }

            /// What fabrics it works on, in words.
            pub const fn fabrics(self) -> &'static [&'static str] {
                match self {
                    $(PacketRouting::$routing => &[$($plan::FABRIC),+],)*
                }
            }

            /// Makes the routing for a fabric and does something with it, or says what is wrong with the fabric.
            fn make<V: Visit>(self, topology: &Topology, visit: V) -> Result<V::Output, OpenLoopError> {
                match self {
                    $(PacketRouting::$routing => {
                        let mut unsuited = None;
                        $(match $plan::of(topology) {
                            Ok(plan) => {
                                let make: fn($plan) -> _ = $make;
                                return Ok(visit.visit(make(plan)));
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

/// A gap without a packet that starts another flowlet [ticks]: five packets of 1,000 bytes at 40 Gb/s.
const FLOWLET_GAP_TICKS: u32 = 1_000;

routings! {
    /// MIN: at most a local, a global and a local hop.
    Minimal = "minimal": [DragonflyPlan => |plan| Minimal { plan }],
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
    /// DOR: one dimension after the other.
    DimensionOrder = "dimension_order": [ButterflyPlan => |plan| DimensionOrder { plan }],
    /// MIN AD: the dimensions in any order, whichever has the shortest queue.
    AdaptiveMinimal = "adaptive_minimal": [ButterflyPlan => |plan| AdaptiveMinimal { plan }],
    /// VAL: by a random switch.
    Valiant = "valiant": [ButterflyPlan => |plan| Valiant { plan }],
    /// DAL: in each dimension minimal, or once by another switch of the row, by the queues.
    DimensionAdaptive = "dimension_adaptive": [ButterflyPlan => |plan| DimensionAdaptive { plan }],
    /// ECMP: up by a random port that is the same for all packets of a host to another.
    Ecmp = "ecmp": [ClosPlan => |plan| UpByLot { plan, lots: Lots::PerFlow }],
    /// Up by a random port for each packet.
    Spray = "spray": [ClosPlan => |plan| UpByLot { plan, lots: Lots::PerPacket }],
    /// Up by a random port that is the same for packets of a host to another in close succession.
    Flowlet = "flowlet": [
        ClosPlan => |plan| UpByLot { plan, lots: Lots::PerFlowlet { gap_ticks: FLOWLET_GAP_TICKS } },
    ],
    /// Up by the port with the shortest queue.
    AdaptiveUp = "adaptive_up": [ClosPlan => |plan| AdaptiveUp { plan }],
}

impl PacketRouting {
    /// Makes the routing for a fabric and does something with it.
    ///
    /// # Errors
    /// When the routing does not work on the fabric.
    pub fn with<V: Visit>(self, topology: &Topology, visit: V) -> Result<V::Output, OpenLoopError> {
        self.make(topology, visit).map_err(|wrong| self.unsuited(topology, wrong))
    }

    /// Whether the routing works on a fabric.
    pub fn works_on(self, topology: &Topology) -> bool {
        /// Nothing is done with it.
        struct Nothing;
        impl Visit for Nothing {
            type Output = ();
            fn visit<R: Routing>(self, _routing: R) {}
        }
        self.make(topology, Nothing).is_ok()
    }

    /// Runs traffic with this routing, on up to `threads` threads.
    ///
    /// # Errors
    /// When the routing does not work on the fabric, or a parameter is out of range.
    pub fn run(self, traffic: &Traffic<'_>, threads: usize) -> Result<Report, OpenLoopError> {
        self.with(traffic.topology, Run { traffic, threads })?
    }

    /// What a fabric accepts at most of the traffic; absent where [`bound`] cannot tell.
    ///
    /// # Errors
    /// When the routing does not work on the fabric, or the pattern does not fit it.
    pub fn bound(self, traffic: &Traffic<'_>) -> Result<Option<Bound>, OpenLoopError> {
        self.with(traffic.topology, BoundOf(traffic))?
    }

    /// Names what works on a fabric instead; where nothing does, what is wrong with the fabric.
    fn unsuited(self, topology: &Topology, wrong: OpenLoopError) -> OpenLoopError {
        let others = PacketRouting::ALL.iter().filter(|&&other| other != self);
        let names: Vec<_> = others.filter(|other| other.works_on(topology)).map(|other| other.name()).collect();
        if names.is_empty() {
            return wrong;
        }
        let expected = format!("one of {} on this fabric", names.join(", "));
        OpenLoopError {
            key: "routing",
            found: format!("{}, for {}", self.name(), self.fabrics().join(" or ")),
            expected,
        }
    }
}

/// What is sent, over which switches.
pub struct Traffic<'a> {
    /// The fabric.
    pub topology: &'a Topology,
    /// Its switches.
    pub switch: SwitchParams,
    /// Whom packets are for.
    pub pattern: Pattern,
    /// When hosts make packets.
    pub arrival: Arrival,
    /// Links that fail.
    pub outages: Vec<Outage>,
    /// How long and how much.
    pub run: RunParams,
}

/// A run with whatever routing.
struct Run<'a> {
    traffic: &'a Traffic<'a>,
    threads: usize,
}

impl Visit for Run<'_> {
    type Output = Result<Report, OpenLoopError>;

    fn visit<R: Routing>(self, routing: R) -> Self::Output {
        let Traffic { topology, switch, pattern, arrival, outages, run } = self.traffic;
        let (switch, pattern, arrival) = (switch.clone(), pattern.clone(), arrival.clone());
        Experiment { topology, switch, routing, pattern, arrival, outages: outages.clone(), run: run.clone() }
            .run(self.threads)
    }
}

/// The bound of whatever routing.
struct BoundOf<'a>(&'a Traffic<'a>);

impl Visit for BoundOf<'_> {
    type Output = Result<Option<Bound>, OpenLoopError>;

    fn visit<R: Routing>(self, routing: R) -> Self::Output {
        let BoundOf(traffic) = self;
        bound(traffic.topology, &routing, &traffic.pattern, traffic.run.seed)
    }
}
