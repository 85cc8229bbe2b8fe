//! UGAL-L: minimal or by another group, whichever the first switch sees the shorter queue for.

use etherweave_primitives::params;

use super::RoutingParams;
use crate::per_packet::dragonfly::{ANYWHERE, PathChoice, VIA, by_link};
use crate::per_packet::{
    DragonflyPlan, InputChannel, LoadScope, LoadView, NextHop, OutputChannel, PacketRouting, RoutedPacket,
};

params! {
    /// Parameters of routings that compare a minimal path with another by their queues.
    #[derive(Copy, Eq)]
    pub struct UgalParams {
        // Default of FOGSim.
        /// Largest excess of the weighed queue of the minimal path over that of the other before packets leave it
        /// [packets], 0..=65535. Default 0.
        pub threshold: u16 = 0,
    }
}

impl RoutingParams for UgalParams {}

/// Singh, "Load-balanced routing in interconnection networks", 2005, with local queues only, as Kim et al., ISCA 2008,
/// section 4.2: minimal when its queue times its links is not above the same of the non-minimal path and a threshold.
pub struct UgalLocal {
    /// Where everything is.
    pub plan: DragonflyPlan,
    /// Lead of the minimal path [packets].
    pub threshold: u32,
}

impl PacketRouting for UgalLocal {
    fn channels(&self) -> u8 {
        3
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        by_link(out, self.channels())
    }

    fn load_scope(&self) -> LoadScope {
        LoadScope::FirstSwitch
    }

    fn start(&self, packet: &mut RoutedPacket) {
        self.plan.draw_via(packet);
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop {
        let paths = self.plan.paths(at, packet);
        choose(&self.plan, at, packet, paths, |paths| is_longer(paths, load, self.threshold))
    }
}

/// Whether the minimal path has the longer queue, by links, by more than a threshold [packets].
#[inline(always)]
pub(super) fn is_longer<L: LoadView>(paths: &PathChoice, load: L, threshold: u32) -> bool {
    let queue = |hop: NextHop| load.occupancy(hop.port, hop.channel);
    let ahead = threshold * load.packet_max();
    queue(paths.minimal) * paths.minimal_links > queue(paths.nonminimal) * paths.nonminimal_links + ahead
}

/// The non-minimal path where there is a choice and `leaves` says so.
pub(super) fn choose(
    plan: &DragonflyPlan,
    at: InputChannel,
    packet: &mut RoutedPacket,
    paths: Option<PathChoice>,
    leaves: impl Fn(&PathChoice) -> bool,
) -> NextHop {
    match paths {
        Some(paths) if leaves(&paths) => {
            packet.is_misrouted = true;
            paths.nonminimal
        }
        Some(paths) => {
            packet.route_state[VIA] = ANYWHERE;
            paths.minimal
        }
        None => {
            if !packet.is_misrouted {
                packet.route_state[VIA] = ANYWHERE;
            }
            plan.minimal(at, packet)
        }
    }
}
