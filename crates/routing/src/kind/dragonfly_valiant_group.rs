//! Valiant to a group on a dragonfly: Kim, Dally, Scott and Abts, "Technology-driven, highly-scalable dragonfly
//! topology", ISCA 2008, section 4.1: to any group, and from where one arrives there minimally to the destination.
//!
//! With `l` for local and `g` for global, `l0 g0 l1 g1 l2` is the longest path with its priorities, which rise as in
//! their figure 7: three of them. Any packet may leave its group, also one for its own group; those for other switches
//! of its own group may go there at once, in the last stage.

use etherweave_primitives::{InputError, SwitchId};
use etherweave_topology::Topology;

use crate::adjacencies::Adjacencies;
use crate::groups::{DragonflyGroups, EVERYTHING, Stages, in_group};
use crate::plan::{DestinationSet, FRESH, RoutingPlan, RoutingStep};

const AWAY: Stages = Stages { out: 0, across: 0, home: 2 };
const BACK: Stages = Stages { out: 1, across: 1, home: 2 };

/// At another switch of its own group, to leave the group by one of that switch's channels.
const LEAVING: u32 = FRESH + 1;
/// In the intermediate group, or in the destination's.
const HOMING: u32 = FRESH + 2;

pub(crate) fn plan(topology: &Topology) -> Result<Box<dyn RoutingPlan>, InputError> {
    Ok(Box::new(DragonflyValiantGroupPlan { groups: DragonflyGroups::of(topology)? }))
}

/// The routing on one dragonfly.
struct DragonflyValiantGroupPlan {
    groups: DragonflyGroups,
}

impl DragonflyValiantGroupPlan {
    /// Own group: at once, in the last stage.
    fn neighbours(&self, at: SwitchId, destinations: DestinationSet, out: &mut Vec<RoutingStep>) {
        match destinations {
            DestinationSet::Switch(dst) if self.groups.group(dst) != self.groups.group(at) => {}
            EVERYTHING => self.groups.minimal(at, AWAY, in_group(self.groups.group(at)), out),
            destinations => self.groups.minimal(at, AWAY, destinations, out),
        }
    }
}

impl RoutingPlan for DragonflyValiantGroupPlan {
    fn adjacencies(&self) -> &Adjacencies {
        &self.groups.adjacencies
    }

    fn stages(&self) -> u32 {
        3
    }

    fn hops_max(&self) -> u32 {
        5
    }

    fn phase(&self, adjacency: u32, stage: u8) -> u32 {
        if stage == 0 && !self.groups.is_global(adjacency) { LEAVING } else { HOMING }
    }

    fn has_memory(&self) -> bool {
        true
    }

    fn everything(&self) -> Option<DestinationSet> {
        Some(EVERYTHING)
    }

    fn steps(&self, at: SwitchId, phase: u32, destinations: DestinationSet, out: &mut Vec<RoutingStep>) {
        match phase {
            FRESH => {
                self.groups.away(at, AWAY, self.groups.elsewhere(at, destinations), out);
                self.neighbours(at, destinations, out);
            }
            LEAVING => out.extend(self.groups.global(at).map(|adjacency| RoutingStep {
                adjacency,
                stage: AWAY.across,
                destinations,
            })),
            _ => self.groups.minimal(at, BACK, destinations, out),
        }
    }
}
