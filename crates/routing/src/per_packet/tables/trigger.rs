//! What deactivates a conditional rule.

use super::LoadView;

/// What deactivates a conditional rule, as long as it lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The channel takes no packet, the default: its far end has paused it or has no room, or its queue at the own
    /// switch is full. Benito et al. 2015, section V-B: "default paths are used until their queues become completely
    /// full".
    #[default]
    Full,
    /// The far end has paused the channel or has no room, whatever waits at the own switch: what a rule knows that is
    /// deactivated by pause frames alone.
    Pause,
    /// The channel takes no packet, or its output queue holds more than so many packets, with credits its far end
    /// included: "snooping congestion instead of flow control notifications", which section VII leaves for future work.
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
            Trigger::Full => load.is_blocked(port, channel),
            Trigger::Pause => load.is_paused(port, channel),
            Trigger::Congestion { packets } => {
                let room = packets.saturating_mul(load.packet_max());
                load.occupancy(port, channel) > room || load.is_blocked(port, channel)
            }
        }
    }

    /// Whether it asks for more than what queues hold.
    pub fn goes_by_pauses(self) -> bool {
        match self {
            Trigger::Full | Trigger::Pause => true,
            Trigger::Congestion { .. } => false,
        }
    }
}
