//! MIN: at most a local, a global and a local hop.

use crate::per_packet::dragonfly::{ANYWHERE, VIA, by_link};
use crate::per_packet::{
    DragonflyPlan, InputChannel, LoadView, NextHop, Oblivious, OutputChannel, PacketRouting, RoutedPacket,
};

/// Minimal routing on a dragonfly.
#[derive(Clone)]
pub struct DragonflyMinimal {
    /// Where everything is.
    pub plan: DragonflyPlan,
}

impl PacketRouting for DragonflyMinimal {
    fn channels(&self) -> u8 {
        2
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        by_link(out, self.channels())
    }

    fn oblivious(&self) -> Option<&dyn Oblivious> {
        Some(self)
    }

    fn start(&self, packet: &mut RoutedPacket) {
        packet.route_state[VIA] = ANYWHERE;
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, _load: L) -> NextHop {
        self.plan.minimal(at, packet)
    }
}
