//! The switches of a fabric, sorted into kinds that are bought and powered alike.

use std::collections::BTreeMap;

use etherweave_primitives::{BitRate, ChannelId, SwitchId};
use etherweave_topology::{Channel, LinkClass, Topology};

use crate::PortKind;

/// Switches of one level with the same ports in use.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SwitchKind {
    /// Their level: 0 has the hosts of a tree.
    pub level: u8,
    /// Hosts on each.
    pub hosts: u32,
    /// Ports in use on each.
    pub ports: BTreeMap<PortKind, u32>,
}

impl SwitchKind {
    pub(crate) fn of(topology: &Topology, switch: SwitchId) -> SwitchKind {
        let mut links: BTreeMap<(PortKind, u32), u32> = BTreeMap::new();
        let mut hosts = 0;
        for &channel in topology.out_channels(switch) {
            let (kind, sharing) = port_of(topology, channel);
            *links.entry((kind, sharing)).or_default() += 1;
            hosts += u32::from(topology.channel(channel).class == LinkClass::Host);
        }
        let mut ports = BTreeMap::new();
        for ((kind, sharing), count) in links {
            *ports.entry(kind).or_default() += count.div_ceil(sharing);
        }
        SwitchKind { level: topology.level(switch), hosts, ports }
    }

    /// Ports in use.
    pub fn ports_used(&self) -> u32 {
        self.ports.values().sum()
    }

    /// The fastest port in use [bit/s].
    pub fn rate_max(&self) -> BitRate {
        self.ports.keys().map(|kind| kind.rate).max().unwrap_or_default()
    }
}

/// The port of a switch that a leaving channel uses, and how many links share it.
pub(crate) fn port_of(topology: &Topology, channel: ChannelId) -> (PortKind, u32) {
    let Channel { rate, medium, class, .. } = *topology.channel(channel);
    let sharing = if class == LinkClass::Host { topology.breakout() } else { 1 };
    let rate = BitRate::from_bps(rate.as_bps().saturating_mul(u64::from(sharing)));
    (PortKind { rate, medium }, sharing)
}

pub(crate) fn switches(topology: &Topology) -> impl Iterator<Item = SwitchId> {
    (0..topology.switches()).map(SwitchId::from_index)
}
