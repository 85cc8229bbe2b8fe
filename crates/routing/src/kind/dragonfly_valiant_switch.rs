//! Valiant to a switch on a dragonfly: Valiant, "A scheme for fast parallel communication", SIAM J. Comput. 1982,
//! section 2, applied to switches: to any switch of any other group, and from there minimally to the destination.
//!
//! With `l` for local and `g` for global, `l0 g0 l1 l2 g2 l3` is the longest path with its priorities: four of them.
//! Unlike by [group](crate::RoutingKind::ValiantGroup), the local channels of the intermediate group share the
//! load as well. Packets for their own group may go there at once, in the last stage.

use etherweave_primitives::{InputError, SwitchId};
use etherweave_topology::Topology;

use crate::adjacencies::Adjacencies;
use crate::groups::{DragonflyGroups, EVERYTHING, OUTSIDE, Stages, but_switch, in_group};
use crate::plan::{DestinationSet, FRESH, RoutingPlan, RoutingStep};

const AWAY: Stages = Stages { out: 0, across: 0, home: 3 };
const BACK: Stages = Stages { out: 2, across: 2, home: 3 };
/// From where a packet enters the intermediate group to the intermediate switch.
const TURNING: u8 = 1;

/// At another switch of its own group, to leave the group by one of that switch's channels.
const LEAVING: u32 = FRESH + 1;
/// Arrived in the intermediate group.
const VISITING: u32 = FRESH + 2;
/// From the intermediate switch to the destination.
const HOMING: u32 = FRESH + 3;

pub(crate) fn plan(topology: &Topology) -> Result<Box<dyn RoutingPlan>, InputError> {
    Ok(Box::new(DragonflyValiantSwitchPlan { groups: DragonflyGroups::of(topology)? }))
}

/// The routing on one dragonfly.
struct DragonflyValiantSwitchPlan {
    groups: DragonflyGroups,
}

impl DragonflyValiantSwitchPlan {
    /// To every switch of the intermediate group; packets from hosts at `at` are not for `at`.
    fn turn(&self, at: SwitchId, destinations: DestinationSet, out: &mut Vec<RoutingStep>) {
        let sets: &[DestinationSet] =
            if destinations == EVERYTHING { &[OUTSIDE, but_switch(at)] } else { &[destinations] };
        for adjacency in self.groups.local(at) {
            out.extend(sets.iter().map(|&destinations| RoutingStep { adjacency, stage: TURNING, destinations }));
        }
    }

    /// Own group: at once, in the last stage.
    fn neighbours(&self, at: SwitchId, destinations: DestinationSet, out: &mut Vec<RoutingStep>) {
        match destinations {
            DestinationSet::Switch(dst) if self.groups.group(dst) != self.groups.group(at) => {}
            EVERYTHING => self.groups.minimal(at, AWAY, in_group(self.groups.group(at)), out),
            destinations => self.groups.minimal(at, AWAY, destinations, out),
        }
    }
}

impl RoutingPlan for DragonflyValiantSwitchPlan {
    fn adjacencies(&self) -> &Adjacencies {
        &self.groups.adjacencies
    }

    fn stages(&self) -> u32 {
        4
    }

    fn hops_max(&self) -> u32 {
        6
    }

    fn phase(&self, adjacency: u32, stage: u8) -> u32 {
        match (stage, self.groups.is_global(adjacency)) {
            (0, false) => LEAVING,
            (0, true) => VISITING,
            _ => HOMING,
        }
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
            VISITING => {
                self.turn(at, destinations, out);
                self.groups.minimal(at, BACK, destinations, out);
            }
            _ => self.groups.minimal(at, BACK, destinations, out),
        }
    }
}
