//! PAR: UGAL-L, asked again at every switch of the source's group.

use etherweave_topology::LinkClass;

use super::dragonfly::{ANYWHERE, VIA, Ways};
use super::{DragonflyPlan, Hop, Place, Routing};
use crate::load::Load;
use crate::packet::Packet;

const CHANNELS: u8 = 4;

/// Progressive adaptive routing: Jiang, Kim and Dally, "Indirect adaptive routing on large scale interconnection
/// networks", ISCA 2009, section 3.4. A packet that goes minimally may still take its detour until it takes the global
/// link; one on its detour stays there. Queues are those of all channels of a link: the channel of packets that changed
/// their mind is nearly empty on all of them.
///
/// Channels rise in the order local 0, local 1 of packets that changed their mind, global 0, local 2, global 1, local
/// 3.
pub struct ProgressiveAdaptive {
    /// Where everything is.
    pub plan: DragonflyPlan,
    /// What the minimal way is ahead [packets].
    pub threshold: u32,
}

impl Routing for ProgressiveAdaptive {
    fn channels(&self) -> u8 {
        CHANNELS
    }

    fn start(&self, packet: &mut Packet) {
        self.plan.draw_via(packet);
    }

    fn decide(&self, at: Place, packet: &mut Packet, load: Load<'_>) -> Hop {
        if !packet.is_detoured {
            self.reconsider(at, packet, load);
        }
        // Until it leaves the source's group, a packet keeps the group of its detour in mind.
        let via = packet.aim[VIA];
        if !packet.is_detoured {
            packet.aim[VIA] = ANYWHERE;
        }
        let hop = self.plan.minimal(at, packet);
        if !packet.is_detoured {
            packet.aim[VIA] = via;
        }
        self.staged(at, hop)
    }
}

impl ProgressiveAdaptive {
    fn reconsider(&self, at: Place, packet: &mut Packet, load: Load<'_>) {
        if !self.plan.is_in(at.switch, self.plan.group_of_host(packet.src)) {
            packet.aim[VIA] = ANYWHERE;
        } else if let Some(ways) = self.plan.ways_from(at, packet) {
            packet.is_detoured = self.is_longer(&ways, load);
        }
    }

    /// Whether the minimal way has the longer queue, by links.
    fn is_longer(&self, ways: &Ways, load: Load<'_>) -> bool {
        let queue = |hop: Hop| load.queued(hop.port);
        queue(ways.minimal) * ways.minimal_links > queue(ways.detour) * ways.detour_links + self.threshold
    }

    fn staged(&self, at: Place, hop: Hop) -> Hop {
        let channel = match (at.class, self.plan.is_global(hop.port)) {
            _ if self.plan.is_host(hop.port) => 0,
            (LinkClass::Host, _) => 0,
            (LinkClass::Local, false) | (LinkClass::Global, true) => at.channel + 1,
            (LinkClass::Local, true) => at.channel / 2,
            (LinkClass::Global, false) => at.channel + 2,
        };
        Hop { channel, ..hop }
    }
}
