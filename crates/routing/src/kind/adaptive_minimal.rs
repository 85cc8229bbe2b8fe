//! Minimal adaptive routing: the dimensions in any order, whichever has the shortest queue.

use crate::per_packet::{InputChannel, LoadView, NextHop, OutputChannel, PacketRouting, RoutedPacket};
use crate::{per_packet::butterfly::ButterflyPlan, per_packet::choice::WeightedPort, per_packet::choice::least};

/// Minimal adaptive routing on a flattened butterfly: Kim, Dally and Abts, "Flattened butterfly", ISCA 2007, section
/// 3.1 (MIN AD). Channels rise with every hop (Günther 1981), as many as dimensions.
pub struct AdaptiveMinimal {
    /// Where everything is.
    pub plan: ButterflyPlan,
}

impl PacketRouting for AdaptiveMinimal {
    fn channels(&self) -> u8 {
        self.plan.dimensions_above(1).max(1)
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        Some(u32::from(out.channel))
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop {
        let home = self.plan.home(packet.dst);
        let ports = self.plan.minimal_ports(at.switch, home.switch);
        let weighed = ports.map(|port| WeightedPort { port, weight: load.queued(port) });
        least(weighed, packet).map_or(home.hop, |choice| NextHop { port: choice.port, channel: packet.hops })
    }
}
