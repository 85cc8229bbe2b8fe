//! Non-minimal routing in grids of full rows: Valiant, "A scheme for fast parallel communication", SIAM J. Comput.
//! 1982, section 2, on the flattened butterfly as in Kim, Dally and Abts, "Flattened butterfly", ISCA 2007, section
//! 3.1: by dimension order to any switch, and from there by dimension order to the destination.
//!
//! Each of the two parts has a priority. A switch derives where a packet is from its priority and its ingress port:
//! before the intermediate switch only later dimensions are left.

use etherweave_primitives::{InputError, SwitchId};
use etherweave_topology::Topology;

use super::dimension_order::DimensionOrderPlan;
use crate::plan::{DestinationSet, RoutingPlan, RoutingStep};
use crate::{adjacencies::Adjacencies, grid::RowGrid};

/// Beyond the intermediate switch. Before that, the phase is the first dimension that may still change; and from the
/// number of dimensions on, the place in the last one that the packet arrived from.
const HOMING: u32 = u32::MAX;

pub(crate) fn plan(topology: &Topology) -> Result<Box<dyn RoutingPlan>, InputError> {
    let grid = RowGrid::of(topology)?;
    if !grid.is_full() {
        return Err(InputError::new("", "rows are lines or rings", "a flattened butterfly or HyperX"));
    }
    Ok(Box::new(DimensionValiantPlan { order: DimensionOrderPlan { grid } }))
}

struct DimensionValiantPlan {
    order: DimensionOrderPlan,
}

impl DimensionValiantPlan {
    /// The hops towards all intermediate switches.
    fn away(&self, at: SwitchId, first: usize, destinations: DestinationSet, out: &mut Vec<RoutingStep>) {
        let grid = &self.order.grid;
        for dimension in first..grid.rows.len() {
            let others = grid.rows[dimension].neighbours(grid.place(at, dimension)).into_iter();
            out.extend(others.map(|to| RoutingStep {
                adjacency: grid.adjacency(at, dimension, to),
                stage: 0,
                destinations,
            }));
        }
    }

    /// The last dimension that has two places.
    fn last(&self) -> usize {
        self.order.grid.rows.iter().rposition(|row| row.diameter() > 0).unwrap_or_default()
    }

    fn first_left(&self, phase: u32) -> usize {
        (phase as usize).min(self.order.grid.rows.len())
    }

    /// The switch that packets in this phase have just left, in the last dimension. None of them is for a host there.
    fn left(&self, at: SwitchId, phase: u32) -> Option<u32> {
        let dimensions = self.order.grid.rows.len() as u32;
        let place = phase.checked_sub(dimensions).filter(|_| phase != HOMING)?;
        Some(self.order.grid.adjacency(at, self.last(), place))
    }
}

impl RoutingPlan for DimensionValiantPlan {
    fn adjacencies(&self) -> &Adjacencies {
        self.order.adjacencies()
    }

    fn stages(&self) -> u32 {
        2
    }

    fn hops_max(&self) -> u32 {
        2 * self.order.hops_max()
    }

    fn phase(&self, adjacency: u32, stage: u8) -> u32 {
        let grid = &self.order.grid;
        let (from, to) = (grid.adjacencies.from(adjacency), grid.adjacencies.to(adjacency));
        let is_crossed = |&dimension: &usize| grid.place(from, dimension) != grid.place(to, dimension);
        let crossed = (0..grid.rows.len()).find(is_crossed).expect("an adjacency along a row");
        match stage {
            0 if crossed == self.last() => grid.rows.len() as u32 + grid.place(from, crossed),
            0 => crossed as u32 + 1,
            _ => HOMING,
        }
    }

    fn has_memory(&self) -> bool {
        true
    }

    fn everything(&self) -> Option<DestinationSet> {
        self.order.everything()
    }

    fn steps(&self, at: SwitchId, phase: u32, destinations: DestinationSet, out: &mut Vec<RoutingStep>) {
        if phase != HOMING {
            self.away(at, self.first_left(phase), destinations, out);
        }
        let mut home = Vec::new();
        self.order.steps(at, phase, destinations, &mut home);
        let left = self.left(at, phase);
        let home = home.into_iter().filter(|step| Some(step.adjacency) != left);
        out.extend(home.map(|step| RoutingStep { stage: 1, ..step }));
    }
}
