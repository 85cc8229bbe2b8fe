//! The decisions of `libnbc` of Open MPI 4.1 (`ompi/mca/coll/libnbc/nbc_i*.c`) for the non-blocking forms, which do not
//! ask `tuned`; for commutative operations.

use super::{Algorithm, Ask, Choice, Kind};

/// Where trees end [B].
const LONG: u64 = 65_536;

pub(super) fn choice(ask: &Ask) -> Choice {
    match ask.kind {
        Kind::Barrier => Choice::of(Algorithm::Bruck),
        Kind::Bcast => bcast(ask),
        Kind::Reduce if ask.size > 2 && ask.elements() >= ask.core() => Choice::of(Algorithm::Rabenseifner),
        Kind::Reduce if ask.size > 4 || ask.total < LONG => Choice::of(Algorithm::Binomial),
        Kind::Reduce => Choice::of(Algorithm::Pipeline),
        Kind::Allreduce if ask.size < 4 || ask.total < LONG => Choice::of(Algorithm::Binomial),
        Kind::Allreduce if ask.elements() >= ask.core() => Choice::of(Algorithm::Rabenseifner),
        Kind::Allreduce => Choice::of(Algorithm::Ring),
        Kind::ReduceScatter | Kind::ReduceScatterBlock => Choice::of(Algorithm::Composed),
        Kind::Alltoall
        | Kind::Alltoallv
        | Kind::Alltoallw
        | Kind::Allgather
        | Kind::Allgatherv
        | Kind::Gather
        | Kind::Gatherv
        | Kind::Scatter
        | Kind::Scatterv
        | Kind::NeighborAllgather
        | Kind::NeighborAlltoall
        | Kind::Scan
        | Kind::Exscan => Choice::of(Algorithm::Linear),
    }
}

fn bcast(ask: &Ask) -> Choice {
    match ask.total {
        _ if ask.size <= 4 => Choice::of(Algorithm::Linear),
        _ if ask.total < LONG => Choice::of(Algorithm::Binomial),
        ..524_288 => Choice::segmented(Algorithm::Pipeline, 8 << 10),
        _ => Choice::segmented(Algorithm::Pipeline, 32 << 10),
    }
}
