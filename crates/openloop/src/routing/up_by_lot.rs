//! ECMP, spraying and flowlets on a tree: up by lot, and down the only way.

use super::choice::any;
use super::clos::ClosPlan;
use super::{Hop, Lots, Place, Routing};
use crate::bounds::Oblivious;
use crate::load::Load;
use crate::packet::Packet;

/// Any port up, each as likely, by the packet's lot: per flow as in ECMP (Hopps, RFC 2992), per packet (Dixit et al.,
/// "On the impact of packet spraying in data center networks", INFOCOM 2013), or per flowlet (Vanini et al., "Let it
/// flow", NSDI 2017). Where several ports lead down the same way, one of them by lot too.
pub struct UpByLot {
    /// Where everything is.
    pub plan: ClosPlan,
    /// How long packets keep their lot.
    pub lots: Lots,
}

impl Routing for UpByLot {
    fn channels(&self) -> u8 {
        1
    }

    fn oblivious(&self) -> Option<&dyn Oblivious> {
        Some(self)
    }

    fn lots(&self) -> Lots {
        self.lots
    }

    fn decide(&self, at: Place, packet: &mut Packet, _load: Load<'_>) -> Hop {
        Hop { port: any(self.plan.ways(at.switch, packet.dst), packet), channel: 0 }
    }
}
