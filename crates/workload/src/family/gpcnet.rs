//! GPCNeT: network tests of many ranks, and the congestors beside which they run.
//!
//! Tests and congestors are jobs of their own: in `network_load_test` a fifth of the hosts runs the tests, and each of
//! four congestors a fifth. With several ranks on a host, those of the same number there form a group of their own,
//! with a ring, an all-reduce and a congestor's root each.
//! Source: GPCNeT 1.3: `network_load_test.c`, `network_test.c`, `random_ring.c`, `collectives.c`, `congestors.c`,
//! `subcomms.c`.

use etherweave_primitives::{Bytes, InputError, InputErrors, Purpose, Rank, Stream, params};

use crate::collective::{Collective, Communicator, Library, Rule};
use crate::limits::{ALL_PAIRS_MAX, COLLECTIVE_MAX, at_least, at_most, within};
use crate::{Block, Op, Program, RankWorkload, program::Access, program::iteration};

/// Message of a ring for latency, and element of an all-reduce [B].
const WORD: u64 = 8;
/// Message of a ring for bandwidth [B].
const LONG: u64 = 131_072;
/// Messages of a ring for bandwidth to each side at once.
const OUTSTANDING: usize = 8;
/// Message of an all-to-all [B].
const BLOCK: u64 = 4_096;
/// Rings that are kept as programs, at most.
const RINGS_MAX: u32 = 1_000;
/// Tags of messages to the left and to the right.
const TO_LEFT: u32 = 82;
const TO_RIGHT: u32 = 81;
/// Tag of congestors.
const CONGESTION: u32 = 987;
/// Turns of an incast between two synchronisations, for up to 32 ranks; for more so many fewer.
const TURNS: u64 = 512;
const TURNS_RANKS: u64 = 32;
/// Receives of a root between two synchronisations, at most: each is written out.
const RECEIVES_MAX: u64 = 4_096;

/// Test of GPCNeT.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GpcnetTest {
    /// Random rings of 8 B ("RR Two-sided Lat").
    Latency,
    /// Random rings of gets of 8 B ("RR Get Lat").
    GetLatency,
    /// Random rings of eight messages of 131,072 B to each side ("RR Two-sided BW").
    Bandwidth,
    /// Random rings of eight puts of 131,072 B to each side ("RR Put BW").
    PutBandwidth,
    /// The same in the order of ranks ("Nat Two-sided BW").
    NaturalBandwidth,
    /// Random rings for bandwidth with a barrier behind each turn ("RR Two-sided BW+Sync").
    BandwidthSync,
    /// An all-reduce of 8 B ("Multiple Allreduce").
    Allreduce,
    /// An all-to-all of 4,096 B ("Multiple Alltoall").
    Alltoall,
}

params! {
    /// Network tests of GPCNeT (`gpcnet`), one after the other.
    pub struct Gpcnet {
        /// Number of ranks, 2 or more of each group.
        pub ranks: u32 = 16,
        /// Ranks of a host, in the order of hosts; `ranks_per_host` of the job.
        pub groups: u32 = 1,
        /// Tests of the run: by default those of `network_load_test`.
        pub tests: Vec<GpcnetTest> = vec![GpcnetTest::Latency, GpcnetTest::BandwidthSync, GpcnetTest::Allreduce],
        /// Rings of each test, 1 to 1,000: 30 in the benchmark.
        pub rings: u32 = 30,
        /// Turns of each ring for latency, after as many that are not timed: 200 in the benchmark.
        pub latency_turns: u32 = 200,
        /// Turns of each ring for bandwidth, after one that is not timed: 8 in the benchmark.
        pub bandwidth_turns: u32 = 8,
        /// All-reduces, after one that is not timed: 200 in the benchmark.
        pub allreduces: u32 = 200,
        /// All-to-alls, after one that is not timed: 64 in the benchmark on up to 64 ranks.
        pub alltoalls: u32 = 64,
        /// Library whose decisions pick the algorithms of collectives.
        pub library: Library = Library::default(),
    }
}

impl RankWorkload for Gpcnet {
    fn ranks(&self) -> u64 {
        u64::from(self.ranks)
    }

    /// # Errors
    /// When a group has one rank, or there is nothing to measure.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, seed: u64) -> Result<Vec<Program>, InputErrors> {
        InputErrors::all([
            check_groups(self.ranks, self.groups),
            InputError::unless(!self.tests.is_empty(), "tests", "none", "at least one"),
            within("rings", self.rings, 1..=RINGS_MAX),
            at_least("latency_turns", self.latency_turns, 1),
            at_least("bandwidth_turns", self.bandwidth_turns, 1),
            at_least("allreduces", self.allreduces, 1),
            at_least("alltoalls", self.alltoalls, 1),
        ])?;
        if self.tests.contains(&GpcnetTest::Alltoall) {
            at_most_all_pairs(self.ranks)?;
        }
        Ok(ranks.map(|rank| self.program(&Member::new(self.ranks, self.groups, rank), seed)).collect())
    }
}

impl Gpcnet {
    fn program(&self, member: &Member, seed: u64) -> Program {
        Program::new(self.tests.iter().flat_map(|&test| match test {
            GpcnetTest::Allreduce => {
                let sum = Collective::Allreduce { bytes: Bytes::new(WORD) };
                self.repeated(member, self.allreduces, 1, &member.lower(&sum, self.library))
            }
            GpcnetTest::Alltoall => {
                let all = Collective::Alltoall { bytes: Bytes::new(BLOCK) };
                self.repeated(member, self.alltoalls, 1, &member.lower(&all, self.library))
            }
            GpcnetTest::Latency
            | GpcnetTest::GetLatency
            | GpcnetTest::Bandwidth
            | GpcnetTest::PutBandwidth
            | GpcnetTest::NaturalBandwidth
            | GpcnetTest::BandwidthSync => {
                (0..self.rings).flat_map(|ring| self.ring(member, test, seed, ring)).collect()
            }
        }))
    }

    fn ring(&self, member: &Member, test: GpcnetTest, seed: u64, number: u32) -> Vec<Block> {
        let neighbours = match test {
            GpcnetTest::NaturalBandwidth => member.neighbours(None),
            _ => member.neighbours(Some((seed, number))),
        };
        let mut turn = match test {
            GpcnetTest::GetLatency => one_sided(neighbours, Access::Get, WORD, 1),
            GpcnetTest::PutBandwidth => one_sided(neighbours, Access::Put, LONG, OUTSTANDING),
            GpcnetTest::Latency => turn(neighbours, WORD, 1),
            _ => turn(neighbours, LONG, OUTSTANDING),
        };
        if test == GpcnetTest::BandwidthSync {
            turn.extend(member.lower(&Collective::Barrier, self.library));
        }
        if matches!(test, GpcnetTest::Latency | GpcnetTest::GetLatency) {
            self.repeated(member, self.latency_turns, self.latency_turns, &turn)
        } else {
            self.repeated(member, self.bandwidth_turns, 1, &turn)
        }
    }

    /// A barrier of all, turns that are not timed, and turns that are.
    fn repeated(&self, member: &Member, turns: u32, warm_up: u32, turn: &[Op]) -> Vec<Block> {
        let barrier = Collective::Barrier.lower(&Rule::of(self.library), &Communicator::world(self.ranks), member.rank);
        vec![
            Block::unmeasured(barrier),
            Block { ops: turn.into(), repeat: warm_up, measured: false },
            Block::measured(iteration(turn.iter().copied()), turns),
        ]
    }
}

/// Congestor of GPCNeT.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GpcnetCongestion {
    /// Blocking exchanges with all others, one after the other ("Alltoall").
    #[default]
    Alltoall,
    /// All others send to one ("Two-sided Incast").
    Incast,
    /// All others put into the memory of one ("Put Incast").
    PutIncast,
    /// All others get from the memory of one ("Get Bcast").
    GetBroadcast,
}

params! {
    /// A congestor of GPCNeT (`gpcnet_congestor`), for a job in the background.
    pub struct GpcnetCongestor {
        /// Kind of the congestor.
        pub kind: GpcnetCongestion = GpcnetCongestion::default(),
        /// Number of ranks, 2 or more of each group.
        pub ranks: u32 = 16,
        /// Ranks of a host, in the order of hosts; `ranks_per_host` of the job.
        pub groups: u32 = 1,
        /// Message to each rank [B].
        pub bytes: Bytes = Bytes::new(BLOCK),
        /// How often, 2 or more; by default longer than most tests take.
        pub passes: u32 = 1_000_000,
        /// Library whose decisions pick the algorithms of collectives.
        pub library: Library = Library::default(),
    }
}

impl RankWorkload for GpcnetCongestor {
    fn ranks(&self) -> u64 {
        u64::from(self.ranks)
    }

    /// The schedules of some ranks: a pass that is measured, and those that follow.
    ///
    /// # Errors
    /// When a group has one rank, or messages have no length.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, _: u64) -> Result<Vec<Program>, InputErrors> {
        self.check()?;
        let program = |rank| {
            let pass = self.pass(&Member::new(self.ranks, self.groups, rank));
            let following = Block { ops: pass.clone().into(), repeat: self.passes - 1, measured: false };
            Program::new([Block::measured(iteration(pass), 1), following])
        };
        Ok(ranks.map(program).collect())
    }
}

impl GpcnetCongestor {
    fn check(&self) -> Result<(), InputErrors> {
        InputErrors::all([
            check_groups(self.ranks, self.groups),
            at_most_all_pairs(self.ranks),
            InputError::unless(self.bytes != Bytes::ZERO, "bytes", "0B", "at least 1B"),
            at_most("bytes", self.bytes, COLLECTIVE_MAX),
            at_least("passes", self.passes, 2),
        ])
    }

    fn pass(&self, member: &Member) -> Vec<Op> {
        if self.kind == GpcnetCongestion::Alltoall {
            return (0..member.size()).flat_map(|step| self.exchange(member, step)).collect();
        }
        let size = u64::from(member.size());
        let turns = (TURNS * TURNS_RANKS / size.max(TURNS_RANKS)).min(RECEIVES_MAX / size).max(1) as usize;
        let mut ops = self.turn_at_first(member).repeat(turns);
        ops.extend(member.lower(&Collective::Allreduce { bytes: Bytes::new(WORD) }, self.library));
        ops
    }

    /// Step `step` of an all-to-all by exclusive or, or around the ring where ranks are no power of two.
    fn exchange(&self, member: &Member, step: u32) -> Vec<Op> {
        let (size, me, bytes) = (member.size(), member.place, self.bytes.get());
        let [from, to] =
            if size.is_power_of_two() { [me ^ step; 2] } else { [(me + size - step) % size, (me + step) % size] };
        if step == 0 {
            return vec![Op::Copy { bytes }];
        }
        let [from, to] = [from, to].map(|place| member.rank_at(place));
        vec![
            Op::Irecv { peer: from, tag: CONGESTION, bytes },
            Op::Isend { peer: to, tag: CONGESTION, bytes },
            Op::WaitAll,
        ]
    }

    /// One message of each to the first of its group, or what reaches into its memory.
    fn turn_at_first(&self, member: &Member) -> Vec<Op> {
        let (peer, bytes) = (member.rank_at(0), self.bytes.get());
        let op = match self.kind {
            GpcnetCongestion::PutIncast => Op::OneSided { access: Access::Put, peer, bytes },
            GpcnetCongestion::GetBroadcast => Op::OneSided { access: Access::Get, peer, bytes },
            GpcnetCongestion::Incast | GpcnetCongestion::Alltoall => Op::Isend { peer, tag: CONGESTION, bytes },
        };
        if member.place > 0 {
            return vec![op, Op::WaitAll];
        }
        if self.kind != GpcnetCongestion::Incast {
            return Vec::new();
        }
        let receive = |place| Op::Irecv { peer: member.rank_at(place), tag: CONGESTION, bytes };
        (1..member.size()).map(receive).chain([Op::WaitAll]).collect()
    }
}

/// Whether hosts and groups are those of a job, with two ranks of each group.
fn check_groups(ranks: u32, groups: u32) -> Result<(), InputError> {
    let is_whole = groups > 0 && ranks.is_multiple_of(groups) && ranks / groups >= 2;
    let expected = format!("a multiple of {} groups, 2 or more of each", groups.max(1));
    InputError::unless(is_whole, "ranks", ranks, expected)
}

fn at_most_all_pairs(ranks: u32) -> Result<(), InputError> {
    let expected = format!("at most {ALL_PAIRS_MAX}, where every pair has a connection");
    InputError::unless(ranks <= ALL_PAIRS_MAX, "ranks", ranks, expected)
}

/// A rank in its group: the ranks of the same number on each host.
struct Member {
    rank: u32,
    groups: u32,
    group: u32,
    place: u32,
    size: u32,
}

impl Member {
    fn new(ranks: u32, groups: u32, rank: u32) -> Member {
        Member { rank, groups, group: rank % groups, place: rank / groups, size: ranks / groups }
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn rank_at(&self, place: u32) -> Rank {
        Rank::new(place * self.groups + self.group)
    }

    fn lower(&self, collective: &Collective, library: Library) -> Vec<Op> {
        let members = (0..self.size).map(|place| self.rank_at(place)).collect();
        collective.lower(&Rule::of(library), &Communicator::new(members, 1), self.place)
    }

    /// Who is left and right in the order of ranks, or in random ring `number` of a seed.
    fn neighbours(&self, random: Option<(u64, u32)>) -> [Rank; 2] {
        let mut ring: Vec<u32> = (0..self.size).collect();
        if let Some((seed, number)) = random {
            let entity = u64::from(self.group) << 32 | u64::from(number);
            Stream::new(seed, Purpose::Traffic, entity).shuffle(&mut ring);
        }
        let (at, size) = (ring.iter().position(|&place| place == self.place).unwrap_or_default(), ring.len());
        [at + size - 1, at + 1].map(|at| self.rank_at(ring[at % size]))
    }
}

/// Receives from both sides and sends to both, `count` messages each, and a wait for all.
fn turn([left, right]: [Rank; 2], bytes: u64, count: usize) -> Vec<Op> {
    let receives = [Op::Irecv { peer: left, tag: TO_RIGHT, bytes }, Op::Irecv { peer: right, tag: TO_LEFT, bytes }];
    let sends = [Op::Isend { peer: left, tag: TO_LEFT, bytes }, Op::Isend { peer: right, tag: TO_RIGHT, bytes }];
    [receives.repeat(count), sends.repeat(count), vec![Op::WaitAll]].concat()
}

/// Operations on the memory of both sides, `count` each, and their flush.
fn one_sided(neighbours: [Rank; 2], access: Access, bytes: u64, count: usize) -> Vec<Op> {
    let both = neighbours.map(|peer| Op::OneSided { access, peer, bytes });
    [both.repeat(count), vec![Op::WaitAll]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bytes_sent, check, check_progress};

    const CONGESTORS: [GpcnetCongestion; 4] = [
        GpcnetCongestion::Alltoall,
        GpcnetCongestion::Incast,
        GpcnetCongestion::PutIncast,
        GpcnetCongestion::GetBroadcast,
    ];
    const ALL: [GpcnetTest; 8] = [
        GpcnetTest::Latency,
        GpcnetTest::GetLatency,
        GpcnetTest::Bandwidth,
        GpcnetTest::PutBandwidth,
        GpcnetTest::NaturalBandwidth,
        GpcnetTest::BandwidthSync,
        GpcnetTest::Allreduce,
        GpcnetTest::Alltoall,
    ];

    #[test]
    fn tests_and_congestors_end_on_groups_of_all_sizes() {
        for (ranks, groups) in [(2, 1), (3, 1), (12, 3), (14, 2), (32, 4)] {
            let tests = Gpcnet { ranks, groups, tests: ALL.to_vec(), rings: 3, ..Gpcnet::default() };
            let mut all = vec![tests.programs(7).unwrap()];
            for kind in CONGESTORS {
                all.push(GpcnetCongestor { kind, ranks, groups, ..GpcnetCongestor::default() }.programs(1).unwrap());
            }
            for programs in all {
                assert_eq!(check(&programs), Ok(()), "{ranks} {groups}");
                assert_eq!(check_progress(&programs), Ok(()), "{ranks} {groups}");
            }
        }
    }

    #[test]
    fn each_test_has_as_many_iterations_as_the_benchmark() {
        let iterations = |test| Gpcnet { tests: vec![test], ..Gpcnet::default() }.programs(1).unwrap()[0].iterations();
        assert_eq!(ALL.map(iterations), [30 * 200, 30 * 200, 30 * 8, 30 * 8, 30 * 8, 30 * 8, 200, 64]);
    }

    #[test]
    fn a_ring_sends_to_both_sides_within_its_group() {
        let rings = Gpcnet { ranks: 32, groups: 2, tests: vec![GpcnetTest::Latency], ..Gpcnet::default() };
        let program = &rings.programs(7).unwrap()[5];
        let peers: Vec<u32> = program.blocks[2]
            .ops
            .iter()
            .filter_map(|op| if let Op::Isend { peer, bytes: 8, .. } = op { Some(peer.get()) } else { None })
            .collect();
        assert_eq!(peers.len(), 2);
        assert!(peers.iter().all(|peer| peer % 2 == 1 && *peer != 5), "{peers:?}");
        let natural = Member::new(32, 2, 5).neighbours(None);
        assert_eq!(natural, [Rank::new(3), Rank::new(7)]);
        assert_ne!(rings.programs(8).unwrap()[5].blocks[2], program.blocks[2], "another seed, another ring");
    }

    #[test]
    fn a_pass_of_an_all_to_all_sends_a_message_to_each_other() {
        for ranks in [8, 13] {
            let all = GpcnetCongestor { ranks, passes: 2, ..GpcnetCongestor::default() };
            let programs = all.programs(1).unwrap();
            assert!(programs.iter().all(|program| bytes_sent(program) == 2 * u64::from(ranks - 1) * 4_096));
        }
    }

    #[test]
    fn one_sided_congestors_reach_into_the_first_rank_one_operation_at_a_time() {
        for (kind, access) in
            [(GpcnetCongestion::PutIncast, Access::Put), (GpcnetCongestion::GetBroadcast, Access::Get)]
        {
            let congestor = GpcnetCongestor { kind, ranks: 5, ..GpcnetCongestor::default() };
            let programs = congestor.programs(1).unwrap();
            let one_sided = Op::OneSided { access, peer: Rank::new(0), bytes: BLOCK };
            assert_eq!(programs[3].blocks[1].ops[..4], [one_sided, Op::WaitAll, one_sided, Op::WaitAll]);
            let has_any = |program: &Program| program.ops().take(50).any(|op| matches!(op, Op::OneSided { .. }));
            assert_eq!(programs.iter().map(has_any).collect::<Vec<_>>(), [false, true, true, true, true]);
        }
    }
}
