//! Dimension order: Dally and Towles, "Principles and Practices of Interconnection Networks", 2004, section 8.4.2. A
//! packet corrects one coordinate after the other, the first dimension (`x`) first, in the fewest hops each.
//!
//! In a ring each direction closes a cycle of channels. As in Dally and Seitz, "Deadlock-free message routing in
//! multiprocessor interconnection networks", IEEE Trans. Comput. 1987, section 4, packets that have the link between
//! the last and the first switch (the dateline) still ahead travel on priority 0, the others on priority 1: a switch
//! derives that from its own place and the destination's.

use etherweave_primitives::{InputError, SwitchId};
use etherweave_topology::Topology;

use crate::adjacencies::Adjacencies;
use crate::grid::{GridRow, RowGrid, RowPath};
use crate::plan::{DestinationSet, RoutingPlan, RoutingStep};

/// Sets from here on travel along a row; those below start at a dimension.
const WALKING: u32 = 16;

pub(crate) fn plan(topology: &Topology) -> Result<Box<dyn RoutingPlan>, InputError> {
    Ok(Box::new(DimensionOrderPlan { grid: RowGrid::of(topology)? }))
}

/// The routing on one grid. Its sets of destinations:
/// those that differ in no dimension before some (that and later ones may), and
/// those that are ahead along a dimension, whatever they are in later ones.
pub(crate) struct DimensionOrderPlan {
    pub grid: RowGrid,
}

fn from_dimension(dimension: usize) -> DestinationSet {
    DestinationSet::Set(dimension as u32)
}

fn walking(dimension: usize, run: RowPath) -> DestinationSet {
    DestinationSet::Set(WALKING + dimension as u32 * 4 + u32::from(run.is_upward()) * 2 + u32::from(run.wraps()))
}

impl DimensionOrderPlan {
    /// Whether the dateline is ahead makes the priority, in rings.
    fn stage(&self, dimension: usize, run: RowPath) -> u8 {
        match self.grid.rows[dimension] {
            GridRow::Ring { .. } => u8::from(!run.wraps()),
            GridRow::Full { .. } | GridRow::Line { .. } => 0,
        }
    }

    fn to_switch(&self, at: SwitchId, dst: SwitchId, out: &mut Vec<RoutingStep>) {
        let places = |dimension| (self.grid.place(at, dimension), self.grid.place(dst, dimension));
        let differs = |&dimension: &usize| places(dimension).0 != places(dimension).1;
        let Some(dimension) = (0..self.grid.rows.len()).find(differs) else { return };
        let (place, end) = places(dimension);
        for run in self.grid.rows[dimension].runs(place, end) {
            let to = self.grid.rows[dimension].next(place, run, end);
            let (adjacency, stage) = (self.grid.adjacency(at, dimension, to), self.stage(dimension, run));
            out.push(RoutingStep { adjacency, stage, destinations: DestinationSet::Switch(dst) });
        }
    }

    fn along(&self, at: SwitchId, dimension: usize, run: RowPath, out: &mut Vec<RoutingStep>) {
        let stage = self.stage(dimension, run);
        for next in self.grid.rows[dimension].moves(self.grid.place(at, dimension), run, true) {
            let adjacency = self.grid.adjacency(at, dimension, next.to);
            let mut push = |destinations| out.push(RoutingStep { adjacency, stage, destinations });
            if next.may_end {
                push(from_dimension(dimension + 1));
            }
            if let Some(run) = next.then {
                push(walking(dimension, run));
            }
        }
    }
}

impl RoutingPlan for DimensionOrderPlan {
    fn adjacencies(&self) -> &Adjacencies {
        &self.grid.adjacencies
    }

    fn stages(&self) -> u32 {
        if self.grid.has_rings() { 2 } else { 1 }
    }

    fn hops_max(&self) -> u32 {
        self.grid.diameter()
    }

    fn everything(&self) -> Option<DestinationSet> {
        Some(from_dimension(0))
    }

    fn steps(&self, at: SwitchId, _: u32, destinations: DestinationSet, out: &mut Vec<RoutingStep>) {
        match destinations {
            DestinationSet::Switch(dst) => self.to_switch(at, dst, out),
            DestinationSet::Set(first) if first < WALKING => {
                for dimension in first as usize..self.grid.rows.len() {
                    let starts = self.grid.rows[dimension].starts(self.grid.place(at, dimension), true);
                    starts.for_each(|run| self.along(at, dimension, run, out));
                }
            }
            DestinationSet::Set(set) => {
                let (dimension, flags) = ((set - WALKING) / 4, (set - WALKING) % 4);
                let run = RowPath::Walk { is_upward: flags & 2 != 0, wraps: flags & 1 != 0 };
                self.along(at, dimension as usize, run, out);
            }
        }
    }
}
