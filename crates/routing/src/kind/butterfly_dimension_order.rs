//! DOR: one dimension after the other.

use crate::per_packet::{InputChannel, LoadView, NextHop, Oblivious, OutputChannel, PacketRouting, RoutedPacket};
use crate::{per_packet::butterfly::ButterflyPlan, per_packet::choice::any};

/// Dimension order on a flattened butterfly: a packet takes one hop in each dimension where it is not at its place,
/// first dimension first. A channel depends on those of later dimensions only, so that one is enough.
pub struct ButterflyDimensionOrder {
    /// Where everything is.
    pub plan: ButterflyPlan,
}

impl PacketRouting for ButterflyDimensionOrder {
    fn channels(&self) -> u8 {
        1
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        Some(self.plan.dimension_of(out.port) as u32)
    }

    fn oblivious(&self) -> Option<&dyn Oblivious> {
        Some(self)
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, _load: L) -> NextHop {
        let home = self.plan.home(packet.dst);
        let ports = self.plan.in_order(at.switch, home.switch);
        ports.map_or(home.hop, |ports| NextHop { port: any(ports, packet), channel: 0 })
    }
}
