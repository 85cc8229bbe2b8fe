//! Non-minimal routing in grids of full rows: Valiant, "A scheme for fast parallel communication", SIAM J. Comput.
//! 1982, section 2, on the flattened butterfly as in Kim, Dally and Abts, "Flattened butterfly", ISCA 2007, section
//! 3.1: by dimension order to any switch, and from there by dimension order to the destination.
//!
//! Each of the two parts has a priority. A switch tells where a packet is by its priority and its ingress port: on the
//! way to the intermediate switch only later dimensions are left.

use etherweave_primitives::SwitchId;
use etherweave_topology::Topology;

use crate::RoutingError;
use crate::dimension_order::DimensionOrder;
use crate::grid::Grid;
use crate::joints::Joints;
use crate::plan::{Aim, Plan, Step};

/// On the way to the destination. Before that, the phase is the first dimension that may still change; and from the
/// number of dimensions on, where in the last one the packet came from.
const HOMING: u32 = u32::MAX;

pub(crate) fn plan(topology: &Topology) -> Result<Box<dyn Plan>, RoutingError> {
    let grid = Grid::of(topology)?;
    if !grid.is_full() {
        let (found, expected) = ("rows are lines or rings".to_owned(), "a flattened butterfly or HyperX");
        return Err(RoutingError::Unsuited { found, expected });
    }
    Ok(Box::new(DimensionValiant { order: DimensionOrder { grid } }))
}

/// The routing on one grid.
struct DimensionValiant {
    order: DimensionOrder,
}

impl DimensionValiant {
    /// The hops towards all intermediate switches.
    fn away(&self, at: SwitchId, first: usize, aim: Aim, out: &mut Vec<Step>) {
        let grid = &self.order.grid;
        for dimension in first..grid.rows.len() {
            let others = grid.rows[dimension].neighbours(grid.place(at, dimension)).into_iter();
            out.extend(others.map(|to| Step { joint: grid.joint(at, dimension, to), stage: 0, aim }));
        }
    }

    /// The last dimension that has two places.
    fn last(&self) -> usize {
        self.order.grid.rows.iter().rposition(|row| row.diameter() > 0).unwrap_or_default()
    }

    fn first_left(&self, phase: u32) -> usize {
        (phase as usize).min(self.order.grid.rows.len())
    }

    /// The switch that packets in this phase have just left, in the last dimension. None of them aims there.
    fn left(&self, at: SwitchId, phase: u32) -> Option<u32> {
        let dimensions = self.order.grid.rows.len() as u32;
        let place = phase.checked_sub(dimensions).filter(|_| phase != HOMING)?;
        Some(self.order.grid.joint(at, self.last(), place))
    }
}

impl Plan for DimensionValiant {
    fn joints(&self) -> &Joints {
        self.order.joints()
    }

    fn stages(&self) -> u32 {
        2
    }

    fn hops_max(&self) -> u32 {
        2 * self.order.hops_max()
    }

    fn phase(&self, joint: u32, stage: u8) -> u32 {
        let grid = &self.order.grid;
        let (from, to) = (grid.joints.from(joint), grid.joints.to(joint));
        let is_crossed = |&dimension: &usize| grid.place(from, dimension) != grid.place(to, dimension);
        let crossed = (0..grid.rows.len()).find(is_crossed).expect("a joint along a row");
        match stage {
            0 if crossed == self.last() => grid.rows.len() as u32 + grid.place(from, crossed),
            0 => crossed as u32 + 1,
            _ => HOMING,
        }
    }

    fn has_memory(&self) -> bool {
        true
    }

    fn everything(&self) -> Option<Aim> {
        self.order.everything()
    }

    fn steps(&self, at: SwitchId, phase: u32, aim: Aim, out: &mut Vec<Step>) {
        if phase != HOMING {
            self.away(at, self.first_left(phase), aim, out);
        }
        let mut home = Vec::new();
        self.order.steps(at, phase, aim, &mut home);
        let left = self.left(at, phase);
        let home = home.into_iter().filter(|step| Some(step.joint) != left);
        out.extend(home.map(|step| Step { stage: 1, ..step }));
    }
}
