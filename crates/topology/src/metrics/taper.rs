//! Tapers: how much more comes from below than goes up.

use etherweave_primitives::SwitchId;

use crate::{Node, Topology};

/// All switches of one level together.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Taper {
    /// The level; 0 has the hosts.
    pub level: u8,
    /// Rate of the links to hosts and lower levels [bit/s].
    pub down_bps: u128,
    /// Rate of the links to higher levels [bit/s], not zero.
    pub up_bps: u128,
}

impl Taper {
    /// Down over up: 1 at full bisection, 3 at 3:1.
    pub fn ratio(&self) -> f64 {
        self.down_bps as f64 / self.up_bps as f64
    }
}

/// The tapers of all levels that have links up, lowest first.
pub(crate) fn measure(topology: &Topology) -> Vec<Taper> {
    let mut levels: Vec<Taper> = (0..=u8::MAX).map(|level| Taper { level, down_bps: 0, up_bps: 0 }).collect();
    for switch in (0..topology.switches()).map(SwitchId::from_index) {
        let taper = &mut levels[usize::from(topology.level(switch))];
        for channel in topology.out_channels(switch).iter().map(|&id| topology.channel(id)) {
            let bps = u128::from(channel.rate.as_bps());
            match channel.to.node {
                Node::Switch(to) if topology.level(to) > taper.level => taper.up_bps += bps,
                Node::Switch(to) if topology.level(to) == taper.level => {}
                Node::Switch(_) | Node::Host(_) => taper.down_bps += bps,
            }
        }
    }
    levels.into_iter().filter(|taper| taper.up_bps > 0).collect()
}
