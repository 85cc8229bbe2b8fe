//! Rates of a transmitter that follows its load.

use etherweave_primitives::Duration;

/// Rates between which a transmitter chooses, epoch by epoch: D. Abts et al., "Energy proportional datacenter
/// networks", ISCA 2010, section 3.3.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EpochRates {
    /// Up to 16 reduced rates, rising shares of the full one, above 0 and below 1. A transmitter begins at the full
    /// rate.
    pub rates: Vec<f64>,
    /// Time between two choices, 100 ns or more. Default "10us".
    #[serde(default = "EpochRates::epoch")]
    pub epoch: Duration,
    /// Time after a change in which nothing is sent; below `epoch`. Default "1us".
    #[serde(default = "EpochRates::reactivation")]
    pub reactivation: Duration,
    /// Utilisation of the present rate above which the next higher one is chosen, and below which the next lower one;
    /// above 0, up to 1. Default 0.5.
    #[serde(default = "EpochRates::load_max")]
    pub load_max: f64,
}

impl EpochRates {
    fn epoch() -> Duration {
        Duration::from_us(10)
    }

    fn reactivation() -> Duration {
        Duration::from_us(1)
    }

    fn load_max() -> f64 {
        0.5
    }

    /// Share of the full rate at a step; the last step is the full rate.
    pub fn share(&self, step: usize) -> f64 {
        self.rates.get(step).copied().unwrap_or(1.0)
    }

    /// Time of a frame at a step that takes `duration` at the full rate.
    pub fn time(&self, step: usize, duration: Duration) -> Duration {
        Duration::from_ps((duration.as_ps() as f64 / self.share(step)).ceil() as u64)
    }

    /// The longest that a frame waits beyond what it does at the full rate, where the one before and itself take
    /// `frames` there.
    pub fn wait_max(&self, frames: Duration) -> Duration {
        self.reactivation + self.time(0, frames) - frames
    }
}
