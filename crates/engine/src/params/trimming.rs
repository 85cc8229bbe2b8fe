//! Packet trimming.

use etherweave_primitives::{Bytes, Priority};

use super::Ets;

/// Trimming: a switch cuts the payload off a data packet that finds no room, and forwards the rest in another priority,
/// so that its receiver can report it (Ultra Ethernet Specification 1.0, 4.1; SONiC, *Packet Trimming*).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Trimming {
    /// Size to which longer frames are cut, check sequence included, "44B" to "4084B". Default "128B".
    pub size: Bytes,
    /// Priority of trimmed packets, which selects their queue, in the switch that trims unless `queue` does. Without
    /// room there, they are dropped. Default 6.
    pub priority: Priority,
    /// Code point of trimmed packets (DSCP), of those that switches map to `priority`. Absent: 8 times it, and 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_point: Option<u8>,
    /// Code point of packets that are trimmed on the last hop, by the traffic class there. Absent: the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_hop_code_point: Option<u8>,
    /// Class whose queue trimmed packets join in the switch that trims, 0 to 7. Absent: by the map of `priority`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<u8>,
}

impl Trimming {
    /// Class whose queue trimmed packets join in the switch that trims.
    pub fn class(&self, ets: &Ets) -> usize {
        self.queue.unwrap_or(ets.class_of_priority[self.priority.index()]).into()
    }

    /// Code point of a trimmed packet.
    pub fn code_point(&self, is_last_hop: bool) -> u8 {
        let usual = self.code_point.unwrap_or(8 * self.priority.get() + 2);
        self.last_hop_code_point.filter(|_| is_last_hop).unwrap_or(usual)
    }
}

impl Default for Trimming {
    fn default() -> Trimming {
        Trimming {
            size: Bytes::new(128),
            priority: Priority::new(6),
            code_point: None,
            last_hop_code_point: None,
            queue: None,
        }
    }
}
