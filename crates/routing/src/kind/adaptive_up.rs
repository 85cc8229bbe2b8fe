//! Adaptive routing on a tree: up by the shortest queue, and down by the only path.

use crate::per_packet::{InputChannel, LoadView, NextHop, OutputChannel, PacketRouting, RoutedPacket};
use crate::{per_packet::choice::WeightedPort, per_packet::choice::least, per_packet::clos::ClosPlan};

/// Port with the shortest queue among those that lead up, of several one by hash: Kim, Dally and Abts, "Adaptive
/// routing in high-radix Clos network", SC 2006. Where several ports lead to the same switch below, one of them
/// likewise.
pub struct AdaptiveUp {
    /// Where everything is.
    pub plan: ClosPlan,
}

impl PacketRouting for AdaptiveUp {
    fn channels(&self) -> u8 {
        1
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        Some(self.plan.rank(out))
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop {
        let ports_towards = self.plan.ports_towards(at.switch, packet.dst);
        if ports_towards.len() == 1 {
            return NextHop { port: ports_towards.start, channel: 0 };
        }
        let weighed = ports_towards.map(|port| WeightedPort { port, weight: load.queued(port) });
        let least = least(weighed, packet).expect("a port leads to every host");
        NextHop { port: least.port, channel: 0 }
    }
}
