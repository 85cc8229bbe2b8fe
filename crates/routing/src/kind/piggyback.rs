//! PB: UGAL-L, and a non-minimal path whenever the group knows the minimal path's global link to be saturated.

use super::ugal_local::{choose, is_longer};
use crate::per_packet::dragonfly::by_link;
use crate::per_packet::{
    DragonflyPlan, InputChannel, LoadView, Neighbourhood, NextHop, OutputChannel, PacketRouting, RoutedPacket,
    Saturation,
};

/// Jiang, Kim and Dally, "Indirect adaptive routing on large scale interconnection networks", ISCA 2009, section 3.3:
/// switches report to each other in every packet which of their global links are saturated.
pub struct Piggyback {
    /// Where everything is.
    pub plan: DragonflyPlan,
    /// What the minimal path is ahead in UGAL-L [packets]. FOGSim: 0.
    pub threshold: u32,
    /// What marks a global port as saturated. FOGSim: 200 % of the mean and 5 packets.
    pub saturation: Saturation,
}

impl Piggyback {
    /// The parameters of FOGSim.
    pub fn new(plan: DragonflyPlan) -> Piggyback {
        Piggyback { plan, threshold: 0, saturation: Saturation { mean_percent: 200, packets: 5 } }
    }
}

impl PacketRouting for Piggyback {
    fn channels(&self) -> u8 {
        3
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        by_link(out, self.channels())
    }

    fn neighbourhood(&self) -> Neighbourhood {
        Neighbourhood::Group
    }

    fn saturation(&self) -> Option<Saturation> {
        Some(self.saturation)
    }

    fn start(&self, packet: &mut RoutedPacket) {
        self.plan.draw_via(packet);
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop {
        let paths = self.plan.paths(at, packet);
        choose(&self.plan, at, packet, paths, |paths| {
            let is_saturated = paths.global.is_some_and(|(switch, port)| load.is_saturated(switch, port));
            is_saturated || is_longer(paths, load, self.threshold)
        })
    }
}
