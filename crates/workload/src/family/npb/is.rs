//! IS: keys are counted by buckets, then sent to the ranks that own the buckets.
//!
//! Source: `IS/is.c` of NPB 3.4: `rank`. Buckets are given to ranks so that each gets nearly as many keys, and keys are
//! spread alike on all ranks: a pair exchanges the mean.

use etherweave_primitives::Bytes;

use super::Npb;
use crate::collective::{Collective, Communicator, Rule};
use crate::{NpbClass, Op};

/// Size of a key, a counter and a displacement [B].
const INTEGER: u64 = 4;
/// Keys whose places are checked after every iteration; their counts are summed with those of the buckets.
const CHECKED_KEYS: u64 = 5;

pub(super) fn keys(class: NpbClass) -> u64 {
    1 << match class {
        NpbClass::S => 16,
        NpbClass::W => 20,
        NpbClass::A => 23,
        NpbClass::B => 25,
        NpbClass::C => 27,
        NpbClass::D => 31,
        NpbClass::E | NpbClass::F => 35,
    }
}

fn buckets(class: NpbClass) -> u64 {
    if class == NpbClass::S { 512 } else { 1_024 }
}

/// Counting, the sizes of all buckets, what each gets from each, the keys, and counting again.
pub(super) fn iteration(npb: &Npb, world: &Communicator, rank: u32) -> Vec<Op> {
    let rule = Rule::of(npb.library);
    let bytes = |integers: u64| Bytes::new(INTEGER * integers);
    let pairs = u64::from(npb.ranks) * u64::from(npb.ranks);
    let counts = Collective::Allreduce { bytes: bytes(buckets(npb.class) + CHECKED_KEYS) };
    let lengths = Collective::Alltoall { bytes: bytes(1) };
    let sent = Collective::Alltoallv { bytes: vec![bytes(keys(npb.class).div_ceil(pairs))] };
    let half = npb.compute(0.5);
    let exchange = [counts, lengths, sent].into_iter().flat_map(|step| step.lower(&rule, world, rank));
    half.into_iter().chain(exchange).chain(half).collect()
}
