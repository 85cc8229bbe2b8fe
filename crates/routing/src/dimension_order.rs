//! Dimension order: Dally and Towles, "Principles and Practices of Interconnection Networks", 2004, section 8.4.2. A
//! packet corrects one coordinate after the other, the first dimension (`x`) first, in the fewest hops each.
//!
//! In a ring each direction closes a cycle of channels. As in Dally and Seitz, "Deadlock-free message routing in
//! multiprocessor interconnection networks", IEEE Trans. Comput. 1987, section 4, packets that have the link between
//! the last and the first switch (the dateline) still ahead travel on priority 0, the others on priority 1: a switch
//! tells that from its own place and the destination's.

use etherweave_primitives::SwitchId;
use etherweave_topology::Topology;

use crate::RoutingError;
use crate::grid::{Grid, Row, Run};
use crate::joints::Joints;
use crate::plan::{Aim, Plan, Step};

/// Sets from here on travel along a row; those below start at a dimension.
const WALKING: u32 = 16;

pub(crate) fn plan(topology: &Topology) -> Result<Box<dyn Plan>, RoutingError> {
    Ok(Box::new(DimensionOrder { grid: Grid::of(topology)? }))
}

/// The routing on one grid. Its sets of destinations:
/// those that differ in no dimension before some (that and later ones may), and
/// those that are some way ahead along a dimension, whatever they are in later ones.
pub(crate) struct DimensionOrder {
    pub grid: Grid,
}

fn from_dimension(dimension: usize) -> Aim {
    Aim::Set(dimension as u32)
}

fn walking(dimension: usize, run: Run) -> Aim {
    Aim::Set(WALKING + dimension as u32 * 4 + u32::from(run.is_upward()) * 2 + u32::from(run.wraps()))
}

impl DimensionOrder {
    /// Whether the dateline is ahead makes the priority, in rings.
    fn stage(&self, dimension: usize, run: Run) -> u8 {
        match self.grid.rows[dimension] {
            Row::Ring { .. } => u8::from(!run.wraps()),
            Row::Full { .. } | Row::Line { .. } => 0,
        }
    }

    fn to_switch(&self, at: SwitchId, dst: SwitchId, out: &mut Vec<Step>) {
        let places = |dimension| (self.grid.place(at, dimension), self.grid.place(dst, dimension));
        let differs = |&dimension: &usize| places(dimension).0 != places(dimension).1;
        let Some(dimension) = (0..self.grid.rows.len()).find(differs) else { return };
        let (place, end) = places(dimension);
        for run in self.grid.rows[dimension].runs(place, end) {
            let to = self.grid.rows[dimension].next(place, run, end);
            let (joint, stage) = (self.grid.joint(at, dimension, to), self.stage(dimension, run));
            out.push(Step { joint, stage, aim: Aim::Switch(dst) });
        }
    }

    /// The next hop of all packets on a run.
    fn along(&self, at: SwitchId, dimension: usize, run: Run, out: &mut Vec<Step>) {
        let stage = self.stage(dimension, run);
        for next in self.grid.rows[dimension].moves(self.grid.place(at, dimension), run, true) {
            let joint = self.grid.joint(at, dimension, next.to);
            let mut push = |aim| out.push(Step { joint, stage, aim });
            if next.may_end {
                push(from_dimension(dimension + 1));
            }
            if let Some(run) = next.then {
                push(walking(dimension, run));
            }
        }
    }
}

impl Plan for DimensionOrder {
    fn joints(&self) -> &Joints {
        &self.grid.joints
    }

    fn stages(&self) -> u32 {
        if self.grid.has_rings() { 2 } else { 1 }
    }

    fn hops_max(&self) -> u32 {
        self.grid.diameter()
    }

    fn everything(&self) -> Option<Aim> {
        Some(from_dimension(0))
    }

    fn steps(&self, at: SwitchId, _: u32, aim: Aim, out: &mut Vec<Step>) {
        match aim {
            Aim::Switch(dst) => self.to_switch(at, dst, out),
            Aim::Set(first) if first < WALKING => {
                for dimension in first as usize..self.grid.rows.len() {
                    let starts = self.grid.rows[dimension].starts(self.grid.place(at, dimension), true);
                    starts.for_each(|run| self.along(at, dimension, run, out));
                }
            }
            Aim::Set(set) => {
                let (dimension, flags) = ((set - WALKING) / 4, (set - WALKING) % 4);
                let run = Run::Walk { is_upward: flags & 2 != 0, wraps: flags & 1 != 0 };
                self.along(at, dimension as usize, run, out);
            }
        }
    }
}
