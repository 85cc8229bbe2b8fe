//! Noise of the operating system, which interrupts the computation of ranks.

use etherweave_primitives::Duration;

/// Interruptions of computation by an operating system: timer ticks, daemons, interrupts of other devices. The time
/// that a rank computes from one to the next, and how long each takes, are exponential; every rank draws its own.
///
/// A model of noise whose mean and share are known; real traces have periodic parts too.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// Mean computation from one interruption to the next, 1 us or more.
    pub every: Duration,
    /// Mean time that an interruption takes, at most `every`.
    pub duration: Duration,
}
