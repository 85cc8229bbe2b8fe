//! Conditional rules: minimal while the minimal output takes packets, otherwise the host's own global port.

use etherweave_topology::LinkClass;

use super::dragonfly::{ANYWHERE, VIA};
use super::{DragonflyPlan, Hop, Place, Routing};
use crate::load::Load;
use crate::packet::Packet;

/// Benito et al. 2015, sections V-B to V-D: rules to other groups are out of force while their output is paused; then
/// the packets of host port `i` take global port `i` of their switch, and from there the minimal way.
pub struct Conditional {
    /// Where everything is.
    pub plan: DragonflyPlan,
    /// Global ports of every switch, at least 1.
    pub h: u8,
}

impl Routing for Conditional {
    fn channels(&self) -> u8 {
        3
    }

    fn start(&self, packet: &mut Packet) {
        packet.aim[VIA] = ANYWHERE;
    }

    fn decide(&self, at: Place, packet: &mut Packet, load: Load<'_>) -> Hop {
        let hop = self.plan.minimal(at, packet);
        let may_leave = at.class == LinkClass::Host && !self.plan.is_in(at.switch, self.plan.group_of_host(packet.dst));
        if !may_leave || !load.is_paused(hop.port, hop.channel) {
            return hop;
        }
        packet.is_detoured = true;
        Hop { port: self.plan.first_global() + at.port % self.h, channel: 0 }
    }
}
