//! `han` of Open MPI 5.0 (`ompi/mca/coll/han`), which comes before `tuned` on several nodes that all have the same
//! number of ranks, and `tuned` for everything else.

use super::{Algorithm, Ask, Choice, Kind, libnbc, open_mpi_4_1};

/// Segments of `han` [B] (`coll_han_bcast_segsize` and its likes).
const SEGMENT: u64 = 64 << 10;

pub(super) fn choice(ask: &Ask) -> Choice {
    let has_even_nodes = ask.nodes.is_some_and(|members| ask.size.is_multiple_of(members));
    match ask.kind {
        _ if ask.is_nonblocking => libnbc::choice(ask),
        Kind::Bcast | Kind::Reduce | Kind::Allreduce if has_even_nodes => {
            Choice::segmented(Algorithm::Hierarchical, SEGMENT)
        }
        Kind::Barrier | Kind::Gather | Kind::Scatter | Kind::Allgather if has_even_nodes => {
            Choice::of(Algorithm::Hierarchical)
        }
        _ => open_mpi_4_1::choice(ask),
    }
}
