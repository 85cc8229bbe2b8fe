//! MPIRandomAccess of the HPC Challenge: updates of a table over all ranks, gathered in buckets before they are sent.
//!
//! ```text
//!   draw ──► owner? ──itself──► applied
//!              └──another──► bucket of the owner ──1,024 wait──► the fullest bucket goes as one message
//! ```

use etherweave_primitives::{Duration, InputError, InputErrors, Rank, params};

use crate::collective::{Collective, Communicator, Library, Rule};
use crate::limits::{ALL_PAIRS_MAX, at_least, within};
use crate::{Block, Op, Program, RankWorkload};

params! {
    /// Random updates of a table (`hpcc_random_access`). A round is what a rank sends while it draws 1,024 updates, its
    /// look-ahead; an iteration is `rounds` of them, taken from where the benchmark has settled. The benchmark reports
    /// the updates of all ranks by the time.
    pub struct HpccRandomAccess {
        /// Number of ranks, 2 to 4,096; if they are a power of two, the bits of a word say whose it is.
        pub ranks: u32 = 16,
        /// Words of the table of all ranks as a power of two, up to 60: the benchmark takes half of what HPL has, or
        /// less.
        pub log2_table: u32 = 30,
        /// Time of a rank for an update: to draw it, and to apply one. Time for looking for messages before each is the
        /// library's.
        pub per_update: Duration = Duration::ZERO,
        /// Rounds that differ, 1 to 1,000.
        pub rounds: u32 = 4,
        /// Library whose decisions pick the algorithm of the barrier.
        pub library: Library = Library::default(),
        /// Number of repetitions of the rounds, 1 or more.
        pub iterations: u32 = 10,
    }
}

/// Updates that a rank holds back at most (`MAX_TOTAL_PENDING_UPDATES`).
const LOOK_AHEAD: u32 = 1_024;
/// Rounds until messages are of one size: buckets fill in the first.
const SETTLING: u32 = 4;
/// Most rounds, each written out.
const ROUNDS_MAX: u32 = 1_000;
/// Most words of the table as a power of two: four times as many updates are numbered.
const LOG2_TABLE_MAX: u32 = 60;
/// An update [B].
const WORD: u64 = 8;
/// Tag of the messages (`UPDATE_TAG`).
const TAG: u32 = 2;

impl RankWorkload for HpccRandomAccess {
    fn ranks(&self) -> u64 {
        u64::from(self.ranks)
    }

    /// # Errors
    /// When there are fewer than two ranks, or too few words for the rounds.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, _: u64) -> Result<Vec<Program>, InputErrors> {
        InputErrors::all([
            within("ranks", self.ranks, 2..=ALL_PAIRS_MAX),
            within("log2_table", self.log2_table, 1..=LOG2_TABLE_MAX),
            within("rounds", self.rounds, 1..=ROUNDS_MAX),
            at_least("iterations", self.iterations, 1),
        ])?;
        let table = Table::new(self.ranks, self.log2_table);
        let drawn = u64::from(SETTLING + self.rounds) * u64::from(LOOK_AHEAD);
        let expected = format_args!("a table of {drawn} updates or more for each rank");
        InputError::unless(4 * table.words_min >= drawn, "log2_table", self.log2_table, expected)?;
        let sent: Vec<Vec<Round>> = (0..self.ranks).map(|rank| self.sent(&table, rank)).collect();
        let world = Communicator::world(self.ranks);
        Ok(ranks.map(|rank| self.program(&world, &sent, rank)).collect())
    }
}

impl HpccRandomAccess {
    fn sent(&self, table: &Table, rank: u32) -> Vec<Round> {
        let mut buckets = Buckets::new(table, rank);
        (0..SETTLING).for_each(|_| drop(buckets.round()));
        (0..self.rounds).map(|_| buckets.round()).collect()
    }

    fn program(&self, world: &Communicator, sent: &[Vec<Round>], rank: u32) -> Program {
        let barrier = Block::unmeasured(Collective::Barrier.lower(&Rule::of(self.library), world, rank));
        let mut ops = vec![Op::IterationStart];
        for round in 0..self.rounds as usize {
            let received = (0..).zip(sent).flat_map(|(peer, rounds)| {
                let own = rounds[round].messages.iter().filter(|message| message.owner == rank);
                own.map(move |message| Op::Irecv { peer: Rank::new(peer), tag: TAG, bytes: message.bytes() })
            });
            ops.extend(received);
            self.send(&mut ops, &sent[rank as usize][round]);
            ops.push(Op::WaitAll);
        }
        ops.push(Op::IterationEnd);
        Program::new([barrier, Block::measured(ops, self.iterations)])
    }

    fn send(&self, ops: &mut Vec<Op>, round: &Round) {
        for message in &round.messages {
            ops.extend(self.compute(message.drawn));
            // Before each update, and once more before the fullest bucket goes.
            ops.push(Op::Poll { times: message.drawn + 1 });
            ops.push(Op::Isend { peer: Rank::new(message.owner), tag: TAG, bytes: message.bytes() });
        }
        ops.extend(self.compute(round.drawn_last));
        ops.push(Op::Poll { times: round.drawn_last });
    }

    fn compute(&self, updates: u32) -> Option<Op> {
        let duration = self.per_update * u64::from(updates);
        (!duration.is_zero()).then_some(Op::Compute { duration })
    }
}

/// Division of the words among ranks. The first ranks have one word more where the words cannot be divided evenly.
struct Table {
    ranks: u32,
    log2_words: u32,
    words_min: u64,
    remainder: u64,
}

impl Table {
    fn new(ranks: u32, log2_words: u32) -> Table {
        let words = 1 << log2_words;
        Table { ranks, log2_words, words_min: words / u64::from(ranks), remainder: words % u64::from(ranks) }
    }

    fn owner(&self, number: u64) -> u32 {
        let word = number & ((1 << self.log2_words) - 1);
        if self.ranks.is_power_of_two() {
            return (word >> (self.log2_words - self.ranks.ilog2())) as u32;
        }
        let longer = self.words_min + 1;
        let owner =
            if word < longer * self.remainder { word / longer } else { (word - self.remainder) / self.words_min };
        owner as u32
    }

    /// The first word of a rank.
    fn start(&self, rank: u32) -> u64 {
        self.words_min * u64::from(rank) + self.remainder.min(rank.into())
    }
}

/// A bucket that goes to its owner.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Message {
    owner: u32,
    updates: u32,
    /// How many the sender has drawn since its last message.
    drawn: u32,
}

impl Message {
    fn bytes(self) -> u64 {
        u64::from(self.updates) * WORD
    }
}

/// Messages that a rank sends while it draws [`LOOK_AHEAD`] updates.
struct Round {
    messages: Vec<Message>,
    /// Updates behind the last message.
    drawn_last: u32,
}

/// A rank's updates that are not sent yet.
struct Buckets<'a> {
    table: &'a Table,
    rank: u32,
    /// The last update.
    number: u64,
    waiting: Vec<u32>,
    all_waiting: u32,
}

impl Buckets<'_> {
    fn new(table: &Table, rank: u32) -> Buckets<'_> {
        let number = number(4 * table.start(rank));
        Buckets { table, rank, number, waiting: vec![0; table.ranks as usize], all_waiting: 0 }
    }

    fn round(&mut self) -> Round {
        let (mut messages, mut drawn) = (Vec::new(), 0);
        for _ in 0..LOOK_AHEAD {
            if self.all_waiting == LOOK_AHEAD {
                messages.push(self.fullest(drawn));
                drawn = 0;
            }
            self.draw();
            drawn += 1;
        }
        Round { messages, drawn_last: drawn }
    }

    fn draw(&mut self) {
        self.number = doubled(self.number);
        let owner = self.table.owner(self.number);
        if owner != self.rank {
            self.waiting[owner as usize] += 1;
            self.all_waiting += 1;
        }
    }

    /// Empties the fullest bucket; of several the first behind the rank, so that ranks differ.
    fn fullest(&mut self, drawn: u32) -> Message {
        let updates = self.waiting.iter().copied().max().unwrap_or(0);
        let (before, behind) = self.waiting.split_at(self.rank as usize);
        let is_fullest = |&waiting: &u32| waiting == updates;
        let place = behind.iter().position(is_fullest).map(|place| place + before.len());
        let place = place.or_else(|| before.iter().position(is_fullest)).unwrap_or(0);
        self.waiting[place] = 0;
        self.all_waiting -= updates;
        Message { owner: place as u32, updates, drawn }
    }
}

/// The benchmark's `n`-th random number: x^n modulo x^64 + x^2 + x + 1 over two elements, a coefficient a bit.
fn number(n: u64) -> u64 {
    let squared = |power: u64, bit: u32| {
        let square = product(power, power);
        if (n >> bit) & 1 == 1 { doubled(square) } else { square }
    };
    (0..u64::BITS).rev().fold(1, squared)
}

fn product(a: u64, b: u64) -> u64 {
    (0..u64::BITS).rev().fold(0, |sum, bit| doubled(sum) ^ (a * ((b >> bit) & 1)))
}

/// Times x: the number that follows.
fn doubled(number: u64) -> u64 {
    (number << 1) ^ (7 * (number >> 63))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_each_other_and_begin_again_after_the_benchmark_s_period() {
        let mut expected = 1;
        for n in 0..200 {
            assert_eq!(number(n), expected, "{n}");
            expected = doubled(expected);
        }
        // `PERIOD` of RandomAccess.h.
        assert_eq!(number(1_317_624_576_693_539_401), 1);
        assert_eq!(number(12_345 + 678), product(number(12_345), number(678)));
    }

    #[test]
    fn every_word_has_an_owner_and_its_words_follow_each_other() {
        for (ranks, log2_words) in [(2, 10), (3, 10), (7, 12), (16, 12), (48, 13)] {
            let table = Table::new(ranks, log2_words);
            let owners: Vec<u32> = (0..1 << log2_words).map(|word| table.owner(word)).collect();
            assert!(owners.is_sorted());
            for rank in 0..ranks {
                assert_eq!(owners.iter().position(|&owner| owner == rank), Some(table.start(rank) as usize), "{rank}");
            }
        }
    }

    /// Means of a model that draws owners at random, settled.
    #[test]
    fn messages_shrink_with_the_number_of_ranks() {
        for (ranks, expected) in [(16, 128.5), (64, 33.0), (256, 8.96), (1_024, 2.97)] {
            let access = HpccRandomAccess { ranks, log2_table: 36, rounds: 40, ..HpccRandomAccess::default() };
            let table = Table::new(ranks, access.log2_table);
            let sent = access.sent(&table, ranks / 2);
            let messages = sent.iter().flat_map(|round| &round.messages);
            let (count, updates) = messages.fold((0.0, 0.0), |sum, one| (sum.0 + 1.0, sum.1 + f64::from(one.updates)));
            assert!((updates / count / expected - 1.0_f64).abs() < 0.03, "{ranks}: {}", updates / count);
        }
    }

    #[test]
    fn a_round_is_as_long_as_its_updates_take() {
        let per_update = Duration::from_ns(50);
        for ranks in [2, 6, 16] {
            let access = HpccRandomAccess { ranks, per_update, rounds: 2, ..HpccRandomAccess::default() };
            for program in access.programs(1).unwrap() {
                let computed = program.blocks[1].ops.iter().map(|op| match op {
                    Op::Compute { duration } => duration.as_ps(),
                    _ => 0,
                });
                assert_eq!(computed.sum::<u64>(), 2 * 1_024 * per_update.as_ps(), "{ranks}");
            }
        }
    }

    /// `MPI_Testany` before each of 1,024 updates, and once more before each message.
    #[test]
    fn a_rank_looks_for_messages_before_every_update_and_every_message() {
        let access = HpccRandomAccess { ranks: 8, rounds: 2, ..HpccRandomAccess::default() };
        for program in access.programs(1).unwrap() {
            let ops = &program.blocks[1].ops;
            let messages = ops.iter().filter(|op| matches!(op, Op::Isend { .. })).count() as u32;
            let looks = ops.iter().map(|op| if let Op::Poll { times } = op { *times } else { 0 });
            assert_eq!(looks.sum::<u32>(), 2 * 1_024 + messages);
        }
    }
}
