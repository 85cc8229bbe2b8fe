//! EP: pairs of random numbers, of which only sums and counts are exchanged, at the end.
//!
//! Source: `EP/ep.f90` of NPB 3.4: 2^(m + 1) random numbers, then the sums of both coordinates and the counts of ten
//! square annuli over all ranks.

use etherweave_primitives::Bytes;

use super::{DOUBLE, Npb};
use crate::collective::{Collective, Communicator, Rule};
use crate::{NpbClass, Op};

/// Doubles of the three sums over all ranks: of each coordinate, and ten counts.
const SUMS: [u64; 3] = [1, 1, 10];

/// Random numbers of all ranks, which the benchmark counts.
pub(super) fn numbers(class: NpbClass) -> u64 {
    2 << match class {
        NpbClass::S => 24,
        NpbClass::W => 25,
        NpbClass::A => 28,
        NpbClass::B => 30,
        NpbClass::C => 32,
        NpbClass::D => 36,
        NpbClass::E | NpbClass::F => 40,
    }
}

/// All numbers, then the sums.
pub(super) fn iteration(npb: &Npb, world: &Communicator, rank: u32) -> Vec<Op> {
    let rule = Rule::of(npb.library);
    let sum = |doubles| Collective::Allreduce { bytes: Bytes::new(DOUBLE * doubles) }.lower(&rule, world, rank);
    npb.compute(1.0).into_iter().chain(SUMS.into_iter().flat_map(sum)).collect()
}
