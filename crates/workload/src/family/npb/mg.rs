//! MG: a multigrid cycle over levels of which each has half the points along an axis.
//!
//! Restriction, residual and smoother each end with an exchange of all faces on their level, one axis after the other.
//! Where a level has fewer points along an axis than there are ranks, every second, fourth, ... rank takes part, and
//! interpolation hands its points back to the others.
//! Source: `MG/mg.f` of NPB 3.4: `setup`, `mg3P`, `comm3`, `comm3_ex`.

use super::{Npb, receive, send};
use crate::Op;

/// Most ranks: each has points of every axis on the finest level.
pub(super) fn ranks_max(points: u32) -> u32 {
    (u64::from(points) / 2).pow(3).min(1 << 18) as u32
}

/// Ranks along the three axes: thirds of the power of two, the last axis gets what is left.
fn extents(ranks: u32) -> [u32; 3] {
    let log2 = ranks.ilog2();
    let x = log2 / 3;
    let y = (log2 - x) / 2;
    [1 << x, 1 << y, 1 << (log2 - x - y)]
}

/// One axis of one level, as a rank sees it.
#[derive(Clone, Copy, Debug)]
struct Axis {
    /// Points of the rank with the two beyond its edges; 2 where it has none.
    points: u64,
    /// Coordinates of the ranks before and behind that take part.
    neighbours: [u32; 2],
    /// Whether the next coarser level leaves the rank out, and its neighbours hand it points back.
    is_handed: bool,
    /// Whether it is a neighbour that does.
    hands: bool,
}

/// The levels of a rank, the finest first.
struct Levels {
    extents: [u32; 3],
    place: [u32; 3],
    levels: Vec<[Axis; 3]>,
}

impl Levels {
    fn new(points: u32, ranks: u32, rank: u32) -> Levels {
        let [x, y, z] = extents(ranks);
        let place = [rank % x, rank / x % y, rank / (x * y)];
        let axes = [(x, place[0]), (y, place[1]), (z, place[2])].map(|(ranks, at)| axis(points, ranks, at));
        let levels = (0..axes[0].len()).map(|level| [axes[0][level], axes[1][level], axes[2][level]]).collect();
        Levels { extents: [x, y, z], place, levels }
    }

    /// The rank whose coordinate along an axis is another.
    fn rank_at(&self, axis: usize, coordinate: u32) -> u32 {
        let mut place = self.place;
        place[axis] = coordinate;
        place[0] + self.extents[0] * (place[1] + self.extents[1] * place[2])
    }

    /// Whether the rank has points on a level.
    fn is_active(&self, level: usize) -> bool {
        self.levels[level].iter().all(|axis| axis.points > 2)
    }

    /// Doubles of a face across an axis: along axes that have been exchanged already, with the points beyond the edges.
    fn face(&self, level: usize, axis: usize) -> u64 {
        let inner = |other: usize| self.levels[level][other].points - if other < axis { 0 } else { 2 };
        (0..3).filter(|&other| other != axis).map(inner).product()
    }

    /// Both faces across each axis, one axis after the other. A rank that is its own neighbour copies in memory.
    fn exchange(&self, ops: &mut Vec<Op>, level: usize) {
        if !self.is_active(level) {
            return;
        }
        for axis in 0..3 {
            let [before, behind] = self.levels[level][axis].neighbours.map(|at| self.rank_at(axis, at));
            let (doubles, tag) = (self.face(level, axis), 2 * axis as u32);
            if before != self.rank_at(axis, self.place[axis]) {
                ops.extend([receive(behind, tag, doubles), receive(before, tag + 1, doubles)]);
                ops.extend([send(behind, tag + 1, doubles), send(before, tag, doubles), Op::WaitAll]);
            }
        }
    }

    /// One layer back to the rank before, two to the rank behind, with all points beyond the edges.
    fn hand_back(&self, ops: &mut Vec<Op>, level: usize) {
        for axis in 0..3 {
            let Axis { neighbours, is_handed, hands, .. } = self.levels[level][axis];
            let [before, behind] = neighbours.map(|at| self.rank_at(axis, at));
            let layer = (0..3).filter(|&other| other != axis).map(|other| self.levels[level][other].points).product();
            let tag = 10 + 2 * axis as u32;
            if is_handed {
                ops.extend([receive(behind, tag, layer), receive(before, tag + 1, 2 * layer), Op::WaitAll]);
            }
            if hands {
                ops.extend([send(behind, tag + 1, 2 * layer), send(before, tag, layer), Op::WaitAll]);
            }
        }
    }
}

/// An axis on every level, the finest first, for the rank at a coordinate.
fn axis(points: u32, ranks: u32, at: u32) -> Vec<Axis> {
    let own = |points: u32, at: u32| 2 + u64::from((at + 1) * points / ranks) - u64::from(at * points / ranks);
    let mut distance = 1;
    let mut levels: Vec<Axis> = Vec::new();
    for points in std::iter::successors(Some(points), |points| Some(points / 2)).take_while(|&points| points >= 2) {
        let (mine, next) = (own(points, at), own(points, at + distance));
        if let Some(finer) = levels.last_mut() {
            (finer.hands, finer.is_handed) = ((mine, next) == (3, 2), (mine, next) == (2, 3));
        }
        if mine == 2 || next == 2 {
            distance *= 2;
        }
        let neighbours = [(at + ranks - distance % ranks) % ranks, (at + distance) % ranks];
        levels.push(Axis { points: mine, neighbours, is_handed: false, hands: false });
    }
    levels
}

/// Down by restriction, the smoother on the coarsest level, up by interpolation, residual and smoother, and the
/// residual of the next iteration. What a step computes is in proportion to the points of its level.
pub(super) fn iteration(npb: &Npb, rank: u32) -> Vec<Op> {
    let levels = Levels::new(npb.side(), npb.ranks, rank);
    let last = levels.levels.len() - 1;
    // A restriction onto each coarser level, three steps on each finer one, a smoother below, a residual above.
    let steps = |level: usize| if level == last { 2.0 } else { 4.0 };
    let weight = |level: usize| 1.0 / (1_u64 << (3 * level)) as f64;
    let all: f64 = (0..=last).map(|level| steps(level) * weight(level)).sum();
    let mut ops = Vec::new();
    let step = |ops: &mut Vec<Op>, level: usize| {
        ops.extend(npb.compute(weight(level) / all).filter(|_| levels.is_active(level)));
    };
    for level in 1..=last {
        step(&mut ops, level);
        levels.exchange(&mut ops, level);
    }
    step(&mut ops, last);
    levels.exchange(&mut ops, last);
    for level in (0..last).rev() {
        step(&mut ops, level);
        levels.hand_back(&mut ops, level);
        for _ in 0..2 {
            step(&mut ops, level);
            levels.exchange(&mut ops, level);
        }
    }
    step(&mut ops, 0);
    levels.exchange(&mut ops, 0);
    ops
}

/// Returns for each level the points along x and the distance to the neighbour behind, for tests.
#[cfg(test)]
pub(super) fn levels_of(npb: &Npb, rank: u32) -> Vec<(u64, u32)> {
    let levels = Levels::new(npb.side(), npb.ranks, rank);
    let (at, ranks) = (levels.place[0], levels.extents[0]);
    levels.levels.iter().map(|axes| (axes[0].points, (axes[0].neighbours[1] + ranks - at) % ranks)).collect()
}
