//! Deployed tables: what makes the flow table of every switch of a fabric, minimal or with conditional rules, and the
//! lookup compiled from them.
//!
//! - [`MinimalTables`] and [`ConditionalTables`] are what a scenario chooses; [`FlowTables`] makes a fabric's tables,
//!   proved equal to minimal routing where they have no conditions.
//! - [`FabricTables`] hands them to the routings of `etherweave-routing` as
//!   [`CompiledTables`](etherweave_routing::tables::CompiledTables).

mod compiler;
mod families;
mod flow_tables;
mod params;

#[cfg(test)]
mod equality;

pub use families::FabricTables;
pub use flow_tables::{Conditions, FlowTables};
pub use params::{ConditionalTables, MinimalTables, TableParams};
