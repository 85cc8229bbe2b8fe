//! Addresses that say where a host is, and the flow tables that forward by them.
//!
//! ```text
//!   topology ──► address plan ──► regions ──► row of a switch ──► compaction ──► flow table
//!                  (PlanKind)     (Region)    (Row: what the      (Compaction-      │ proved equal to the row
//!                                              routing asks for)   Kind)            ▼
//!                                                                            counts, simulation, deployment
//! ```
mod compaction;
mod conditional;
mod count;
mod equation;
mod error;
mod mac;
mod minimal;
mod plan;
mod proof;
mod row;
mod survey;
mod table;
mod table_routing;
mod ternary;

pub use compaction::{CompactionKind, Sources, minimise};
pub use conditional::{Detour, while_unpaused, with_alternatives, with_detours};
pub use count::{Count, Fit, TableProfile};
pub use equation::Hierarchy;
pub use error::ForwardingError;
pub use mac::{ADDRESS_BITS, Mac};
pub use minimal::{Minimal, View};
pub use plan::{AddressPlan, Field, PlanKind, Region};
pub use proof::prove;
pub use row::{Entry, Row};
pub use survey::{Compacted, PlanTables, Proved, Strategy, Survey, compact, plain};
pub use table::{FlowTable, Packet, PortSets, Rule, SetId};
pub use table_routing::TableRouting;
pub use ternary::Ternary;
