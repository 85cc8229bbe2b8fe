//! Algorithms that libraries pick, on both sides of their thresholds.

use etherweave_primitives::{BitRate, Bytes};

use super::collective;
use crate::collective::{Algorithm, Channels, Collective, Kind, Library, Protocol, Rule};

/// Checks what a library picks for (kind, ranks, bytes).
fn check(library: Library, cases: &[(Kind, u32, u64, Algorithm)]) {
    for &(kind, ranks, bytes, algorithm) in cases {
        let picked = Rule::of(library).algorithm(&collective(kind, bytes, 0, ranks), ranks);
        assert_eq!(picked, algorithm, "{kind:?} of {bytes} B on {ranks}");
    }
}

#[test]
fn thresholds_are_those_of_open_mpi_4_0() {
    use Algorithm::*;
    check(
        Library::OpenMpi40,
        &[
            (Kind::Barrier, 8, 0, RecursiveDoubling),
            (Kind::Barrier, 9, 0, Bruck),
            (Kind::Alltoall, 13, 199, Bruck),
            (Kind::Alltoall, 12, 199, Linear),
            (Kind::Alltoall, 13, 200, Linear),
            (Kind::Alltoall, 13, 3_000, Pairwise),
            (Kind::Allgather, 8, 6_249, RecursiveDoubling),
            (Kind::Allgather, 8, 6_250, NeighbourExchange),
            (Kind::Allgather, 7, 7_142, Bruck),
            (Kind::Allgather, 7, 7_143, Ring),
            (Kind::Allreduce, 8, 9_992, RecursiveDoubling),
            (Kind::Allreduce, 8, 10_000, Ring),
            // 1,250 elements: a ring needs more than one for each rank.
            (Kind::Allreduce, 1_249, 10_000, Ring),
            (Kind::Allreduce, 1_250, 10_000, Composed),
            (Kind::Bcast, 16, 2_047, Binomial),
            (Kind::Bcast, 16, 2_048, SplitBinaryTree),
            (Kind::Bcast, 16, 370_728, Pipeline),
            // 1.6134e-6 · 2 MiB + 2.1102 = 5.49.
            (Kind::Bcast, 5, 2 << 20, Pipeline),
            (Kind::Bcast, 6, 2 << 20, SplitBinaryTree),
            (Kind::Gather, 10, 6_000, Linear),
            (Kind::Gather, 10, 6_001, LinearSync),
            (Kind::Gather, 11, 1_023, Binomial),
            (Kind::Gather, 11, 1_024, Linear),
            (Kind::Gather, 61, 6_000, Binomial),
            (Kind::Scatter, 11, 299, Binomial),
            (Kind::Scatter, 11, 300, Linear),
            (Kind::Scatter, 10, 299, Linear),
            (Kind::Reduce, 7, 504, Linear),
            (Kind::Reduce, 7, 512, Binomial),
            (Kind::Reduce, 8, 504, Binomial),
            // On 16 ranks: 0.6016/1024 · m + 1.3496 passes 16 at 24,936 B, 0.0410/1024 · m + 9.7128 at 157,024 B.
            (Kind::Reduce, 16, 24_928, Binomial),
            (Kind::Reduce, 16, 24_944, Pipeline),
            (Kind::Reduce, 16, 157_016, Pipeline),
            (Kind::Reduce, 16, 157_032, BinaryTree),
            (Kind::ReduceScatter, 7, 12_288, RecursiveHalving),
            (Kind::ReduceScatter, 7, 12_296, Ring),
            (Kind::ReduceScatter, 8, 262_144, RecursiveHalving),
            (Kind::ReduceScatter, 8, 262_152, Ring),
            // 0.0012 · 20,000 + 8 = 32.
            (Kind::ReduceScatter, 33, 20_000, RecursiveHalving),
            (Kind::ReduceScatter, 31, 20_000, Ring),
            (Kind::Scan, 8, 8, Linear),
        ],
    );
}

#[test]
fn rows_and_columns_are_those_of_open_mpi_4_1() {
    use Algorithm::*;
    check(
        Library::OpenMpi41,
        &[
            (Kind::Barrier, 7, 0, Linear),
            (Kind::Barrier, 64, 0, Bruck),
            (Kind::Barrier, 256, 0, Binomial),
            (Kind::Allreduce, 16, 4_088, RecursiveDoubling),
            (Kind::Allreduce, 16, 4_096, Rabenseifner),
            (Kind::Allreduce, 15, 4_096, RecursiveDoubling),
            (Kind::Allreduce, 128, 8, Composed),
            // A ring of one element falls back.
            (Kind::Allreduce, 16, 8, RecursiveDoubling),
            (Kind::Alltoall, 32, 511, Bruck),
            (Kind::Alltoall, 32, 512, Linear),
            (Kind::Alltoall, 64, 262_144, Pairwise),
            (Kind::Allgather, 48, 512, Bruck),
            (Kind::Allgather, 64, 65_536, Ring),
            (Kind::Allgather, 64, 65_535, NeighbourExchange),
            (Kind::Allgather, 65, 65_535, Ring),
            (Kind::Bcast, 16, 1 << 20, ScatterAllgather),
            (Kind::Bcast, 17, 1 << 20, ScatterRing),
            (Kind::Bcast, 16, 4_096, Binomial),
            (Kind::Bcast, 16, 4_095, Knomial),
            (Kind::Reduce, 32, 1 << 20, Binomial),
            (Kind::Reduce, 2, 0, Linear),
            (Kind::ReduceScatter, 64, 4_096, Butterfly),
            (Kind::Gather, 3, 131_072, LinearSync),
            (Kind::Scatter, 64, 512, Linear),
            (Kind::ReduceScatterBlock, 32, 8, Composed),
            (Kind::ReduceScatterBlock, 32, 16, Butterfly),
            (Kind::ReduceScatterBlock, 2, 0, RecursiveDoubling),
        ],
    );
}

#[test]
fn thresholds_are_those_of_mpich_4() {
    use Algorithm::*;
    check(
        Library::Mpich4,
        &[
            (Kind::Barrier, 8, 0, Bruck),
            (Kind::Bcast, 7, 1 << 20, Binomial),
            (Kind::Bcast, 8, 12_288, Binomial),
            (Kind::Bcast, 8, 12_289, ScatterAllgather),
            (Kind::Bcast, 9, 12_289, ScatterRing),
            (Kind::Bcast, 8, 524_289, ScatterRing),
            (Kind::Allreduce, 4, 8, RecursiveDoubling),
            (Kind::Allreduce, 4, 24, RecursiveDoubling),
            (Kind::Allreduce, 4, 32, Rabenseifner),
            (Kind::Reduce, 16, 2_048, Binomial),
            (Kind::Reduce, 16, 2_056, Rabenseifner),
            (Kind::Allgather, 8, 65_535, RecursiveDoubling),
            (Kind::Allgather, 8, 65_536, Ring),
            (Kind::Allgather, 10, 8_191, Bruck),
            (Kind::Allgather, 10, 8_192, Ring),
            (Kind::ReduceScatter, 8, 524_280, RecursiveHalving),
            (Kind::ReduceScatter, 8, 524_288, Pairwise),
            (Kind::Alltoall, 8, 256, Bruck),
            (Kind::Alltoall, 8, 257, Linear),
            (Kind::Alltoall, 7, 256, Linear),
            (Kind::Alltoall, 8, 32_769, Pairwise),
            (Kind::Scan, 8, 8, RecursiveDoubling),
        ],
    );
}

#[test]
fn thresholds_are_those_of_ucc() {
    use Algorithm::*;
    check(
        Library::Ucc,
        &[
            (Kind::Barrier, 8, 0, RecursiveDoubling),
            (Kind::Bcast, 2, 1 << 20, Knomial),
            (Kind::Bcast, 8, 32_767, Knomial),
            (Kind::Bcast, 8, 32_768, ScatterAllgather),
            (Kind::Allreduce, 8, 4_088, RecursiveDoubling),
            (Kind::Allreduce, 8, 4_096, Rabenseifner),
            (Kind::Reduce, 8, 32_760, Knomial),
            (Kind::Reduce, 8, 32_768, Rabenseifner),
            (Kind::Allgather, 8, 511, RecursiveDoubling),
            (Kind::Allgather, 8, 512, NeighbourExchange),
            (Kind::Allgather, 7, 586, Ring),
            (Kind::Alltoall, 8, 128, Bruck),
            (Kind::Alltoall, 8, 129, Linear),
            (Kind::Alltoall, 33, 2_001, Pairwise),
            (Kind::Alltoall, 33, 2_000, Linear),
        ],
    );
}

/// Latencies of the model: 16 ranks and 8 B: a tree of LL takes 6.8 + 8 x 5 us, a ring 6.6 - 2 + 32 x 2.7. On 4 ranks
/// 8 x 2.7 us are less than 4 x 5 and 0.2. Of 1 GiB at 100 Gb/s a ring takes 30/16 transfers, a tree 2/0.92.
#[test]
fn nccl_takes_what_its_model_makes_the_fastest() {
    use Algorithm::*;
    check(
        Library::Nccl,
        &[
            (Kind::Allreduce, 16, 8, DoubleTree),
            (Kind::Allreduce, 2, 8, Ring),
            (Kind::Allreduce, 16, 1 << 30, Ring),
            (Kind::Allreduce, 1_024, 1 << 20, DoubleTree),
            (Kind::Allgather, 16, 8, Ring),
            (Kind::Bcast, 16, 1 << 20, Pipeline),
        ],
    );
    let sent = |bytes| {
        let ops = collective(Kind::Allgather, bytes, 0, 4).lower(
            &Rule::of(Library::Nccl),
            &crate::collective::Communicator::world(4),
            0,
        );
        ops.iter().find_map(|op| if let crate::Op::Isend { bytes, .. } = op { Some(*bytes) } else { None }).unwrap()
    };
    assert_eq!([sent(800), sent(1 << 26)], [1_600, 1 << 26], "LL beside Simple");
}

/// On 16 nodes of eight with 400 Gb/s each, 64 times (1 + 4 + 0.8) / 8 are 46 segments: 25 MiB have 42 slots of
/// 614,400 B, and 85 halves.
/// On nodes of two it is 64 or 16 times 2.6: 4 MiB have 27 quarters, 54 eighths, and the first rule ends below 128 KiB.
#[test]
fn nccl_passes_shorter_segments_along_its_trees() {
    let segment = |accelerators, bytes| {
        let network_rate = Some(BitRate::from_gbps(400));
        let rule = Rule { accelerators: Some(accelerators), network_rate, ..Rule::of(Library::Nccl) };
        let choice = rule.choice(Kind::Allreduce, &collective(Kind::Allreduce, bytes, 0, 16).layout(16));
        assert_eq!((choice.algorithm, choice.protocol), (Algorithm::DoubleTree, Some(Protocol::Ll128)));
        choice.segment
    };
    assert_eq!(segment(8, 25 << 20), Some(307_200));
    assert_eq!(segment(2, 4 << 20), Some(76_800));
}

/// Eight accelerators of 400 Gb/s in each node, by the formulas of `tuning.cc` of NCCL 2.21.5. Two examples:
///
/// - 256 KiB, four nodes, by trees: `LL` takes 6.8 + 2 (7 · 0.6 + 2 · 5) us + 2 · 262,144 B / 20.4 GB/s / 0.4 = 99 us,
///   where the limit of the node counts, `LL128` 14 + 2 (7 · 1.25 + 2 · 8.5) us + 2 · 32,768 B / 50 GB/s / 0.863 / 0.6
///   = 68 us;
/// - 32 MiB, two nodes, by `LL128`: trees take 14 + 2 (7 · 1.25 + 8.5) us + 2 · 4 MiB / 50 GB/s / 0.863 / 0.9 =
///   264.5 us, a ring takes 14 + 26 · 1.9 + 4 · 4 us + 30/16 · 4 MiB / 50 GB/s / 0.92 = 250.4 us.
#[test]
fn nccl_leaves_a_protocol_at_the_sizes_of_its_formulas() {
    let network_rate = Some(BitRate::from_gbps(400));
    let picked = |nodes, bytes: u64| {
        let rule = Rule { accelerators: Some(8), network_rate, ..Rule::of(Library::Nccl) };
        let choice = rule.choice(Kind::Allreduce, &collective(Kind::Allreduce, bytes / 8, 0, nodes).layout(nodes));
        (choice.algorithm, choice.protocol.unwrap())
    };
    let (tree, ring) = (Algorithm::DoubleTree, Algorithm::Ring);
    for (nodes, log2_bytes) in [(2, 18), (4, 18), (16, 18), (64, 18), (512, 19)] {
        assert_eq!(picked(nodes, 1 << (log2_bytes - 1)), (tree, Protocol::Ll), "{nodes} nodes");
        assert_eq!(picked(nodes, 1 << log2_bytes), (tree, Protocol::Ll128), "{nodes} nodes");
    }
    for (nodes, log2_bytes) in [(2, 25), (4, 28), (16, 31)] {
        assert_eq!(picked(nodes, 1 << (log2_bytes - 1)), (tree, Protocol::Ll128), "{nodes} nodes");
        assert_eq!(picked(nodes, 1 << log2_bytes), (ring, Protocol::Ll128), "{nodes} nodes");
    }
    for (nodes, log2_bytes) in [(2, 29), (4, 30), (16, 32)] {
        assert_eq!(picked(nodes, 1 << log2_bytes), (ring, Protocol::Simple), "{nodes} nodes");
    }
    assert_eq!(picked(64, 1 << 31), (tree, Protocol::Simple));
}

/// 20 MB for each of 16 interfaces of 100 Gb/s, T = 1.6 ms. Alone in their nodes, by `Simple`:
///
/// - a ring takes 1.4 (8.4 - 2 · 3 + 32 · 14) us + 30/16 T = 3.63 ms;
/// - trees take 8 · 28 us + 2 T / 0.92 / 0.7 = 5.19 ms.
///
/// With eight in each node, by `LL128`:
///
/// - a ring takes 14 + 222 · 1.9 + 32 · 4 us + 254/128 T / 0.92 = 4.01 ms;
/// - trees take 14 + 2 (7 · 1.25 + 4 · 8.5) us + 2 T / 0.863 = 3.81 ms: 160 MB together, where nothing is corrected.
#[test]
fn nccl_counts_the_accelerators_of_nodes() {
    let picked = |accelerators| {
        let rule = Rule { accelerators, ..Rule::of(Library::Nccl) };
        rule.algorithm(&collective(Kind::Allreduce, 20_000_000, 0, 16), 16)
    };
    assert_eq!([None, Some(1), Some(8)].map(picked), [Algorithm::Ring, Algorithm::Ring, Algorithm::DoubleTree]);
}

/// Channels of NCCL 2.21.5 on Hopper, by `search.cc` and `connect.cc`, of accelerators with interfaces of their own:
///
/// - eight of 400 Gb/s: a channel for each, twice; of 200 Gb/s too;
/// - four of 400 Gb/s and one: few fast channels, divided in two, twice;
/// - six of 400 Gb/s: twelve are fewer than 16, so 24;
/// - eight of 800 Gb/s: two for each interface, twice.
///
/// `Simple` has 512 threads of 64 B for each of them, and `LL` around a ring of 32 ranks 512 of 256 B.
#[test]
fn nccl_has_the_channels_of_its_search_and_fewer_for_few_bytes() {
    let channels = |accelerators: u32, rate, protocol, bytes: u64| {
        let rule = Rule {
            accelerators: Some(accelerators),
            network_rate: Some(BitRate::from_gbps(rate)),
            channels: Some(Channels::Own),
            algorithm: Some(Algorithm::Ring),
            protocol: Some(protocol),
            ..Rule::of(Library::Nccl)
        };
        rule.by_channels(&collective(Kind::Allreduce, bytes / u64::from(accelerators), 0, 4), 4).unwrap().0
    };
    let own = [(8, 400), (8, 200), (4, 400), (1, 400), (1, 100), (6, 400), (8, 800)]
        .map(|(accelerators, rate)| channels(accelerators, rate, Protocol::Simple, 1 << 30));
    assert_eq!(own, [16, 16, 16, 4, 2, 24, 32]);
    assert_eq!([8, 1 << 18, 1 << 19].map(|bytes| channels(8, 400, Protocol::Simple, bytes)), [1, 8, 16]);
    assert_eq!([1 << 20, 1 << 21].map(|bytes| channels(8, 400, Protocol::Ll, bytes)), [8, 16]);
}

/// Four nodes of eight with 400 Gb/s each have 8 channels in the model: with `LL128` a ring carries 8 · 36.7 GB/s,
/// trees 8 · 29 GB/s. 16 MiB take 14 + 54 · 1.9 + 8 · 4 us + 62/32 · 16 MiB / 293.6 GB/s = 259 us around a ring, and
/// 14 + 2 (7 · 1.25 + 2 · 8.5) us + 2 · 16 MiB / 232 GB/s / 0.9 = 226 us along trees; 32 MiB take 370 and 387 us.
/// Without these limits trees are faster up to 128 MiB.
#[test]
fn nccl_chooses_by_what_its_channels_carry() {
    let picked = |channels, bytes: u64| {
        let network_rate = Some(BitRate::from_gbps(400));
        let rule = Rule { accelerators: Some(8), network_rate, channels, ..Rule::of(Library::Nccl) };
        rule.algorithm(&collective(Kind::Allreduce, bytes / 8, 0, 4), 4)
    };
    let sizes = [16 << 20, 32 << 20];
    assert_eq!(sizes.map(|bytes| picked(Some(Channels::Own), bytes)), [Algorithm::DoubleTree, Algorithm::Ring]);
    assert_eq!(sizes.map(|bytes| picked(None, bytes)), [Algorithm::DoubleTree; 2]);
}

/// Eight accelerators in a node with links of 309.6 GB/s to switches that add up, each the head of a channel with a
/// ninth of that, 34.4 GB/s, and 400 Gb/s each; 5/6 of the heads' rates count.
///
/// - Two nodes: 25 + 2 · 14 us and bytes by 229 GB/s, 54.4 us of trees of `LL128` for 512 KiB, 60.4 us for 1 MiB; of
///   1 GiB 4.7 ms, by a ring of `Simple` 5.2 ms.
/// - Four nodes: 25 + 4 · 14 us and bytes by 8 · 25 · 5/6 = 167 GB/s: 1.69 ms of 256 MiB and 3.30 ms of 512 MiB, by a
///   ring 1.73 and 3.03 ms.
/// - One node with rings of 360 GB/s: 25 us and bytes by 229 GB/s, by a ring of `Simple` 56 us and bytes by 206 GB/s.
#[test]
fn nccl_adds_up_in_switches_of_nodes_where_its_model_makes_that_the_fastest() {
    let picked = |nodes, network_rate, bytes: u64| {
        let rule = Rule {
            accelerators: Some(8),
            network_rate: Some(BitRate::from_gbps(network_rate)),
            channels: (nodes > 1).then_some(Channels::Own),
            switches: Some(BitRate::from_gbps(2_477)),
            ..Rule::of(Library::Nccl)
        };
        rule.algorithm(&collective(Kind::Allreduce, bytes / 8, 0, nodes), nodes)
    };
    use Algorithm::*;
    assert_eq!([19, 20, 30].map(|log2| picked(2, 400, 1 << log2)), [DoubleTree, NvlsTree, NvlsTree]);
    assert_eq!([28, 29].map(|log2| picked(4, 400, 1 << log2)), [NvlsTree, Ring]);
    assert_eq!(picked(1, 360, 1 << 30), InNetwork);
}

/// Switches of the network add up between four nodes of eight with 400 Gb/s each. Where accelerators of a node send to
/// each other, that takes 2 (3.7 + 7 · 0.4) + 31 = 44 us and the share by 0.85/2 of 50 GB/s, along chains
/// 2 · 7 · 2.8 + 30 = 69.2 us and the share by half of it.
///
/// - 256 KiB: trees of `LL128` take 68 us, directly 45.5 us.
/// - 8 MiB: directly 93.3 us, along chains 111 us; 32 MiB: 241.4 and 237 us, by trees of `LL128` 281 us.
#[test]
fn nccl_leaves_sums_to_the_network_where_it_may_and_its_model_makes_that_the_fastest() {
    let picked = |has_collnet, bytes: u64| {
        let network_rate = Some(BitRate::from_gbps(400));
        let rule = Rule { accelerators: Some(8), network_rate, has_collnet, ..Rule::of(Library::Nccl) };
        rule.algorithm(&collective(Kind::Allreduce, bytes / 8, 0, 4), 4)
    };
    use Algorithm::*;
    let sizes = [256 << 10, 8 << 20, 32 << 20];
    assert_eq!(sizes.map(|bytes| picked(true, bytes)), [CollnetDirect, CollnetDirect, CollnetChain]);
    assert_eq!(sizes.map(|bytes| picked(false, bytes)), [DoubleTree; 3]);
}

/// Vectors of a terabyte over 1 Mb/s, along rings of a million nodes among them: no time overflows.
#[test]
fn nccl_compares_times_of_the_longest_vectors() {
    let picked = |nodes: u32, kind| {
        let rule = Rule {
            accelerators: Some(8),
            network_rate: Some(BitRate::from_bps(1_000_000)),
            has_collnet: true,
            switches: Some(BitRate::from_gbps(2_477)),
            channels: (nodes > 1).then_some(Channels::Own),
            ..Rule::of(Library::Nccl)
        };
        rule.algorithm(&collective(kind, 1 << 40, 0, nodes), nodes)
    };
    for kind in [Kind::Allreduce, Kind::Allgather, Kind::ReduceScatter, Kind::Bcast] {
        assert!(!([1, 2, 1 << 20].map(|nodes| picked(nodes, kind)).contains(&Algorithm::Linear)), "{kind:?}");
    }
}

/// The same node gathers. Switches take 25 us and bytes by 229 GB/s, a ring of `LL` 6.6 + 7 · 0.6 us and bytes by 8/7
/// of 39 GB/s, of `LL128` 14 + 7 · 1.9 us and bytes by 8/7 · 0.92 of 360 GB/s.
///
/// 512 KiB take 27.3, 22.6 and 28.7 us, 1 MiB 29.6, 34.3 and 30.1 us, 2 MiB 34.2, 57.9 and 32.8 us.
#[test]
fn nccl_gathers_by_switches_of_a_single_node_between_both_protocols_with_flags() {
    let picked = |nodes, kind, bytes: u64| {
        let rule = Rule {
            accelerators: Some(8),
            network_rate: Some(BitRate::from_gbps(360)),
            switches: Some(BitRate::from_gbps(2_477)),
            ..Rule::of(Library::Nccl)
        };
        let choice = rule.choice(kind, &collective(kind, bytes / 8 / u64::from(nodes), 0, nodes).layout(nodes));
        (choice.algorithm, choice.protocol.unwrap())
    };
    use Algorithm::*;
    for kind in [Kind::Allgather, Kind::ReduceScatterBlock] {
        let single = [512, 1_024, 2_048].map(|kib| picked(1, kind, kib << 10));
        assert_eq!(single, [(Ring, Protocol::Ll), (InNetwork, Protocol::Simple), (Ring, Protocol::Ll128)]);
        assert_eq!(picked(2, kind, 1 << 20).0, Ring, "switches of a node do not gather from another");
    }
}

#[test]
fn libraries_work_by_node_where_nodes_have_several_ranks() {
    use Algorithm::*;
    let picked = |library, kind, ranks, nodes| {
        let rule = Rule { nodes: Some(nodes), ..Rule::of(library) };
        rule.algorithm(&collective(kind, 8, 0, ranks), ranks)
    };
    let of_bcast = |library, ranks, nodes| picked(library, Kind::Bcast, ranks, nodes);
    assert_eq!(of_bcast(Library::OpenMpi50, 32, 4), Hierarchical);
    assert_eq!(of_bcast(Library::OpenMpi50, 33, 4), Binomial, "nodes differ in their ranks");
    assert_eq!(of_bcast(Library::OpenMpi50, 32, 32), Binomial, "one node");
    assert_eq!(of_bcast(Library::OpenMpi41, 32, 4), Binomial, "han comes after tuned");
    assert_eq!(of_bcast(Library::Mpich4, 33, 4), Hierarchical);
    assert_eq!(picked(Library::OpenMpi50, Kind::Alltoall, 32, 4), Bruck);
    assert_eq!(picked(Library::Mpich4, Kind::Gather, 32, 4), Binomial);
}

#[test]
fn non_blocking_forms_are_those_of_libnbc_and_of_mpich() {
    use Algorithm::*;
    let picked = |library, kind, ranks, bytes| {
        let rule = Rule { is_nonblocking: true, ..Rule::of(library) };
        rule.algorithm(&collective(kind, bytes, 0, ranks), ranks)
    };
    for library in [Library::OpenMpi40, Library::OpenMpi41, Library::OpenMpi50] {
        let of = |kind, ranks, bytes| picked(library, kind, ranks, bytes);
        assert_eq!(
            [of(Kind::Bcast, 4, 8), of(Kind::Bcast, 5, 65_535), of(Kind::Bcast, 5, 65_536)],
            [Linear, Binomial, Pipeline]
        );
        assert_eq!([of(Kind::Allreduce, 16, 65_528), of(Kind::Allreduce, 16, 65_536)], [Binomial, Rabenseifner]);
        assert_eq!(
            [of(Kind::Reduce, 2, 8), of(Kind::Reduce, 5, 8), of(Kind::Reduce, 5, 32)],
            [Binomial, Binomial, Rabenseifner]
        );
        assert_eq!([of(Kind::Alltoall, 64, 1 << 20), of(Kind::Barrier, 64, 0)], [Linear, Bruck]);
    }
    let of_mpich = |bytes| picked(Library::Mpich4, Kind::Allreduce, 16, bytes);
    assert_eq!([of_mpich(2_048), of_mpich(2_056)], [RecursiveDoubling, Rabenseifner]);
}

#[test]
fn an_all_to_all_of_mpich_has_at_most_32_requests_to_others_open() {
    let alltoall = Collective::Alltoall { bytes: Bytes::new(1_000) };
    let ops = alltoall.lower(&Rule::of(Library::Mpich4), &crate::collective::Communicator::world(65), 5);
    assert_eq!(ops.iter().filter(|op| **op == crate::Op::WaitAll).count(), 2);
}

#[test]
fn an_algorithm_that_does_not_perform_the_collective_is_answered_with_those_that_do() {
    let check =
        |rule: Rule, kind, ranks| rule.check(&collective(kind, 1_000, 0, ranks), ranks).unwrap_err().to_string();
    let named = |algorithm| Rule { algorithm: Some(algorithm), ..Rule::default() };
    let error = check(named(Algorithm::Rabenseifner), Kind::Scan, 8);
    assert_eq!(error, "algorithm: rabenseifner, which performs no scan; expected one of linear, recursive_doubling");
    let error = check(named(Algorithm::NeighbourExchange), Kind::Allgather, 7);
    assert_eq!(error, "algorithm: allgather of neighbour_exchange on 7 ranks; expected an even number of ranks");
    let segment = Some(Bytes::new(8));
    let error = check(Rule { segment, ..named(Algorithm::Bruck) }, Kind::Alltoall, 7);
    assert_eq!(error, "segment: 8B for alltoall of bruck; expected none, or an algorithm that divides its messages");
    let error = check(Rule { segment, ..Rule::default() }, Kind::Bcast, 7);
    assert!(error.starts_with("segment: 8B for bcast of what the library picks"), "{error}");
    let pipeline = Rule { segment, ..named(Algorithm::Pipeline) };
    let error = pipeline.check(&collective(Kind::Bcast, 1 << 20, 0, 7), 7).unwrap_err().to_string();
    assert_eq!(error, "segment: 8B; expected 16B or more, for at most 65536 messages");
}
