//! The PFC watchdog of switches.

use etherweave_primitives::Duration;

/// A watchdog at the ports of switches, which ends what a pause without end holds back.
///
/// As SONiC has it (`orchagent/pfcwdorch.cpp` and `pfc_detect_mellanox.lua` of sonic-swss): every port is polled, and a
/// lossless priority storms once its queue has held packets, sent none and been paused throughout polls that add up to
/// `detection`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PfcWatchdog {
    /// Time after which a paused queue that sends nothing storms, at least `poll`. SONiC takes 100 ms to 5 s. Default
    /// "200ms".
    pub detection: Duration,
    /// Time without a pause after which the queue is restored, at least `poll`. SONiC takes 100 ms to 60 s. Default
    /// "200ms".
    pub restoration: Duration,
    /// Time between two polls of a port, 1 us or more. Default "200ms".
    pub poll: Duration,
    /// Treatment of a queue that storms. Default "drop".
    pub action: WatchdogAction,
}

/// Treatment of a queue that storms, until it is restored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WatchdogAction {
    /// Discards what the queue holds and gets, and what the port receives with the priority, so that no pause goes
    /// further up.
    #[default]
    Drop,
    /// Ignores the pauses: the queue sends.
    Forward,
    /// Reports the storm alone.
    Alert,
}

impl Default for PfcWatchdog {
    fn default() -> Self {
        let (detection, restoration, poll) = (Duration::from_ms(200), Duration::from_ms(200), Duration::from_ms(200));
        PfcWatchdog { detection, restoration, poll, action: WatchdogAction::Drop }
    }
}

impl PfcWatchdog {
    /// The longest time from the begin of a storm to its detection, and from its end to the restoration.
    pub fn patience(&self) -> Duration {
        self.detection + self.restoration + self.poll * 2
    }

    /// Whether it ends a storm rather than report it alone.
    pub fn acts(&self) -> bool {
        self.action != WatchdogAction::Alert
    }
}
