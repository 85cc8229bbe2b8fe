//! DOR on tori and meshes: one dimension after the other, in the shorter direction of each ring.

use crate::per_packet::{
    HashScope, InputChannel, LoadView, NextHop, Oblivious, OutputChannel, PacketRouting, RoutedPacket, WalkTarget,
};
use crate::{per_packet::choice::any, per_packet::grid::GridPlan};

/// Dimension order on a torus or mesh: Dally and Towles, "Principles and Practices of Interconnection Networks", 2004,
/// section 8.4.2, with a dateline in every ring. Of the packets for the opposite place of a ring, those of half of the
/// pairs of switches go up and those of the other half down.
pub struct GridDimensionOrder {
    /// Places of switches and hosts.
    pub plan: GridPlan,
}

impl PacketRouting for GridDimensionOrder {
    fn channels(&self) -> u8 {
        self.plan.channels()
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        Some(self.plan.rank(out))
    }

    fn links_max(&self) -> Option<u32> {
        Some(self.plan.diameter())
    }

    fn hash_scope(&self) -> HashScope {
        HashScope::PerFlow
    }

    fn oblivious(&self) -> Option<&dyn Oblivious> {
        Some(self)
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, _load: L) -> NextHop {
        let (home, hop) = self.plan.home(packet.dst);
        let (source, _) = self.plan.home(packet.src);
        let Some(step) = self.plan.in_order(source, at.switch, home) else { return hop };
        let other = step.other.filter(|_| self.plan.goes_down(source, home, step.dimension));
        let hop = other.unwrap_or(step.hop);
        NextHop { port: any(hop.ports(), packet), channel: hop.channel }
    }
}

/// Both directions to the opposite place of a ring alike, as pairs share them; of a single pair one carries all, so
/// that its most loaded channel has the expected load at least, and the bound holds.
impl Oblivious for GridDimensionOrder {
    fn hops(&self, at: u32, target: WalkTarget, each: &mut dyn FnMut(u8, f64)) {
        hops(&self.plan, at, target, each);
    }
}

/// All ports of a step alike.
pub(super) fn hops(plan: &GridPlan, at: u32, target: WalkTarget, each: &mut dyn FnMut(u8, f64)) {
    let (WalkTarget::Via(to) | WalkTarget::Switch(to)) = target;
    let Some(step) = plan.in_order(at, at, to) else { return };
    let directions = 1.0 + f64::from(u8::from(step.other.is_some()));
    for hop in [Some(step.hop), step.other].into_iter().flatten() {
        hop.ports().for_each(|port| each(port, 1.0 / (directions * hop.ports().len() as f64)));
    }
}
