//! MIN: at most a local, a global and a local hop.

use super::dragonfly::{ANYWHERE, VIA};
use super::{DragonflyPlan, Hop, Place, Routing};
use crate::bounds::Oblivious;
use crate::load::Load;
use crate::packet::Packet;

/// Minimal routing on a dragonfly.
#[derive(Clone)]
pub struct Minimal {
    /// Where everything is.
    pub plan: DragonflyPlan,
}

impl Routing for Minimal {
    fn channels(&self) -> u8 {
        2
    }

    fn oblivious(&self) -> Option<&dyn Oblivious> {
        Some(self)
    }

    fn start(&self, packet: &mut Packet) {
        packet.aim[VIA] = ANYWHERE;
    }

    fn decide(&self, at: Place, packet: &mut Packet, _load: Load<'_>) -> Hop {
        self.plan.minimal(at, packet)
    }
}
