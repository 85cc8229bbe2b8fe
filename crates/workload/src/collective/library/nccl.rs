//! The cost model of NCCL 2.21.5 (`src/graph/tuning.cc`) for accelerators with a NIC each: the algorithm and the
//! protocol with the smallest latency plus bytes by bandwidth. Of several accelerators in each node a member has its
//! share of the bytes and an equal NIC, and hops between them are those of NVLink. Channels, and what each of them
//! carries at most, are counted where the question says so.
//!
//! What it does not have (scans, gathers, ...) is made of sends and receives, all at once.
//!
//! Switches between nodes (CollNet) are asked where the question says that there are any.

use etherweave_primitives::{BitRate, Bytes, Duration};

use super::{Algorithm, Ask, Choice, Kind, open_mpi_4_1};
use crate::collective::{Channels, Protocol};

/// Costs of an algorithm and a protocol: `baseLat`, `hwLat` of the network and of NVLink [ns], share of the bandwidth
/// [per mille].
struct Costs {
    protocol: Protocol,
    base_ns: i64,
    hop_ns: i64,
    node_ns: i64,
    efficiency: u64,
}

/// A ring: half of the bytes of `LL` are flags, and 0.7 is for one rank in a node.
const RING: [Costs; 3] = [
    Costs { protocol: Protocol::Ll, base_ns: 6_600, hop_ns: 2_700, node_ns: 600, efficiency: 500 },
    Costs { protocol: Protocol::Ll128, base_ns: 14_000, hop_ns: 4_000, node_ns: 1_900, efficiency: 700 },
    Costs { protocol: Protocol::Simple, base_ns: 8_400, hop_ns: 14_000, node_ns: 3_400, efficiency: 1_000 },
];
/// Share of the bandwidth of a ring of `LL128` where nodes have several ranks.
const RING_LL128: u64 = 920;
/// Trees: 0.92 of the bandwidth; of `LL` 1/3.8 of that, of `LL128` 120/128.
const TREE: [Costs; 3] = [
    Costs { protocol: Protocol::Ll, base_ns: 6_800, hop_ns: 5_000, node_ns: 600, efficiency: 242 },
    Costs { protocol: Protocol::Ll128, base_ns: 14_000, hop_ns: 8_500, node_ns: 1_250, efficiency: 863 },
    Costs { protocol: Protocol::Simple, base_ns: 0, hop_ns: 28_000, node_ns: 28_000, efficiency: 920 },
];

/// Sums in switches of a node (NVLS), and a hop of trees between such nodes (NVLS tree), with `Simple` alone.
const NVLS_NS: i64 = 25_000;
const NVLS_TREE_HOP_NS: i64 = 14_000;
/// Channels of sums in switches (`NCCL_NVLS_NCHANNELS`).
const NVLS_CHANNELS: u32 = 16;
/// Longest messages of NVLS trees, of up to three nodes and of more (`NCCL_NVLSTREE_MAX_CHUNKSIZE`) [B].
const NVLS_CHUNK: [u64; 2] = [128 << 10, 64 << 10];

/// Sums in switches of the network (CollNet), with `Simple` alone: a hop of NVLink and all of the network [ns]; where
/// accelerators of a node send to each other, each of the others takes `COLLNET_OTHER_NS` besides.
const COLLNET_DIRECT_NS: [i64; 2] = [3_700, 31_000];
const COLLNET_CHAIN_NS: [i64; 2] = [2_800, 30_000];
const COLLNET_OTHER_NS: i64 = 400;
/// Share of the bandwidth that accelerators of Hopper reach that send to each other [per mille].
const COLLNET_DIRECT: i64 = 850;

/// Trees for each block (PAT), by the tables of the first version that has them, NCCL 2.23: base, a hop between nodes
/// (a tree's of 14 us by 3.5), and a part for each rank.
const PAT_NS: [i64; 3] = [8_000, 4_000, 2_800];

/// Time of a message on an idle network, a part of each hop of the tables: 1 us to post it, which is what NCCL takes as
/// the overhead of the network, and an assumed 1 us from memory to memory.
const NETWORK_NS: i64 = 2_000;

/// Most that `LL` carries in all of a node, of two nodes and of more (`llMaxBws`: 39.0 and 20.4 GB/s, hosts with
/// processors of Intel; with those of AMD 22.5 and 19.0).
const LL_MAX: [BitRate; 2] = [BitRate::from_gbps(312), BitRate::from_bps(163_200_000_000)];

/// Most that a channel of Hopper carries [MB/s] with `LL128` around a ring (`perChMaxRingLL128Bws`), and along trees of
/// two nodes and of more, at all (`perChMaxTreeBws`) and with `LL128` (`perChMaxTreeLL128Bws`).
const RING_LL128_CHANNEL: u64 = 36_700;
const TREE_CHANNEL: [u64; 2] = [41_400, 36_000];
const TREE_LL128_CHANNEL: [u64; 2] = [36_700, 29_000];
/// Most channels (`MAXCHANNELS`), and those of a node of Hopper that need no further ones.
const CHANNELS_MAX: u64 = 32;
const CHANNELS_ENOUGH: u64 = 16;
/// Most that the search for channels plans on one, and from where on it divides it, where there are few [MB/s]
/// (`sm90SpeedArrayInter`; 30 is the next speed above 25).
const SPEED_MAX: u64 = 48_000;
const SPEED_DIVIDED: u64 = 30_000;
const FEW_CHANNELS: u64 = 4;
/// Bytes of a channel before there is another one: its threads times those of each (`threadThresholds`); of `LL` around
/// a ring times all accelerators.
const LL_THREADS: u64 = 512 * 8;
const LL128_THREADS: u64 = 640 * 8;
const SIMPLE_THREADS: u64 = 512 * 64;

/// Tenths of the bandwidth that trees reach, by powers of two of the size from 64 B on (`treeCorrectionFactor`).
const TREE_LL: [u64; 23] = [10, 10, 10, 10, 9, 8, 7, 7, 7, 7, 6, 5, 4, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10];
const TREE_LL128: [u64; 23] = [10, 10, 10, 10, 10, 9, 8, 8, 8, 7, 6, 6, 6, 6, 6, 6, 8, 9, 9, 9, 9, 10, 10];
const TREE_SIMPLE: [u64; 23] = [9, 9, 9, 9, 9, 9, 9, 8, 7, 6, 6, 5, 5, 5, 5, 6, 7, 8, 7, 7, 8, 9, 9];

pub(super) fn choice(ask: &Ask) -> Choice {
    match ask.kind {
        Kind::Allreduce => allreduce(ask),
        Kind::Bcast | Kind::Reduce => ring(ask, Algorithm::Pipeline),
        Kind::Allgather | Kind::ReduceScatter | Kind::ReduceScatterBlock => by_blocks(ask),
        Kind::Barrier | Kind::Scan | Kind::Exscan => open_mpi_4_1::choice(ask),
        Kind::Alltoall
        | Kind::Alltoallv
        | Kind::Alltoallw
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
    let switches = switches_ns(ask).map(|(time, algorithm)| (time, algorithm, Protocol::Simple));
    let collnet = collnet_ns(ask).map(|(time, algorithm)| (time, algorithm, Protocol::Simple));
    let all = rings.chain(trees).chain(switches).chain(collnet);
    let (_, algorithm, protocol) = all.min_by_key(|(time, _, _)| *time).expect("six of them or more");
    named(ask, algorithm, protocol)
}

pub(in crate::collective) fn named(ask: &Ask, algorithm: Algorithm, protocol: Protocol) -> Choice {
    match (algorithm, protocol) {
        (Algorithm::DoubleTree, Protocol::Ll128) => {
            Choice { segment: Some(tree_segment(ask, protocol.slot())), ..carried(algorithm, protocol) }
        }
        (Algorithm::NvlsTree, _) => {
            Choice { segment: Some(NVLS_CHUNK[usize::from(ask.size > 3)]), ..carried(algorithm, protocol) }
        }
        _ => carried(algorithm, protocol),
    }
}

/// Shorter segments where few of them would pass the trees (`calcCollChunking` in `src/enqueue.cc`): halves of a slot
/// until there are 64 for each of 1 + log2 nodes + 0.1 n steps, divided by n accelerators in a node, but not below
/// 128 KiB; then until there are 16, but not below 32 KiB.
fn tree_segment(ask: &Ask, slot: u64) -> u64 {
    let accelerators = u64::from(ask.accelerators);
    let steps = 10 * (1 + u64::from(ask.size.ilog2())) + accelerators;
    [(64, 128 << 10), (16, 32 << 10)].into_iter().fold(slot, |segment, (count, least)| {
        let halves = std::iter::successors(Some(segment), |half| Some(half / 2));
        let is_short = |half: &u64| *half <= least || ask.total / half * 10 * accelerators >= steps * count;
        halves.into_iter().find(is_short).expect("halves become as short as the least")
    })
}

/// The fastest ring, or the switches of a single node where these are faster.
fn by_blocks(ask: &Ask) -> Choice {
    let rings = RING.iter().map(|costs| (ring_ns(ask, costs), Algorithm::Ring, costs.protocol));
    let switches = switches_ns(ask).filter(|_| ask.size == 1);
    let all = rings.chain(switches.map(|(time, algorithm)| (time, algorithm, Protocol::Simple)));
    let (_, algorithm, protocol) = all.min_by_key(|(time, _, _)| *time).expect("three rings or more");
    carried(algorithm, protocol)
}

fn ring(ask: &Ask, algorithm: Algorithm) -> Choice {
    let costs = RING.iter().min_by_key(|costs| ring_ns(ask, costs)).expect("three protocols");
    carried(algorithm, costs.protocol)
}

fn carried(algorithm: Algorithm, protocol: Protocol) -> Choice {
    Choice { protocol: Some(protocol), ..Choice::segmented(algorithm, protocol.slot()) }
}

/// Steps of a ring, and how many of them the model counts from node to node: two more in an all-reduce than pass its
/// nodes.
fn ring_steps(ask: &Ask) -> (i64, i64) {
    let (nodes, ranks) = (i64::from(ask.size), ranks(ask));
    let (steps, hops) = if ask.kind == Kind::Allreduce {
        (2 * (ranks - 1), 2 * nodes)
    } else if matches!(ask.kind, Kind::Bcast | Kind::Reduce) {
        (ranks, nodes)
    } else {
        (ranks - 1, nodes - 1)
    };
    (steps, if nodes == 1 { 0 } else { hops })
}

/// Steps from node to node take a hop of the network; the others take one of NVLink, or the overhead of the network if
/// that is more.
fn ring_latency_ns(ask: &Ask, costs: &Costs) -> i64 {
    let (steps, hops) = ring_steps(ask);
    let overhead = if costs.protocol == Protocol::Simple { 3_000 } else { 1_000 };
    let in_node = match (ask.accelerators, ask.size) {
        (1, _) => overhead,
        (_, 1) => costs.node_ns,
        _ => costs.node_ns.max(overhead),
    };
    costs.base_ns + (steps - hops) * in_node + hops * costs.hop_ns
}

/// Up and down a tree, along a chain in each node.
fn tree_latency_ns(ask: &Ask, costs: &Costs) -> i64 {
    let in_node = i64::from(ask.accelerators - 1) * costs.node_ns;
    costs.base_ns + 2 * (in_node + i64::from(ask.size.ilog2()) * costs.hop_ns)
}

/// Sums in the switches of a single node, or trees between such nodes.
fn nvls_latency_ns(ask: &Ask) -> i64 {
    NVLS_NS + 2 * i64::from(ask.size.ilog2()) * NVLS_TREE_HOP_NS
}

/// Trees for each block of ranks that have a node each.
fn pat_latency_ns(ask: &Ask) -> i64 {
    let [base, hop, rank] = PAT_NS;
    base + i64::from(ask.size.ilog2()) * hop + ranks(ask) * rank
}

/// Up and down a node, and once to the switches of the network and back.
fn collnet_latency_ns(ask: &Ask, algorithm: Algorithm) -> i64 {
    let others = i64::from(ask.accelerators) - 1;
    let (in_node, network) = match algorithm {
        Algorithm::CollnetChain => (others * COLLNET_CHAIN_NS[0], COLLNET_CHAIN_NS[1]),
        _ => (others.min(1) * COLLNET_DIRECT_NS[0] + others * COLLNET_OTHER_NS, COLLNET_DIRECT_NS[1]),
    };
    2 * in_node + network
}

/// Times of sums in switches between nodes, where NCCL may ask them: half of the bandwidth of the bus.
fn collnet_ns(ask: &Ask) -> impl Iterator<Item = (i64, Algorithm)> {
    let share = compared_ns(ask.network_rate.serialization_time(Bytes::new(ask.total)).as_ps() / 1_000);
    let times = [(Algorithm::CollnetDirect, COLLNET_DIRECT), (Algorithm::CollnetChain, 1_000)].map(move |row| {
        let (algorithm, efficiency) = row;
        (collnet_latency_ns(ask, algorithm) + 2 * share * 1_000 / efficiency, algorithm)
    });
    times.into_iter().filter(|_| ask.has_collnet && ask.size > 1)
}

/// Time of sums in switches, where a node has them: each accelerator is the head of a channel, for which its link
/// carries twice what the others' carry; of more than two nodes half of the network's rate counts. Of that 5/6.
fn switches_ns(ask: &Ask) -> Option<(i64, Algorithm)> {
    let links = ask.switches.filter(|_| ask.accelerators > 1)?;
    let head = links.as_bps() / u64::from(ask.accelerators + 1);
    let network = ask.network_rate.as_bps() / if ask.size > 2 { 2 } else { 1 };
    let (rate, algorithm) = match ask.size {
        1 => (head, Algorithm::InNetwork),
        _ => (head.min(network), Algorithm::NvlsTree),
    };
    let share = compared_ns(BitRate::from_bps(rate).serialization_time(Bytes::new(ask.total)).as_ps() / 1_000);
    Some((nvls_latency_ns(ask) + share * 6 / 5, algorithm))
}

/// Time of a call beside its bytes and the messages of its algorithm: the latency of the tables less that of an idle
/// network on each hop. Sends and receives, without a row in the tables, have the base of a ring.
pub(in crate::collective) fn call_latency(ask: &Ask, choice: &Choice) -> Duration {
    let of = |costs: &'static [Costs; 3]| costs.iter().find(|costs| Some(costs.protocol) == choice.protocol);
    let (latency, hops) = match (choice.algorithm, of(&RING), of(&TREE)) {
        (Algorithm::Ring | Algorithm::Pipeline, Some(ring), _) => (ring_latency_ns(ask, ring), ring_steps(ask).1),
        (Algorithm::InNetwork | Algorithm::NvlsTree, ..) => (nvls_latency_ns(ask), 2 * i64::from(ask.size.ilog2())),
        (algorithm, ..) if algorithm.is_collnet() => (collnet_latency_ns(ask, algorithm), 1),
        (Algorithm::Pat, ..) => (pat_latency_ns(ask), i64::from(ask.size.ilog2())),
        (Algorithm::DoubleTree, _, Some(tree)) => (tree_latency_ns(ask, tree), 2 * i64::from(ask.size.ilog2())),
        _ => (RING[0].base_ns, 0),
    };
    Duration::from_ns((latency - hops * NETWORK_NS).max(0) as u64)
}

/// Least time in which accelerators write and read the flags of `LL`, whatever the network carries: a share of a node's
/// limit for a ring, and of trees what they reach of half of it.
pub(in crate::collective) fn flag_time(ask: &Ask, choice: &Choice) -> Duration {
    if choice.protocol != Some(Protocol::Ll) {
        return Duration::ZERO;
    }
    let (passes, parts) = match choice.algorithm {
        Algorithm::DoubleTree => (20, tree_tenths(ask, Protocol::Ll)),
        _ => (ring_steps(ask).0, ranks(ask)),
    };
    let time = u128::from(by_node(ask).as_ps()) * passes as u128 / parts as u128;
    Duration::from_ps(u64::try_from(time).unwrap_or(u64::MAX))
}

/// Channels of a call of a ring or of trees between nodes, where they are counted: those that are stated, or NCCL's
/// own, fewer of them where bytes would be few for each.
pub(in crate::collective) fn channels(ask: &Ask, choice: &Choice) -> Option<u32> {
    let threads = match (choice.algorithm, choice.protocol?) {
        (Algorithm::Ring | Algorithm::Pipeline, Protocol::Ll) => LL_THREADS * ranks(ask).unsigned_abs(),
        (Algorithm::DoubleTree, Protocol::Ll) => LL_THREADS,
        (Algorithm::Ring | Algorithm::Pipeline | Algorithm::DoubleTree, Protocol::Ll128) => LL128_THREADS,
        (Algorithm::Ring | Algorithm::Pipeline | Algorithm::DoubleTree | Algorithm::Pat, Protocol::Simple) => {
            SIMPLE_THREADS
        }
        (Algorithm::NvlsTree, _) => 0,
        _ => return None,
    };
    match ask.channels? {
        Channels::Count(count) => Some(count),
        Channels::Own if threads == 0 => Some(NVLS_CHANNELS),
        Channels::Own => Some((whole(ask) / threads).clamp(1, own_channels(ask)) as u32),
    }
}

/// Channels of the search in a node: how many, and the speed of each [MB/s]. An interface has as many as
/// have `SPEED_MAX`, or one; few fast ones become twice as many (`ncclTopoDupChannels`).
fn search_channels(ask: &Ask) -> (u64, u64) {
    let rate = ask.network_rate.as_bps() / 8_000_000;
    let by_interface = (rate / SPEED_MAX).max(1);
    let (channels, speed) = (by_interface * u64::from(ask.accelerators), rate / by_interface);
    let doubling = if speed >= SPEED_DIVIDED && channels <= FEW_CHANNELS { 2 } else { 1 };
    ((channels * doubling).min(CHANNELS_MAX), speed / doubling)
}

/// Channels that a communicator opens: twice those of the search, and twice again where these are fast but few
/// (`ncclTopoPostset`).
fn own_channels(ask: &Ask) -> u64 {
    let (search, speed) = search_channels(ask);
    let doubled = 2 * search;
    let doubling = if speed >= SPEED_MAX && doubled < CHANNELS_ENOUGH { 2 } else { 1 };
    (doubled * doubling).min(CHANNELS_MAX)
}

/// Most that a channel carries of what its algorithm moves on the bus [MB/s], where there is a limit.
fn channel_rate(ask: &Ask, algorithm: Algorithm, protocol: Protocol) -> Option<u64> {
    let place = usize::from(ask.size > 2);
    let tree = TREE_CHANNEL[place];
    match (algorithm, protocol) {
        (Algorithm::Ring | Algorithm::Pipeline, Protocol::Ll128) => Some(RING_LL128_CHANNEL),
        (Algorithm::DoubleTree, Protocol::Ll) => Some(tree * 10 / 38),
        (Algorithm::DoubleTree, Protocol::Ll128) => Some((tree * 120 / 128).min(TREE_LL128_CHANNEL[place])),
        (Algorithm::DoubleTree, Protocol::Simple) => Some(tree),
        _ => None,
    }
}

/// The whole vector by what so many channels carry.
fn by_channels(ask: &Ask, algorithm: Algorithm, protocol: Protocol, channels: u64) -> Duration {
    channel_rate(ask, algorithm, protocol).map_or(Duration::ZERO, |rate| {
        BitRate::from_bps(rate * 8_000_000 * channels).serialization_time(Bytes::new(whole(ask)))
    })
}

/// Least time of a call by what its channels carry: a ring moves its steps by n of the vector, trees move it twice.
pub(in crate::collective) fn channel_time(ask: &Ask, choice: &Choice) -> Duration {
    let (Some(channels), Some(protocol)) = (channels(ask, choice), choice.protocol) else { return Duration::ZERO };
    let vector = by_channels(ask, choice.algorithm, protocol, channels.into());
    match choice.algorithm {
        Algorithm::DoubleTree => vector * 2,
        _ => vector * ring_steps(ask).0.unsigned_abs() / ranks(ask).unsigned_abs(),
    }
}

/// The whole vector by what `LL` carries in a node.
fn by_node(ask: &Ask) -> Duration {
    LL_MAX[usize::from(ask.size > 2)].serialization_time(Bytes::new(whole(ask)))
}

/// Time of a ring: its latency, and bytes by the bandwidth of the bus.
fn ring_ns(ask: &Ask, costs: &Costs) -> i64 {
    let (ranks, (steps, _)) = (ranks(ask), ring_steps(ask));
    let latency = ring_latency_ns(ask, costs);
    let is_long = ask.total >= 64 * ranks.unsigned_abs();
    let has_plateau = ask.kind == Kind::Allreduce && costs.protocol == Protocol::Simple && is_long;
    // The plateau of rings: 1.4 times the latency.
    let latency = if has_plateau { latency * 7 / 5 } else { latency };
    // Bytes by bandwidth of the algorithm, that of the bus by n / steps.
    let is_shared = costs.protocol == Protocol::Ll128 && ask.accelerators > 1;
    let efficiency = if is_shared { RING_LL128 } else { costs.efficiency };
    let transfer = i128::from(transfer_ns(ask, Algorithm::Ring, costs.protocol, efficiency));
    latency + (transfer * i128::from(steps) / i128::from(ranks)) as i64
}

/// Each byte passes a NIC twice.
fn tree_ns(ask: &Ask, costs: &Costs) -> i64 {
    tree_latency_ns(ask, costs)
        + 2 * transfer_ns(ask, Algorithm::DoubleTree, costs.protocol, costs.efficiency) * 10
            / tree_tenths(ask, costs.protocol)
}

/// Returns the part of their bandwidth that trees reach at the size of a whole vector, in tenths.
fn tree_tenths(ask: &Ask, protocol: Protocol) -> i64 {
    let tenths = match protocol {
        Protocol::Ll => TREE_LL,
        Protocol::Ll128 => TREE_LL128,
        Protocol::Simple => TREE_SIMPLE,
    };
    let place = (whole(ask) / 64).max(1).ilog2();
    tenths.get(place as usize).map_or(10, |&tenths| tenths as i64)
}

/// How many accelerators take part.
fn ranks(ask: &Ask) -> i64 {
    i64::from(ask.size) * i64::from(ask.accelerators)
}

/// The vector of a collective, of which each accelerator of a node has its share [B].
fn whole(ask: &Ask) -> u64 {
    ask.total.saturating_mul(u64::from(ask.accelerators))
}

/// The share of a member by its network, in per mille of its rate; with `LL` at least the whole of it by `LL_MAX`, and
/// where channels are counted by those of the search.
fn transfer_ns(ask: &Ask, algorithm: Algorithm, protocol: Protocol, efficiency: u64) -> i64 {
    let by_network = ask.network_rate.serialization_time(Bytes::new(ask.total)).as_ps() / efficiency;
    let by_node = match protocol {
        Protocol::Ll => by_node(ask).as_ps() / 1_000,
        Protocol::Ll128 | Protocol::Simple => 0,
    };
    let by_channels = match ask.channels {
        Some(_) => by_channels(ask, algorithm, protocol, search_channels(ask).0).as_ps() / 1_000,
        None => 0,
    };
    compared_ns(by_network.max(by_node).max(by_channels))
}

/// Time of a share by which algorithms are compared; what takes longer than a quarter of an hour counts as that.
fn compared_ns(time: u64) -> i64 {
    time.min(1 << 40) as i64
}
