//! What a scenario says about the design of its fabric.

use etherweave_forwarding::{CompactionKind, PlanKind, TableProfile};
use etherweave_power::Saving;
use etherweave_primitives::Bytes;
use etherweave_routing::RoutingKind;

/// How a fabric is judged: `[design]` in a scenario. The default asks for everything that suits the fabric.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DesignSpec {
    /// Routings to prove free of deadlock. Absent: those that the family is known for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routings: Option<Vec<RoutingKind>>,
    /// Addresses and tables.
    pub tables: TablesSpec,
    /// Power profile that comes with Etherweave, by name, such as "ethernet-100g". Absent: the first that has all parts
    /// of the fabric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<String>,
    /// Text of a power profile of one's own; `power_file` names a file beside the scenario that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_text: Option<String>,
    /// Price book that comes with Etherweave, by name. Absent: "example".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<String>,
    /// Text of a price book of one's own; `prices_file` names a file beside the scenario that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices_text: Option<String>,
    /// A load below the worst case, to tell what the fabric draws under it. Absent: the worst case only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<ActivitySpec>,
}

/// Addresses and tables: `[design.tables]`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TablesSpec {
    /// What a switch has room for.
    pub capacity: TableProfile,
    /// The address plan of the compacted tables. Absent: the one that suits the family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanKind>,
    /// Width of each field of that plan, most significant first [bits]. Default: as narrow as values allow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub widths: Vec<u32>,
    /// How tables are made small. Absent: as suits the family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction: Option<CompactionKind>,
    /// Whether each of several ports has a rule for its share of the sources. Absent: as suits the family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_by_source: Option<bool>,
}

/// The same load on every channel: `[design.activity]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActivitySpec {
    /// Share of the time that channels send, 0..=1.
    pub load: f64,
    /// Mean size of a packet, at least 1 B. Default "1000B".
    #[serde(default = "packet")]
    pub packet: Bytes,
    /// What is done with idle ports. Default: each way that the profile knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saving: Option<Saving>,
}

fn packet() -> Bytes {
    Bytes::new(1000)
}
