//! Shapers: what slows a port below the rate of its wire.

use etherweave_primitives::{BitRate, Bytes};

/// A token bucket, as `tc-tbf(8)`, port shapers of switches and the network limits of clouds have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenBucket {
    /// Rate at which the bucket fills, in frames from their addresses to the end of their payload.
    pub rate: BitRate,
    /// Size of the full bucket, and so what may leave at the rate of the wire after a silence.
    pub burst: Bytes,
}
