//! Reception that stops while the NIC's firmware carries out a command.

use etherweave_primitives::Duration;

/// Cost of commands of the driver for reception: each change of adaptive moderation is one, reading statistics several.
///
/// An assumption for experiments: no public document says that commands stop reception, or for how long.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandStall {
    /// Time for which a command stops reception.
    pub duration: Duration,
    /// Period in which the driver reads statistics (`MLX5E_UPDATE_STATS_INTERVAL`), 1 ms or more.
    #[serde(default = "statistics_period")]
    pub statistics_period: Duration,
    /// Commands for reading them once, at most 100.
    #[serde(default = "statistics_commands")]
    pub statistics_commands: u32,
}

fn statistics_period() -> Duration {
    Duration::from_ms(200)
}

fn statistics_commands() -> u32 {
    4
}
