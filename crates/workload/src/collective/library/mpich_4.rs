//! The decisions of MPICH 4 (`maint/tuning/coll/mpir/generic.json`) between networks' end points, for commutative
//! operations.

use super::{Algorithm, Ask, Choice, Kind};

/// Most requests that a member of an all-to-all has open (`MPIR_CVAR_ALLTOALL_THROTTLE`).
const THROTTLE: u32 = 32;

pub(super) fn choice(ask: &Ask) -> Choice {
    match ask.kind {
        Kind::Barrier => Choice::of(Algorithm::Bruck),
        Kind::Bcast => Choice::of(bcast(ask)),
        Kind::Allreduce if ask.total <= 8 || ask.elements() < ask.core() => Choice::of(Algorithm::RecursiveDoubling),
        Kind::Allreduce => Choice::of(Algorithm::Rabenseifner),
        Kind::Reduce if ask.total <= 2_048 || ask.elements() < ask.core() => Choice::of(Algorithm::Binomial),
        Kind::Reduce => Choice::of(Algorithm::Rabenseifner),
        Kind::Allgather | Kind::Allgatherv => Choice::of(allgather(ask)),
        Kind::ReduceScatter if ask.total < 524_288 => Choice::of(Algorithm::RecursiveHalving),
        Kind::ReduceScatter => Choice::of(Algorithm::Pairwise),
        Kind::Alltoall => alltoall(ask),
        Kind::Alltoallv => Choice::windowed(Algorithm::Linear, THROTTLE),
        Kind::Gather | Kind::Scatter => Choice::of(Algorithm::Binomial),
        Kind::Scan => Choice::of(Algorithm::RecursiveDoubling),
    }
}

fn bcast(ask: &Ask) -> Algorithm {
    match ask.total {
        _ if ask.size < 8 => Algorithm::Binomial,
        ..=12_288 => Algorithm::Binomial,
        ..=524_288 if ask.is_power_of_two() => Algorithm::ScatterAllgather,
        _ => Algorithm::ScatterRing,
    }
}

fn allgather(ask: &Ask) -> Algorithm {
    match ask.total {
        ..524_288 if ask.is_power_of_two() => Algorithm::RecursiveDoubling,
        ..81_920 => Algorithm::Bruck,
        _ => Algorithm::Ring,
    }
}

fn alltoall(ask: &Ask) -> Choice {
    match ask.block {
        ..=256 if ask.size >= 8 => Choice::of(Algorithm::Bruck),
        ..=32_768 => Choice::windowed(Algorithm::Linear, THROTTLE),
        _ => Choice::of(Algorithm::Pairwise),
    }
}
