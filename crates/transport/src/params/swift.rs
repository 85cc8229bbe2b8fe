//! Swift (G. Kumar et al., "Swift: Delay is simple and effective for congestion control in the datacenter", SIGCOMM
//! 2020).

use etherweave_primitives::Duration;

/// A window for each connection that holds the round trip near a target.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Swift {
    /// Round trip that a connection with a large window aims at (base target delay, section 3.2).
    pub base_target: Duration,
    /// What the least window adds to the target (flow scaling). 0s: nothing.
    pub flow_scaling: Duration,
    /// Window up to which all of it is added [thousandths of a packet] (`fs_min_cwnd`).
    pub flow_scaling_window_min: u32,
    /// Window from which on none of it is added [thousandths of a packet] (`fs_max_cwnd`).
    pub flow_scaling_window_max: u32,
    /// What a round trip below the target adds to the window [thousandths of a packet] (`ai`).
    pub additive_increase: u32,
    /// Share of the excess over the target by which the window shrinks [%] (`beta`).
    pub decrease: u32,
    /// Most by which the window shrinks in a round trip [%] (`max_mdf`).
    pub decrease_max: u32,
    /// Least window [thousandths of a packet]; below one packet, packets are paced.
    pub window_min: u32,
    /// Timeouts in a row after which the window is the least (`RETX_RESET_THRESHOLD`).
    pub timeouts_max: u32,
}

impl Default for Swift {
    fn default() -> Self {
        Swift {
            base_target: Duration::from_us(25),
            flow_scaling: Duration::from_us(100),
            flow_scaling_window_min: 100,
            flow_scaling_window_max: 100_000,
            additive_increase: 1_000,
            decrease: 80,
            decrease_max: 50,
            window_min: 10,
            timeouts_max: 5,
        }
    }
}
