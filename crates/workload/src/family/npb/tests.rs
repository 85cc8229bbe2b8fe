//! Sizes of class B on 64 ranks as the sources give them, operations in all, and every benchmark on ranks of all kinds.

use super::*;
use crate::{bytes_sent, check, check_progress};

const ALL: [NpbBenchmark; 13] = [
    NpbBenchmark::Bt,
    NpbBenchmark::BtMz,
    NpbBenchmark::DtBh,
    NpbBenchmark::DtSh,
    NpbBenchmark::DtWh,
    NpbBenchmark::Ep,
    NpbBenchmark::Ft,
    NpbBenchmark::Is,
    NpbBenchmark::Lu,
    NpbBenchmark::LuMz,
    NpbBenchmark::Mg,
    NpbBenchmark::Sp,
    NpbBenchmark::SpMz,
];

fn npb(benchmark: NpbBenchmark, class: NpbClass, ranks: u32) -> Npb {
    Npb { benchmark, class, ranks, iterations: 1, ..Npb::default() }
}

/// Returns the messages that a rank sends in an iteration: (peer, bytes).
fn sends(npb: &Npb, rank: usize) -> Vec<(u32, u64)> {
    let send = |op: &Op| if let Op::Isend { peer, bytes, .. } = op { Some((peer.get(), *bytes)) } else { None };
    npb.programs(1).unwrap()[rank].ops().skip_while(|op| **op != Op::IterationStart).filter_map(send).collect()
}

fn largest(npb: &Npb, rank: usize) -> u64 {
    sends(npb, rank).iter().map(|&(_, bytes)| bytes).max().unwrap()
}

#[test]
fn every_benchmark_ends_on_ranks_of_all_kinds_and_receives_what_it_sends() {
    for benchmark in ALL {
        let (ranks, classes) = match benchmark {
            NpbBenchmark::Bt | NpbBenchmark::Sp => (vec![4, 9, 16], [NpbClass::S, NpbClass::W]),
            NpbBenchmark::BtMz | NpbBenchmark::SpMz => (vec![2, 3, 4], [NpbClass::S, NpbClass::B]),
            NpbBenchmark::DtBh | NpbBenchmark::DtWh => (vec![11, 12], [NpbClass::S, NpbClass::W]),
            NpbBenchmark::DtSh => (vec![32], [NpbClass::S, NpbClass::W]),
            NpbBenchmark::LuMz => (vec![5, 8, 16], [NpbClass::S, NpbClass::W]),
            NpbBenchmark::Ep | NpbBenchmark::Lu => (vec![2, 3, 4, 6, 12, 16], [NpbClass::S, NpbClass::W]),
            NpbBenchmark::Ft | NpbBenchmark::Is => (vec![2, 8, 64, 256], [NpbClass::S, NpbClass::W]),
            NpbBenchmark::Mg => (vec![2, 4, 8, 32, 64, 512], [NpbClass::S, NpbClass::A]),
        };
        for (ranks, class) in ranks.into_iter().flat_map(|ranks| classes.map(|class| (ranks, class))) {
            let workload = npb(benchmark, class, ranks);
            let programs = workload.programs(1).unwrap();
            assert_eq!(check(&programs), Ok(()), "{workload:?}");
            assert_eq!(check_progress(&programs), Ok(()), "{workload:?}");
        }
    }
}

#[test]
fn ranks_compute_the_operations_that_the_benchmark_counts() {
    // 58 operations for each of 256^3 points, at a second for 10^9.
    let compute = |program: &Program| -> u64 {
        let time = |op: &Op| if let Op::Compute { duration } = op { duration.as_ps() } else { 0 };
        program.ops().map(time).sum()
    };
    let total = |workload: &Npb| workload.programs(1).unwrap().iter().map(compute).sum::<u64>() as f64 / 1e12;
    for benchmark in ALL {
        let ranks = match benchmark {
            NpbBenchmark::DtSh => 192,
            NpbBenchmark::LuMz => 16,
            _ => 64,
        };
        let workload = npb(benchmark, NpbClass::B, ranks);
        assert!((total(&workload) / (workload.operations() / 1e9) - 1.0).abs() < 1e-6, "{benchmark:?}");
    }
    let mg = npb(NpbBenchmark::Mg, NpbClass::B, 64).operations();
    assert_eq!(mg, 58.0 * f64::from(1 << 24));
}

#[test]
fn class_b_on_64_ranks_has_the_messages_of_the_sources() {
    let of = |benchmark| npb(benchmark, NpbClass::B, 64);
    // 512 x 256 x 256 complex numbers of 16 B, a part of each of 64 ranks for each.
    assert_eq!(largest(&of(NpbBenchmark::Ft), 0), 16 * (1 << 25) / 64 / 64);
    // Ten counts are the longest that ranks of EP exchange.
    assert_eq!(largest(&of(NpbBenchmark::Ep), 0), 10 * 8);
    // 2^25 keys of 4 B.
    assert_eq!(largest(&of(NpbBenchmark::Is), 0), 4 * (1 << 25) / 64 / 64);
    // 102 points over 8 ranks: six have 13, two 12. A plane's message is 5 doubles for each.
    let planes: Vec<_> = sends(&of(NpbBenchmark::Lu), 0).into_iter().take(2).collect();
    assert_eq!(planes, [(1, 5 * 8 * 13), (8, 5 * 8 * 13)]);
    // The cells of rank 0 go from (0, 0, 0) over (1, 7, 1), (2, 6, 2), ...: 13 x 13 points across x in the first slab.
    let swept = |benchmark: NpbBenchmark| sends(&of(benchmark), 0)[6];
    assert_eq!(swept(NpbBenchmark::Bt), (1, 13 * 13 * 30 * 8));
    assert_eq!(swept(NpbBenchmark::Sp), (1, 13 * 13 * 22 * 8));
}

#[test]
fn data_traffic_passes_trees_and_a_butterfly() {
    let arrays = |benchmark, rank: usize| -> Vec<(u32, u64)> {
        sends(&npb(benchmark, NpbClass::S, 12), rank).into_iter().filter(|&(_, bytes)| bytes > 8).collect()
    };
    // 1,728 samples of 4 doubles, by at most 128 more or fewer from a source: four sources and a sink.
    let heads = |benchmark, rank| arrays(benchmark, rank).iter().map(|&(peer, _)| peer).collect::<Vec<_>>();
    for source in 0..4 {
        assert_eq!(heads(NpbBenchmark::DtBh, source), [4]);
        let [(_, bytes)] = arrays(NpbBenchmark::DtBh, source)[..] else { panic!("an array") };
        assert!((1_600 * 32..1_856 * 32).contains(&bytes), "{bytes}");
    }
    assert_eq!(heads(NpbBenchmark::DtWh, 0), [4, 3, 2, 1]);
    assert_eq!([heads(NpbBenchmark::DtSh, 0), heads(NpbBenchmark::DtSh, 3)], [[4, 5], [6, 7]]);
    assert_eq!([heads(NpbBenchmark::DtSh, 4), heads(NpbBenchmark::DtSh, 7)], [[8, 10], [9, 11]]);
    // Sinks report, and ranks behind the last node are idle.
    assert_eq!(sends(&npb(NpbBenchmark::DtBh, NpbClass::S, 12), 4), [(0, 8)]);
    assert_eq!(sends(&npb(NpbBenchmark::DtBh, NpbClass::S, 12), 5), []);
    // As the README of NPB has them.
    let nodes = |benchmark| [0, 1, 2, 3, 4].map(|class| Graph::new(&npb(benchmark, CLASSES[class], 2)).nodes);
    assert_eq!(nodes(NpbBenchmark::DtBh), [5, 11, 21, 43, 85]);
    assert_eq!(nodes(NpbBenchmark::DtWh), [5, 11, 21, 43, 85]);
    assert_eq!(nodes(NpbBenchmark::DtSh), [12, 32, 80, 192, 448]);
}

const CLASSES: [NpbClass; 5] = [NpbClass::S, NpbClass::W, NpbClass::A, NpbClass::B, NpbClass::C];

#[test]
fn zones_hand_each_other_their_faces() {
    // 24 x 24 x 6 points in 2 x 2 zones alike, on four ranks: faces of 10 x 4 inner points, twice to each neighbour.
    let sp = npb(NpbBenchmark::SpMz, NpbClass::S, 4);
    assert_eq!(sends(&sp, 0), [(1, 2 * 10 * 4 * 5 * 8), (2, 2 * 10 * 4 * 5 * 8)]);
    // Two ranks have two zones each; what they share goes in one message.
    assert_eq!(sends(&npb(NpbBenchmark::SpMz, NpbClass::S, 2), 1), [(0, 2 * 2 * 10 * 4 * 5 * 8)]);
    // Sides of BT's zones differ by 3 in class S: 6 and 18 points of 24.
    let bt = npb(NpbBenchmark::BtMz, NpbClass::S, 4);
    assert_eq!(sends(&bt, 0), [(1, 2 * 16 * 4 * 5 * 8), (2, 2 * 16 * 4 * 5 * 8)]);
}

#[test]
fn faces_of_all_cells_but_those_at_the_edge_go_to_six_neighbours() {
    // 12 points on 3 x 3 ranks: cells of 4^3, two of three have a neighbour in each direction, 10 doubles a point.
    let bt = npb(NpbBenchmark::Bt, NpbClass::S, 9);
    let faces = &sends(&bt, 4)[..6];
    assert!(faces.iter().all(|&(_, bytes)| bytes == 2 * 16 * 10 * 8), "{faces:?}");
    // Rank 4 is at column 1, row 1: x neighbours in its row, y neighbours in its column, z neighbours diagonally.
    assert_eq!(faces.iter().map(|face| face.0).collect::<Vec<_>>(), [5, 3, 7, 1, 6, 2]);
}

#[test]
fn a_level_of_multigrid_has_a_quarter_of_the_faces_of_the_finer_one() {
    // 32^3 points on 2 x 2 x 2 ranks: 16^3 each, then 8^3, 4^3, 2^3 and 1^3.
    let mg = npb(NpbBenchmark::Mg, NpbClass::S, 8);
    // Of 16^3 points the faces across x, y and z have 16 x 16, 18 x 16 and 18 x 18 doubles.
    let finest: Vec<_> = sends(&mg, 0).into_iter().rev().take(6).map(|(_, bytes)| bytes / 8).collect();
    assert_eq!(finest, [324, 324, 288, 288, 256, 256]);
    let coarsest = sends(&mg, 0).iter().map(|send| send.1).min().unwrap();
    assert_eq!(coarsest, 8, "one point");
    // Four restrictions, a smoother, twice four on the way up, a residual: 14 exchanges of six faces.
    assert_eq!(sends(&mg, 0).len(), 14 * 6);
}

#[test]
fn coarse_levels_leave_out_ranks_and_hand_points_back() {
    // 4 ranks along each axis: of level 2 only ranks with odd coordinates have a point.
    let mg = npb(NpbBenchmark::Mg, NpbClass::S, 64);
    let counts: Vec<_> = mg.programs(1).unwrap().iter().map(|program| program.blocks[1].ops.len()).collect();
    assert!(counts[0] < counts[1 + 4 + 16], "{} {}", counts[0], counts[21]);
    let levels = mg::levels_of(&mg, 21);
    assert_eq!(levels, [(10, 1), (6, 1), (4, 1), (3, 1), (3, 2)], "points with those beyond the edges, and distance");
}

#[test]
fn a_two_dimensional_transform_turns_twice() {
    // 64 planes, 256 ranks: 64 rows of 4. 2^18 numbers, 2^10 a rank: 256 for each of a row, 16 for each of a column.
    let ft = npb(NpbBenchmark::Ft, NpbClass::S, 256);
    let bytes = bytes_sent(&ft.programs(1).unwrap()[255]);
    assert_eq!(bytes, 3 * 256 * 16 + 63 * 16 * 16 + 16, "and a checksum to its parent");
}

#[test]
fn samples_are_iterations_that_are_performed() {
    let sampled = Npb { samples: Some(3), ..Npb::default() };
    assert_eq!((sampled.iterations, sampled.programs(1).unwrap()[0].iterations()), (20, 3));
}
