//! Keys of a scenario for the design of its fabric.

use etherweave_forwarding::{CompactionKind, PlanKind, Sharing, TableProfile};
use etherweave_power::Saving;
use etherweave_primitives::{Bytes, InputError, InputErrors};
use etherweave_routing::RoutingKind;

/// Requests for the design of a fabric, `[design]`. The default computes everything that suits the fabric.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DesignSpec {
    /// Routings to prove free of deadlock. Absent: those that the family is known for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routings: Option<Vec<RoutingKind>>,
    /// Priorities that switches have, 1..=8: routings that need more share the last. Absent: as many as each needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priorities: Option<u8>,
    /// Addresses and tables.
    pub tables: TablesSpec,
    /// Included power profile, by name, such as "ethernet-100g". Absent: the first that has all parts
    /// of the fabric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<String>,
    /// Text of your own power profile; `power_file` names a file beside the scenario that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_text: Option<String>,
    /// Included price book, by name. Absent: "example".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<String>,
    /// Text of your own price book; `prices_file` names a file beside the scenario that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices_text: Option<String>,
    /// A load below the worst case, for the power drawn under it. Absent: the worst case only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<ActivitySpec>,
}

impl DesignSpec {
    /// Checks what can be checked before anything is built.
    pub(crate) fn check(&self) -> Result<(), InputErrors> {
        let mut errors = InputErrors::default();
        let priorities = self.priorities.unwrap_or(1);
        errors.check(InputError::unless(
            (1..=8).contains(&priorities),
            "priorities",
            priorities,
            "1 to 8, as 802.1Q has",
        ));
        let TableProfile { exact_entries, ternary_entries, .. } = self.tables.capacity;
        errors.check(at_least_one("tables.capacity.exact_entries", exact_entries));
        errors.check(at_least_one("tables.capacity.ternary_entries", ternary_entries));
        errors.check(at_least_one("tables.peers", self.tables.peers.unwrap_or(1)));
        errors.check(self.activity.as_ref().map_or(Ok(()), ActivitySpec::check));
        errors.into_result()
    }

    /// Mean size of a packet.
    pub(crate) fn packet(&self) -> Bytes {
        self.activity.as_ref().map_or_else(packet, |activity| activity.packet)
    }
}

fn at_least_one(key: &'static str, entries: u32) -> Result<(), InputError> {
    InputError::unless(entries > 0, key, entries, format!("1 to {}", u32::MAX))
}

/// Addresses and tables: `[design.tables]`.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TablesSpec {
    /// Room of a switch for rules.
    pub capacity: TableProfile,
    /// The address plan of the compacted tables. Absent: the one that suits the family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanKind>,
    /// Width of each field of that plan, be it named or the one that suits, most significant first [bits]; 46 at most
    /// together. Default: as narrow as values allow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub widths: Vec<u32>,
    /// Compaction of tables. Absent: as suits the family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction: Option<CompactionKind>,
    /// Leading coordinates that the switches of a group share, under the plan "per_group", 1 up to all but one: fewer
    /// coordinates, larger groups. Default: all but the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_coordinates: Option<u32>,
    /// Field that divides packets among several ports. Absent: as suits the family, by source in trees, else by hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_by: Option<Sharing>,
    /// Hosts that each host exchanges frames with while tables of switches that learn keep their addresses, at least
    /// 1. Absent: all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peers: Option<u32>,
}

/// The same load on every channel: `[design.activity]`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActivitySpec {
    /// Share of the time that channels send, 0..=1.
    pub load: f64,
    /// Mean size of a packet, 1 B to 16 KiB, which no Ethernet frame exceeds. Default "1000B".
    #[serde(default = "packet")]
    pub packet: Bytes,
    /// Saving at idle ports. Default: each method that the profile has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saving: Option<Saving>,
}

impl ActivitySpec {
    fn check(&self) -> Result<(), InputErrors> {
        let mut errors = InputErrors::default();
        errors.check(InputError::unless((0.0..=1.0).contains(&self.load), "activity.load", self.load, "0 to 1"));
        let is_packet = (1..=PACKET_MAX.get()).contains(&self.packet.get());
        let expected = format!("1B to {PACKET_MAX}");
        errors.check(InputError::unless(is_packet, "activity.packet", self.packet, expected));
        errors.into_result()
    }
}

/// Longer than any frame, jumbo frames included.
const PACKET_MAX: Bytes = Bytes::new(16 << 10);

fn packet() -> Bytes {
    Bytes::new(1000)
}
