//! PB: UGAL-L, and a non-minimal path whenever the group knows the minimal path's global link to be saturated.

use etherweave_primitives::params;

use super::{RoutingParams, ugal_local::choose, ugal_local::is_longer};
use crate::per_packet::dragonfly::by_link;
use crate::per_packet::{
    DragonflyPlan, InputChannel, LoadScope, LoadView, Neighbourhood, NextHop, OutputChannel, PacketRouting,
    RoutedPacket, Saturation,
};

params! {
    /// Parameters of piggybacking.
    #[derive(Copy, Eq)]
    pub struct PiggybackParams {
        // Defaults of FOGSim.
        /// Largest excess of the weighed queue of the minimal path over that of the other before packets leave it
        /// [packets], 0..=65535. Default 0.
        pub threshold: u16 = 0,
        /// Queue of a global port, as a share of the mean of its switch's global ports, above which the port is
        /// saturated [percent], 0..=65535. Default 200.
        pub saturation_percent: u16 = 200,
        /// Queue that is added to that share [packets], 0..=65535. Default 5.
        pub saturation_packets: u16 = 5,
    }
}

impl RoutingParams for PiggybackParams {}

/// Jiang, Kim and Dally, "Indirect adaptive routing on large scale interconnection networks", ISCA 2009, section 3.3:
/// switches report to each other in every packet which of their global links are saturated.
pub struct Piggyback {
    /// Where everything is.
    pub plan: DragonflyPlan,
    /// Lead of the minimal path in UGAL-L [packets].
    pub threshold: u32,
    /// Rule that marks a global port as saturated.
    pub saturation: Saturation,
}

impl Piggyback {
    /// Piggybacking with the parameters of FOGSim.
    pub fn new(plan: DragonflyPlan) -> Piggyback {
        Piggyback::of(plan, PiggybackParams::default())
    }

    /// Piggybacking with these parameters.
    pub fn of(plan: DragonflyPlan, params: PiggybackParams) -> Piggyback {
        let PiggybackParams { threshold, saturation_percent, saturation_packets } = params;
        let saturation = Saturation { mean_percent: saturation_percent.into(), packets: saturation_packets.into() };
        Piggyback { plan, threshold: threshold.into(), saturation }
    }
}

impl PacketRouting for Piggyback {
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
