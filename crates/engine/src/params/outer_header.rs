//! Outer headers: what frames have more between switches.

use etherweave_primitives::{Bytes, Duration};

/// Header that the first switch puts before the frame of a host and the last one takes away: TRILL (RFC 6325),
/// FabricPath, SPB (IEEE 802.1aq), VXLAN (RFC 7348).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OuterHeader {
    /// Bytes of the header, on every link between switches, "1B" to "256B": TRILL 20, FabricPath 16, SPB 22, VXLAN
    /// over IPv4 50.
    pub bytes: Bytes,
    /// Time to add it behind a link from a host, and to take it away before a link to one. Default "0ns".
    #[serde(default)]
    pub latency: Duration,
}
