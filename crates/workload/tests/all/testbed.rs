//! The runs of the Sandia Ethernet evaluation, as far as schedule and placement alone decide them:
//! 8 leaves of 12 hosts, four 100 Gb/s links up from each leaf, one rank per host.

use etherweave_primitives::{BitRate, Bytes, Duration, InputError};
use etherweave_workload::{Fft, Halo3d, HostAreas, Op, Placement, Program, RankWorkload, bytes_sent};

/// Leaf of each rank in the published host files.
const HALO_LEAVES: [u32; 48] = [
    5, 7, 2, 6, 3, 5, 6, 5, 0, 6, 7, 0, 5, 1, 4, 4, 7, 5, 2, 6, 7, 1, 2, 1, 4, 0, 0, 7, 6, 0, 0, 5, 4, 1, 1, 7, 2, 3,
    2, 2, 6, 7, 4, 3, 5, 3, 2, 5,
];
const FFT_LEAVES: [u32; 48] = [
    4, 4, 0, 1, 7, 4, 5, 6, 4, 2, 6, 7, 0, 0, 7, 3, 4, 6, 3, 2, 4, 2, 1, 2, 6, 1, 5, 3, 1, 1, 3, 4, 0, 5, 1, 2, 6, 3,
    0, 3, 7, 0, 3, 3, 7, 1, 5, 6,
];

fn areas() -> HostAreas {
    HostAreas { leaves: (0..96).map(|host| host / 12).collect(), groups: None }
}

/// One iteration of each run.
fn halo() -> Vec<Program> {
    Halo3d { iterations: 1, ..Halo3d::default() }.programs(1).unwrap()
}

fn fft() -> Vec<Program> {
    Fft { iterations: 1, ..Fft::default() }.programs(1).unwrap()
}

/// Bytes that leave each leaf, given the leaf of each rank.
fn leaving(programs: &[Program], leaves: &[u32]) -> Vec<u64> {
    let mut up = vec![0; 8];
    for (program, &leaf) in programs.iter().zip(leaves) {
        for op in program.distinct_ops() {
            if let Op::Isend { peer, bytes, .. } = op {
                up[leaf as usize] += if leaves[peer.index()] == leaf { 0 } else { *bytes };
            }
        }
    }
    up
}

/// The time in which four links carry the busiest leaf's bytes, perfectly balanced.
fn bound(programs: &[Program], leaves: &[u32]) -> Duration {
    let busiest = leaving(programs, leaves).into_iter().max().unwrap();
    BitRate::from_gbps(4 * 100).serialization_time(Bytes::new(busiest))
}

fn share_leaving(programs: &[Program], leaves: &[u32]) -> f64 {
    let total: u64 = programs.iter().map(bytes_sent).sum();
    leaving(programs, leaves).iter().sum::<u64>() as f64 / total as f64
}

fn rounded_tenths_of_us(span: Duration) -> u64 {
    (span.as_ps() + 50_000) / 100_000
}

#[test]
fn a_halo_rank_sends_six_faces_and_twelve_edges() {
    let (face, edge) = (100 * 100 * 8 * 8, 100 * 8 * 8);
    assert_eq!((face, edge), (640_000, 6_400));
    assert!(halo().iter().all(|program| bytes_sent(program) == 6 * face + 12 * edge));
    assert_eq!(6 * face + 12 * edge, 3_916_800);
}

#[test]
fn an_fft_rank_sends_to_three_and_three_and_two() {
    assert!(fft().iter().all(|program| bytes_sent(program) == (3 + 3 + 2) * 10_000));
}

#[test]
fn no_halo_iteration_beats_its_sleep_and_522_us() {
    assert_eq!(leaving(&halo(), &HALO_LEAVES).into_iter().max().unwrap() / 100_000, 261, "26.1 MB");
    assert_eq!(rounded_tenths_of_us(bound(&halo(), &HALO_LEAVES)) / 10, 522);
    assert_eq!((share_leaving(&halo(), &HALO_LEAVES) * 1e3).round(), 875.0);
}

#[test]
fn no_fft_iteration_beats_10_8_us() {
    assert_eq!(leaving(&fft(), &FFT_LEAVES).into_iter().max().unwrap(), 540_000);
    assert_eq!(rounded_tenths_of_us(bound(&fft(), &FFT_LEAVES)), 108);
    assert_eq!((share_leaving(&fft(), &FFT_LEAVES) * 1e3).round(), 906.0);
}

#[test]
fn both_jobs_fit_side_by_side_on_their_leaves() {
    let areas = areas();
    let mut taken = [false; 96];
    let mut hosts = Placement::Leaves(HALO_LEAVES.into()).place(48, &areas, &mut taken, 1).unwrap();
    hosts.extend(Placement::Leaves(FFT_LEAVES.into()).place(48, &areas, &mut taken, 1).unwrap());
    let leaves: Vec<_> = hosts.iter().map(|host| areas.leaves[host.index()]).collect();
    assert_eq!(leaves, [HALO_LEAVES, FFT_LEAVES].concat());
    assert!(taken.iter().all(|&taken| taken), "96 ranks on 96 hosts, none twice");
}

#[test]
fn a_third_job_is_rejected_since_nothing_fits() {
    let mut taken = [true; 96];
    let place = |placement: Placement, taken: &mut [bool]| -> InputError {
        placement.place(48, &areas(), taken, 1).unwrap_err()
    };
    let error = place(Placement::Random { seed: None }, &mut taken).to_string();
    assert_eq!(error, "random: 48 hosts; expected at most 0, as many as are free");
    let error = place(Placement::Leaves(HALO_LEAVES.into()), &mut taken).to_string();
    assert!(error.contains("0 of 48 hosts fit"), "{error}");
}
