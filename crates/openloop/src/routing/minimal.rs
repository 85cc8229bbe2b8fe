//! MIN: at most a local, a global and a local hop.

use super::dragonfly::{ANYWHERE, VIA};
use super::{DragonflyPlan, InputChannel, NextHop, Oblivious, Routing};
use crate::load_view::LoadView;
use crate::packet::Packet;

/// Minimal routing on a dragonfly.
#[derive(Clone)]
pub struct DragonflyMinimal {
    /// Where everything is.
    pub plan: DragonflyPlan,
}

impl Routing for DragonflyMinimal {
    fn channels(&self) -> u8 {
        2
    }

    fn oblivious(&self) -> Option<&dyn Oblivious> {
        Some(self)
    }

    fn start(&self, packet: &mut Packet) {
        packet.route_state[VIA] = ANYWHERE;
    }

    fn decide(&self, at: InputChannel, packet: &mut Packet, _load: LoadView<'_>) -> NextHop {
        self.plan.minimal(at, packet)
    }
}
