//! ECMP, spraying and flowlets on a tree: up by lot, and down the only way.

use etherweave_primitives::mix;

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

    fn start(&self, packet: &mut Packet) {
        if self.lots == Lots::PerFlow {
            packet.lot = mix(!(u64::from(packet.src) << 32 | u64::from(packet.dst))) as u16;
        }
    }

    fn decide(&self, at: Place, packet: &mut Packet, _load: Load<'_>) -> Hop {
        Hop { port: any(self.plan.ways(at.switch, packet.dst), packet), channel: 0 }
    }
}

#[cfg(test)]
mod tests {
    use etherweave_topology::{Family, FatTree};

    use super::*;
    use crate::packet::NONE;
    use crate::routing::FabricPlan;

    #[test]
    fn packets_of_a_flow_have_one_lot_and_others_their_own() {
        let plan = ClosPlan::of(&FatTree::default().generate().unwrap()).unwrap();
        let lot = |lots, dst, own| {
            let (born, entered, next, place, aim) = (0, 0, NONE, 0, [0; 2]);
            let lot = own;
            let mut packet = Packet { born, entered, next, place, dst, src: 1, aim, lot, hops: 0, is_detoured: false };
            UpByLot { plan: plan.clone(), lots }.start(&mut packet);
            packet.lot
        };
        assert_eq!(lot(Lots::PerFlow, 5, 10), lot(Lots::PerFlow, 5, 20));
        assert_ne!(lot(Lots::PerFlow, 5, 10), lot(Lots::PerFlow, 6, 10));
        assert_eq!([lot(Lots::PerPacket, 5, 10), lot(Lots::PerPacket, 5, 20)], [10, 20]);
    }
}
