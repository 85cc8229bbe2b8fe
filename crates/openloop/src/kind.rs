//! The routings by name.

use etherweave_primitives::SwitchId;
use etherweave_topology::{LinkClass, Topology};

use crate::routing::{Conditional, DragonflyPlan, Minimal, Piggyback, Routing, UgalLocal, ValiantGroup};
use crate::{Arrival, Experiment, OpenLoopError, Outage, Pattern, Report, RunParams, SwitchParams};

/// Everything that follows from the list of routings, each with how it is made for a dragonfly.
macro_rules! routings {
    ($($(#[$doc:meta])* $routing:ident = $name:literal: $make:expr,)*) => {
        /// A routing by its name: `routings = ["minimal"]` in a scenario.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum RoutingKind {
            $($(#[$doc])* #[serde(rename = $name)] $routing,)*
        }

        impl RoutingKind {
            /// Every member.
            pub const ALL: &[RoutingKind] = &[$(RoutingKind::$routing),*];

            /// What a scenario calls the routing.
            pub const fn name(self) -> &'static str {
                match self {
                    $(RoutingKind::$routing => $name,)*
                }
            }

            /// Runs traffic on a dragonfly with this routing, on up to `threads` threads.
            ///
            /// # Errors
            /// When the fabric is no complete dragonfly, or a parameter is out of range.
            pub fn run(self, traffic: &Traffic<'_>, threads: usize) -> Result<Report, OpenLoopError> {
                let plan = DragonflyPlan::of(traffic.topology)?;
                match self {
                    $(RoutingKind::$routing => {
                        let make: fn(DragonflyPlan, u8) -> _ = $make;
                        traffic.run(make(plan, traffic.global_ports()), threads)
                    })*
                }
            }
        }
    };
}

routings! {
    /// MIN: at most a local, a global and a local hop.
    Minimal = "minimal": |plan, _| Minimal { plan },
    /// VAL: by a random group.
    ValiantGroup = "valiant_group": |plan, _| ValiantGroup { plan },
    /// UGAL-L: one of both, by the queues of the source's switch.
    UgalLocal = "ugal_local": |plan, _| UgalLocal { plan, threshold: 0 },
    /// PB: one of both, by which global links of the group are saturated.
    Piggyback = "piggyback": |plan, _| Piggyback::new(plan),
    /// Minimal while the minimal output takes packets, otherwise the global port of the host: conditional rules.
    Conditional = "conditional": |plan, h| Conditional { plan, h },
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

impl Traffic<'_> {
    /// Global ports of every switch; of one with more than 255 ports the plan has told before.
    fn global_ports(&self) -> u8 {
        let channels = self.topology.out_channels(SwitchId::new(0)).iter().map(|&id| self.topology.channel(id));
        channels.filter(|channel| channel.class == LinkClass::Global).count() as u8
    }

    fn run<R: Routing>(&self, routing: R, threads: usize) -> Result<Report, OpenLoopError> {
        let Traffic { topology, switch, pattern, arrival, outages, run } = self;
        let (switch, pattern, arrival) = (switch.clone(), pattern.clone(), arrival.clone());
        Experiment { topology, switch, routing, pattern, arrival, outages: outages.clone(), run: run.clone() }
            .run(threads)
    }
}
