//! PB: UGAL-L, and a detour whenever the group knows the minimal way's global link to be saturated.

use super::ugal_local::{choose, is_longer};
use super::{DragonflyPlan, Hop, Place, Routing, Saturation};
use crate::load::Load;
use crate::packet::Packet;

/// Jiang, Kim and Dally, "Indirect adaptive routing on large scale interconnection networks", ISCA 2009, section 3.3:
/// switches tell each other in every packet which of their global links are saturated.
pub struct Piggyback {
    /// Where everything is.
    pub plan: DragonflyPlan,
    /// What the minimal way is ahead in UGAL-L [packets]. FOGSim: 0.
    pub threshold: u32,
    /// What marks a global port as saturated. FOGSim: 200 % of the mean and 5 packets.
    pub saturation: Saturation,
}

impl Piggyback {
    /// The parameters of FOGSim.
    pub fn new(plan: DragonflyPlan) -> Piggyback {
        Piggyback { plan, threshold: 0, saturation: Saturation { mean_percent: 200, packets: 5 } }
    }
}

impl Routing for Piggyback {
    fn channels(&self) -> u8 {
        3
    }

    fn saturation(&self) -> Option<Saturation> {
        Some(self.saturation)
    }

    fn start(&self, packet: &mut Packet) {
        self.plan.draw_via(packet);
    }

    fn decide(&self, at: Place, packet: &mut Packet, load: Load<'_>) -> Hop {
        let ways = self.plan.ways(at, packet);
        choose(&self.plan, at, packet, ways, |ways| {
            let is_saturated = ways.global.is_some_and(|(switch, port)| load.is_saturated(switch, port));
            is_saturated || is_longer(ways, load, self.threshold)
        })
    }
}
