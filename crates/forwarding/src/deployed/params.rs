//! Table parameters of a scenario.

use etherweave_routing::tables::Trigger;

use crate::{CompactionKind, PlanKind};

/// Parameters of routing by flow tables.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TableParams {
    /// Parameters of the routing "minimal_tables".
    pub minimal: MinimalTables,
    /// Parameters of the routing "conditional_tables".
    pub conditional: ConditionalTables,
}

/// Minimal routing by tables: dragonfly, flattened butterfly, HyperX and trees.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MinimalTables {
    /// Assignment of addresses to hosts. Absent: what suits the family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_plan: Option<PlanKind>,
    /// Compaction of tables. Absent: what suits the family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction: Option<CompactionKind>,
}

/// Conditional rules, by Benito et al. 2015, sections V-B to V-D.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConditionalTables {
    /// How tables are made small; on a dragonfly "plain" or "prefixes", because no rule may uncover another that is not
    /// its alternative. Absent: what suits the family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction: Option<CompactionKind>,
    /// Alternatives of every default rule, of falling priority, at least 1: other uplinks of a tree, global ports of
    /// the own switch of a dragonfly, other places of a dimension of a flattened butterfly. Absent: of a tree all, of
    /// the others 1. With 0, only the other dimensions of a flattened butterfly stand in, on minimal paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alternatives: Option<u32>,
    /// Condition that deactivates a default rule. Default "full".
    pub trigger: Trigger,
    /// Virtual channels of a dragonfly: 2, written by each rule, as its authors count, or 3, which rise with links.
    /// Absent: 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priorities: Option<u8>,
}
