//! Queues of the kernel's NIC driver, and their interrupt moderation.

use etherweave_primitives::{Duration, params};

/// Start of the timer of a queue's interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModerationTimer {
    /// Again with every frame: the interrupt comes `period` after the last (mlx5, by default, of what is received).
    Completion,
    /// Started by the first frame: the interrupt comes `period` after it (of what is sent).
    Event,
}

/// Delay of an interrupt that waits for more frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModerationProfile {
    /// Longest delay of the interrupt (`rx-usecs` or `tx-usecs` of `ethtool -C`).
    pub period: Duration,
    /// Largest number of frames, or of segments that are sent, before the interrupt, 1 or more (`rx-frames`,
    /// `tx-frames`).
    pub count: u32,
}

/// Profiles of adaptive moderation.
pub const PROFILES: usize = 5;

impl ModerationTimer {
    /// The profiles of adaptive moderation of what is received (Linux, `net_dim`: `NET_DIM_RX_*_PROFILES`).
    pub fn receive_profiles(self) -> [ModerationProfile; PROFILES] {
        profiles(match self {
            ModerationTimer::Completion => [(2, 256), (8, 128), (16, 64), (32, 64), (64, 64)],
            ModerationTimer::Event => [(1, 256), (8, 256), (64, 256), (128, 256), (256, 256)],
        })
    }

    /// Those of what is sent (`NET_DIM_TX_*_PROFILES`).
    pub fn transmit_profiles(self) -> [ModerationProfile; PROFILES] {
        profiles(match self {
            ModerationTimer::Completion => [(5, 128), (8, 64), (16, 32), (32, 32), (64, 32)],
            ModerationTimer::Event => [(1, 128), (8, 128), (32, 128), (64, 128), (128, 128)],
        })
    }
}

fn profiles(table: [(u64, u32); PROFILES]) -> [ModerationProfile; PROFILES] {
    table.map(|(micros, count)| ModerationProfile { period: Duration::from_us(micros), count })
}

/// Interrupt moderation of a queue.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Moderation {
    /// Every frame raises an interrupt at once.
    Off {},
    /// The same profile all the time.
    Fixed(ModerationProfile),
    /// The profile follows the load of each queue.
    Adaptive(AdaptiveParams),
    /// Interrupts of a queue and of the transmit queue beside it keep an interval, which follows the size of frames.
    Throttled(ThrottleParams),
}

params! {
    /// Adaptive moderation.
    pub struct AdaptiveParams {
        /// The profile of a fresh queue until the first change, 0 to 4. Of what is received: 3 in MLNX_OFED 4.6, 1 in
        /// Linux; of what is sent: 1 in both.
        pub start: u8 = 3,
    }
}

params! {
    /// Throttled interrupts, as NICs of 1 Gb/s by Intel have them.
    pub struct ThrottleParams {
        /// Shortest interval between interrupts: 20,000 a second, of `InterruptThrottleRate=3` (dynamic conservative).
        pub interval_min: Duration = Duration::from_us(50),
    }
}

params! {
    /// Receive queues of a host's kernel, each with an interrupt and a core of its own.
    pub struct ReceiveParams {
        /// Queues that connections are hashed to, 1 to 128.
        pub queues: u32 = 32,
        /// Frames that a queue has buffers for; a frame that finds none is dropped (`rx_out_of_buffer`).
        pub ring: u32 = 1024,
        /// Moderation of interrupts.
        pub moderation: Moderation = Moderation::Off {},
        /// Event that starts the timer of the moderation.
        pub timer: ModerationTimer = ModerationTimer::Completion,
    }
}

/// Completions of what the kernel sends, in the queue that shares an interrupt with a receive queue.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TransmitParams {
    /// Moderation of interrupts, which poll the receive queue too.
    pub moderation: Moderation,
    /// Event that starts the timer of the moderation.
    pub timer: ModerationTimer,
}

impl Default for TransmitParams {
    fn default() -> Self {
        let moderation = Moderation::Adaptive(AdaptiveParams { start: 1 });
        TransmitParams { moderation, timer: ModerationTimer::Event }
    }
}
