//! MPIFFT of the HPC Challenge: a one-dimensional transform over all ranks, with three all-to-alls.

use etherweave_primitives::{BitRate, Bytes, Duration, InputError, InputErrors, params};

use crate::collective::{Algorithm, Collective, Communicator, Library, Rule};
use crate::limits::{ALL_PAIRS_MAX, COLLECTIVE_MAX, at_least, at_most, positive};
use crate::{Block, Op, Program, RankWorkload, program::iteration};

params! {
    /// Fourier transform of complex numbers over all ranks (`hpcc_mpifft`). An iteration is a forward transform, behind
    /// a barrier: an all-to-all, half of the computing, an all-to-all, the other half, an all-to-all; each rank
    /// transposes its part in memory before and after each of them. The benchmark reports 5 n log2 n operations by the
    /// time of the slowest.
    pub struct HpccMpifft {
        /// Number of ranks, a product of 2, 3 and 5 from 2 to 4,096.
        pub ranks: u32 = 16,
        /// Complex numbers of each rank, a multiple of `ranks` and a product of 2, 3 and 5: the benchmark takes a
        /// sixteenth of what HPL has, or less. Default: for each rank the largest product of 2, 3 and 5 with which they
        /// are at most 16,384.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub local: Option<u64> = None,
        /// Computing of each rank in a transform of the whole.
        pub compute: Duration = Duration::ZERO,
        /// How fast a rank transposes its part in memory. Absent: at once.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub copy_rate: Option<BitRate> = None,
        /// Library whose decisions pick the algorithms of collectives.
        pub library: Library = Library::default(),
        /// This algorithm of the all-to-alls instead.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub algorithm: Option<Algorithm> = None,
        /// Number of transforms, 1 or more: 1 in the benchmark.
        pub iterations: u32 = 1,
    }
}

/// A complex number of double precision [B].
const COMPLEX: u64 = 16;
/// Numbers of a rank, at most, unless they are stated.
const LOCAL_DEFAULT: u64 = 1 << 14;
/// Most numbers of a rank.
const LOCAL_MAX: u64 = 1 << 40;

impl RankWorkload for HpccMpifft {
    fn ranks(&self) -> u64 {
        u64::from(self.ranks)
    }

    fn complete(&mut self) {
        self.local = Some(self.local());
    }

    /// # Errors
    /// When the ranks or the numbers of a rank are no product of 2, 3 and 5, a rank has not equally many for each, or
    /// the algorithm performs no all-to-all.
    fn programs_of(&self, ranks: impl Iterator<Item = u32>, _: u64) -> Result<Vec<Program>, InputErrors> {
        let is_product = (2..=ALL_PAIRS_MAX).contains(&self.ranks) && is_smooth(self.ranks.into());
        let expected = format_args!("a product of 2, 3 and 5 from 2 to {ALL_PAIRS_MAX}");
        InputErrors::all([
            InputError::unless(is_product, "ranks", self.ranks, expected),
            self.check_local(),
            at_least("iterations", self.iterations, 1),
            self.copy_rate.map_or(Ok(()), |rate| positive("copy_rate", rate)),
        ])?;
        let all = Collective::Alltoall { bytes: self.block() };
        at_most("local", self.block(), COLLECTIVE_MAX)?;
        self.rule().check(&all, self.ranks)?;
        let world = Communicator::world(self.ranks);
        Ok(ranks.map(|rank| self.program(&all, &world, rank)).collect())
    }
}

impl HpccMpifft {
    fn rule(&self) -> Rule {
        Rule { algorithm: self.algorithm, ..Rule::of(self.library) }
    }

    /// Numbers of each rank, which the benchmark chooses in the same way: as many for each rank (`locN` of `mpifft.c`
    /// of HPCC 1.5.0 with `HPCC_FFT_235`).
    fn local(&self) -> u64 {
        let ranks = u64::from(self.ranks.max(1));
        self.local.unwrap_or_else(|| ranks * largest_smooth((LOCAL_DEFAULT / ranks).max(1)))
    }

    /// FFTE transforms such lengths only, and every rank has as many numbers for each.
    fn check_local(&self) -> Result<(), InputError> {
        let ranks = u64::from(self.ranks.max(1));
        let local = self.local();
        let limit = local.clamp(ranks, LOCAL_MAX) / ranks;
        let expected = format_args!(
            "{ranks} to {LOCAL_MAX}, a multiple of the {ranks} ranks and a product of 2, 3 and 5, such as {}",
            ranks * largest_smooth(limit)
        );
        let is_whole = local.is_multiple_of(ranks) && (ranks..=LOCAL_MAX).contains(&local);
        InputError::unless(is_whole && is_smooth(local), "local", local, expected)
    }

    /// Block that each rank sends to each [B].
    fn block(&self) -> Bytes {
        Bytes::new(COMPLEX * self.local() / u64::from(self.ranks.max(1)))
    }

    fn program(&self, all: &Collective, world: &Communicator, rank: u32) -> Program {
        let exchange = [self.transpose(), all.lower(&self.rule(), world, rank), self.transpose()].concat();
        let half = computing(self.compute / 2);
        let transform = [&exchange[..], &half, &exchange, &half, &exchange].concat();
        let mut ops = Collective::Barrier.lower(&Rule::of(self.library), world, rank);
        ops.extend(iteration(transform));
        Program::new([Block::measured(ops, self.iterations)])
    }

    /// A pass of a rank over its part.
    fn transpose(&self) -> Vec<Op> {
        let part = Bytes::new(COMPLEX * self.local());
        computing(self.copy_rate.map_or(Duration::ZERO, |rate| rate.serialization_time(part)))
    }
}

/// Whether a number has no other prime factors than 2, 3 and 5, as FFTE transforms (`HPCC_factor235` of HPCC 1.5.0).
fn is_smooth(mut number: u64) -> bool {
    for prime in [2, 3, 5] {
        while number > 1 && number.is_multiple_of(prime) {
            number /= prime;
        }
    }
    number == 1
}

/// Largest product of 2, 3 and 5 that is at most `limit`, which is 1 or more.
fn largest_smooth(limit: u64) -> u64 {
    let powers = |prime: u64| std::iter::successors(Some(1), move |&power: &u64| power.checked_mul(prime));
    let below = |prime: u64, limit: u64| powers(prime).take_while(move |&power| power <= limit);
    let odd = below(5, limit).flat_map(|five| below(3, limit / five).map(move |three| five * three));
    odd.map(|odd| odd << (limit / odd).ilog2()).max().unwrap_or(1)
}

fn computing(duration: Duration) -> Vec<Op> {
    if duration.is_zero() { Vec::new() } else { vec![Op::Compute { duration }] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes_sent;

    /// 2^14 numbers of 16 B on each of 16 ranks: 15 of 16 go to others, three times.
    #[test]
    fn a_transform_is_three_all_to_alls() {
        let programs = HpccMpifft::default().programs(1).unwrap();
        assert!(programs.iter().all(|program| bytes_sent(program) == 3 * 15 * (16 << 14) / 16));
    }

    /// 2^20 numbers are 2^24 B, at 8 Gb/s a pass takes 2^24 ns; six passes and twice half of the computing.
    #[test]
    fn each_all_to_all_stands_between_two_passes_and_computing_between_all_to_alls() {
        let (copy_rate, compute) = (Some(BitRate::from_gbps(8)), Duration::from_ms(10));
        let mpifft = HpccMpifft { local: Some(1 << 20), copy_rate, compute, ..HpccMpifft::default() };
        let program = &mpifft.programs(1).unwrap()[3];
        let rests = program.blocks[0].ops.iter().filter_map(|op| match op {
            Op::Compute { duration } => Some(duration.as_ps() / 1_000),
            _ => None,
        });
        let (pass, half) = (1 << 24, 5_000_000);
        assert_eq!(rests.collect::<Vec<_>>(), [pass, pass, half, pass, pass, half, pass, pass]);
    }

    /// Eleven of twelve blocks of 1,350 numbers leave, three times.
    #[test]
    fn ranks_may_be_a_product_of_2_3_and_5() {
        let programs = HpccMpifft { ranks: 12, ..HpccMpifft::default() }.programs(1).unwrap();
        assert!(programs.iter().all(|program| bytes_sent(program) == 3 * 11 * 1_350 * 16));
        assert_eq!([1, 2, 7, 11, 49].map(largest_smooth), [1, 2, 6, 10, 48]);
    }

    /// The largest product of 2, 3 and 5 up to 2^14 / 45 = 364 is 360, up to 2^14 / 4,050 = 4 it is 4.
    #[test]
    fn the_default_suits_every_number_of_ranks() {
        let local = |ranks| {
            let mut mpifft = HpccMpifft { ranks, ..HpccMpifft::default() };
            mpifft.complete();
            assert!(mpifft.check_local().is_ok(), "{ranks} ranks");
            mpifft.local
        };
        assert_eq!([16, 12, 45, 4_050].map(local), [16_384, 16_200, 16_200, 16_200].map(Some));
        (2..=ALL_PAIRS_MAX).filter(|&ranks| is_smooth(ranks.into())).for_each(|ranks| assert!(local(ranks).is_some()));
    }
}
