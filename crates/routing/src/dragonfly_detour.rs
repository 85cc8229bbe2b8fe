//! The detour of conditional rules on a dragonfly: Benito, Vallejo and Beivide, "On the use of commodity Ethernet
//! technology in exascale HPC systems", HiPC 2015, section V-D, figure 10a: minimally, or first by a global channel of
//! the source's own switch and from there minimally.
//!
//! With `l` for local and `g` for global, `g0 l0 g1 l1` is the longest way with its priorities: without a local hop
//! before the detour two are enough (section V-E). A minimal way is `l0 g1 l1`.

use etherweave_primitives::SwitchId;
use etherweave_topology::Topology;

use crate::RoutingError;
use crate::groups::{EVERYTHING, Groups, Stages};
use crate::joints::Joints;
use crate::plan::{Aim, FRESH, Plan, Step};

const MINIMAL: Stages = Stages { out: 0, across: 1, home: 1 };
/// Of the detour's first channel.
const FIRST: u8 = 0;
/// No longer where it came from its host.
const UNDERWAY: u32 = FRESH + 1;

pub(crate) fn plan(topology: &Topology) -> Result<Box<dyn Plan>, RoutingError> {
    Ok(Box::new(DragonflyDetour { groups: Groups::of(topology)? }))
}

/// The routing on one dragonfly.
struct DragonflyDetour {
    groups: Groups,
}

impl Plan for DragonflyDetour {
    fn joints(&self) -> &Joints {
        &self.groups.joints
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

    fn everything(&self) -> Option<Aim> {
        Some(EVERYTHING)
    }

    fn steps(&self, at: SwitchId, phase: u32, aim: Aim, out: &mut Vec<Step>) {
        if phase == FRESH {
            let aim = self.groups.elsewhere(at, aim);
            out.extend(self.groups.global(at).map(|joint| Step { joint, stage: FIRST, aim }));
        }
        self.groups.minimal(at, MINIMAL, aim, out);
    }
}
