//! The scores that the transport layer UCP of UCC has by default (`..._DEFAULT_ALG_SELECT_STR` in
//! `src/components/tl/ucp/*/*.h`), for memory of hosts and ranks with a node each. Every collective is non-blocking
//! there.
//!
//! One algorithm stands for another that moves the same bytes: a binomial tree for gathers and scatters of radix 4,
//! recursive doubling or Bruck's for an all-gather of any radix, a binomial scatter for one of any radix. What UCC does
//! not have (scans, neighbours) is left to Open MPI.

use super::{Algorithm, Ask, Choice, Kind, open_mpi_4_1};

/// Radix of trees (`BCAST_KN_RADIX`, `REDUCE_KN_RADIX`).
const TREE_RADIX: u32 = 4;
/// Radix of a barrier (`BARRIER_KN_RADIX`).
const BARRIER_RADIX: u32 = 8;
/// An all-to-all of longer blocks [B], or of more in all on more ranks, is pairwise (`ALLTOALL_DEFAULT_ALG_SWITCH`,
/// `MSG_MEDIUM`, `NP_THRESH`).
const ALLTOALL_BLOCK: u64 = 129;
const ALLTOALL_TOTAL: u64 = 66_000;
const ALLTOALL_RANKS: u32 = 32;

pub(super) fn choice(ask: &Ask) -> Choice {
    match ask.kind {
        Kind::Barrier => Choice::of_radix(Algorithm::RecursiveDoubling, BARRIER_RADIX),
        Kind::Allreduce if ask.total < 4 << 10 => Choice::of_radix(Algorithm::RecursiveDoubling, radix(ask.size)),
        Kind::Allreduce => Choice::of_radix(Algorithm::Rabenseifner, radix(ask.size)),
        Kind::Bcast if ask.size == 2 || ask.total < 32 << 10 => Choice::of_radix(Algorithm::Knomial, TREE_RADIX),
        Kind::Bcast if ask.is_power_of_two() => Choice::of(Algorithm::ScatterAllgather),
        Kind::Bcast => Choice::of(Algorithm::ScatterRing),
        Kind::Reduce if ask.total < 32 << 10 => Choice::of_radix(Algorithm::Knomial, TREE_RADIX),
        Kind::Reduce => Choice::of_radix(Algorithm::Rabenseifner, radix(ask.size)),
        Kind::ReduceScatter | Kind::ReduceScatterBlock => Choice::of(Algorithm::Ring),
        Kind::Allgather | Kind::Allgatherv => Choice::of(allgather(ask)),
        Kind::Alltoall if ask.block < ALLTOALL_BLOCK => Choice::of(Algorithm::Bruck),
        Kind::Alltoall | Kind::Alltoallv if ask.total > ALLTOALL_TOTAL && ask.size > ALLTOALL_RANKS => {
            Choice::of(Algorithm::Pairwise)
        }
        Kind::Alltoall | Kind::Alltoallv | Kind::Gatherv | Kind::Scatterv => Choice::of(Algorithm::Linear),
        Kind::Gather | Kind::Scatter => Choice::of(Algorithm::Binomial),
        Kind::Scan | Kind::Exscan | Kind::NeighborAllgather | Kind::NeighborAlltoall | Kind::Alltoallw => {
            open_mpi_4_1::choice(ask)
        }
    }
}

fn allgather(ask: &Ask) -> Algorithm {
    match ask.total {
        ..4_096 if ask.is_power_of_two() => Algorithm::RecursiveDoubling,
        ..4_096 => Algorithm::Bruck,
        _ if ask.kind == Kind::Allgather && ask.size.is_multiple_of(2) => Algorithm::NeighbourExchange,
        _ => Algorithm::Ring,
    }
}

/// The smallest radix from 3 on that leaves the fewest members beyond its largest multiple of a power
/// (`ucc_kn_get_opt_radix`).
fn radix(size: u32) -> u32 {
    let beyond = |radix: u32| {
        let power = std::iter::successors(Some(1_u64), |power| Some(power * u64::from(radix)))
            .take_while(|&power| power <= u64::from(size))
            .last();
        u64::from(size) % power.unwrap_or(1)
    };
    (size.min(3)..=size).min_by_key(|&radix| beyond(radix)).unwrap_or(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 64 = 4^3, 27 = 3^3, 6 = 2 x 3, 10 = 3 x 3 + 1 but 2 x 5, 7 is one round of all.
    #[test]
    fn the_radix_is_the_smallest_that_leaves_the_fewest_beyond() {
        assert_eq!([64, 27, 6, 10, 7, 2].map(radix), [4, 3, 3, 5, 7, 2]);
    }
}
