//! Random numbers that are not uniform, from a stream and integers alone.

use crate::fixed::{FRACTION, exp2, minus_ln, minus_ln_of};
use crate::random::Stream;

impl Stream {
    /// An exponential number of mean 1, in 2^-32, at most 45: −ln(u) of a uniform u (inversion).
    #[inline]
    pub fn exponential(&mut self) -> u64 {
        // The middle of one of 2^63 cells: neither 0 nor 1.
        minus_ln(self.bits() | 1)
    }
}

/// How many trials fail before the first that succeeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometric {
    /// 1 / −ln(1 − p) in 2^-`fraction`, to as many bits as fit; 0 for p = 1.
    per_decay: u64,
    fraction: u32,
}

impl Geometric {
    /// Trials that succeed with chance `numerator / denominator`, of which the mean keeps nine digits from 10^-9 on.
    ///
    /// # Panics
    /// When the chance is not above 0 and up to 1, or the denominator 2^60 or more.
    pub fn new(numerator: u64, denominator: u64) -> Geometric {
        assert!(0 < numerator && numerator <= denominator, "a chance is above 0 and up to 1");
        assert!(denominator < 1 << 60, "a finer chance would not show in its logarithm");
        if numerator == denominator {
            return Geometric { per_decay: 0, fraction: 0 };
        }
        // The decay is in 2^-62, so the quotient in 2^-65.
        let quotient = (1 << 127) / minus_ln_of(denominator - numerator, denominator);
        let excess = 64u32.saturating_sub(quotient.leading_zeros());
        Geometric { per_decay: (quotient >> excess) as u64, fraction: 65 - excess }
    }

    /// The next number of failures: the whole part of an exponential number, since P(E ≥ k·λ) = e^(−λk) = (1 − p)^k.
    #[inline]
    pub fn draw(&self, random: &mut Stream) -> u64 {
        let failures = u128::from(random.exponential()) * u128::from(self.per_decay);
        (failures >> (FRACTION + self.fraction)) as u64
    }
}

/// Pareto's distribution: P(X > x) = (least / x)^shape for x ≥ least.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pareto {
    /// The least number, in 2^-32.
    least: u64,
    /// 1 / (shape · ln 2) in 2^-32.
    per_doubling: u64,
}

impl Pareto {
    /// The distribution of this `mean` and `shape`.
    ///
    /// # Panics
    /// When the shape is not from 1.01 to 100, or the mean not above 0 and below 2^31.
    pub fn of_mean(mean: f64, shape: f64) -> Pareto {
        assert!((1.01..=100.0).contains(&shape), "a shape from 1.01 to 100");
        assert!(0.0 < mean && mean < f64::from(1u32 << 31), "a mean above 0 and below 2^31");
        // IEEE 754 fixes division and multiplication to the last bit.
        let unit = (1u64 << FRACTION) as f64;
        let least = (mean * (shape - 1.0) / shape * unit) as u64;
        Pareto { least, per_doubling: (unit / (shape * std::f64::consts::LN_2)) as u64 }
    }

    /// The next number, in 2^-32. The tail ends where its probability falls below 2^-64.
    #[inline]
    pub fn draw(&self, random: &mut Stream) -> u128 {
        let exponent = (u128::from(random.exponential()) * u128::from(self.per_doubling)) >> FRACTION;
        let (factor, doublings) = exp2(exponent as u64);
        ((u128::from(self.least) * u128::from(factor)) >> 62) << doublings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Purpose;

    const DRAWS: u32 = 200_000;

    fn stream() -> Stream {
        Stream::new(11, Purpose::Arrivals, 3)
    }

    /// Whether `hits` of [`DRAWS`] agree with a probability: five deviations of the binomial.
    fn agrees(hits: u32, probability: f64) -> bool {
        let mean = f64::from(DRAWS) * probability;
        (f64::from(hits) - mean).abs() < 5.0 * (mean * (1.0 - probability)).sqrt()
    }

    #[test]
    fn exponential_numbers_have_mean_and_variance_one() {
        let mut random = stream();
        let draws: Vec<f64> = (0..DRAWS).map(|_| random.exponential() as f64 / 2f64.powi(32)).collect();
        let moment = |power| draws.iter().map(|x| x.powi(power)).sum::<f64>() / f64::from(DRAWS);
        // E X = 1 with variance 1; E X² = 2 with variance 4! − 2² = 20.
        let root = f64::from(DRAWS).sqrt();
        assert!((moment(1) - 1.0).abs() < 4.0 / root, "{}", moment(1));
        assert!((moment(2) - 2.0).abs() < 4.0 * 20f64.sqrt() / root, "{}", moment(2));
    }

    #[test]
    fn exponential_numbers_exceed_x_with_probability_e_to_the_minus_x() {
        for x in [0.01, 0.5, 1.0, 3.0, 8.0f64] {
            let mut random = stream();
            let limit = (x * 2f64.powi(32)) as u64;
            let hits = (0..DRAWS).filter(|_| random.exponential() > limit).count() as u32;
            assert!(agrees(hits, (-x).exp()), "{hits} beyond {x}");
        }
    }

    #[test]
    fn failures_before_a_success_are_geometric() {
        for (numerator, denominator) in [(1, 3), (1, 2), (9, 10), (1, 100)] {
            let (geometric, mut random) = (Geometric::new(numerator, denominator), stream());
            let draws: Vec<u64> = (0..DRAWS).map(|_| geometric.draw(&mut random)).collect();
            let failure = 1.0 - numerator as f64 / denominator as f64;
            for least in [1, 2, 5, 20] {
                let hits = draws.iter().filter(|&&draw| draw >= least).count() as u32;
                assert!(
                    agrees(hits, failure.powi(least as i32)),
                    "{hits} of at least {least} at {numerator}/{denominator}"
                );
            }
        }
    }

    #[test]
    fn a_certain_success_has_no_failures() {
        let (geometric, mut random) = (Geometric::new(7, 7), stream());
        assert!((0..1_000).all(|_| geometric.draw(&mut random) == 0));
    }

    #[test]
    fn the_least_chance_that_there_is_still_succeeds() {
        let (geometric, mut random) = (Geometric::new(1, (1 << 60) - 1), stream());
        let mean = (0..DRAWS).map(|_| geometric.draw(&mut random) as f64).sum::<f64>() / f64::from(DRAWS);
        // Its logarithm is 4 or 5 of 2^-62.
        let share = mean / 2f64.powi(60);
        assert!((0.7..1.3).contains(&share), "{mean}");
    }

    #[test]
    fn a_rare_success_comes_after_as_many_failures_as_its_chance_says() {
        let (geometric, mut random) = (Geometric::new(1, 1_000_000_000), stream());
        let mean = (0..DRAWS).map(|_| geometric.draw(&mut random) as f64).sum::<f64>() / f64::from(DRAWS);
        assert!((mean / 999_999_999.0 - 1.0).abs() < 4.0 / f64::from(DRAWS).sqrt(), "{mean}");
    }

    #[test]
    fn paretos_tail_falls_with_its_shape() {
        let (mean, shape) = (6.0f64, 1.5f64);
        let (pareto, mut random) = (Pareto::of_mean(mean, shape), stream());
        let least = mean * (shape - 1.0) / shape;
        let draws: Vec<f64> = (0..DRAWS).map(|_| pareto.draw(&mut random) as f64 / 2f64.powi(32)).collect();
        assert!(draws.iter().all(|&draw| draw >= least * (1.0 - 1e-9)));
        for times in [1.1f64, 2.0, 10.0, 100.0] {
            let hits = draws.iter().filter(|&&draw| draw > least * times).count() as u32;
            assert!(agrees(hits, times.powf(-shape)), "{hits} beyond {times} times the least");
        }
    }
}
