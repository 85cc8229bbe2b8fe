//! Minimal routing on a dragonfly: Kim, Dally, Scott and Abts, "Technology-driven, highly-scalable dragonfly topology",
//! ISCA 2008, section 4.1: to a switch with a channel to the destination's group, by that channel, to the destination.
//!
//! Local channels have another priority in the destination's group than before; global channels share the first.

use etherweave_primitives::SwitchId;
use etherweave_topology::Topology;

use crate::RoutingError;
use crate::groups::{EVERYTHING, Groups, Stages};
use crate::joints::Joints;
use crate::plan::{Aim, Plan, Step};

const STAGES: Stages = Stages { out: 0, across: 0, home: 1 };

pub(crate) fn plan(topology: &Topology) -> Result<Box<dyn Plan>, RoutingError> {
    Ok(Box::new(DragonflyMinimal { groups: Groups::of(topology)? }))
}

/// The routing on one dragonfly.
struct DragonflyMinimal {
    groups: Groups,
}

impl Plan for DragonflyMinimal {
    fn joints(&self) -> &Joints {
        &self.groups.joints
    }

    fn stages(&self) -> u32 {
        2
    }

    fn hops_max(&self) -> u32 {
        3
    }

    fn everything(&self) -> Option<Aim> {
        Some(EVERYTHING)
    }

    fn steps(&self, at: SwitchId, _: u32, aim: Aim, out: &mut Vec<Step>) {
        self.groups.minimal(at, STAGES, aim, out);
    }
}
