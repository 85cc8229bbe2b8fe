//! Natural and random rings of the HPC Challenge: every rank exchanges with its two neighbours, all ranks at once.
//!
//! For each ring: a broadcast of the ring and an all-reduce, then a loop of two exchanges by blocking calls one after
//! the other, an all-reduce, and a loop of both at once by non-blocking calls; each loop has one turn more that is not
//! timed.

use etherweave_primitives::{Bytes, InputErrors, Purpose, Rank, Stream, params};

use crate::collective::{Collective, Communicator, Library, Rule};
use crate::limits::{MESSAGE_MAX, at_least, at_most, within};
use crate::{Block, Op, Part, Program, RankWorkload, program::iterations};

params! {
    /// Latency and bandwidth of rings (`hpcc_ring`). The first ring is in the order of ranks, the others are random. Of
    /// each ring and measurement two iterations are recorded, of blocking and of non-blocking calls; each is `loops`
    /// turns.
    pub struct HpccRing {
        /// Number of ranks, 2 or more.
        pub ranks: u32 = 16,
        /// Message to each neighbour [B]: 8 for latency, 2,000,000 for bandwidth.
        pub bytes: Bytes = Bytes::new(8),
        /// Turns of a loop, 1 or more: 8 for latency, 3 for bandwidth.
        pub loops: u32 = 8,
        /// Measurements of each ring, 1 or more: 5 for latency, 2 for bandwidth.
        pub measurements: u32 = 5,
        /// Random rings beside the natural one: 30 for latency, 10 for bandwidth.
        pub random_rings: u32 = 30,
        /// Library whose decisions pick the algorithms of collectives.
        pub library: Library = Library::default(),
    }
}

/// Turns of a loop and rings at most: every ring is written out.
const TURNS_MAX: u32 = 1_000;

impl RankWorkload for HpccRing {
    fn ranks(&self) -> u64 {
        u64::from(self.ranks)
    }

    /// # Errors
    /// When there are fewer than two ranks, nothing to measure, or too much.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, seed: u64) -> Result<Vec<Program>, InputErrors> {
        InputErrors::all([
            at_least("ranks", self.ranks, 2),
            at_most("bytes", self.bytes, MESSAGE_MAX),
            within("loops", self.loops, 1..=TURNS_MAX),
            at_least("measurements", self.measurements, 1),
            within("random_rings", self.random_rings, 0..=TURNS_MAX),
        ])?;
        let natural = (0..self.ranks).collect();
        let random = (0..self.random_rings).map(|ring| random_ring(self.ranks, seed, ring));
        let places: Vec<RingPlaces> = std::iter::once(natural).chain(random).map(RingPlaces::new).collect();
        let world = Communicator::world(self.ranks);
        Ok(ranks.map(|rank| self.program(&world, &places, rank)).collect())
    }
}

impl HpccRing {
    fn program(&self, world: &Communicator, rings: &[RingPlaces], rank: u32) -> Program {
        let rule = Rule::of(self.library);
        let ring =
            Collective::Bcast { root: 0, bytes: Bytes::new(4 * u64::from(self.ranks)) }.lower(&rule, world, rank);
        let agree = Collective::Allreduce { bytes: Bytes::new(4) }.lower(&rule, world, rank);
        let [ring, agree] = [ring, agree].map(Block::unmeasured);
        Program::new(rings.iter().map(|places| {
            let [left, right] = places.neighbours(rank);
            let turns = Turns { left, right, bytes: self.bytes.get() };
            let blocking = self.measure(&agree, turns.blocking());
            let non_blocking = self.measure(&agree, turns.non_blocking());
            let parts = std::iter::once(Part::Block(ring.clone())).chain(blocking).chain(non_blocking);
            Part::Repeated(parts.collect(), self.measurements)
        }))
    }

    /// An agreement, a turn that is not timed, and the loop.
    fn measure(&self, agree: &Block, turn: Vec<Op>) -> [Part; 3] {
        let turn = Block::unmeasured(turn);
        let turns = Block { repeat: self.loops, ..turn.clone() };
        [agree.clone().into(), turn.into(), iterations([turns.into()], 1)]
    }
}

/// A rank goes to a random place, or to the next free one behind it: ranks that follow each other stay together more
/// often than in a shuffle.
fn random_ring(ranks: u32, seed: u64, number: u32) -> Vec<u32> {
    let mut stream = Stream::new(seed, Purpose::Traffic, number.into());
    let mut ring = vec![u32::MAX; ranks as usize];
    for rank in 0..ranks {
        let mut place = stream.below(ranks.into()) as usize;
        while ring[place] != u32::MAX {
            place = (place + 1) % ring.len();
        }
        ring[place] = rank;
    }
    ring
}

struct RingPlaces {
    ring: Vec<u32>,
    place: Vec<u32>,
}

impl RingPlaces {
    fn new(ring: Vec<u32>) -> RingPlaces {
        let mut place = vec![0; ring.len()];
        (0..).zip(&ring).for_each(|(at, &rank)| place[rank as usize] = at);
        RingPlaces { ring, place }
    }

    /// Who is left and right of a rank.
    fn neighbours(&self, rank: u32) -> [Rank; 2] {
        let (place, size) = (self.place[rank as usize] as usize, self.ring.len());
        [place + size - 1, place + 1].map(|place| Rank::new(self.ring[place % size]))
    }
}

struct Turns {
    left: Rank,
    right: Rank,
    bytes: u64,
}

impl Turns {
    const TO_RIGHT: u32 = 1;
    const TO_LEFT: u32 = 2;

    /// Returns the messages to the right and from the left, and the same to the other side.
    fn ops(&self) -> [Op; 4] {
        let Turns { left, right, bytes } = *self;
        [
            Op::Irecv { peer: left, tag: Turns::TO_RIGHT, bytes },
            Op::Isend { peer: right, tag: Turns::TO_RIGHT, bytes },
            Op::Irecv { peer: right, tag: Turns::TO_LEFT, bytes },
            Op::Isend { peer: left, tag: Turns::TO_LEFT, bytes },
        ]
    }

    fn blocking(&self) -> Vec<Op> {
        let [from_left, to_right, from_right, to_left] = self.ops();
        vec![from_left, to_right, Op::WaitAll, from_right, to_left, Op::WaitAll]
    }

    fn non_blocking(&self) -> Vec<Op> {
        let [from_left, to_right, from_right, to_left] = self.ops();
        vec![from_left, from_right, to_right, to_left, Op::WaitAll]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_holds_every_rank_once_and_depends_on_seed_and_number() {
        let ring = |seed, number| random_ring(64, seed, number);
        let mut sorted = ring(1, 0);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..64).collect::<Vec<_>>());
        assert_eq!(ring(1, 0), ring(1, 0));
        assert_ne!(ring(1, 0), ring(1, 1));
        assert_ne!(ring(1, 0), ring(2, 0));
    }

    /// 256 ranks, 32 on a host: 77.6 % of the edges of such rings leave a host, where a shuffle has 224 / 255 = 87.8 %.
    #[test]
    fn neighbours_stay_together_more_often_than_in_a_shuffle() {
        let leaving = |number| {
            let ring = random_ring(256, 1, number);
            (0..256).filter(|&at| ring[at] / 32 != ring[(at + 1) % 256] / 32).count()
        };
        let share = (0..300).map(leaving).sum::<usize>() as f64 / (300.0 * 256.0);
        assert!((0.766..0.786).contains(&share), "{share}");
    }

    #[test]
    fn every_ring_and_measurement_has_two_iterations_of_as_many_turns() {
        let rings = HpccRing { loops: 3, measurements: 2, random_rings: 4, ..HpccRing::default() };
        let program = &rings.programs(1).unwrap()[5];
        assert_eq!(program.iterations(), 2 * 5 * 2);
        let ops: Vec<Op> = program.ops().copied().collect();
        let marked = ops.split(|op| matches!(op, Op::IterationStart | Op::IterationEnd));
        let iterations: Vec<usize> = marked.skip(1).step_by(2).map(<[Op]>::len).collect();
        assert_eq!(iterations, [3 * 6, 3 * 5].repeat(10));
        let is_neighbour = |op: &Op| !matches!(op, Op::Isend { peer, tag: 1, .. } if peer.get() != 6);
        let natural = &ops[..ops.len() / 5];
        assert!(natural.iter().all(is_neighbour), "the first ring is in the order of ranks");
    }
}
