//! VAL: minimal to another group drawn at random, then minimal.

use crate::per_packet::dragonfly::{ANYWHERE, VIA, by_link};
use crate::per_packet::{
    DragonflyPlan, InputChannel, LoadView, NextHop, Oblivious, OutputChannel, PacketRouting, RoutedPacket,
};

/// Valiant routing on a dragonfly by a group that is not the source's: Kim et al., ISCA 2008, section 4.1.
#[derive(Clone)]
pub struct ValiantGroup {
    /// Where everything is.
    pub plan: DragonflyPlan,
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
