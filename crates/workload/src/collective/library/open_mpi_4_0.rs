//! The fixed decisions of `coll_tuned_decision_fixed.c` of Open MPI 3.1 and 4.0, for commutative operations.

use super::{Algorithm, Ask, Choice, Kind, libnbc};

/// Segments of the ring of an all-reduce are at most so long [B].
const RING_SEGMENT: u64 = 1 << 20;

pub(super) fn choice(ask: &Ask) -> Choice {
    match ask.kind {
        _ if ask.is_nonblocking => libnbc::choice(ask),
        Kind::Barrier if ask.is_power_of_two() => Choice::of(Algorithm::RecursiveDoubling),
        Kind::Barrier => Choice::of(Algorithm::Bruck),
        Kind::Alltoall => Choice::of(alltoall(ask)),
        Kind::Alltoallv => Choice::of(Algorithm::Pairwise),
        Kind::Allgather | Kind::Allgatherv => Choice::of(allgather(ask)),
        Kind::Allreduce => allreduce(ask),
        Kind::Bcast => bcast(ask),
        Kind::Gather => gather(ask),
        Kind::Scatter if ask.size > 10 && ask.block < 300 => Choice::of(Algorithm::Binomial),
        Kind::Scatter | Kind::Gatherv | Kind::Scatterv => Choice::of(Algorithm::Linear),
        Kind::Reduce => reduce(ask),
        Kind::ReduceScatter => Choice::of(reduce_scatter(ask)),
        Kind::ReduceScatterBlock => Choice::of(Algorithm::Composed),
        Kind::Scan | Kind::Exscan | Kind::NeighborAllgather | Kind::NeighborAlltoall | Kind::Alltoallw => {
            Choice::of(Algorithm::Linear)
        }
    }
}

fn alltoall(ask: &Ask) -> Algorithm {
    match ask.block {
        _ if ask.size == 2 => Algorithm::Pairwise,
        ..200 if ask.size > 12 => Algorithm::Bruck,
        ..3_000 => Algorithm::Linear,
        _ => Algorithm::Pairwise,
    }
}

fn allgather(ask: &Ask) -> Algorithm {
    match ask.total {
        _ if ask.size == 2 => Algorithm::RecursiveDoubling,
        ..50_000 if ask.is_power_of_two() && ask.kind == Kind::Allgather => Algorithm::RecursiveDoubling,
        ..50_000 => Algorithm::Bruck,
        _ if ask.size.is_multiple_of(2) => Algorithm::NeighbourExchange,
        _ => Algorithm::Ring,
    }
}

/// A ring needs an element for each member.
fn allreduce(ask: &Ask) -> Choice {
    match ask.total {
        ..10_000 => Choice::of(Algorithm::RecursiveDoubling),
        _ if ask.elements() > u64::from(ask.size) => Choice::segmented(Algorithm::Ring, RING_SEGMENT),
        _ => Choice::of(Algorithm::Composed),
    }
}

fn gather(ask: &Ask) -> Choice {
    match ask.block {
        92_161.. => Choice::segmented(Algorithm::LinearSync, 32 << 10),
        6_001.. => Choice::segmented(Algorithm::LinearSync, 1 << 10),
        _ if ask.size > 60 => Choice::of(Algorithm::Binomial),
        ..1_024 if ask.size > 10 => Choice::of(Algorithm::Binomial),
        _ => Choice::of(Algorithm::Linear),
    }
}

fn reduce_scatter(ask: &Ask) -> Algorithm {
    // p >= 0.0012 m + 8, in integers.
    let is_many = u128::from(ask.size) * 10_000 >= 12 * u128::from(ask.total) + 80_000;
    let is_short = ask.total <= 12 << 10 || (ask.total <= 256 << 10 && ask.is_power_of_two());
    if is_short || is_many { Algorithm::RecursiveHalving } else { Algorithm::Ring }
}

/// Long messages: lines in the plane of sizes, fitted by the authors of the component; coefficients in 10^-10 per byte
/// and 10^-4, to stay in integers.
fn bcast(ask: &Ask) -> Choice {
    let below = |slope: u128, intercept: u128| {
        u128::from(ask.size) * 10_000_000_000 < slope * u128::from(ask.total) + intercept * 1_000_000
    };
    match ask.total {
        ..2_048 => Choice::of(Algorithm::Binomial),
        2_048..370_728 => Choice::segmented(Algorithm::SplitBinaryTree, 1 << 10),
        _ if below(16_134, 21_102) => Choice::segmented(Algorithm::Pipeline, 128 << 10),
        _ if ask.size < 13 => Choice::segmented(Algorithm::SplitBinaryTree, 8 << 10),
        _ if below(23_679, 11_787) => Choice::segmented(Algorithm::Pipeline, 64 << 10),
        _ if below(32_118, 87_936) => Choice::segmented(Algorithm::Pipeline, 16 << 10),
        _ => Choice::segmented(Algorithm::Pipeline, 8 << 10),
    }
}

/// Lines as for the broadcast; slopes per KiB and intercepts in 10^-4.
fn reduce(ask: &Ask) -> Choice {
    let above = |slope: u128, intercept: u128| {
        u128::from(ask.size) * 1_024 * 10_000 > slope * u128::from(ask.total) + intercept * 1_024
    };
    match ask.total {
        ..512 if ask.size < 8 => Choice::of(Algorithm::Linear),
        ..20_480 if ask.size < 8 => Choice::of(Algorithm::Binomial),
        ..2_048 => Choice::of(Algorithm::Binomial),
        _ if above(6_016, 13_496) => Choice::segmented(Algorithm::Binomial, 1 << 10),
        _ if above(410, 97_128) => Choice::segmented(Algorithm::Pipeline, 1 << 10),
        _ if above(422, 11_614) => Choice::segmented(Algorithm::BinaryTree, 32 << 10),
        _ if above(33, 16_761) => Choice::segmented(Algorithm::Pipeline, 32 << 10),
        _ => Choice::segmented(Algorithm::Pipeline, 64 << 10),
    }
}
