//! Patterns of bits, some of which do not matter: what a TCAM entry holds.

use std::fmt;

/// A set of words: those that agree with `value` in every bit of `mask`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ternary {
    value: u64,
    mask: u64,
}

impl Ternary {
    /// Every word.
    pub const ANY: Ternary = Ternary { value: 0, mask: 0 };

    /// The words that agree with `value` where `mask` is set.
    pub const fn new(value: u64, mask: u64) -> Ternary {
        Ternary { value: value & mask, mask }
    }

    /// The bits that matter, where they do; zero elsewhere.
    pub const fn value(self) -> u64 {
        self.value
    }

    /// Returns the mask of the bits that matter.
    pub const fn mask(self) -> u64 {
        self.mask
    }

    /// How many bits matter.
    pub const fn bits(self) -> u32 {
        self.mask.count_ones()
    }

    /// Whether `word` is one of these.
    #[inline]
    pub const fn matches(self, word: u64) -> bool {
        word & self.mask == self.value
    }

    /// Whether every word of `other` is one of these.
    #[inline]
    pub const fn covers(self, other: Ternary) -> bool {
        self.mask & !other.mask == 0 && other.value & self.mask == self.value
    }

    /// Whether some word is in both.
    #[inline]
    pub const fn meets(self, other: Ternary) -> bool {
        (self.value ^ other.value) & self.mask & other.mask == 0
    }

    /// The words that are in both; none when there is none.
    pub fn and(self, other: Ternary) -> Option<Ternary> {
        self.meets(other).then_some(Ternary { value: self.value | other.value, mask: self.mask | other.mask })
    }

    /// The two halves by `bit`, which did not matter before.
    pub fn halves(self, bit: u64) -> [Ternary; 2] {
        debug_assert!(bit.is_power_of_two() && self.mask & bit == 0, "a pattern is halved at one free bit");
        let mask = self.mask | bit;
        [Ternary { value: self.value, mask }, Ternary { value: self.value | bit, mask }]
    }
}

impl fmt::Display for Ternary {
    /// Most significant bit first, from the highest that matters: "10*1", and "*" for every word.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = (u64::BITS - self.mask.leading_zeros()).max(1);
        (0..width).rev().try_for_each(|place| {
            let bit = 1 << place;
            f.write_str(match (self.mask & bit != 0, self.value & bit != 0) {
                (false, _) => "*",
                (true, false) => "0",
                (true, true) => "1",
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_differ_in_the_bit_that_was_free() {
        let pattern = Ternary::new(0b100, 0b101);
        assert_eq!(pattern.to_string(), "1*0");
        assert_eq!(pattern.halves(0b010), [Ternary::new(0b100, 0b111), Ternary::new(0b110, 0b111)]);
    }

    #[test]
    fn covering_is_stricter_than_meeting() {
        let (group, switch) = (Ternary::new(0b1000, 0b1100), Ternary::new(0b0001, 0b0011));
        assert!(group.meets(switch) && !group.covers(switch) && !switch.covers(group));
        assert!(group.covers(group.and(switch).unwrap()) && Ternary::ANY.covers(group));
        assert_eq!(group.and(Ternary::new(0b0100, 0b1100)), None);
    }

    /// Benito et al. 2015, section III-B: a wildcard for remote groups 1 and 2 would also match group 3.
    #[test]
    fn no_pattern_has_groups_1_and_2_without_3() {
        let [one, two, three] = [0b01, 0b10, 0b11].map(|group| Ternary::new(group, 0b11));
        let patterns = (0..4).flat_map(|mask| (0..4).map(move |value| Ternary::new(value, mask)));
        assert!(patterns.filter(|pattern| pattern.covers(one) && pattern.covers(two)).all(|both| both.covers(three)));
    }
}
