//! UGAL-G: minimal or by another group, whichever global channel of the source's group has the shorter queue.

use super::ugal_local::choose;
use crate::per_packet::dragonfly::{PathChoice, by_link};
use crate::per_packet::{
    DragonflyPlan, InputChannel, LoadScope, LoadView, Neighbourhood, NextHop, OutputChannel, PacketRouting,
    RoutedPacket,
};

/// Kim et al., "Technology-driven, highly-scalable dragonfly topology", ISCA 2008, section 4.2: UGAL that knows, at
/// once and exactly, the queues of all global channels of the source's group; an ideal that no switch can build. A
/// packet for its own group compares the queue of its local channel.
pub struct UgalGlobal {
    /// Where everything is.
    pub plan: DragonflyPlan,
    /// Lead of the minimal path [packets].
    pub threshold: u32,
}

impl PacketRouting for UgalGlobal {
    fn channels(&self) -> u8 {
        3
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        by_link(out, self.channels())
    }

    fn load_scope(&self) -> LoadScope {
        LoadScope::FirstSwitch
    }

    fn neighbourhood(&self) -> Neighbourhood {
        Neighbourhood::Group
    }

    fn start(&self, packet: &mut RoutedPacket) {
        self.plan.draw_via(packet);
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop {
        let paths = self.plan.paths(at, packet);
        choose(&self.plan, at, packet, paths, |paths| self.is_longer(paths, load))
    }
}

impl UgalGlobal {
    fn is_longer<L: LoadView>(&self, paths: &PathChoice, load: L) -> bool {
        let queue = |(switch, port)| load.occupancy_at(switch, port, 0);
        let local = || load.occupancy(paths.minimal.port, paths.minimal.channel);
        let minimal = paths.global.map_or_else(local, queue);
        let ahead = self.threshold * load.packet_max();
        minimal * paths.minimal_links > queue(paths.nonminimal_global) * paths.nonminimal_links + ahead
    }
}
