//! When hosts make packets: Bernoulli trials at every tick, skipped in one draw.

use etherweave_primitives::Stream;

/// Gaps between the successes of Bernoulli trials.
///
/// The binary digits of a geometric number are independent: with `q` the chance of failure, digit `i` is one with
/// probability `q^(2^i) / (1 + q^(2^i))`, because `P(n) = (1 - q) q^n` is a product over the digits of `n`. So a gap
/// is drawn exactly and without a logarithm, whose last bit would depend on the platform.
#[derive(Clone, Debug)]
pub(crate) struct Gaps {
    /// By digit: the chance of a one, in units of 2^-32.
    ones: Vec<u32>,
}

impl Gaps {
    /// Gaps of trials that succeed with a probability in 0..=1, not 0.
    pub fn new(success: f64) -> Gaps {
        let mut failure = 1.0 - success;
        let mut ones = Vec::new();
        // A digit that is one less often than once in 2^33 draws never is.
        while failure > f64::from(1u32 << 31).recip() / 4.0 {
            let one = failure / (1.0 + failure);
            ones.push((one * (1u64 << 32) as f64) as u32);
            failure *= failure;
        }
        Gaps { ones }
    }

    /// Ticks from one success to the next, at least 1.
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        let mut gap = 1;
        for (pair, ones) in self.ones.chunks(2).enumerate() {
            let bits = stream.bits();
            for (digit, &one) in ones.iter().enumerate() {
                let draw = (bits >> (32 * digit)) as u32;
                gap += u64::from(draw < one) << (2 * pair + digit);
            }
        }
        gap
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Purpose;

    use super::*;

    #[test]
    fn gaps_have_the_mean_and_the_variance_of_the_geometric_distribution() {
        // Mean 1/p, variance (1 - p)/p²; over n draws the mean deviates by sqrt(variance / n).
        for success in [1.0 / 200.0, 0.3] {
            let gaps = Gaps::new(success);
            let mut stream = Stream::new(1, Purpose::Traffic, 0);
            let draws: Vec<f64> = (0..200_000).map(|_| gaps.draw(&mut stream) as f64).collect();
            let n = draws.len() as f64;
            let mean = draws.iter().sum::<f64>() / n;
            let variance = draws.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / n;
            let expected = (1.0 - success) / (success * success);
            assert!((mean - 1.0 / success).abs() < 5.0 * (expected / n).sqrt(), "{mean}");
            // The fourth moment of a geometric number is at most 9.5 times the squared variance.
            assert!((variance / expected - 1.0).abs() < 5.0 * (9.5 / n).sqrt(), "{variance} {expected}");
        }
    }

    #[test]
    fn certain_success_comes_at_every_tick() {
        let gaps = Gaps::new(1.0);
        assert_eq!(gaps.draw(&mut Stream::new(1, Purpose::Traffic, 0)), 1);
    }
}
