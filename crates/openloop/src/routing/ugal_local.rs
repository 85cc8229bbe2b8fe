//! UGAL-L: minimal or by another group, whichever the first switch sees the shorter queue for.

use super::dragonfly::{ANYWHERE, VIA, Ways};
use super::{DragonflyPlan, Hop, Place, Routing};
use crate::load::Load;
use crate::packet::Packet;

/// Singh, "Load-balanced routing in interconnection networks", 2005, with local queues only, as Kim et al., ISCA 2008,
/// section 4.2: minimal when its queue times its links is not above the same of the detour and a threshold.
pub struct UgalLocal {
    /// Where everything is.
    pub plan: DragonflyPlan,
    /// What the minimal way is ahead [packets]. FOGSim: 0.
    pub threshold: u32,
}

impl Routing for UgalLocal {
    fn channels(&self) -> u8 {
        3
    }

    fn start(&self, packet: &mut Packet) {
        self.plan.draw_via(packet);
    }

    fn decide(&self, at: Place, packet: &mut Packet, load: Load<'_>) -> Hop {
        let ways = self.plan.ways(at, packet);
        choose(&self.plan, at, packet, ways, |ways| is_longer(ways, load, self.threshold))
    }
}

/// Whether the minimal way has the longer queue, by links.
pub(super) fn is_longer(ways: &Ways, load: Load<'_>, threshold: u32) -> bool {
    let queue = |hop: Hop| load.occupancy(hop.port, hop.channel);
    queue(ways.minimal) * ways.minimal_links > queue(ways.detour) * ways.detour_links + threshold
}

/// The detour where there is a choice and `leaves` says so.
pub(super) fn choose(
    plan: &DragonflyPlan,
    at: Place,
    packet: &mut Packet,
    ways: Option<Ways>,
    leaves: impl Fn(&Ways) -> bool,
) -> Hop {
    match ways {
        Some(ways) if leaves(&ways) => {
            packet.is_detoured = true;
            ways.detour
        }
        Some(ways) => {
            packet.aim[VIA] = ANYWHERE;
            ways.minimal
        }
        None => {
            if !packet.is_detoured {
                packet.aim[VIA] = ANYWHERE;
            }
            plan.minimal(at, packet)
        }
    }
}
