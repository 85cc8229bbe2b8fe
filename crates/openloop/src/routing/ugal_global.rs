//! UGAL-G: minimal or by another group, whichever global channel of the source's group has the shorter queue.

use super::dragonfly::Ways;
use super::ugal_local::choose;
use super::{DragonflyPlan, Hop, Place, Routing};
use crate::load::Load;
use crate::packet::Packet;

/// Kim et al., "Technology-driven, highly-scalable dragonfly topology", ISCA 2008, section 4.2: UGAL that knows, at
/// once and exactly, the queues of all global channels of the source's group; an ideal that no switch can build. A
/// packet for its own group compares the queue of its local channel.
pub struct UgalGlobal {
    /// Where everything is.
    pub plan: DragonflyPlan,
    /// What the minimal way is ahead [packets].
    pub threshold: u32,
}

impl Routing for UgalGlobal {
    fn channels(&self) -> u8 {
        3
    }

    fn start(&self, packet: &mut Packet) {
        self.plan.draw_via(packet);
    }

    fn decide(&self, at: Place, packet: &mut Packet, load: Load<'_>) -> Hop {
        let ways = self.plan.ways(at, packet);
        choose(&self.plan, at, packet, ways, |ways| self.is_longer(ways, load))
    }
}

impl UgalGlobal {
    fn is_longer(&self, ways: &Ways, load: Load<'_>) -> bool {
        let queue = |(switch, port)| load.occupancy_at(switch, port, 0);
        let local = || load.occupancy(ways.minimal.port, ways.minimal.channel);
        let minimal = ways.global.map_or_else(local, queue);
        minimal * ways.minimal_links > queue(ways.detour_global) * ways.detour_links + self.threshold
    }
}
