//! Receive queues of the kernel's NIC driver, and their interrupt moderation.

use etherweave_primitives::Duration;

/// When the timer of a queue's interrupt starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModerationTimer {
    /// Again with every frame: the interrupt comes `period` after the last (mlx5, by default).
    Completion,
    /// With the first frame: the interrupt comes `period` after it.
    Event,
}

/// How long an interrupt waits for more frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModerationProfile {
    /// At most so long (`rx-usecs` of `ethtool -C`).
    pub period: Duration,
    /// At most for so many frames, 1 or more (`rx-frames`).
    pub count: u32,
}

/// Profiles of adaptive moderation.
pub const PROFILES: usize = 5;

impl ModerationTimer {
    /// The profiles of adaptive moderation (Linux, `net_dim`: the receive side).
    pub fn profiles(self) -> [ModerationProfile; PROFILES] {
        let table = match self {
            ModerationTimer::Completion => [(2, 256), (8, 128), (16, 64), (32, 64), (64, 64)],
            ModerationTimer::Event => [(1, 256), (8, 256), (64, 256), (128, 256), (256, 256)],
        };
        table.map(|(micros, count)| ModerationProfile { period: Duration::from_us(micros), count })
    }
}

/// Interrupt moderation of receive queues.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Moderation {
    /// Every frame raises an interrupt at once.
    Off {},
    /// The same profile all the time.
    Fixed(ModerationProfile),
    /// The profile follows the load of each queue.
    Adaptive(AdaptiveParams),
}

/// Adaptive moderation.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdaptiveParams {
    /// The profile of a fresh queue until the first change, 0 to 4: 3 in MLNX_OFED 4.6, 1 in Linux.
    pub start: u8,
}

impl Default for AdaptiveParams {
    fn default() -> Self {
        AdaptiveParams { start: 3 }
    }
}

/// Receive queues of a host's kernel, each with an interrupt and a core of its own.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReceiveParams {
    /// Queues that connections are hashed to, 1 to 128.
    pub queues: u32,
    /// Frames that a queue has buffers for; a frame that finds none is dropped (`rx_out_of_buffer`).
    pub ring: u32,
    /// When interrupts come.
    pub moderation: Moderation,
    /// What starts the timer of the moderation.
    pub timer: ModerationTimer,
}

impl Default for ReceiveParams {
    fn default() -> Self {
        ReceiveParams { queues: 32, ring: 1024, moderation: Moderation::Off {}, timer: ModerationTimer::Completion }
    }
}
