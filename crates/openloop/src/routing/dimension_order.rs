//! DOR: one dimension after the other.

use super::butterfly::ButterflyPlan;
use super::choice::any;
use super::{Hop, Place, Routing};
use crate::bounds::Oblivious;
use crate::load::Load;
use crate::packet::Packet;

/// Dimension order on a flattened butterfly: a packet takes one hop in each dimension where it is not at its place,
/// first dimension first. A channel depends on those of later dimensions only, so that one is enough.
pub struct DimensionOrder {
    /// Where everything is.
    pub plan: ButterflyPlan,
}

impl Routing for DimensionOrder {
    fn channels(&self) -> u8 {
        1
    }

    fn oblivious(&self) -> Option<&dyn Oblivious> {
        Some(self)
    }

    fn decide(&self, at: Place, packet: &mut Packet, _load: Load<'_>) -> Hop {
        let home = self.plan.home(packet.dst);
        let ports = self.plan.in_order(at.switch, home.switch);
        ports.map_or(home.hop, |ports| Hop { port: any(ports, packet), channel: 0 })
    }
}
