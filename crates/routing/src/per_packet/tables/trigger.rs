//! What deactivates a conditional rule.

use super::LoadView;

/// What deactivates a conditional rule, as long as it lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The channel takes no packet, the default: Benito et al. 2015, section V-B.
    #[default]
    Pause,
    /// The channel's output queue and far end hold more than so many packets: "snooping congestion instead of flow
    /// control notifications", which section VII leaves for future work.
    Congestion {
        /// What does not yet count [packets].
        packets: u32,
    },
}

impl Trigger {
    /// Whether it holds for a channel.
    #[inline]
    pub fn is_inactive<L: LoadView>(self, load: L, port: u8, channel: u8) -> bool {
        match self {
            Trigger::Pause => load.is_paused(port, channel),
            Trigger::Congestion { packets } => load.occupancy(port, channel) > packets,
        }
    }
}
