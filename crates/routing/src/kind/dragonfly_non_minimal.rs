//! The non-minimal paths of conditional rules on a dragonfly: Benito, Vallejo and Beivide, "On the use of commodity
//! Ethernet technology in exascale HPC systems", HiPC 2015, section V-D, figure 10a: minimally, or first by a global
//! channel of the source's own switch and from there minimally.
//!
//! With `l` for local and `g` for global, `g0 l0 g1 l1` is the longest path with its priorities: without a local hop
//! before the first global one two are enough (section V-E). A minimal path is `l0 g1 l1`.

use etherweave_primitives::{InputError, SwitchId};
use etherweave_topology::Topology;

use crate::adjacencies::Adjacencies;
use crate::groups::{DragonflyGroups, EVERYTHING, Stages};
use crate::plan::{DestinationSet, FRESH, RoutingPlan, RoutingStep};

const MINIMAL: Stages = Stages { out: 0, across: 1, home: 1 };
/// Stage of the first channel of a non-minimal path.
const FIRST: u8 = 0;
/// No longer at the switch of its host.
const UNDERWAY: u32 = FRESH + 1;

pub(crate) fn plan(topology: &Topology) -> Result<Box<dyn RoutingPlan>, InputError> {
    Ok(Box::new(DragonflyNonMinimalPlan { groups: DragonflyGroups::of(topology)? }))
}

struct DragonflyNonMinimalPlan {
    groups: DragonflyGroups,
}

impl RoutingPlan for DragonflyNonMinimalPlan {
    fn adjacencies(&self) -> &Adjacencies {
        &self.groups.adjacencies
    }

    fn stages(&self) -> u32 {
        2
    }

    fn hops_max(&self) -> u32 {
        4
    }

    fn phase(&self, _: u32, _: u8) -> u32 {
        UNDERWAY
    }

    fn has_memory(&self) -> bool {
        true
    }

    fn everything(&self) -> Option<DestinationSet> {
        Some(EVERYTHING)
    }

    fn steps(&self, at: SwitchId, phase: u32, destinations: DestinationSet, out: &mut Vec<RoutingStep>) {
        if phase == FRESH {
            let destinations = self.groups.elsewhere(at, destinations);
            out.extend(self.groups.global(at).map(|adjacency| RoutingStep { adjacency, stage: FIRST, destinations }));
        }
        self.groups.minimal(at, MINIMAL, destinations, out);
    }
}
