//! Packet trimming.

use etherweave_primitives::{Bytes, Priority};

/// Trimming: a switch cuts the payload off a data packet that finds no room, and forwards the rest in another priority,
/// so that its receiver can report it (Ultra Ethernet Specification 1.0, 4.1; SONiC, *Packet Trimming*).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Trimming {
    /// Size to which longer frames are cut, check sequence included, "44B" to "4084B". Default "128B".
    pub size: Bytes,
    /// Priority of trimmed packets, which selects their queue. Without room there, they are dropped. Default 6.
    pub priority: Priority,
}

impl Default for Trimming {
    fn default() -> Trimming {
        Trimming { size: Bytes::new(128), priority: Priority::new(6) }
    }
}
