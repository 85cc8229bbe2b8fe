//! Addresses that encode where a host is, and the flow tables that forward by them.
//!
//! ```text
//!   topology ─► address plan ─► regions ─► row of a switch ─► compaction ─► flow table
//!               PlanKind        Region     RegionRoutes    Compaction-     │
//!                                          routing asks for   Kind            ▼
//!                                               └────────── prove: equal ─────┴─► counts, simulation, deployment
//! ```
//!
//! - [`PlanKind`] lists the address plans; an [`AddressPlan`] gives every host the 46 free bits of its [`Mac`] address.
//! - [`MinimalRouting`] is the routing, by whole [`Region`]s of addresses; [`RegionRoutes`] are those of one switch.
//! - [`CompactionKind`] lists the methods that make a small [`FlowTable`]; [`Sources`] gives each of several ports a
//!   share of the sources that pass.
//! - [`TableLoads`] follows what all hosts send through tables, and finds the channel that is full first.
//! - [`prove`] checks that a table equals its row for every host, without looking at every host.
//! - [`Survey`] does all that for a fabric, one switch at a time, and counts. [`TableProfile`] has capacities.
//! - [`with_alternatives`], [`with_non_minimal_ports`] add rules that a paused port makes inactive.
//!
//! Guarantees: a plan that exists fits 46 bits and gives no address twice; tables that a survey counts are proved; the
//! same fabric gives the same tables. Left out: how tables reach switches, several tables in a row, what entries cost
//! in power (`power`).
//!
//! ```
//! use etherweave_forwarding::Survey;
//! use etherweave_topology::{Dragonfly, TopologyKind};
//!
//! // Figure 3c of Benito et al. 2015: 9 groups of 4 switches with 2 hosts.
//! let kind = TopologyKind::Dragonfly(Dragonfly::default());
//! let survey = Survey::of(&kind, &kind.generate().unwrap()).unwrap();
//! let entries: Vec<u64> = survey.plans.iter().flatten().map(|tables| tables.ternary.max).collect();
//! // One per host; per switch, 35 + 2; per group, equation 1: 8 + 3 + 2.
//! assert_eq!(entries, [72, 37, 13]);
//! assert!(survey.compacted.rules.max < 13);
//! ```

mod channel_loads;
mod compaction;
mod conditional;
mod count;
mod deployed;
mod equation;
mod mac;
mod minimal;
mod plan;
mod proof;
mod region_routes;
mod survey;
mod table;
mod ternary;

pub use channel_loads::{Busiest, BusiestChannel, LoadPattern, TableLoads};
pub use compaction::{CompactionKind, Sources};
pub use conditional::{NonMinimalPort, NonMinimalPorts, with_alternatives, with_non_minimal_ports};
pub use count::{Count, TableProfile, TableUse};
pub use deployed::{ConditionalTables, Conditions, FabricTables, FlowTables, MinimalTables, TableParams};
pub use equation::Hierarchy;
pub use mac::{ADDRESS_BITS, Mac};
pub use minimal::{MinimalRouting, SwitchView};
pub use plan::{AddressField, AddressPlan, FieldLayout, PlanKind, Region};
pub use proof::prove;
pub use region_routes::{RegionRoute, RegionRoutes};
pub use survey::{Compacted, PlanTables, Proved, Sharing, Strategy, Survey, compact, plain};
pub use table::{FlowTable, PacketHeader, PortSets, Rule, SetId};
pub use ternary::Ternary;
