//! The design of a fabric without a simulation: counts, tables, deadlock proofs, power and cost as one value.
//!
//! - [`Design::of`] measures, proves, plans tables, and adds up power and price; a [`DesignSpec`] configures it. Its
//!   parts are plain numbers with their units in their names, ready to be written as JSON.
//! - [`Design::add_load`] adds the power that the fabric draws under measured [`ChannelLoads`].
//! - [`Comparison`] compares several designs and finds those that no other beats in every metric.
//! - [`proposals`] names the members of every family that have enough hosts; [`Largest`] gives by formula what the
//!   largest fabrics of a radix consist of, also where they are too large to be built.
//!
//! The figures are computed by topology, routing, forwarding and power; this crate calls them for one fabric. Left out:
//! files, text for people (`scenario`, the command line).
//!
//! ```
//! use etherweave_design::{Design, DesignSpec};
//! use etherweave_topology::{Dragonfly, TopologyKind};
//!
//! // Figure 3c of Benito et al. 2015: 9 groups of 4 switches with 2 hosts.
//! let kind = TopologyKind::Dragonfly(Dragonfly::default());
//! let design = Design::of("small", &kind, &kind.generate().unwrap(), &DesignSpec::default(), &mut |_| true).unwrap();
//! assert_eq!((design.fabric.hosts, design.fabric.switches, design.fabric.diameter), (72, 36, 3));
//! assert!(design.routings.iter().all(|routing| routing.is_free));
//! ```

mod bridging;
mod busiest;
mod compare;
mod counts;
mod design;
mod error;
mod find;
mod largest;
mod load;
mod memory;
mod money;
mod proofs;
mod reduction;
mod spec;
mod tables;
mod watts;

pub use bridging::{Bridging, BridgingCount};
pub use busiest::{BusiestChannel, BusiestChannels, BusiestUnder};
pub use compare::{Comparison, DesignMetrics};
pub use counts::{CableCount, FabricFigures, TaperRatio};
pub use design::{Design, DesignStep};
pub use error::DesignError;
pub use find::{Proposal, proposals};
pub use largest::{Largest, Proportions};
pub use load::ChannelLoads;
pub use memory::DesignMemory;
pub use money::Bill;
pub use proofs::RoutingProof;
pub use reduction::ReductionCost;
pub use spec::{ActivitySpec, DesignSpec, TablesSpec};
pub use tables::{PlanCount, RuleCount, TableCounts, TableFit};
pub use watts::{Organisation, Watts, WattsAt, WattsOf};
