//! The adaptive superset of dimension order: every hop that brings the packet nearer, in any order of the dimensions.
//! Freedom from deadlock comes from priorities alone, so no hop is forbidden:
//!
//! - In *full rows* (flattened butterfly, HyperX) the priority rises with every hop: as many priorities as dimensions,
//!   as Benito et al., "On the use of commodity Ethernet technology in exascale HPC systems", HiPC 2015, section V-E
//!   count; the ascending classes are those of Günther, "Prevention of deadlocks in packet-switched data transport
//!   systems", IEEE Trans. Commun. 1981.
//! - In *lines* (mesh) every combination of directions has priorities of its own, one dimension left out: Linder and
//!   Harden, "An adaptive and fault tolerant wormhole routing strategy for k-ary n-cubes", IEEE Trans. Comput. 1991,
//!   section 3: `2ⁿ⁻¹` for `n` dimensions.
//! - In *rings* (torus) each of these has a level for every link between last and first switch that is no longer ahead:
//!   the same, section 4: `(n + 1)·2ⁿ⁻¹`.
//!
//! A dimension that is done counts as upward, so combinations change in one direction only. All of it follows from the
//! places of switch and destination. To the opposite switch of a ring packets go up.

use etherweave_primitives::{InputError, SwitchId};
use etherweave_topology::Topology;

use crate::adjacencies::Adjacencies;
use crate::grid::{GridRow, RowGrid, RowPath};
use crate::plan::{DestinationSet, RoutingPlan, RoutingStep};

const DIMENSIONS_MAX: usize = 6;
/// All destinations; every other set encodes its row paths in three bits for each dimension.
const EVERYTHING: DestinationSet = DestinationSet::Set(1 << (3 * DIMENSIONS_MAX));

/// Paths ahead in every dimension; none where the packet is at its place.
type RowPaths = [Option<RowPath>; DIMENSIONS_MAX];

pub(crate) fn plan(topology: &Topology) -> Result<Box<dyn RoutingPlan>, InputError> {
    let grid = RowGrid::of(topology)?;
    if grid.rows.len() > DIMENSIONS_MAX {
        let mistake = format!("{} dimensions", grid.rows.len());
        return Err(InputError::new("", mistake, format!("a grid of at most {DIMENSIONS_MAX} dimensions")));
    }
    Ok(Box::new(DimensionAdaptivePlan { grid }))
}

struct DimensionAdaptivePlan {
    grid: RowGrid,
}

fn set(runs: &RowPaths) -> DestinationSet {
    let digit = |run: &Option<RowPath>| {
        run.map_or(0, |run| 1 + RowPath::ALL.iter().position(|&other| other == run).unwrap_or(0))
    };
    DestinationSet::Set(runs.iter().rev().fold(0, |packed, run| packed << 3 | digit(run) as u32))
}

fn runs(set: u32) -> RowPaths {
    std::array::from_fn(|dimension| {
        let digit = set >> (3 * dimension) & 7;
        (digit > 0).then(|| RowPath::ALL[digit as usize - 1])
    })
}

impl DimensionAdaptivePlan {
    fn dimensions(&self) -> std::ops::Range<usize> {
        0..self.grid.rows.len()
    }

    fn full(&self) -> u32 {
        self.grid.rows.iter().filter(|row| matches!(row, GridRow::Full { size } if *size > 1)).count() as u32
    }

    /// Dimensions that are walked step by step.
    fn walked(&self) -> impl Iterator<Item = usize> {
        self.dimensions().filter(|&dimension| !matches!(self.grid.rows[dimension], GridRow::Full { .. }))
    }

    /// Hops in full rows, and dateline crossings, that a packet can have behind it before its last hop.
    fn levels(&self) -> u32 {
        let rings = self.grid.rows.iter().filter(|row| matches!(row, GridRow::Ring { .. })).count() as u32;
        (self.full() + rings + u32::from(self.walked().next().is_some())).max(1)
    }

    fn stage(&self, runs: &RowPaths) -> u8 {
        let is_behind = |&dimension: &usize| match (self.grid.rows[dimension], runs[dimension]) {
            (GridRow::Full { size }, run) => size > 1 && run.is_none(),
            (GridRow::Ring { .. }, run) => !run.is_some_and(RowPath::wraps),
            (GridRow::Line { .. }, _) => false,
        };
        let level = self.dimensions().filter(is_behind).count() as u32;
        let upward = self.walked().skip(1).map(|dimension| runs[dimension].is_none_or(RowPath::is_upward));
        let directions = upward.fold(0, |packed, is_upward| packed << 1 | u32::from(is_upward));
        // Within eight, or the routing would have been rejected.
        (directions * self.levels() + level) as u8
    }

    fn to_switch(&self, at: SwitchId, dst: SwitchId, out: &mut Vec<RoutingStep>) {
        let ends = |dimension| (self.grid.place(at, dimension), self.grid.place(dst, dimension));
        let mut runs: RowPaths = RowPaths::default();
        for dimension in self.dimensions().filter(|&dimension| ends(dimension).0 != ends(dimension).1) {
            let (place, end) = ends(dimension);
            runs[dimension] = self.grid.rows[dimension].runs(place, end).next();
        }
        let stage = self.stage(&runs);
        for dimension in self.dimensions() {
            let Some(run) = runs[dimension] else { continue };
            let (place, end) = ends(dimension);
            let to = self.grid.rows[dimension].next(place, run, end);
            out.push(RoutingStep {
                adjacency: self.grid.adjacency(at, dimension, to),
                stage,
                destinations: DestinationSet::Switch(dst),
            });
        }
    }

    /// Every next hop of the packets with these paths ahead.
    fn along(&self, at: SwitchId, runs: &RowPaths, out: &mut Vec<RoutingStep>) {
        let stage = self.stage(runs);
        for dimension in self.dimensions() {
            let Some(run) = runs[dimension] else { continue };
            for next in self.grid.rows[dimension].moves(self.grid.place(at, dimension), run, false) {
                let adjacency = self.grid.adjacency(at, dimension, next.to);
                let mut push = |then| {
                    let mut after = *runs;
                    after[dimension] = then;
                    out.push(RoutingStep { adjacency, stage, destinations: set(&after) });
                };
                if next.may_end {
                    push(None);
                }
                if next.then.is_some() {
                    push(next.then);
                }
            }
        }
    }

    /// Every combination of paths that a packet may start with.
    fn starts(&self, at: SwitchId) -> Vec<RowPaths> {
        let mut all = vec![RowPaths::default()];
        for dimension in self.dimensions() {
            let starts: Vec<RowPath> =
                self.grid.rows[dimension].starts(self.grid.place(at, dimension), false).collect();
            for index in 0..all.len() {
                for &run in &starts {
                    let mut longer = all[index];
                    longer[dimension] = Some(run);
                    all.push(longer);
                }
            }
        }
        all
    }
}

impl RoutingPlan for DimensionAdaptivePlan {
    fn adjacencies(&self) -> &Adjacencies {
        &self.grid.adjacencies
    }

    fn stages(&self) -> u32 {
        self.levels() << (self.walked().count().max(1) - 1)
    }

    fn hops_max(&self) -> u32 {
        self.grid.diameter()
    }

    fn everything(&self) -> Option<DestinationSet> {
        Some(EVERYTHING)
    }

    fn steps(&self, at: SwitchId, _: u32, destinations: DestinationSet, out: &mut Vec<RoutingStep>) {
        match destinations {
            DestinationSet::Switch(dst) => self.to_switch(at, dst, out),
            EVERYTHING => self.starts(at).iter().for_each(|runs| self.along(at, runs, out)),
            DestinationSet::Set(packed) => self.along(at, &runs(packed), out),
        }
    }
}
