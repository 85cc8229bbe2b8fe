//! Compaction of a row to a table with fewer rules.
//!
//! Addresses that no host has may be forwarded anywhere; all compactions make use of that.

mod kind;
mod plain;
mod prefixes;
mod prefixes_nested;
mod shares;
mod source_patterns;
mod sources;
mod ternary;
mod tree_flows;
mod trie;
mod wildcards;

pub use kind::CompactionKind;
pub use sources::Sources;

pub(crate) use crate::region_routes::RegionRoutes;
