//! Up*/down* in full: Schroeder et al., "Autonet: a high-speed, self-configuring local area network using
//! point-to-point links", IEEE J. Sel. Areas Commun. 1991, section 4.2.
//!
//! Up is towards the highest switch, which is the root; equally far ones rank by id. Of the ways that never climb after
//! they descended, the shortest are legal. Unlike in `up_down`, a packet may climb past a switch from which it could
//! descend, if that is no longer; so a switch must tell those that came down from the others, by their ingress port.

use etherweave_primitives::{HostId, SwitchId};
use etherweave_topology::Topology;

use crate::RoutingError;
use crate::joints::Joints;
use crate::order::Order;
use crate::plan::{Aim, FRESH, Plan, Step};
use crate::table::entries;

/// Came down: may not climb any more.
const DESCENDING: u32 = FRESH + 1;
/// Farther than any switch.
const UNREACHED: u32 = u32::MAX;

pub(crate) fn plan(topology: &Topology) -> Result<Box<dyn Plan>, RoutingError> {
    let joints = Joints::of(topology);
    let order = Order::by_root(topology);
    let is_up = (0..joints.len() as u32).map(|joint| order.is_up(topology, joints.channels(joint)[0])).collect();
    let mut columns = vec![u32::MAX; topology.switches()];
    let mut column = 0;
    for host in 0..topology.hosts() {
        let switch = topology.switch_of(HostId::from_index(host)).index();
        if columns[switch] == u32::MAX {
            (columns[switch], column) = (column, column + 1);
        }
    }
    let size = entries(topology, column as usize)?;
    let mut plan = UpStarDownStar { joints, is_up, columns, down: vec![0; size], legal: vec![0; size] };
    (0..topology.switches()).map(SwitchId::from_index).for_each(|dst| plan.measure(&order, dst));
    Ok(Box::new(plan))
}

/// Legal ways by their lengths.
struct UpStarDownStar {
    joints: Joints,
    /// By joint.
    is_up: Vec<bool>,
    /// The column of every switch with hosts.
    columns: Vec<u32>,
    /// Hops downwards by column, then by switch.
    down: Vec<u32>,
    /// Hops, first up, then down, by column, then by switch.
    legal: Vec<u32>,
}

impl UpStarDownStar {
    /// All distances to one switch: highest switches last on the way from it, first on the way back.
    fn measure(&mut self, order: &Order, dst: SwitchId) {
        let column = self.columns[dst.index()];
        if column == u32::MAX {
            return;
        }
        let mut down = vec![UNREACHED; self.joints.switches()];
        down[dst.index()] = 0;
        order.highest_first.iter().rev().for_each(|&at| self.relax(&mut down, at, false));
        let mut legal = down.clone();
        order.highest_first.iter().for_each(|&at| self.relax(&mut legal, at, true));
        let start = column as usize * down.len();
        self.down[start..][..down.len()].copy_from_slice(&down);
        self.legal[start..][..legal.len()].copy_from_slice(&legal);
    }

    fn relax(&self, distances: &mut [u32], at: SwitchId, up: bool) {
        let joints = self.joints.leaving(at).filter(|&joint| self.is_up[joint as usize] == up);
        let least = joints.map(|joint| distances[self.joints.to(joint).index()]).min().unwrap_or(UNREACHED);
        distances[at.index()] = distances[at.index()].min(least.saturating_add(1));
    }
}

impl Plan for UpStarDownStar {
    fn joints(&self) -> &Joints {
        &self.joints
    }

    fn stages(&self) -> u32 {
        1
    }

    fn hops_max(&self) -> u32 {
        self.legal.iter().copied().filter(|&hops| hops != UNREACHED).max().unwrap_or_default()
    }

    fn phase(&self, joint: u32, _: u8) -> u32 {
        if self.is_up[joint as usize] { FRESH } else { DESCENDING }
    }

    fn has_memory(&self) -> bool {
        true
    }

    fn steps(&self, at: SwitchId, phase: u32, aim: Aim, out: &mut Vec<Step>) {
        let Aim::Switch(dst) = aim else { unreachable!("up*/down* is asked for single destinations") };
        let start = self.columns[dst.index()] as usize * self.joints.switches();
        let down = |switch: SwitchId| self.down[start + switch.index()];
        let legal = |switch: SwitchId| self.legal[start + switch.index()];
        let left = if phase == DESCENDING { down(at) } else { legal(at) };
        let is_next = |joint: u32| {
            let to = self.joints.to(joint);
            let (may_climb, climbs) = (phase != DESCENDING, self.is_up[joint as usize]);
            let after = if climbs { legal(to) } else { down(to) };
            (may_climb || !climbs) && after != UNREACHED && after + 1 == left
        };
        out.extend(self.joints.leaving(at).filter(|&joint| is_next(joint)).map(|joint| Step { joint, stage: 0, aim }));
    }
}
