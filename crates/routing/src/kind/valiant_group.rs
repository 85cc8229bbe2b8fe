//! VAL: minimal to another group drawn at random, then minimal.

use etherweave_primitives::InputError;
use etherweave_topology::Topology;

use super::dragonfly_valiant::DragonflyValiantPlan;
use crate::per_packet::dragonfly::{ANYWHERE, VIA, by_link};
use crate::per_packet::{
    DragonflyPlan, InputChannel, LoadView, NextHop, Oblivious, OutputChannel, PacketRouting, RoutedPacket,
};
use crate::plan::RoutingPlan;

/// Valiant routing on a dragonfly by a group that is not the source's: Kim et al., ISCA 2008, section 4.1.
#[derive(Clone)]
pub struct ValiantGroup {
    /// Where everything is.
    pub plan: DragonflyPlan,
}

/// Legal hops: to any group, and from where one arrives there minimally to the destination, on three priorities, which
/// rise as in figure 7 of Kim et al.
pub(crate) fn plan(topology: &Topology) -> Result<Box<dyn RoutingPlan>, InputError> {
    DragonflyValiantPlan::boxed(topology, 0)
}

impl PacketRouting for ValiantGroup {
    fn channels(&self) -> u8 {
        3
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        by_link(out, self.channels())
    }

    fn oblivious(&self) -> Option<&dyn Oblivious> {
        Some(self)
    }

    fn start(&self, packet: &mut RoutedPacket) {
        self.plan.draw_via(packet);
        packet.is_misrouted = packet.route_state[VIA] != ANYWHERE;
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, _load: L) -> NextHop {
        self.plan.minimal(at, packet)
    }
}
