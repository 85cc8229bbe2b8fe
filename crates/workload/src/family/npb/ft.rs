//! FT: a three-dimensional transform whose lines lie across ranks, once in each iteration.
//!
//! Up to as many ranks as planes each has planes, and one all-to-all turns them; beyond, ranks form a grid, and two
//! all-to-alls do, along its columns and along its rows. The checksum is a reduction of a complex number.
//! Source: `FT/ft.f` of NPB 3.4: `setup`, `fft`, `transpose_x_yz`, `transpose_x_y`, `checksum`.

use etherweave_primitives::{Bytes, Rank};

use super::Npb;
use crate::collective::{Collective, Communicator, Rule};
use crate::{NpbClass, Op};

/// Size of a complex number [B].
const COMPLEX: u64 = 16;

/// Points along the three axes, as powers of two.
fn log2_extents(class: NpbClass) -> [u32; 3] {
    match class {
        NpbClass::S => [6, 6, 6],
        NpbClass::W => [7, 7, 5],
        NpbClass::A => [8, 8, 7],
        NpbClass::B => [9, 8, 8],
        NpbClass::C => [9, 9, 9],
        NpbClass::D => [11, 10, 10],
        NpbClass::E | NpbClass::F => [12, 11, 11],
    }
}

fn log2_points(class: NpbClass) -> u32 {
    log2_extents(class).iter().sum()
}

/// A grid of as many rows as planes, and of as many columns as lines of a plane.
pub(super) fn ranks_max(class: NpbClass) -> u32 {
    let [_, y, z] = log2_extents(class);
    (1 << (y + z)).min(crate::limits::ALL_PAIRS_MAX)
}

pub(super) fn operations(class: NpbClass) -> f64 {
    let log2 = log2_points(class);
    let ln = f64::from(log2) * std::f64::consts::LN_2;
    (1_u64 << log2) as f64 * (5.235_18 + 7.211_13 * ln)
}

/// The transform, computing spread evenly before, between and after its all-to-alls, and the checksum.
pub(super) fn iteration(npb: &Npb, world: &Communicator, rank: u32) -> Vec<Op> {
    let groups = groups(npb, rank);
    let part = npb.compute(1.0 / (groups.len() + 1) as f64);
    let mut ops: Vec<Op> = part.into_iter().collect();
    let of_rank = (COMPLEX << log2_points(npb.class)) / u64::from(npb.ranks);
    for (group, me) in groups {
        let turn = Collective::Alltoall { bytes: Bytes::new(of_rank / u64::from(group.size())) };
        ops.extend(turn.lower(&Rule::of(npb.library), &group, me));
        ops.extend(part);
    }
    let sum = Collective::Reduce { root: 0, bytes: Bytes::new(COMPLEX) };
    ops.extend(sum.lower(&Rule::of(npb.library), world, rank));
    ops
}

/// Returns the groups in which a rank turns its points, and its place in each.
fn groups(npb: &Npb, rank: u32) -> Vec<(Communicator, u32)> {
    let planes = 1 << log2_extents(npb.class)[2];
    if npb.ranks <= planes {
        return vec![(Communicator::world(npb.ranks), rank)];
    }
    let columns = npb.ranks / planes;
    let (row, column) = (rank / columns, rank % columns);
    let of_row = (0..columns).map(|column| Rank::new(row * columns + column)).collect();
    let of_column = (0..planes).map(|row| Rank::new(row * columns + column)).collect();
    vec![(Communicator::new(of_row, 1), column), (Communicator::new(of_column, 2), row)]
}
