//! BT and SP: implicit solvers whose cube is cut so that every rank has a cell in each slab along each axis.
//!
//! q x q ranks have q cells each, on a diagonal. An iteration exchanges the faces of all cells, then sweeps along each
//! axis: a rank solves its cell of a slab, passes on what the next slab needs, and solves its next cell; then back.
//! Source: `BT/` and `SP/` of NPB 3.4: `copy_faces.f`, `x_solve.f`, `set_constants`, `make_set.f`.

use super::{Npb, receive, send, share};
use crate::Op;

/// Data that a solver passes on for each point of a face.
pub(super) struct Solver {
    /// Doubles on the way there.
    forward: u64,
    /// Doubles on the way back.
    backward: u64,
}

/// A matrix of 5 x 5 and a vector there, a vector back.
pub(super) const BT: Solver = Solver { forward: 25 + 5, backward: 5 };
/// The coefficients of two lines of three systems there, two vectors back.
pub(super) const SP: Solver = Solver { forward: 22, backward: 10 };

/// Variables of a point, in two layers of a face.
const FACE: u64 = 2 * 5;
/// Tags of faces, then of each axis there and back.
const FACES_TAG: u32 = 1;
const SWEEP_TAG: u32 = 100;

/// Most ranks along a side, for cells of 3 points.
pub(super) fn side_max(points: u32) -> u32 {
    (points / 3).max(2)
}

/// A rank among q x q.
struct Member {
    points: u32,
    q: u32,
    /// Column and row.
    place: [u32; 2],
}

impl Member {
    /// The rank with the neighbouring cells along an axis, in the direction of growing coordinates, or against it.
    fn neighbour(&self, axis: usize, is_up: bool) -> u32 {
        let (q, [i, j]) = (self.q, self.place);
        let (up, down) = (|at: u32| (at + 1) % q, |at: u32| (at + q - 1) % q);
        match (axis, is_up) {
            (0, true) => up(i) + q * j,
            (0, false) => down(i) + q * j,
            (1, true) => i + q * up(j),
            (1, false) => i + q * down(j),
            (_, true) => down(i) + q * up(j),
            (_, false) => up(i) + q * down(j),
        }
    }

    /// Where a cell of the rank is: from one to the next the first coordinate grows and the second falls.
    fn cell(&self, number: u32) -> [u32; 3] {
        let (q, [i, j]) = (self.q, self.place);
        [(i + number) % q, (j + q - number) % q, number]
    }

    /// Points of the face of a rank's cell in a slab along an axis, and of its neighbours' along it.
    fn face(&self, axis: usize, slab: u32) -> u64 {
        let cell = (0..self.q).map(|number| self.cell(number)).find(|cell| cell[axis] == slab);
        let cell = cell.expect("a rank has a cell in every slab");
        let others = (0..3).filter(|&other| other != axis);
        others.map(|other| share(self.points, self.q, cell[other])).product()
    }
}

impl Solver {
    /// Faces, then the three axes. A quarter of the computing is the right-hand side, a quarter that of each axis.
    pub(super) fn iteration(&self, npb: &Npb, rank: u32) -> Vec<Op> {
        let q = npb.ranks.isqrt();
        let member = Member { points: npb.side(), q, place: [rank % q, rank / q] };
        let mut ops = copy_faces(&member);
        ops.extend(npb.compute(0.25));
        (0..3).for_each(|axis| self.sweep(&mut ops, npb, &member, axis));
        ops
    }

    /// Sweeps from the first slab to the last, where a rank waits for the slab before its own, and back.
    fn sweep(&self, ops: &mut Vec<Op>, npb: &Npb, member: &Member, axis: usize) {
        let (q, tag) = (member.q, SWEEP_TAG + 2 * axis as u32);
        let [down, up] = [false, true].map(|is_up| member.neighbour(axis, is_up));
        for slab in 0..q {
            if slab > 0 {
                ops.extend([receive(down, tag, self.forward * member.face(axis, slab)), Op::WaitAll]);
            }
            ops.extend(npb.compute(0.25 / f64::from(q)));
            if slab + 1 < q {
                ops.push(send(up, tag, self.forward * member.face(axis, slab)));
            }
        }
        for slab in (0..q).rev() {
            if slab + 1 < q {
                ops.extend([receive(up, tag + 1, self.backward * member.face(axis, slab)), Op::WaitAll]);
            }
            if slab > 0 {
                ops.push(send(down, tag + 1, self.backward * member.face(axis, slab)));
            }
        }
        ops.push(Op::WaitAll);
    }
}

/// All six directions at once; cells at the edge of the cube have no neighbour there.
fn copy_faces(member: &Member) -> Vec<Op> {
    let directions = || (0..3).flat_map(|axis| [true, false].map(|is_up| (axis, is_up)));
    let points = |axis, is_up: bool| {
        let slabs = if is_up { 0..member.q - 1 } else { 1..member.q };
        FACE * slabs.map(|slab| member.face(axis, slab)).sum::<u64>()
    };
    let tag = |axis: usize, is_up: bool| FACES_TAG + 2 * axis as u32 + u32::from(is_up);
    let receives = directions().map(|(axis, is_up)| {
        // What goes up comes from below.
        receive(member.neighbour(axis, !is_up), tag(axis, is_up), points(axis, !is_up))
    });
    let sends =
        directions().map(|(axis, is_up)| send(member.neighbour(axis, is_up), tag(axis, is_up), points(axis, is_up)));
    receives.chain(sends).chain([Op::WaitAll]).collect()
}
