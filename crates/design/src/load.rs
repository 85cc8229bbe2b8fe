//! A load that was measured: what a fabric draws under it.

use etherweave_power::{Activity, ChannelActivity, RateTime, Saving};
use etherweave_primitives::{Bytes, InputError};
use etherweave_topology::Topology;

use crate::{Design, DesignSpec};

/// Load that every channel of a fabric carried.
#[derive(Clone, PartialEq, Debug)]
pub struct ChannelLoads {
    /// Share of the time that each channel was sending, by id, 0..=1.
    pub channels: Vec<f64>,
    /// Mean size of a packet on the wire [B], at least 1.
    pub packet: Bytes,
    /// How often each channel began to send after none [1/s], by id, where the run had links that sleep.
    pub wakes_per_second: Vec<Option<f64>>,
    /// Rates that each channel had, by id, where the run had links that change theirs.
    pub rates: Vec<Vec<RateTime>>,
}

impl ChannelLoads {
    pub(crate) fn even(topology: &Topology, load: f64, packet: Bytes) -> ChannelLoads {
        let channels = topology.channels().len();
        let (wakes_per_second, rates) = (vec![None; channels], Vec::new());
        ChannelLoads { channels: vec![load; channels], packet, wakes_per_second, rates }
    }

    pub(crate) fn mean(&self) -> f64 {
        self.channels.iter().sum::<f64>() / self.channels.len() as f64
    }

    pub(crate) fn under(&self, saving: Saving) -> Activity {
        let channel = |(&load, &wakes_per_second)| ChannelActivity { load, wakes_per_second };
        let channels = self.channels.iter().zip(&self.wakes_per_second).map(channel).collect();
        Activity { channels, packet: self.packet, saving, rates: self.rates.clone() }
    }
}

impl Design {
    /// Adds what the fabric draws under a measured load, with the profile and the tables of the design.
    ///
    /// # Errors
    /// When the design has no power, or the load is not of this topology.
    pub fn add_load(&mut self, topology: &Topology, spec: &DesignSpec, load: &ChannelLoads) -> Result<(), InputError> {
        let no_power = || InputError::new("power", "no profile suits the fabric", "one, as a load draws power by it");
        self.power.as_mut().ok_or_else(no_power)?.add_load(topology, spec, load)
    }
}
