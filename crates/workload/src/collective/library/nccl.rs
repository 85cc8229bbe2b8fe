//! The cost model of NCCL 2.21.5 (`src/graph/tuning.cc`) for ranks with a node and a NIC each: the algorithm and the
//! protocol with the smallest latency plus bytes by bandwidth. Channels share the NIC, so all of them are one here.
//!
//! What it does not have (scans, gathers, ...) is made of sends and receives, all at once.
//!
//! Left out: its corrections of trees by size, most bandwidths of a channel, and algorithms in switches.

use etherweave_primitives::Bytes;

use super::{Algorithm, Ask, Choice, Kind, open_mpi_4_1};
use crate::collective::Protocol;

/// What an algorithm and a protocol take: `baseLat`, `hwLat` of the network [ns], share of the bandwidth [per mille].
struct Costs {
    protocol: Protocol,
    base_ns: i64,
    hop_ns: i64,
    efficiency: u64,
}

/// A ring: half of the bytes are flags; 0.7 for one rank in a node.
const RING: [Costs; 3] = [
    Costs { protocol: Protocol::Ll, base_ns: 6_600, hop_ns: 2_700, efficiency: 500 },
    Costs { protocol: Protocol::Ll128, base_ns: 14_000, hop_ns: 4_000, efficiency: 700 },
    Costs { protocol: Protocol::Simple, base_ns: 8_400, hop_ns: 14_000, efficiency: 1_000 },
];
/// Trees: 0.92 of the bandwidth; of `LL` 1/3.8 of that, of `LL128` 120/128.
const TREE: [Costs; 3] = [
    Costs { protocol: Protocol::Ll, base_ns: 6_800, hop_ns: 5_000, efficiency: 242 },
    Costs { protocol: Protocol::Ll128, base_ns: 14_000, hop_ns: 8_500, efficiency: 863 },
    Costs { protocol: Protocol::Simple, base_ns: 0, hop_ns: 28_000, efficiency: 920 },
];

pub(super) fn choice(ask: &Ask) -> Choice {
    match ask.kind {
        Kind::Allreduce => allreduce(ask),
        Kind::Bcast | Kind::Reduce => ring(ask, Algorithm::Pipeline),
        Kind::Allgather | Kind::ReduceScatter | Kind::ReduceScatterBlock => ring(ask, Algorithm::Ring),
        Kind::Barrier | Kind::Scan | Kind::Exscan => open_mpi_4_1::choice(ask),
        Kind::Alltoall
        | Kind::Alltoallv
        | Kind::Allgatherv
        | Kind::Gather
        | Kind::Gatherv
        | Kind::Scatter
        | Kind::Scatterv
        | Kind::NeighborAllgather
        | Kind::NeighborAlltoall => Choice::of(Algorithm::Linear),
    }
}

fn allreduce(ask: &Ask) -> Choice {
    let rings = RING.iter().map(|costs| (ring_ns(ask, costs), Algorithm::Ring, costs.protocol));
    let trees = TREE.iter().map(|costs| (tree_ns(ask, costs), Algorithm::DoubleTree, costs.protocol));
    let (_, algorithm, protocol) = rings.chain(trees).min_by_key(|(time, _, _)| *time).expect("six of them");
    carried(algorithm, protocol)
}

fn ring(ask: &Ask, algorithm: Algorithm) -> Choice {
    let costs = RING.iter().min_by_key(|costs| ring_ns(ask, costs)).expect("three protocols");
    carried(algorithm, costs.protocol)
}

fn carried(algorithm: Algorithm, protocol: Protocol) -> Choice {
    Choice { protocol: Some(protocol), ..Choice::segmented(algorithm, protocol.slot()) }
}

/// All hops are between nodes; the model counts two more of them in an all-reduce than it has steps, at the overhead
/// of the network for the difference.
fn ring_ns(ask: &Ask, costs: &Costs) -> i64 {
    let ranks = i64::from(ask.size);
    let (steps, hops) = if ask.kind == Kind::Allreduce {
        (2 * (ranks - 1), 2 * ranks)
    } else if matches!(ask.kind, Kind::Bcast | Kind::Reduce) {
        (ranks, ranks)
    } else {
        (ranks - 1, ranks - 1)
    };
    let overhead = if costs.protocol == Protocol::Simple { 3_000 } else { 1_000 };
    let latency = costs.base_ns + (steps - hops) * overhead + hops * costs.hop_ns;
    let is_long = ask.total >= 64 * u64::from(ask.size);
    let has_plateau = ask.kind == Kind::Allreduce && costs.protocol == Protocol::Simple && is_long;
    // The plateau of rings: 1.4 times the latency.
    let latency = if has_plateau { latency * 7 / 5 } else { latency };
    // Bytes by bandwidth of the algorithm, that of the bus by n / steps.
    latency + transfer_ns(ask, costs) * steps / ranks
}

/// Up and down both trees; each byte passes a NIC twice.
fn tree_ns(ask: &Ask, costs: &Costs) -> i64 {
    costs.base_ns + 2 * i64::from(ask.size.ilog2()) * costs.hop_ns + 2 * transfer_ns(ask, costs)
}

fn transfer_ns(ask: &Ask, costs: &Costs) -> i64 {
    let once = ask.network_rate.serialization_time(Bytes::new(ask.total));
    (once.as_ps() / costs.efficiency).min(i64::MAX as u64 / 8) as i64
}
