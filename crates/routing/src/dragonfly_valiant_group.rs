//! Valiant to a group on a dragonfly: Kim, Dally, Scott and Abts, "Technology-driven, highly-scalable dragonfly
//! topology", ISCA 2008, section 4.1: to any group, and from where one arrives there minimally to the destination.
//!
//! With `l` for local and `g` for global, `l0 g0 l1 g1 l2` is the longest way with its priorities, which rise as in
//! their figure 7: three of them. Any packet may take the detour, also one for its own group; those for other switches
//! of its own group may go there at once, in the last stage.

use etherweave_primitives::SwitchId;
use etherweave_topology::Topology;

use crate::RoutingError;
use crate::groups::{EVERYTHING, Groups, Stages, in_group};
use crate::joints::Joints;
use crate::plan::{Aim, FRESH, Plan, Step};

const AWAY: Stages = Stages { out: 0, across: 0, home: 2 };
const BACK: Stages = Stages { out: 1, across: 1, home: 2 };

/// Went to a switch of its own group, to leave it by one of its channels.
const LEAVING: u32 = FRESH + 1;
/// In some group on the way, or in the destination's.
const HOMING: u32 = FRESH + 2;

pub(crate) fn plan(topology: &Topology) -> Result<Box<dyn Plan>, RoutingError> {
    Ok(Box::new(DragonflyValiantGroup { groups: Groups::of(topology)? }))
}

/// The routing on one dragonfly.
struct DragonflyValiantGroup {
    groups: Groups,
}

impl DragonflyValiantGroup {
    /// Own group: at once, in the last stage.
    fn neighbours(&self, at: SwitchId, aim: Aim, out: &mut Vec<Step>) {
        match aim {
            Aim::Switch(dst) if self.groups.group(dst) != self.groups.group(at) => {}
            EVERYTHING => self.groups.minimal(at, AWAY, in_group(self.groups.group(at)), out),
            aim => self.groups.minimal(at, AWAY, aim, out),
        }
    }
}

impl Plan for DragonflyValiantGroup {
    fn joints(&self) -> &Joints {
        &self.groups.joints
    }

    fn stages(&self) -> u32 {
        3
    }

    fn hops_max(&self) -> u32 {
        5
    }

    fn phase(&self, joint: u32, stage: u8) -> u32 {
        if stage == 0 && !self.groups.is_global(joint) { LEAVING } else { HOMING }
    }

    fn has_memory(&self) -> bool {
        true
    }

    fn everything(&self) -> Option<Aim> {
        Some(EVERYTHING)
    }

    fn steps(&self, at: SwitchId, phase: u32, aim: Aim, out: &mut Vec<Step>) {
        match phase {
            FRESH => {
                self.groups.away(at, AWAY, self.groups.elsewhere(at, aim), out);
                self.neighbours(at, aim, out);
            }
            LEAVING => out.extend(self.groups.global(at).map(|joint| Step { joint, stage: AWAY.across, aim })),
            _ => self.groups.minimal(at, BACK, aim, out),
        }
    }
}
