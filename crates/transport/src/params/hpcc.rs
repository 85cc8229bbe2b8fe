//! HPCC (Y. Li et al., "HPCC: High precision congestion control", SIGCOMM 2019).

use etherweave_primitives::{Bytes, Duration};

/// A window for each connection, and a rate by it, from what switches report of their links in every packet. Defaults
/// are those of the paper, sections 3.3 and 5.1.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Hpcc {
    /// Round trip of an empty network, or a little more (`T`), the same for all connections.
    pub base_round_trip: Duration,
    /// Share of a link's capacity that connections aim at [%] (`eta`).
    pub utilisation: u32,
    /// Round trips of additive increase before the window follows the links again (`maxStage`).
    pub stages_max: u32,
    /// What each update adds to the window (`W_AI`).
    pub additive_increase: Bytes,
    /// Switches for which packets have room, 8 B each and 2 B: 1 to 8. Switches beyond them report nothing.
    pub switches: u8,
}

impl Default for Hpcc {
    fn default() -> Self {
        Hpcc {
            base_round_trip: Duration::from_us(13),
            utilisation: 95,
            stages_max: 5,
            additive_increase: Bytes::new(80),
            switches: 5,
        }
    }
}
