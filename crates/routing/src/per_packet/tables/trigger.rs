//! Conditions that deactivate a conditional rule.

use etherweave_primitives::{Bytes, Duration};

use super::LoadView;

/// Condition that deactivates a conditional rule, as long as it lasts.
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
    /// The channel takes no packet, or its output queue holds more than this number of packets, with credits its
    /// far end included: "snooping congestion instead of flow control notifications", which section VII leaves for
    /// future work.
    Congestion {
        /// Length of the queue up to which it does not act [packets].
        packets: u32,
    },
    /// A switch on the way of its packets has sent a notification of 802.1Qau about one for the same destinations,
    /// which came in by the rule's port. Only open loops have notifications.
    Notification(Notification),
}

/// Congestion points that send notifications (IEEE 802.1Q-2022, 30.2.1; 802.1Qau), and rules that they deactivate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Notification {
    /// Time for which a rule is inactive after the last notification [whole ns], 1 ns to 1 s.
    pub hold: Duration,
    /// Length of an output queue that a congestion point aims at, cpQSp; below `switch.output_queue`. Default
    /// "26kB".
    #[serde(default = "Notification::set_point")]
    pub set_point: Bytes,
    /// Weight of the growth of the queue beside its length, cpW, 0..=1024. Default 2.
    #[serde(default = "Notification::weight")]
    pub weight: u32,
    /// Bytes into a queue between two samples while it is not congested, cpSampleBase; up to an eighth of it
    /// where it is. Default "150kB".
    #[serde(default = "Notification::sample_base")]
    pub sample_base: Bytes,
}

impl Notification {
    /// Largest quantized feedback, of 6 bits.
    const FEEDBACK_MAX: u64 = 63;

    fn set_point() -> Bytes {
        Bytes::new(26_000)
    }

    fn weight() -> u32 {
        2
    }

    fn sample_base() -> Bytes {
        Bytes::new(150_000)
    }

    /// Quantized feedback of a queue that was `before` long at the last sample [B], 0..=63; absent where it is not
    /// congested.
    pub fn feedback(&self, queue: u32, before: u32) -> Option<u64> {
        let [queue, before, set_point] =
            [u64::from(queue), u64::from(before), self.set_point.get()].map(u64::cast_signed);
        let weight = i64::from(self.weight);
        let excess = queue - set_point + weight * (queue - before);
        let excess = u64::try_from(excess).ok().filter(|&excess| excess > 0)?;
        let excess_max = self.set_point.get() * (2 * u64::from(self.weight) + 1);
        Some(excess.min(excess_max) * Self::FEEDBACK_MAX / excess_max)
    }
}

impl Trigger {
    /// Whether it holds for a channel by which packets for a host leave.
    #[inline]
    pub fn is_inactive<L: LoadView>(self, load: L, port: u8, channel: u8, dst: u32) -> bool {
        match self {
            Trigger::Full => load.is_blocked(port, channel),
            Trigger::Pause => load.is_paused(port, channel),
            Trigger::Congestion { packets } => {
                let room = packets.saturating_mul(load.packet_max());
                load.occupancy(port, channel) > room || load.is_blocked(port, channel)
            }
            Trigger::Notification(_) => load.is_notified(port, dst) || load.is_down(port),
        }
    }

    /// Whether it asks for more than what queues hold.
    pub fn goes_by_pauses(self) -> bool {
        match self {
            Trigger::Full | Trigger::Pause | Trigger::Notification(_) => true,
            Trigger::Congestion { .. } => false,
        }
    }
}
