//! Low-power idle: transmitters that sleep while they have nothing to send.

use etherweave_primitives::Duration;

/// Times of a transmitter that sleeps between frames: Energy-Efficient Ethernet, IEEE 802.3-2022, clause 78 (802.3az).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LowPowerIdleTimes {
    /// Silence before the transmitter begins to fall asleep. Default "0ns".
    #[serde(default)]
    pub after: Duration,
    /// Time to fall asleep, `T_s`: a frame that comes meanwhile waits until it has passed.
    pub sleep: Duration,
    /// Time to wake before the first bit of the next frame, `T_w`.
    pub wake: Duration,
}

impl LowPowerIdleTimes {
    /// The longest that a frame waits for a sleeping transmitter.
    pub fn wait_max(&self) -> Duration {
        self.sleep + self.wake
    }
}
