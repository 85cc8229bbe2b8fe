//! UGAL-G: minimal or by another group, whichever global channel of the source's group has the shorter queue.

use super::dragonfly::PathChoice;
use super::ugal_local::choose;
use super::{DragonflyPlan, InputChannel, NextHop, Routing};
use crate::load_view::LoadView;
use crate::packet::Packet;

/// Kim et al., "Technology-driven, highly-scalable dragonfly topology", ISCA 2008, section 4.2: UGAL that knows, at
/// once and exactly, the queues of all global channels of the source's group; an ideal that no switch can build. A
/// packet for its own group compares the queue of its local channel.
pub struct UgalGlobal {
    /// Where everything is.
    pub plan: DragonflyPlan,
    /// What the minimal path is ahead [packets].
    pub threshold: u32,
}

impl Routing for UgalGlobal {
    fn channels(&self) -> u8 {
        3
    }

    fn start(&self, packet: &mut Packet) {
        self.plan.draw_via(packet);
    }

    fn decide(&self, at: InputChannel, packet: &mut Packet, load: LoadView<'_>) -> NextHop {
        let paths = self.plan.paths(at, packet);
        choose(&self.plan, at, packet, paths, |paths| self.is_longer(paths, load))
    }
}

impl UgalGlobal {
    fn is_longer(&self, paths: &PathChoice, load: LoadView<'_>) -> bool {
        let queue = |(switch, port)| load.occupancy_at(switch, port, 0);
        let local = || load.occupancy(paths.minimal.port, paths.minimal.channel);
        let minimal = paths.global.map_or_else(local, queue);
        minimal * paths.minimal_links > queue(paths.nonminimal_global) * paths.nonminimal_links + self.threshold
    }
}
