//! Minimal routing on a dragonfly: Kim, Dally, Scott and Abts, "Technology-driven, highly-scalable dragonfly topology",
//! ISCA 2008, section 4.1: to a switch with a channel to the destination's group, by that channel, to the destination.
//!
//! Local channels have another priority in the destination's group than before; global channels share the first.

use etherweave_primitives::{InputError, SwitchId};
use etherweave_topology::Topology;

use crate::adjacencies::Adjacencies;
use crate::groups::{DragonflyGroups, EVERYTHING, Stages};
use crate::plan::{DestinationSet, RoutingPlan, RoutingStep};

const STAGES: Stages = Stages { out: 0, across: 0, home: 1 };

pub(crate) fn plan(topology: &Topology) -> Result<Box<dyn RoutingPlan>, InputError> {
    Ok(Box::new(DragonflyMinimalPlan { groups: DragonflyGroups::of(topology)? }))
}

struct DragonflyMinimalPlan {
    groups: DragonflyGroups,
}

impl RoutingPlan for DragonflyMinimalPlan {
    fn adjacencies(&self) -> &Adjacencies {
        &self.groups.adjacencies
    }

    fn stages(&self) -> u32 {
        2
    }

    fn hops_max(&self) -> u32 {
        3
    }

    fn everything(&self) -> Option<DestinationSet> {
        Some(EVERYTHING)
    }

    fn steps(&self, at: SwitchId, _: u32, destinations: DestinationSet, out: &mut Vec<RoutingStep>) {
        self.groups.minimal(at, STAGES, destinations, out);
    }
}
