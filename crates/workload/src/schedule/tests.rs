use etherweave_primitives::{Duration, Rank};
use proptest::prelude::*;

use super::*;
use crate::{Block, Halo3d, Incast, Loop, Op, Part, RankWorkload, StreamSpec};

/// Two ranks exchange a message of 1,000 B under tag 7, twice, measured; a warm-up of one pass before.
fn pair() -> Schedule {
    let send = |peer| Op::Isend { peer: Rank::new(peer), tag: 7, bytes: 1000 };
    let receive = |peer| Op::Irecv { peer: Rank::new(peer), tag: 7, bytes: 1000 };
    let program = |peer| Program::new([Block::measured(vec![receive(peer), send(peer), Op::WaitAll], 2)]);
    let schedule = Schedule::new("pair", Traffic::Ranks(vec![program(1), program(0)]));
    Schedule { start: Duration::from_ns(5), is_background: true, ..schedule }.with_warm_up(1).unwrap()
}

fn refused(bytes: &[u8]) -> String {
    Schedule::from_bytes(bytes).unwrap_err().to_string()
}

/// The bytes with a word of four put at a place.
fn with(mut bytes: Vec<u8>, at: usize, word: u32) -> Vec<u8> {
    bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    bytes
}

/// The layout of `docs/guide/measure.md`, written by hand.
#[test]
fn the_layout_is_the_documented_one() {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let block = |flags, repeat, peer| {
        // Tag 7 is the first of one. Receive (1), send (0), wait for all (2).
        words(&[flags, repeat, 3, 0, 1, peer, 1000, 0, 0, peer, 1000, 0, 2, 0, 0, 0])
    };
    let section = |peer| [words(&[2, 0]), block(2, 1, peer), block(1, 2, peer)].concat();
    let (first, size) = (64 + 8 + 8 + 24, 8 + 2 * (16 + 3 * 16));
    let header = words(&[2, 1, 2, 1, 0, 4, first + 2 * size, 0, 5_000, 0, 0, 0, 0, 0]);
    let lists = words(&[7, 0, first, 0, first + size, 0, first + 2 * size, 0]);
    let by_hand = [b"EWSCHED\n".to_vec(), header, b"pair\0\0\0\0".to_vec(), lists, section(1), section(0)].concat();
    assert_eq!(pair().to_bytes().unwrap(), by_hand);
}

#[test]
fn streams_are_written_and_read() {
    let incast = Incast { sources: 2, streams_per_source: 2, ..Incast::default() };
    for messages in [None, Some(9)] {
        let streams = Incast { messages, ..incast.clone() }.streams().unwrap();
        let end = Some(Duration::from_ms(4));
        let schedule =
            Schedule { end, warm_up: Duration::from_ms(2), ..Schedule::new("incast", Traffic::Streams(streams)) };
        assert_eq!(Schedule::from_bytes(&schedule.to_bytes().unwrap()), Ok(schedule));
    }
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

#[test]
fn a_file_that_is_none_is_refused_with_its_byte() {
    let good = pair().to_bytes().unwrap();
    for (bytes, message) in [
        (Vec::new(), "byte 0: the file ends after 0 bytes; expected 8 more"),
        (with(good.clone(), 0, 0), "byte 0: no schedule"),
        (with(good.clone(), 8, 1), "byte 8: version 1; expected 2"),
        (with(good.clone(), 12, 4), "byte 12: flags 0x4; expected at most 0x1"),
        (with(good.clone(), 16, u32::MAX), "byte 80: the first section at byte 104; expected 34359738448"),
        (with(good.clone(), 32, 5), "byte 32: a file of 5 bytes; expected 376"),
        (with(good.clone(), 72 + 4, 9), "byte 76: expected zeros"),
        (with(good.clone(), 104 + 8, 3), "byte 112: a warm-up block; expected it first and not measured"),
        (with(good.clone(), 104 + 12, 0), "byte 116: an empty block"),
        (with(good.clone(), 128, 9), "byte 128: operation 9 of 1000"),
        (with(good.clone(), 128, 1 | 5 << 8), "byte 128: tag 5; expected one of 1"),
        (with(good.clone(), 132, 0), "byte 128: peer 0 of rank 0; expected another of 2"),
        (good[..good.len() - 1].to_vec(), "byte 32: a file of 376 bytes; expected 375"),
    ] {
        let error = refused(&bytes);
        assert!(error.starts_with(&format!("schedule, {message}")), "{error}");
    }
}

/// Loops of two blocks of the pair, which has no others.
fn pair_with_loops(loops: &[Loop]) -> Vec<u8> {
    let mut schedule = pair();
    let Traffic::Ranks(programs) = &mut schedule.traffic else { unreachable!("a pair of ranks") };
    for program in programs {
        let two = [program.blocks[0].clone(), program.blocks[0].clone()];
        *program = Program { blocks: two.into(), loops: loops.into() };
    }
    schedule.to_bytes().unwrap()
}

#[test]
fn loops_stand_apart_or_within_each_other_and_wait() {
    let looped = |first, end, times| Loop { first, end, times };
    for good in [vec![looped(0, 2, 5)], vec![looped(0, 1, 2), looped(1, 2, 3), looped(0, 2, 2)]] {
        assert!(Schedule::from_bytes(&pair_with_loops(&good)).is_ok(), "{good:?}");
    }
    let nine = vec![looped(0, 2, 2); 9];
    for (bad, message) in [
        (vec![looped(0, 0, 2)], "a loop of blocks 1 to 1, 2 times; expected some of 3"),
        (vec![looped(0, 3, 2)], "a loop of blocks 1 to 4, 2 times; expected some of 3"),
        (vec![looped(0, 2, 0)], "a loop of blocks 1 to 3, 0 times; expected some of 3"),
        (vec![looped(0, 2, 2), looped(0, 1, 2)], "a loop of blocks 1 to 2; expected loops in order, apart or"),
        (nine, "a loop of blocks 1 to 3; expected loops in order, apart or at most 8 within each other"),
    ] {
        assert!(refused(&pair_with_loops(&bad)).contains(message), "{bad:?}: {}", refused(&pair_with_loops(&bad)));
    }
    let busy = [Op::IterationStart, Op::IterationEnd].map(|op| Block::measured([op], 1));
    let endless = Program { blocks: busy.into(), loops: [looped(0, 2, 2)].into() };
    let bytes = Schedule::new("busy", Traffic::Ranks(vec![endless])).to_bytes().unwrap();
    assert!(refused(&bytes).contains("a loop without a wait; expected one in its blocks"), "{}", refused(&bytes));
}

fn op(ranks: u32, rank: u32) -> impl Strategy<Value = Op> {
    let peer = (1..ranks).prop_map(move |step| Rank::new((rank + step) % ranks));
    let peer = (peer, any::<u32>(), any::<u64>());
    prop_oneof![
        peer.clone().prop_map(|(peer, tag, bytes)| Op::Isend { peer, tag, bytes }),
        peer.prop_map(|(peer, tag, bytes)| Op::Irecv { peer, tag, bytes }),
        any::<u64>().prop_map(|ps| Op::Compute { duration: Duration::from_ps(ps) }),
        any::<u64>().prop_map(|bytes| Op::Copy { bytes }),
        any::<u64>().prop_map(|ps| Op::Sleep { duration: Duration::from_ps(ps) }),
        prop_oneof![Just(Op::WaitAll), Just(Op::IterationStart), Just(Op::IterationEnd)],
    ]
}

fn program(ranks: u32, rank: u32) -> impl Strategy<Value = Program> {
    let block = (prop::collection::vec(op(ranks, rank), 1..5), 1..9u32, any::<bool>());
    let block = block.prop_map(|(ops, repeat, measured)| Block { ops: ops.into(), repeat, measured });
    let block = block.prop_map(Part::Block).boxed();
    let repeated = |part: BoxedStrategy<Part>| {
        // Who reads a schedule relies on a wait in each loop.
        let waiting = |mut parts: Vec<Part>| {
            parts.push(Block::unmeasured([Op::WaitAll]).into());
            parts
        };
        (prop::collection::vec(part, 1..3).prop_map(waiting), 1..4u32)
            .prop_map(|(parts, times)| Part::Repeated(parts, times))
    };
    let nested = prop_oneof![block.clone(), repeated(prop_oneof![block.clone(), repeated(block)].boxed())];
    prop::collection::vec(nested, 0..4).prop_map(Program::new)
}

fn schedule() -> impl Strategy<Value = Schedule> {
    let programs = (2..5u32).prop_flat_map(|ranks| (0..ranks).map(|rank| program(ranks, rank)).collect::<Vec<_>>());
    (programs, "\\PC{0,12}", any::<u64>(), any::<bool>()).prop_map(|(programs, name, start, is_background)| Schedule {
        start: Duration::from_ps(start),
        is_background,
        ..Schedule::new(&name, Traffic::Ranks(programs))
    })
}

proptest! {
    #[test]
    fn every_schedule_is_read_back(schedule in schedule()) {
        prop_assert_eq!(Schedule::from_bytes(&schedule.to_bytes().unwrap()), Ok(schedule));
    }

    /// Whatever is read is what was meant: writing it again gives the very bytes.
    #[test]
    fn changed_bytes_are_refused_or_mean_what_they_say(
        schedule in schedule(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)
    ) {
        let mut bytes = schedule.to_bytes().unwrap();
        changes.iter().for_each(|(place, byte)| *place.get_mut(&mut bytes) = *byte);
        if let Ok(read) = Schedule::from_bytes(&bytes) {
            // A tag that nobody uses any more is the one thing that is not written again.
            prop_assert_eq!(Schedule::from_bytes(&read.to_bytes().unwrap()), Ok(read));
        }
    }

    #[test]
    fn cut_files_and_noise_are_refused(schedule in schedule(), noise: Vec<u8>, cut: prop::sample::Index) {
        let bytes = schedule.to_bytes().unwrap();
        prop_assert!(Schedule::from_bytes(&bytes[..cut.index(bytes.len())]).is_err());
        prop_assert!(Schedule::from_bytes(&noise).is_err());
    }
}

#[test]
fn a_stream_is_read_with_all_its_numbers() {
    let spec = StreamSpec {
        src_rank: Rank::new(1),
        dst_rank: Rank::new(0),
        stream: 3,
        bytes_per_message: 1 << 40,
        outstanding: 128,
        messages: Some(1 << 50),
        flow_start: None,
    };
    let schedule = Schedule::new("one", Traffic::Streams(vec![spec]));
    let good = schedule.to_bytes().unwrap();
    assert_eq!(Schedule::from_bytes(&good), Ok(schedule));
    assert!(refused(&with(good.clone(), 72, 0)).contains("byte 72: a stream from rank 0 to 0; expected two of 2"));
    assert!(refused(&with(good, 84, 0)).contains("byte 72: an empty stream"));
}
