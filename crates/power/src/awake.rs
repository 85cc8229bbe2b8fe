//! Share of its full power that a port draws, by the load of its link and the method of saving power.

use std::collections::BTreeMap;

use etherweave_primitives::{ChannelId, Duration, InputError, SwitchId};
use etherweave_topology::{Topology, reverse};

use crate::activity::{load, simulated_share};
use crate::cited::Ledger;
use crate::inventory::port_of;
use crate::{Activity, ChannelActivity, LinkSleep, LowPowerIdle, PortKind, PowerProfile, RateAdaptation, Saving};

/// Shares of full power; all of it unless something is saved.
#[derive(Clone, Copy)]
pub(crate) struct AwakeShare {
    pub(crate) port: f64,
    pub(crate) module: f64,
}

impl Default for AwakeShare {
    fn default() -> AwakeShare {
        AwakeShare { port: 1.0, module: 1.0 }
    }
}

/// The method of saving in use, with the profile's figures for it.
#[derive(Clone, Copy)]
enum Figures<'a> {
    AlwaysOn,
    LowPowerIdle(&'a LowPowerIdle, &'a Activity),
    LinkSleep(&'a LinkSleep),
    RateAdaptation(&'a RateAdaptation, &'a Activity),
}

pub(crate) struct Awake<'a> {
    topology: &'a Topology,
    activity: Option<&'a Activity>,
    figures: Figures<'a>,
}

impl<'a> Awake<'a> {
    pub(crate) fn new(
        profile: &'a PowerProfile,
        topology: &'a Topology,
        activity: Option<&'a Activity>,
        ledger: &mut Ledger,
    ) -> Result<Awake<'a>, InputError> {
        let figures = match activity {
            Some(activity) => Figures::of(profile, activity, ledger)?,
            None => Figures::AlwaysOn,
        };
        Ok(Awake { topology, activity, figures })
    }

    /// The mean share of every kind of port of a switch; empty where all draw all of it.
    pub(crate) fn shares(&self, switch: SwitchId) -> BTreeMap<PortKind, AwakeShare> {
        if matches!(self.figures, Figures::AlwaysOn) {
            return BTreeMap::new();
        }
        let mut sums: BTreeMap<PortKind, (AwakeShare, f64)> = BTreeMap::new();
        for &channel in self.topology.out_channels(switch) {
            let share = self.share(channel);
            let (kind, _) = port_of(self.topology, channel);
            let (sum, links) = sums.entry(kind).or_insert((AwakeShare { port: 0.0, module: 0.0 }, 0.0));
            *sum = AwakeShare { port: sum.port + share.port, module: sum.module + share.module };
            *links += 1.0;
        }
        let mean = |(sum, links): (AwakeShare, f64)| AwakeShare { port: sum.port / links, module: sum.module / links };
        sums.into_iter().map(|(kind, sum)| (kind, mean(sum))).collect()
    }

    /// The share of either end of a link; half of a port is for each direction.
    pub(crate) fn share(&self, channel: ChannelId) -> AwakeShare {
        match self.figures {
            Figures::LowPowerIdle(idle, activity) => {
                let rate = self.topology.channel(channel).rate;
                port_share(activity, channel, |direction| direction.idle_share(rate, activity.packet, idle))
            }
            Figures::RateAdaptation(adaptation, activity) => {
                let simulated = |id: ChannelId| activity.rates.get(id.index()).filter(|rates| !rates.is_empty());
                let share = |id: ChannelId| match simulated(id) {
                    Some(rates) => simulated_share(adaptation, rates),
                    None => activity.channels[id.index()].adapted_share(adaptation),
                };
                AwakeShare { port: (share(channel) + share(reverse(channel))) / 2.0, module: 1.0 }
            }
            Figures::LinkSleep(asleep) if self.is_silent(channel) => {
                AwakeShare { port: asleep.share.value, module: asleep.share.value }
            }
            Figures::LinkSleep(_) | Figures::AlwaysOn => AwakeShare::default(),
        }
    }

    fn is_silent(&self, channel: ChannelId) -> bool {
        load(self.activity, channel) == 0.0 && load(self.activity, reverse(channel)) == 0.0
    }

    /// Links that are down.
    pub(crate) fn links_asleep(&self) -> u64 {
        let links = (0..self.topology.channels().len()).step_by(2).map(ChannelId::from_index);
        match self.figures {
            Figures::LinkSleep(_) => links.filter(|&link| self.is_silent(link)).count() as u64,
            Figures::AlwaysOn | Figures::LowPowerIdle(..) | Figures::RateAdaptation(..) => 0,
        }
    }

    /// How long it takes to be awake again.
    pub(crate) fn wake(&self) -> Duration {
        match self.figures {
            Figures::AlwaysOn => Duration::ZERO,
            Figures::LowPowerIdle(idle, _) => idle.wake.value,
            Figures::LinkSleep(asleep) => asleep.wake.value,
            Figures::RateAdaptation(adaptation, _) => adaptation.change.value,
        }
    }
}

/// The share of a port, half of it for each direction; its module is always on.
fn port_share(activity: &Activity, channel: ChannelId, direction: impl Fn(&ChannelActivity) -> f64) -> AwakeShare {
    let share = |id: ChannelId| direction(&activity.channels[id.index()]);
    AwakeShare { port: (share(channel) + share(reverse(channel))) / 2.0, module: 1.0 }
}

impl<'a> Figures<'a> {
    fn of(profile: &'a PowerProfile, activity: &'a Activity, ledger: &mut Ledger) -> Result<Figures<'a>, InputError> {
        let missing = || profile.missing(activity.saving.name(), Vec::new());
        match activity.saving {
            Saving::AlwaysOn => Ok(Figures::AlwaysOn),
            Saving::LowPowerIdle => {
                let idle = profile.low_power_idle.as_ref().ok_or_else(missing)?;
                ledger.take("low_power_idle.share", &idle.share);
                ledger.take("low_power_idle.sleep", &idle.sleep);
                ledger.take("low_power_idle.wake", &idle.wake);
                Ok(Figures::LowPowerIdle(idle, activity))
            }
            Saving::LinkSleep => {
                let asleep = profile.link_sleep.as_ref().ok_or_else(missing)?;
                ledger.take("link_sleep.share", &asleep.share);
                ledger.take("link_sleep.wake", &asleep.wake);
                Ok(Figures::LinkSleep(asleep))
            }
            Saving::RateAdaptation => {
                let adaptation = profile.rate_adaptation.as_ref().ok_or_else(missing)?;
                ledger.take("rate_adaptation.load_max", &adaptation.load_max);
                ledger.take("rate_adaptation.change", &adaptation.change);
                for (number, reduced) in adaptation.rates.iter().enumerate() {
                    ledger.take(&format!("rate_adaptation.rates.{number}.share"), &reduced.share);
                }
                Ok(Figures::RateAdaptation(adaptation, activity))
            }
        }
    }
}
