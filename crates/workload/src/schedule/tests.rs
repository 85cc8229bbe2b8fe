use etherweave_primitives::{Duration, Rank};

use super::*;
use crate::{Block, Halo3d, Loop, Op, RankWorkload, StreamSpec};

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A file of the layout of `docs/guide/measure.md`: flags, ranks, tags and streams; start, end and warm-up [ps]; a name
/// of at most eight letters; tags and streams; the section of each rank.
fn file(counts: [u32; 4], times: [u32; 3], name: &str, lists: &[u32], sections: &[Vec<u8>]) -> Vec<u8> {
    let mut at = (64 + 8 + 4 * lists.len() + 8 * (sections.len() + 1)) as u32;
    let mut offsets = vec![at, 0];
    for section in sections {
        at += section.len() as u32;
        offsets.extend([at, 0]);
    }
    let [flags, ranks, tags, streams] = counts;
    let [start, end, warm_up] = times;
    let header = [2, flags, ranks, tags, streams, name.len() as u32, at, 0, start, 0, end, 0, warm_up, 0];
    let mut padded = name.as_bytes().to_vec();
    padded.resize(8, 0);
    [b"EWSCHED\n".to_vec(), words(&header), padded, words(lists), words(&offsets), sections.concat()].concat()
}

#[test]
fn messages_and_a_warm_up_have_the_documented_layout() {
    // Two ranks exchange a message of 1,000 B under tag 7, twice, measured; a warm-up of one pass before.
    let send = |peer| Op::Isend { peer: Rank::new(peer), tag: 7, bytes: 1000 };
    let receive = |peer| Op::Irecv { peer: Rank::new(peer), tag: 7, bytes: 1000 };
    let program = |peer| Program::new([Block::measured(vec![receive(peer), send(peer), Op::WaitAll], 2)]);
    let schedule = Schedule::new("pair", Traffic::Ranks(vec![program(1), program(0)]));
    let schedule = Schedule { start: Duration::from_ns(5), is_background: true, ..schedule };
    let block = |flags, repeat, peer| {
        // Tag 7 is the first of one. Receive (1), send (0), wait for all (2).
        words(&[flags, repeat, 3, 0, 1, peer, 1000, 0, 0, peer, 1000, 0, 2, 0, 0, 0])
    };
    let section = |peer| [words(&[2, 0]), block(2, 1, peer), block(1, 2, peer)].concat();
    let by_hand = file([1, 2, 1, 0], [5_000, 0, 0], "pair", &[7, 0], &[section(1), section(0)]);
    assert_eq!(schedule.with_warm_up(1).unwrap().to_bytes().unwrap(), by_hand);
}

#[test]
fn other_operations_and_loops_behind_those_of_the_warm_up_have_the_documented_layout() {
    let [computed, slept] = [9, 7].map(Duration::from_ps);
    let ops =
        [Op::IterationStart, Op::Compute { duration: computed }, Op::Sleep { duration: slept }, Op::Copy { bytes: 5 }];
    let blocks = [Block::measured(ops, 3), Block::unmeasured([Op::WaitAll, Op::IterationEnd])];
    let program = Program { blocks: blocks.into(), loops: [Loop { first: 0, end: 2, times: 6 }].into() };
    let traffic = Traffic::Ranks(vec![program.clone()]);
    let schedule = Schedule { warm_up_programs: vec![program], ..Schedule::new("loops", traffic) };
    let blocks = |flag| {
        let first = words(&[flag | 1, 3, 4, 0, 5, 0, 0, 0, 3, 0, 9, 0, 4, 0, 7, 0, 7, 0, 5, 0]);
        [first, words(&[flag, 1, 2, 0, 2, 0, 0, 0, 6, 0, 0, 0])].concat()
    };
    let section = [words(&[4, 2]), blocks(2), blocks(0), words(&[0, 2, 6, 0, 2, 4, 6, 0])].concat();
    assert_eq!(schedule.to_bytes().unwrap(), file([0, 1, 0, 0], [0; 3], "loops", &[], &[section]));
}

#[test]
fn streams_have_the_documented_layout() {
    let finite = StreamSpec {
        src_rank: Rank::new(1),
        dst_rank: Rank::new(0),
        stream: 3,
        bytes_per_message: 1 << 40,
        outstanding: 128,
        messages: Some(1 << 50),
        flow_start: None,
    };
    let endless = StreamSpec { stream: 4, messages: None, ..finite };
    let schedule = Schedule {
        end: Some(Duration::from_ps(4_000)),
        warm_up: Duration::from_ps(2_000),
        ..Schedule::new("streams", Traffic::Streams(vec![finite, endless]))
    };
    let lists = [1, 0, 3, 128, 0, 1 << 8, 0, 1 << 18, 1, 0, 4, 128, 0, 1 << 8, u32::MAX, u32::MAX];
    let empty = words(&[0, 0]);
    let by_hand = file([0, 2, 0, 2], [0, 4_000, 2_000], "streams", &lists, &[empty.clone(), empty]);
    assert_eq!(schedule.to_bytes().unwrap(), by_hand);
}

#[test]
fn a_warm_up_opens_every_connection_once() {
    let programs = Halo3d { iterations: 50, ..Halo3d::default() }.programs(1).unwrap();
    let schedule = Schedule::new("halo", Traffic::Ranks(programs)).with_warm_up(1).unwrap();
    assert!(schedule.warm_up_programs.iter().all(|program| crate::bytes_sent(program) == 3_916_800));
    assert!(schedule.warm_up_programs.iter().all(|program| program.iterations() == 0));
}

#[test]
fn programs_that_cannot_be_shortened_have_no_warm_up() {
    let send = Op::Isend { peer: Rank::new(1), tag: 0, bytes: 8 };
    let receive = Op::Irecv { peer: Rank::new(0), tag: 0, bytes: 8 };
    let at_once = Program::new([Block::measured(vec![receive; 3], 1)]);
    let one_by_one = Program::new([Block::measured(vec![send], 3)]);
    let schedule = Schedule::new("uneven", Traffic::Ranks(vec![one_by_one, at_once]));
    let error = schedule.with_warm_up(1).unwrap_err().to_string();
    let left = "1 passes, so that rank1 waits for 2 messages of 16 B together under tag 0";
    assert!(error.contains(left) && error.contains("expected none"), "{error}");
}
