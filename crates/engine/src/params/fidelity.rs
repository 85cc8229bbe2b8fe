//! Fidelity with which the network between hosts is simulated.

/// Model of the network between the NICs of hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fidelity {
    /// Every packet, in every queue, the default.
    #[default]
    Packet,
    /// Messages, which drain at max-min fair rates: no queues, losses or pauses.
    Flow,
}

impl Fidelity {
    /// Whether every packet is simulated.
    pub fn is_packet(&self) -> bool {
        *self == Fidelity::Packet
    }
}
