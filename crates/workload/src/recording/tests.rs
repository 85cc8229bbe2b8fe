use proptest::prelude::*;

use super::*;
use crate::{Goal, collective::Library};

/// A file as the recorder writes it.
struct File {
    bytes: Vec<u8>,
    records: u64,
}

impl File {
    /// The head, and the communicator of all.
    fn new(rank: u32, ranks: u32) -> File {
        let mut bytes = b"EWRECORD".to_vec();
        [1, rank, ranks, 0].into_iter().for_each(|number: u32| bytes.extend(number.to_le_bytes()));
        [1_000_i64 + i64::from(rank), 5].into_iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.extend(b"\x02h0\x08Open MPI");
        let mut file = File { bytes, records: 0 };
        let members: Vec<u64> = (0..u64::from(ranks)).collect();
        file.record(1, 0, 0, &[&[0, u64::from(ranks)], members.as_slice()].concat());
        file
    }

    fn number(&mut self, mut number: u64) {
        while number > 127 {
            self.bytes.push(number as u8 | 128);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// A record after a time of computation.
    fn record(&mut self, kind: u8, gap_ns: u64, duration_ns: u64, numbers: &[u64]) -> &mut File {
        self.bytes.push(kind);
        [gap_ns, duration_ns].iter().chain(numbers).for_each(|&number| self.number(number));
        self.records += 1;
        self
    }

    /// The whole file: a record costs 10 ns, the clock stays.
    fn end(&mut self) -> Vec<u8> {
        let records = self.records + 1;
        self.record(0, 0, 0, &[records, 10, 0]);
        self.bytes.clone()
    }
}

fn read(files: &[Vec<u8>]) -> Result<Recording, InputError> {
    let names: Vec<String> = (0..files.len()).map(|number| format!("{number}.ewr")).collect();
    Recording::read(names.iter().map(String::as_str).zip(files.iter().map(Vec::as_slice)))
}

fn refused(files: &[Vec<u8>]) -> String {
    read(files).and_then(|recording| recording.goal(&ReplayRules::default())).unwrap_err().to_string()
}

/// Two ranks: a send and a receive, a receive from anybody that goes on, an all-reduce of 8 B.
fn pair() -> [Vec<u8>; 2] {
    let mut first = File::new(0, 2);
    first.record(3, 110, 20, &[0, 0, 1, 7, 100]).record(6, 10, 5, &[0, 0, 0, 1, 9, 30]).record(8, 510, 5, &[1, 0, 0]);
    first.record(10, 0, 50, &[3, 0, 0, 1, 8]);
    let mut second = File::new(1, 2);
    second.record(4, 0, 90, &[0, 0, 7, 100]).record(7, 10, 5, &[4, 0, 0, 0, 64]);
    second.record(8, 1_010, 5, &[5, 1, 0, 9, 30, 0]).record(10, 0, 50, &[3, 0, 0, 1, 8]);
    [first.end(), second.end()]
}

#[test]
fn a_recording_is_a_graph_of_what_was_called_and_of_what_was_computed_between() {
    let recording = read(&pair()).unwrap();
    assert_eq!((recording.ranks()[0].compute_ns(), recording.ranks()[1].compute_ns()), (100 + 500, 1_000));
    // From 1,000 ns to the end of rank 1, which began a nanosecond later: 90 + 10 + 5 + 1,010 + 5 + 50.
    assert_eq!(recording.span_ns(), 1 + 1_170);
    let rules = ReplayRules { compute_scale: 0.5, ..ReplayRules::default() };
    let text = recording.goal(&rules).unwrap();
    let expected = "num_ranks 2\n\nrank 0 {\nl1: calc 50\nl2: send 100b to 1 tag 0\nl2 requires l1\n\
        l3: send 30b to 1 tag 1\nl3 requires l2\nl4: calc 250\nl4 irequires l3\n\
        l5: calc 0\nl5 requires l4\nl5 requires l3\nl6: recv 8b from 1 tag 2\nl6 requires l5\n\
        l7: send 8b to 1 tag 2\nl7 irequires l6\nl8: calc 0\nl8 irequires l7\nl8 requires l6\nl8 requires l7\n}\n\n\
        rank 1 {\nl1: recv 100b from 0 tag 0\nl2: recv 30b from 0 tag 1\nl2 requires l1\n\
        l3: calc 500\nl3 irequires l2\nl4: calc 0\nl4 requires l3\nl4 requires l2\n\
        l5: recv 8b from 0 tag 2\nl5 requires l4\nl6: send 8b to 0 tag 2\nl6 irequires l5\n\
        l7: calc 0\nl7 irequires l6\nl7 requires l5\nl7 requires l6\n}\n";
    assert_eq!(text, expected);
    assert!(Goal { text, ..Goal::default() }.graphs().is_ok());
}

#[test]
fn a_send_meets_the_receive_that_it_was_for() {
    let transfers = read(&pair()).unwrap().transfers().unwrap();
    let transfer = |bytes, tag, start_ns, end_ns| Transfer { source: 0, destination: 1, tag, bytes, start_ns, end_ns };
    // Rank 1 began a nanosecond later: 1 + 90 + 10 + 5 + 1,010 + 5. Nothing arrives before it is sent: 91 becomes 110.
    assert_eq!(transfers, [transfer(100, 7, 110, 110), transfer(30, 9, 140, 1_121)]);
}

#[test]
fn each_pair_of_an_alltoallv_exchanges_what_was_recorded() {
    // Rank i sends 10 i + j bytes to rank j.
    let sent = |from: u64, to: u64| 10 * from + to;
    let files: Vec<Vec<u8>> = (0..3)
        .map(|me| {
            let lists = (0..3).map(|to| sent(me, to)).chain((0..3).map(|from| sent(from, me)));
            let numbers: Vec<u64> = [15, 0, 0, 6].into_iter().chain(lists).collect();
            File::new(me as u32, 3).record(10, 0, 5, &numbers).end()
        })
        .collect();
    for library in Library::ALL {
        let rules = ReplayRules { rule: Rule::of(*library), ..ReplayRules::default() };
        let text = read(&files).unwrap().goal(&rules).unwrap();
        for (from, to) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
            assert!(text.contains(&format!("send {}b to {to}", sent(from, to))), "{}: {text}", library.name());
            assert!(text.contains(&format!("recv {}b from {from}", sent(from, to))), "{}: {text}", library.name());
        }
        assert_eq!(text.matches("send").count(), 6);
    }
}

#[test]
fn every_collective_of_every_library_can_be_simulated() {
    for library in Library::ALL {
        for kind in 0..16_u64 {
            for goes_on in [false, true] {
                let files: Vec<Vec<u8>> = (0..5).map(|rank| one_collective(rank, 5, kind, goes_on)).collect();
                let rules = ReplayRules { rule: Rule::of(*library), ..ReplayRules::default() };
                let made = read(&files).unwrap().goal(&rules);
                let text = made.unwrap_or_else(|error| panic!("{} kind {kind}: {error}", library.name()));
                let graphs = Goal { text, ..Goal::default() }.graphs();
                assert!(graphs.is_ok(), "{} kind {kind}: {graphs:?}", library.name());
            }
        }
    }
}

fn one_collective(rank: u32, ranks: u32, kind: u64, goes_on: bool) -> Vec<u8> {
    let sizes: Vec<u64> = match kind {
        12 | 13 if rank != 0 => Vec::new(),
        12..=14 => vec![24; ranks as usize],
        15 => vec![24; 2 * ranks as usize],
        _ => vec![64],
    };
    let request = [3_u64];
    let numbers = [&[kind, 0], &request[..usize::from(goes_on)], &[0, sizes.len() as u64], sizes.as_slice()].concat();
    let mut file = File::new(rank, ranks);
    file.record(10 + u8::from(goes_on), 0, 5, &numbers);
    if goes_on {
        file.record(8, 100, 5, &[4, 0, 0]);
    }
    file.end()
}

#[test]
fn mistakes_are_reported_with_rank_or_byte() {
    let [first, second] = pair();
    let call = |numbers: &[u64]| File::new(1, 2).record(10, 0, 0, numbers).end();
    let barrier = |rank| File::new(rank, 2).record(10, 0, 0, &[0, 0, 0, 1, 0]).end();
    let put = |bytes: &[u8], at: usize, byte: u8| {
        let mut changed = bytes.to_vec();
        changed[at] = byte;
        changed
    };
    let unsupported = File::new(1, 2).record(13, 0, 0, &[3, 87, 105, 110]).end();
    let endless = File::new(1, 2).record(7, 0, 0, &[0, 0, 0, 0, 8]).end();
    let lost = File::new(1, 2).record(4, 0, 90, &[0, 0, 7, 100]).end();
    let end = first.len();
    let cut = format!("0.ewr: byte {}: the file ends within a record; expected a recording of a program", end - 1);
    let long = format!("0.ewr: byte {end}: 1 bytes more; expected the end of the file");
    for (files, message) in [
        (vec![], "no files; expected a file for each rank"),
        (vec![first.clone()], "1 files; expected 2, one for each rank"),
        (vec![first.clone(), first.clone()], "1.ewr: rank 0 of 2; expected rank 1 of 2"),
        (vec![first.clone(), File::new(1, 3).end()], "1.ewr: rank 1 of 3; expected rank 1 of 2"),
        (vec![b"MZ".to_vec()], "0.ewr: byte 0: no recording; expected a file that begins with EWRECORD"),
        (vec![put(&first, 8, 9)], "0.ewr: byte 8: version 9; expected version 1"),
        (vec![put(&first, 12, 2)], "0.ewr: byte 12: rank 2 of 2; expected a rank below"),
        (vec![first[..first.len() - 1].to_vec()], &cut),
        (vec![[first.as_slice(), &[0]].concat()], &long),
        (vec![barrier(0), File::new(1, 2).end()], "rank 0: 1 of 2 members call barrier as collective 0; expected all"),
        (
            vec![barrier(0), call(&[4, 0, 1, 1, 8])],
            "rank 1: bcast of root 1 as collective 0; expected barrier of root 0",
        ),
        (vec![barrier(0), call(&[4, 1, 1, 1, 8])], "1.ewr: byte 63: communicator 1; expected a number below 1"),
        (vec![barrier(0), call(&[4, 0, 2, 1, 8])], "1.ewr: byte 64: root 2; expected a number below 2"),
        (vec![barrier(0), call(&[4, 0, 1, 2, 8, 8])], "1.ewr: byte 62: bcast of 2 members with 2 sizes; expected one"),
        (
            vec![File::new(0, 2).end(), lost],
            "programs: rank1 waits for a message of 100 B under tag 7 that rank0 does not send; expected a send",
        ),
        (vec![File::new(0, 2).end(), unsupported], "rank 1: Win, which is not recorded; expected a program that"),
        (vec![File::new(0, 2).end(), endless], "rank 1: request 0, a receive from anybody that never ends"),
        (
            vec![first, File::new(1, 2).record(99, 0, 0, &[]).end()],
            "1.ewr: byte 59: a record of kind 99; expected a kind",
        ),
    ] {
        let error = refused(&files);
        assert!(error.starts_with(message), "{error}\n{message}");
    }
    let recording = read(&[pair()[0].clone(), second]).unwrap();
    let error = recording.goal(&ReplayRules { compute_scale: f64::NAN, ..ReplayRules::default() }).unwrap_err();
    assert_eq!(error.to_string(), "compute_scale: NaN; expected a number of 0 or more");
}

#[test]
fn a_file_that_is_cut_anywhere_is_refused() {
    let file = pair()[0].clone();
    for length in 0..file.len() {
        assert!(RankRecording::read(&file[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn a_clock_that_drifts_is_corrected_where_the_drift_can_be_measured() {
    let mut rank = RankRecording::read(&pair()[0]).unwrap();
    assert_eq!((rank.length_ns(), rank.common_ns(900, 710)), (710, 810));
    rank.drift_ns = 20; // It counted 20 ns more than the clock of rank 0; errors of 5 ns.
    assert_eq!((rank.common_ns(900, 355), rank.common_ns(900, 710)), (100 + 355 - 10, 100 + 710 - 20));
    rank.drift_ns = 10;
    assert_eq!(rank.common_ns(900, 710), 810);
}

proptest! {
    /// `PROPTEST_CASES=1000000` makes a long run of it.
    #[test]
    fn no_file_breaks_the_reader(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
        records in prop::collection::vec((0..14_u8, prop::collection::vec(0..200_u64, 0..9)), 0..6),
        is_cut: bool,
    ) {
        let mut file = File::new(0, 2);
        records.iter().for_each(|(kind, numbers)| _ = file.record(*kind, 3, 4, numbers));
        let grown = file.end();
        let mut changed = pair()[0].clone();
        changes.iter().for_each(|(at, byte)| { let place = at.index(changed.len()); changed[place] = *byte });
        if is_cut {
            changed.truncate(cut.index(changed.len()));
        }
        for bytes in [grown, changed] {
            if let Ok(recording) = read(&[bytes, pair()[1].clone()])
                && let Ok(text) = recording.goal(&ReplayRules::default())
            {
                let _ = Goal { text, ..Goal::default() }.graphs();
            }
        }
    }
}
