//! Every rank sends to one partner and receives from one.

use etherweave_primitives::{Bytes, InputError, InputErrors, Purpose, Rank, Stream, params};

use crate::limits::{MESSAGE_MAX, at_least, at_most};
use crate::{Block, Op, Program, RankWorkload, TrafficSize, program::iteration, size::HEAD_BYTES, size::of_partners};

/// Who sends to whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Partner {
    /// Rank i sends to rank (i + shift) mod n.
    Shift(u32),
    /// A random derangement: a permutation without a fixed point, drawn from the run's seed.
    Random,
}

params! {
    /// One message per rank and iteration along a permutation (`permutation`).
    pub struct Permutation {
        /// Number of ranks, 2 or more.
        pub ranks: u32 = 16,
        /// Message to the partner [B].
        pub bytes: Bytes = Bytes::new(2_000_000),
        /// Who sends to whom.
        pub partner: Partner = Partner::Random,
        /// Number of iterations, 1 or more.
        pub iterations: u32 = 1,
    }
}

/// Operations of a program: two marks and three operations.
const PROGRAM_OPS: u64 = 5;

impl RankWorkload for Permutation {
    fn ranks(&self) -> u64 {
        u64::from(self.ranks)
    }

    /// # Errors
    /// When there are fewer than two ranks, no iteration, or a rank would be its own partner.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, seed: u64) -> Result<Vec<Program>, InputErrors> {
        const TAG: u32 = 1;
        let mut errors = InputErrors::default();
        errors.check(at_least("iterations", self.iterations, 1));
        errors.check(at_most("bytes", self.bytes, MESSAGE_MAX));
        let to = errors.check(self.partner.of_all(self.ranks, seed)).unwrap_or_default();
        errors.into_result()?;
        let bytes = self.bytes.get();
        let mut from = vec![Rank::default(); to.len()];
        to.iter().enumerate().for_each(|(rank, peer)| from[peer.index()] = Rank::from_index(rank));
        let program = |rank: usize| {
            let receive = Op::Irecv { peer: from[rank], tag: TAG, bytes };
            let send = Op::Isend { peer: to[rank], tag: TAG, bytes };
            Program::new([Block::measured(iteration([receive, send, Op::WaitAll]), self.iterations)])
        };
        Ok(ranks.map(|rank| program(rank as usize)).collect())
    }

    /// Partners are not drawn for it.
    fn size(&self) -> Result<TrafficSize, InputErrors> {
        let size = of_partners(self.ranks(), self.bytes.get(), u64::from(self.iterations), 1);
        let rows = self.ranks().saturating_mul(u64::from(self.iterations));
        let program = PROGRAM_OPS * size_of::<Op>() as u64 + HEAD_BYTES;
        Ok(TrafficSize { program_bytes: self.ranks().saturating_mul(program), rows, ..size })
    }
}

impl Partner {
    /// Whom each of `ranks` sends to; nobody to itself.
    ///
    /// # Errors
    /// When there are fewer than two ranks, or the shift is a multiple of their number.
    pub fn of_all(self, ranks: u32, seed: u64) -> Result<Vec<Rank>, InputError> {
        at_least("ranks", ranks, 2)?;
        match self {
            Partner::Shift(shift) if shift.is_multiple_of(ranks) => {
                let mistake = format!("shift {shift} among {ranks} ranks leads back to the sender");
                Err(InputError::new("partner", mistake, format!("no multiple of {ranks}")))
            }
            Partner::Shift(shift) => {
                let to = |rank| (u64::from(rank) + u64::from(shift)) % u64::from(ranks);
                Ok((0..ranks).map(|rank| Rank::new(to(rank) as u32)).collect())
            }
            Partner::Random => Ok(derangement(ranks, seed)),
        }
    }
}

/// Shuffles until nobody is left in place: uniform over derangements. About e tries on average,
/// since a share of 1/e of all permutations has no fixed point.
pub(crate) fn derangement(ranks: u32, seed: u64) -> Vec<Rank> {
    let mut stream = Stream::new(seed, Purpose::Traffic, u64::from(ranks));
    let mut to: Vec<Rank> = (0..ranks).map(Rank::new).collect();
    loop {
        stream.shuffle(&mut to);
        if to.iter().enumerate().all(|(rank, peer)| peer.index() != rank) {
            return to;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shift_wraps_around_and_never_ends_at_the_sender() {
        let to: Vec<_> = Partner::Shift(3).of_all(4, 0).unwrap().iter().map(|rank| rank.get()).collect();
        assert_eq!(to, [3, 0, 1, 2]);
    }

    #[test]
    fn a_random_partner_is_someone_else_for_everyone() {
        for seed in 0..20 {
            let to = Partner::Random.of_all(48, seed).unwrap();
            assert!(to.iter().enumerate().all(|(rank, peer)| peer.index() != rank));
            let mut sorted = to.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..48).map(Rank::new).collect::<Vec<_>>());
        }
    }
}
