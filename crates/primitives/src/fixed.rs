//! Logarithm and power of two in integers, so that no decision depends on a platform's mathematics.
//!
//! Both split their argument at 8 bits: a table for the leading part, three terms of a series for the rest, which is
//! below 2^-8. The tables are computed at compile time, in integers too.

/// Fraction bits of what goes in and comes out: 2^-32.
pub(crate) const FRACTION: u32 = 32;
/// Fraction bits of the tables at compile time.
const FINE: u32 = 62;
/// Fraction bits in which a logarithm is summed: 64 · ln 2 still fits into 64 bits.
const SUM: u32 = 56;
/// Fraction bits of the small rest in the series; its square fits into 64 bits.
const REST: u32 = 40;

/// ln 2 in 2^-62.
const LN_2: u64 = 2 * atanh(1, 3);
/// ln(1 + i/256) in 2^-56.
static LOGARITHMS: [u64; 256] = logarithms();
/// 1 / (1 + i/256) in 2^-63.
static RECIPROCALS: [u64; 256] = reciprocals();
/// 2^(i/256) in 2^-62.
static POWERS: [u64; 256] = powers();

/// −ln(w / 2^64) in 2^-32, rounded down, at most 2^-31 away; 0 counts as 1.
#[inline]
pub(crate) fn minus_ln(word: u64) -> u64 {
    let word = word.max(1);
    let halvings = word.leading_zeros();
    // w = 2^(63 − halvings) · c · (1 + x) with c = 1 + i/256 and x < 2^-8.
    let normal = word << halvings;
    let i = (normal >> 55) as usize & 255;
    let above = normal & ((1 << 55) - 1);
    let x = ((u128::from(above) * u128::from(RECIPROCALS[i])) >> (126 - SUM)) as u64;
    let rest = x >> (SUM - REST);
    let square = (rest * rest) >> (2 * REST - SUM);
    let cube = (((rest * rest) >> REST) * rest) >> (2 * REST - SUM);
    let logarithm = LOGARITHMS[i] + x - square / 2 + cube / 3;
    let halvings_part = u64::from(halvings + 1) * (LN_2 >> (FINE - SUM));
    halvings_part.saturating_sub(logarithm) >> (SUM - FRACTION)
}

/// 2^`exponent` for an exponent in 2^-32: a factor from 1 to 2 in 2^-62, and how often to double it.
#[inline]
pub(crate) fn exp2(exponent: u64) -> (u64, u32) {
    let i = (exponent >> 24) as usize & 255;
    let rest = ((exponent & ((1 << 24) - 1)) * (LN_2 >> (FINE - FRACTION))) >> (2 * FRACTION - REST);
    let square = (rest * rest) >> REST;
    let series = (1 << REST) + rest + square / 2 + ((square * rest) >> REST) / 6;
    let factor = (u128::from(POWERS[i]) * u128::from(series)) >> REST;
    (factor as u64, (exponent >> FRACTION) as u32)
}

/// −ln(`numerator` / `denominator`) in 2^-62, for a fraction above 0 and up to 1.
pub(crate) const fn minus_ln_of(numerator: u64, denominator: u64) -> u128 {
    assert!(0 < numerator && numerator <= denominator && denominator < 1 << 62, "a fraction above 0 and up to 1");
    let (mut grown, mut doublings) = (numerator, 0);
    while grown * 2 <= denominator {
        (grown, doublings) = (grown * 2, doublings + 1);
    }
    2 * atanh(denominator - grown, denominator + grown) as u128 + doublings * LN_2 as u128
}

/// artanh(`numerator` / `denominator`) in 2^-62, for a fraction up to 1/3: z + z³/3 + z⁵/5 + …
const fn atanh(numerator: u64, denominator: u64) -> u64 {
    let z = ((numerator as u128) << FINE) / denominator as u128;
    let square = (z * z) >> FINE;
    let (mut power, mut sum, mut odd) = (z, 0, 1);
    while power > 0 {
        sum += power / odd;
        power = (power * square) >> FINE;
        odd += 2;
    }
    sum as u64
}

const fn logarithms() -> [u64; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        // ln c = 2 artanh((c − 1) / (c + 1)).
        table[i] = (2 * atanh(i as u64, 512 + i as u64)) >> (FINE - SUM);
        i += 1;
    }
    table
}

const fn reciprocals() -> [u64; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = ((256u128 << 63) / (256 + i as u128)) as u64;
        i += 1;
    }
    table
}

/// Computes powers by roots: bit k of i stands for a factor 2^(2^k / 256).
const fn powers() -> [u64; 256] {
    let mut table = [1 << FINE; 256];
    let (mut root, mut bit) = (2u128 << FINE, 128);
    while bit > 0 {
        root = (root << FINE).isqrt();
        let mut i = 0;
        while i < 256 {
            if i & bit != 0 {
                table[i] = ((table[i] as u128 * root) >> FINE) as u64;
            }
            i += 1;
        }
        bit /= 2;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Stream};

    /// Ends of every table segment at every size, their neighbours, and random words.
    fn words() -> Vec<u64> {
        let mut random = Stream::new(1, Purpose::Arrivals, 0);
        let edge = |shift: u32| (256..512u64).map(move |i| (i << 55) >> shift);
        let mut words: Vec<u64> = (0..64).flat_map(edge).flat_map(|w| [w.wrapping_sub(1), w, w + 1]).collect();
        words.extend((0..100_000).map(|_| random.bits()));
        words
    }

    #[test]
    fn a_logarithm_is_within_half_a_billionth_of_the_platforms() {
        for word in words().into_iter().chain([1, u64::MAX]) {
            let word = word.max(1);
            // The platform's argument is exact enough: near 1 it is taken from the distance to 1.
            let below = (u64::MAX - word) as f64 + 1.0;
            let exact =
                if word >> 63 == 1 { -(-below / 2f64.powi(64)).ln_1p() } else { -(word as f64 / 2f64.powi(64)).ln() };
            let error = minus_ln(word) as f64 / 2f64.powi(32) - exact;
            assert!(error.abs() < 2f64.powi(-31), "{word}: {error:e}");
        }
    }

    #[test]
    fn a_larger_word_never_has_a_larger_logarithm_by_more_than_the_error() {
        let mut sorted = words();
        sorted.sort_unstable();
        assert!(sorted.windows(2).all(|pair| minus_ln(pair[1]) <= minus_ln(pair[0]) + 2));
    }

    #[test]
    fn a_power_of_two_is_within_a_part_in_2_to_the_33() {
        for exponent in words().into_iter().map(|word| word >> 26) {
            let (factor, doublings) = exp2(exponent);
            let exact = (f64::from(exponent as u32) / 2f64.powi(32)).exp2();
            let error = factor as f64 / 2f64.powi(62) / exact - 1.0;
            assert!(error.abs() < 2f64.powi(-33), "{exponent}: {error:e}");
            assert_eq!(u64::from(doublings), exponent >> 32);
        }
    }

    #[test]
    fn logarithms_of_fractions_keep_their_digits_when_the_fraction_is_close_to_one() {
        let cases: [(u64, u64); 5] = [(1, 1), (999_999_999, 1_000_000_000), (1, 2), (1, 1_000_000_000), (2, 3)];
        for (numerator, denominator) in cases {
            let (n, d) = (numerator as f64, denominator as f64);
            let exact = if 2 * numerator > denominator { -(-(d - n) / d).ln_1p() } else { -(n / d).ln() };
            let ln = minus_ln_of(numerator, denominator) as f64 / 2f64.powi(62);
            assert!((ln - exact).abs() <= 1e-9 * exact.abs(), "{numerator}/{denominator}: {ln} for {exact}");
        }
    }
}
