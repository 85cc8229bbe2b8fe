//! Learning of addresses by switches.

use etherweave_primitives::Duration;

/// Switches that learn the addresses of sources and flood frames for addresses that they have not learnt: IEEE
/// 802.1D-2004, clauses 7.7 to 7.9.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressLearning {
    /// Addresses for which the table of a switch has room, 1..=1048576.
    pub entries: u32,
    /// Time after which an address that sent nothing is forgotten, "1us" to "1000000s". Default "300s" (table 7-5).
    #[serde(default = "AddressLearning::default_ageing")]
    pub ageing: Duration,
}

impl AddressLearning {
    fn default_ageing() -> Duration {
        Duration::from_ms(300_000)
    }
}
