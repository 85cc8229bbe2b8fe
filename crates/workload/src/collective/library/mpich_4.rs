//! The decisions of MPICH 4 (`maint/tuning/coll/mpir/generic.json`) for commutative operations. Where nodes have
//! several ranks, ch4 (`ch4/generic.json`) composes some collectives of those within and between nodes.

use super::{Algorithm, Ask, Choice, Kind};

/// Most requests that a member of an all-to-all has open (`MPIR_CVAR_ALLTOALL_THROTTLE`).
const THROTTLE: u32 = 32;

pub(super) fn choice(ask: &Ask) -> Choice {
    let is_by_node = ask.nodes.is_some() && !ask.is_nonblocking;
    match ask.kind {
        Kind::Barrier | Kind::Bcast | Kind::Reduce | Kind::Allreduce if is_by_node => {
            Choice::of(Algorithm::Hierarchical)
        }
        Kind::Barrier => Choice::of(Algorithm::Bruck),
        Kind::Bcast => Choice::of(bcast(ask)),
        Kind::Allreduce if ask.total <= short(ask) || ask.elements() < ask.core() => {
            Choice::of(Algorithm::RecursiveDoubling)
        }
        Kind::Allreduce => Choice::of(Algorithm::Rabenseifner),
        Kind::Reduce if ask.total <= 2_048 || ask.elements() < ask.core() => Choice::of(Algorithm::Binomial),
        Kind::Reduce => Choice::of(Algorithm::Rabenseifner),
        Kind::Allgather | Kind::Allgatherv => Choice::of(allgather(ask)),
        Kind::ReduceScatter | Kind::ReduceScatterBlock if ask.total < 524_288 => {
            Choice::of(Algorithm::RecursiveHalving)
        }
        Kind::ReduceScatter | Kind::ReduceScatterBlock => Choice::of(Algorithm::Pairwise),
        Kind::Alltoall => alltoall(ask),
        Kind::Alltoallv | Kind::Alltoallw => Choice::windowed(Algorithm::Linear, THROTTLE),
        Kind::Gather | Kind::Scatter => Choice::of(Algorithm::Binomial),
        Kind::Gatherv | Kind::Scatterv | Kind::NeighborAllgather | Kind::NeighborAlltoall => {
            Choice::of(Algorithm::Linear)
        }
        Kind::Scan | Kind::Exscan => Choice::of(Algorithm::RecursiveDoubling),
    }
}

/// Vectors that are doubled whole [B]; the non-blocking form still has the variable
/// `MPIR_CVAR_IALLREDUCE_..._SHORT_MSG_SIZE` of earlier versions.
fn short(ask: &Ask) -> u64 {
    if ask.is_nonblocking { 2_048 } else { 8 }
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
