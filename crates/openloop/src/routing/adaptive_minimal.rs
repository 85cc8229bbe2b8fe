//! Minimal adaptive routing: the dimensions in any order, whichever has the shortest queue.

use super::butterfly::ButterflyPlan;
use super::choice::{Weighed, least};
use super::{Hop, Place, Routing};
use crate::load::Load;
use crate::packet::Packet;

/// Minimal adaptive routing on a flattened butterfly: Kim, Dally and Abts, "Flattened butterfly", ISCA 2007, section
/// 3.1 (MIN AD). Channels rise with every hop (Günther 1981), as many as dimensions.
pub struct AdaptiveMinimal {
    /// Where everything is.
    pub plan: ButterflyPlan,
}

impl Routing for AdaptiveMinimal {
    fn channels(&self) -> u8 {
        self.plan.dimensions_above(1).max(1)
    }

    fn decide(&self, at: Place, packet: &mut Packet, load: Load<'_>) -> Hop {
        let home = self.plan.home(packet.dst);
        let ports = self.plan.minimal_ports(at.switch, home.switch);
        let weighed = ports.map(|port| Weighed { port, weight: load.queued(port) });
        least(weighed, packet).map_or(home.hop, |way| Hop { port: way.port, channel: packet.hops })
    }
}
