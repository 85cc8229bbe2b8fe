//! Position of a switch in a tree of several stages: the digits of Zahavi's generalised fat tree (see
//! [`StagedFatTree`]).
//!
//! [`StagedFatTree`]: crate::StagedFatTree

/// Stages of a tree by how they branch, lowest stage above the leaves first.
pub(crate) struct Branching {
    /// Subtrees of the stage below that make one of this stage: `m`.
    pub down: Vec<u32>,
    /// Switches of this stage that one switch of the stage below joins, parallel links counted once: `w`.
    pub up: Vec<u32>,
}

impl Branching {
    /// The level, and one digit per stage above the leaves, highest first.
    pub fn axes(&self) -> Vec<String> {
        let digits = (1..=self.down.len()).rev().map(|stage| format!("x{stage}"));
        std::iter::once("level".to_owned()).chain(digits).collect()
    }

    /// The switch at `index` of subtree `subtree` of a level: above its level the digits of the subtree, below those of
    /// the index.
    pub fn place(&self, level: usize, subtree: u32, index: u32) -> Vec<u32> {
        let mut place = vec![level as u32];
        let above = digits(subtree, &self.down[level..]);
        place.extend(above.into_iter().rev());
        // The lowest digit of the index was added last, by the highest stage.
        let mut ups: Vec<u32> = self.up[..level].to_vec();
        ups.reverse();
        place.extend(digits(index, &ups));
        place
    }
}

/// The digits of a number in mixed radix, lowest first; the last digit takes what is left.
fn digits(number: u32, radices: &[u32]) -> Vec<u32> {
    let mut rest = number;
    let mut digits = Vec::with_capacity(radices.len());
    for (position, &radix) in radices.iter().enumerate() {
        let is_last = position + 1 == radices.len();
        digits.push(if is_last { rest } else { rest % radix });
        rest /= radix;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leaf_is_placed_by_its_subtrees_and_a_core_by_its_uplinks() {
        let branching = Branching { down: vec![3, 4], up: vec![2, 5] };
        assert_eq!(branching.axes(), ["level", "x2", "x1"]);
        assert_eq!(branching.place(0, 7, 0), [0, 2, 1], "leaf 7 is leaf 1 of pod 2");
        assert_eq!(branching.place(1, 2, 1), [1, 2, 1], "spine 1 of pod 2");
        assert_eq!(branching.place(2, 0, 8), [2, 3, 1], "core 8 is uplink 3 of every spine 1");
    }
}
