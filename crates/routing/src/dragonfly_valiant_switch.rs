//! Valiant to a switch on a dragonfly: Valiant, "A scheme for fast parallel communication", SIAM J. Comput. 1982,
//! section 2, applied to switches: to any switch of any other group, and from there minimally to the destination.
//!
//! With `l` for local and `g` for global, `l0 g0 l1 l2 g2 l3` is the longest way with its priorities: four of them.
//! Unlike by [group](crate::RoutingKind::DragonflyValiantGroup), the local channels of the group on the way are shared
//! out as well. Packets for their own group may go there at once, in the last stage.

use etherweave_primitives::SwitchId;
use etherweave_topology::Topology;

use crate::RoutingError;
use crate::groups::{EVERYTHING, Groups, OUTSIDE, Stages, but_switch, in_group};
use crate::joints::Joints;
use crate::plan::{Aim, FRESH, Plan, Step};

const AWAY: Stages = Stages { out: 0, across: 0, home: 3 };
const BACK: Stages = Stages { out: 2, across: 2, home: 3 };
/// From where a packet enters the group on the way to the switch there.
const TURNING: u8 = 1;

/// Went to a switch of its own group, to leave it by one of its channels.
const LEAVING: u32 = FRESH + 1;
/// Came to the group on the way.
const VISITING: u32 = FRESH + 2;
/// From the switch on the way to the destination.
const HOMING: u32 = FRESH + 3;

pub(crate) fn plan(topology: &Topology) -> Result<Box<dyn Plan>, RoutingError> {
    Ok(Box::new(DragonflyValiantSwitch { groups: Groups::of(topology)? }))
}

/// The routing on one dragonfly.
struct DragonflyValiantSwitch {
    groups: Groups,
}

impl DragonflyValiantSwitch {
    /// To every switch of the group on the way; those that come from `at` do not aim there.
    fn turn(&self, at: SwitchId, aim: Aim, out: &mut Vec<Step>) {
        let aims: &[Aim] = if aim == EVERYTHING { &[OUTSIDE, but_switch(at)] } else { &[aim] };
        for joint in self.groups.local(at) {
            out.extend(aims.iter().map(|&aim| Step { joint, stage: TURNING, aim }));
        }
    }

    /// Own group: at once, in the last stage.
    fn neighbours(&self, at: SwitchId, aim: Aim, out: &mut Vec<Step>) {
        match aim {
            Aim::Switch(dst) if self.groups.group(dst) != self.groups.group(at) => {}
            EVERYTHING => self.groups.minimal(at, AWAY, in_group(self.groups.group(at)), out),
            aim => self.groups.minimal(at, AWAY, aim, out),
        }
    }
}

impl Plan for DragonflyValiantSwitch {
    fn joints(&self) -> &Joints {
        &self.groups.joints
    }

    fn stages(&self) -> u32 {
        4
    }

    fn hops_max(&self) -> u32 {
        6
    }

    fn phase(&self, joint: u32, stage: u8) -> u32 {
        match (stage, self.groups.is_global(joint)) {
            (0, false) => LEAVING,
            (0, true) => VISITING,
            _ => HOMING,
        }
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
            VISITING => {
                self.turn(at, aim, out);
                self.groups.minimal(at, BACK, aim, out);
            }
            _ => self.groups.minimal(at, BACK, aim, out),
        }
    }
}
