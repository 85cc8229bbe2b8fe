//! Division by a number that stays the same, by one multiplication.

/// A divisor, at most [`Divisor::MAX`], of numbers below [`Divisor::DIVIDEND_END`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor {
    divisor: u32,
    /// Just above `2^40 / divisor`.
    factor: u64,
}

impl Divisor {
    pub const MAX: u32 = 1 << 18;
    pub const DIVIDEND_END: u32 = 1 << 22;
    const SHIFT: u32 = 40;

    /// # Panics
    /// At 0 and above [`Divisor::MAX`].
    pub fn new(divisor: u32) -> Divisor {
        assert!((1..=Divisor::MAX).contains(&divisor), "a divisor is at least 1 and not too large");
        Divisor { divisor, factor: (1 << Divisor::SHIFT) / u64::from(divisor) + 1 }
    }

    pub fn get(self) -> u32 {
        self.divisor
    }

    /// `dividend / divisor`. The factor is at most 1 too large, and so the product of a dividend below 2^22 less than
    /// 2^-18, which is no more than what is missing to the next whole.
    #[inline]
    pub fn quotient(self, dividend: u32) -> u32 {
        debug_assert!(dividend < Divisor::DIVIDEND_END, "a dividend is in range");
        ((u64::from(dividend) * self.factor) >> Divisor::SHIFT) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_those_of_the_processor() {
        for divisor in [1, 2, 3, 7, 18, 36, 648, 65_535, Divisor::MAX - 1, Divisor::MAX] {
            let fast = Divisor::new(divisor);
            let multiples = (0..Divisor::DIVIDEND_END / divisor).map(|times| times * divisor);
            let near = multiples.flat_map(|multiple| [multiple, multiple + divisor - 1]);
            for dividend in near {
                assert_eq!(fast.quotient(dividend), dividend / divisor, "{dividend} / {divisor}");
            }
        }
    }
}
