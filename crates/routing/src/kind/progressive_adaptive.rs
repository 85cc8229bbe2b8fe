//! PAR: UGAL-L, asked again at every switch of the source's group.

use etherweave_topology::LinkClass;

use crate::per_packet::dragonfly::{ANYWHERE, PathChoice, VIA};
use crate::per_packet::{DragonflyPlan, InputChannel, LoadView, NextHop, OutputChannel, PacketRouting, RoutedPacket};

const CHANNELS: u8 = 4;

/// Progressive adaptive routing: Jiang, Kim and Dally, "Indirect adaptive routing on large scale interconnection
/// networks", ISCA 2009, section 3.4. A packet that goes minimally may still take its non-minimal path until it takes
/// the global link; one on its non-minimal path stays there. Queues are those of all channels of a link: the channel
/// of packets that changed their mind is nearly empty on all of them.
///
/// Channels rise in the order local 0, local 1 of packets that changed their mind, global 0, local 2, global 1, local
/// 3.
pub struct ProgressiveAdaptive {
    /// Where everything is.
    pub plan: DragonflyPlan,
    /// Lead of the minimal path [packets].
    pub threshold: u32,
}

impl PacketRouting for ProgressiveAdaptive {
    fn channels(&self) -> u8 {
        CHANNELS
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        let stages: &[u32] = if out.class == LinkClass::Global { &[2, 4] } else { &[0, 1, 3, 5] };
        stages.get(usize::from(out.channel)).copied()
    }

    fn start(&self, packet: &mut RoutedPacket) {
        self.plan.draw_via(packet);
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop {
        if !packet.is_misrouted {
            self.reconsider(at, packet, load);
        }
        // Until it leaves the source's group, a packet stores the group of its non-minimal path.
        let via = packet.route_state[VIA];
        if !packet.is_misrouted {
            packet.route_state[VIA] = ANYWHERE;
        }
        let hop = self.plan.minimal(at, packet);
        if !packet.is_misrouted {
            packet.route_state[VIA] = via;
        }
        self.staged(at, hop)
    }
}

impl ProgressiveAdaptive {
    fn reconsider<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) {
        if !self.plan.is_in(at.switch, self.plan.group_of_host(packet.src)) {
            packet.route_state[VIA] = ANYWHERE;
        } else if let Some(paths) = self.plan.paths_from(at, packet) {
            packet.is_misrouted = self.is_longer(&paths, load);
        }
    }

    /// Whether the minimal path has the longer queue, by links.
    fn is_longer<L: LoadView>(&self, paths: &PathChoice, load: L) -> bool {
        let queue = |hop: NextHop| load.queued(hop.port);
        let ahead = self.threshold * load.packet_max();
        queue(paths.minimal) * paths.minimal_links > queue(paths.nonminimal) * paths.nonminimal_links + ahead
    }

    fn staged(&self, at: InputChannel, hop: NextHop) -> NextHop {
        let channel = match (at.class, self.plan.is_global(hop.port)) {
            _ if self.plan.is_host(hop.port) => 0,
            (LinkClass::Host, _) => 0,
            (LinkClass::Local, false) | (LinkClass::Global, true) => at.channel + 1,
            (LinkClass::Local, true) => at.channel / 2,
            (LinkClass::Global, false) => at.channel + 2,
        };
        NextHop { channel, ..hop }
    }
}
