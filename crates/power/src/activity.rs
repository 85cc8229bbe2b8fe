//! Activity of channels: what they carried, as a probe measured it, and what was done while they did not.

use etherweave_primitives::{BitRate, Bytes, ChannelId, InputError};
use etherweave_topology::Topology;

use crate::{LowPowerIdle, RateAdaptation};

/// Activity of every channel of a fabric.
#[derive(Clone, PartialEq, Debug)]
pub struct Activity {
    /// Activities by channel id, as [`Topology::channels`].
    pub channels: Vec<ChannelActivity>,
    /// Mean size of a packet [B], at least 1: how often tables are searched.
    pub packet: Bytes,
    /// Method by which idle ports save power meanwhile.
    pub saving: Saving,
    /// Rates that each channel had, by channel id; empty, or empty for a channel, where they were not simulated.
    pub rates: Vec<Vec<RateTime>>,
}

/// A rate that a channel had for a part of the time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateTime {
    /// The rate, as a share of the full one.
    pub rate: f64,
    /// Share of the time, 0..=1.
    pub time: f64,
}

/// Activity of one channel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ChannelActivity {
    /// Share of the time that it was sending, 0..=1.
    pub load: f64,
    /// How often a sending began after none [1/s]. None: unknown, and each packet is taken to begin one.
    pub wakes_per_second: Option<f64>,
}

/// Method by which idle ports save power.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Saving {
    /// Nothing.
    AlwaysOn,
    /// A direction sleeps between packets; modules stay awake.
    LowPowerIdle,
    /// Links that carry nothing in either direction are down, with their modules.
    LinkSleep,
    /// A direction runs at the lowest rate that suffices for its load; modules stay as they are.
    RateAdaptation,
}

impl Saving {
    /// All of them.
    pub const ALL: [Saving; 4] = [Saving::AlwaysOn, Saving::LowPowerIdle, Saving::LinkSleep, Saving::RateAdaptation];

    /// How a scenario writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Saving::AlwaysOn => "always_on",
            Saving::LowPowerIdle => "low_power_idle",
            Saving::LinkSleep => "link_sleep",
            Saving::RateAdaptation => "rate_adaptation",
        }
    }
}

impl Activity {
    /// The same load on every channel.
    pub fn even(topology: &Topology, load: f64, packet: Bytes, saving: Saving) -> Activity {
        let channel = ChannelActivity { load, wakes_per_second: None };
        Activity { channels: vec![channel; topology.channels().len()], packet, saving, rates: Vec::new() }
    }

    pub(crate) fn check(&self, topology: &Topology) -> Result<(), InputError> {
        if self.channels.len() != topology.channels().len() {
            let expected = format!("one entry for each of the {} channels", topology.channels().len());
            let mistake = format!("a list of {}", self.channels.len());
            return Err(InputError::new("activity.channels", mistake, expected));
        }
        if self.packet.get() == 0 {
            return Err(InputError::new("activity.packet", "0B", "at least 1B"));
        }
        self.channels.iter().enumerate().try_for_each(|(number, channel)| channel.check(number))
    }
}

impl ChannelActivity {
    fn check(&self, number: usize) -> Result<(), InputError> {
        let key = |field| format!("activity.channels.{number}.{field}");
        if !(0.0..=1.0).contains(&self.load) {
            return Err(InputError::new(key("load"), self.load, "0 to 1"));
        }
        match self.wakes_per_second {
            Some(wakes) if !(wakes.is_finite() && wakes >= 0.0) => {
                Err(InputError::new(key("wakes_per_second"), wakes, "0 or more"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the power that a direction draws as a share of full power: awake while it sends, falls asleep or wakes.
    pub(crate) fn idle_share(&self, rate: BitRate, packet: Bytes, idle: &LowPowerIdle) -> f64 {
        let packets = self.load * rate.as_bps() as f64 / (8.0 * packet.get() as f64);
        let wakes = self.wakes_per_second.unwrap_or(packets);
        let turning = idle.sleep.value.as_s_f64() + idle.wake.value.as_s_f64();
        let awake = (self.load + wakes * turning).min(1.0);
        awake + (1.0 - awake) * idle.share.value
    }

    /// Power of a direction, as a share of full power, at the lowest rate that suffices for its load.
    pub(crate) fn adapted_share(&self, adaptation: &RateAdaptation) -> f64 {
        adaptation.share(|rate| self.load <= adaptation.load_max.value * rate)
    }
}

/// Power of a direction, as a share of full power, by the rates that it had; each as the lowest of the profile that is
/// no lower.
pub(crate) fn simulated_share(adaptation: &RateAdaptation, rates: &[RateTime]) -> f64 {
    rates.iter().map(|had| had.time * adaptation.share(|rate| had.rate <= rate)).sum()
}

/// The load of a channel; full where no activity is known.
pub(crate) fn load(activity: Option<&Activity>, channel: ChannelId) -> f64 {
    activity.map_or(1.0, |activity| activity.channels[channel.index()].load)
}
