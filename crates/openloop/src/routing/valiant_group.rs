//! VAL: minimal to another group drawn at random, then minimal.

use super::dragonfly::VIA;
use super::{DragonflyPlan, Hop, Place, Routing};
use crate::load::Load;
use crate::packet::Packet;

/// Valiant routing on a dragonfly by a group that is not the source's: Kim et al., ISCA 2008, section 4.1.
pub struct ValiantGroup {
    /// Where everything is.
    pub plan: DragonflyPlan,
}

impl Routing for ValiantGroup {
    fn channels(&self) -> u8 {
        3
    }

    fn start(&self, source: u32, packet: &mut Packet) {
        self.plan.aim(packet);
        let others = self.plan.groups() - 1;
        if others > 0 {
            // A lot has 16 bits, and there are fewer groups.
            let drawn = ((u32::from(packet.lot) * others) >> 16) as u16;
            let own = self.plan.group_of_host(source);
            packet.aim[VIA] = drawn + u16::from(drawn >= own);
            packet.is_detoured = true;
        }
    }

    fn decide(&self, at: Place, packet: &mut Packet, _load: Load<'_>) -> Hop {
        self.plan.minimal(at, packet)
    }
}
