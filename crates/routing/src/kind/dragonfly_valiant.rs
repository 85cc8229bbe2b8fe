//! Legal hops of Valiant on a dragonfly: to any other group, with or without a turn to any switch of it, and from there
//! minimally to the destination.
//!
//! With `l` for local and `g` for global, `l0 g0 l1 g1 l2` is the longest path without a turn, `l0 g0 l1 l2 g2 l3` with
//! one; priorities rise along both. Packets for other switches of their own group may go there at once, in the last
//! stage.

use etherweave_primitives::{InputError, SwitchId};
use etherweave_topology::Topology;

use crate::adjacencies::Adjacencies;
use crate::groups::{DragonflyGroups, EVERYTHING, OUTSIDE, Stages, but_switch, in_group};
use crate::plan::{DestinationSet, FRESH, RoutingPlan, RoutingStep};

/// Stage from where a packet enters the intermediate group to the intermediate switch.
const TURNING: u8 = 1;

/// Phase at another switch of its own group, to leave the group by one of that switch's channels.
const LEAVING: u32 = FRESH + 1;
/// Arrived in the intermediate group, before the turn.
const VISITING: u32 = FRESH + 2;
/// Towards the destination.
const HOMING: u32 = FRESH + 3;

pub(super) struct DragonflyValiantPlan {
    groups: DragonflyGroups,
    /// Hops to an intermediate switch within the intermediate group: 0 or 1.
    turns: u8,
}

impl DragonflyValiantPlan {
    /// # Errors
    /// When the fabric is no complete dragonfly.
    pub fn boxed(topology: &Topology, turns: u8) -> Result<Box<dyn RoutingPlan>, InputError> {
        Ok(Box::new(DragonflyValiantPlan { groups: DragonflyGroups::of(topology)?, turns }))
    }

    fn away(&self) -> Stages {
        Stages { out: 0, across: 0, home: 2 + self.turns }
    }

    fn back(&self) -> Stages {
        Stages { out: 1 + self.turns, across: 1 + self.turns, home: 2 + self.turns }
    }

    /// Adds steps to every switch of the intermediate group; packets from hosts at `at` are not for `at`.
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
            EVERYTHING => self.groups.minimal(at, self.away(), in_group(self.groups.group(at)), out),
            destinations => self.groups.minimal(at, self.away(), destinations, out),
        }
    }
}

impl RoutingPlan for DragonflyValiantPlan {
    fn adjacencies(&self) -> &Adjacencies {
        &self.groups.adjacencies
    }

    fn stages(&self) -> u32 {
        3 + u32::from(self.turns)
    }

    fn hops_max(&self) -> u32 {
        5 + u32::from(self.turns)
    }

    fn phase(&self, adjacency: u32, stage: u8) -> u32 {
        match (stage, self.groups.is_global(adjacency)) {
            (0, false) => LEAVING,
            (0, true) if self.turns > 0 => VISITING,
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
                self.groups.away(at, self.away(), self.groups.elsewhere(at, destinations), out);
                self.neighbours(at, destinations, out);
            }
            LEAVING => {
                let stage = self.away().across;
                out.extend(self.groups.global(at).map(|adjacency| RoutingStep { adjacency, stage, destinations }));
            }
            VISITING => {
                self.turn(at, destinations, out);
                self.groups.minimal(at, self.back(), destinations, out);
            }
            _ => self.groups.minimal(at, self.back(), destinations, out),
        }
    }
}
