//! Trees over a communicator, and messages that flow along them segment by segment.

use super::{Combining, Member, doublings, layout::Part};

pub(super) struct Tree {
    pub(super) parent: Option<u32>,
    pub(super) children: Vec<u32>,
}

impl Tree {
    /// Converts numbers that count from the root to members.
    fn numbered(member: &Member<'_>, parent: Option<u32>, children: impl IntoIterator<Item = u32>) -> Tree {
        let size = member.size();
        let children = children.into_iter().filter(|&child| child < size);
        Tree {
            parent: parent.map(|number| member.numbered(number)),
            children: children.map(|number| member.numbered(number)).collect(),
        }
    }

    /// Number n hangs below n without its lowest set bit; its children are n plus each lower bit, highest first. The
    /// numbers below a child are in a row.
    pub(super) fn binomial(member: &Member<'_>) -> Tree {
        let number = member.number();
        let parent = (number > 0).then(|| number - lowest_bit(number, member.size()));
        Tree::numbered(member, parent, doublings(lowest_bit(number, member.size())).rev().map(|bit| number + bit))
    }

    /// Returns a tree as `binomial`, in digits to the base `radix` instead of bits.
    pub(super) fn knomial(member: &Member<'_>, radix: u32) -> Tree {
        let (number, size) = (member.number(), u64::from(member.size()));
        let powers = std::iter::successors(Some(1_u64), |power| Some(power * u64::from(radix)));
        // The weight of the lowest digit that is not 0.
        let weights: Vec<u64> = powers
            .take_while(|&weight| weight < size && u64::from(number) % (weight * u64::from(radix)) == 0)
            .collect();
        let own = weights.last().map_or(1, |weight| weight * u64::from(radix));
        let parent = (number > 0).then(|| number - (u64::from(number) % (own * u64::from(radix))) as u32);
        let below = weights.iter().rev().flat_map(|&weight| (1..radix).map(move |digit| (weight, digit)));
        let child = |(weight, digit)| u32::try_from(u64::from(number) + weight * u64::from(digit)).unwrap_or(u32::MAX);
        Tree::numbered(member, parent, below.map(child))
    }

    /// Level k (2^k numbers from 2^k - 1) hangs below level k - 1 at a stride of 2^(k-1): odd numbers descend from 1,
    /// even ones from 2.
    pub(super) fn binary(member: &Member<'_>) -> Tree {
        let number = member.number();
        let stride = 1 << (number + 1).ilog2();
        let above = stride / 2;
        let parent = match number {
            0 => None,
            _ if number - above >= stride - 1 => Some(number - stride),
            _ => Some(number - above),
        };
        Tree::numbered(member, parent, [number + stride, number + 2 * stride])
    }

    /// A number hangs below the one with its lowest bit replaced by the next higher one, or where there is none below
    /// the one without it: odd numbers are leaves. With the level of the number below the root, 0.
    pub(super) fn balanced(number: u32, size: u32, member: impl Fn(u32) -> u32) -> (Tree, usize) {
        let parent = |number: u32| {
            let bit = number & number.wrapping_neg();
            let above = number ^ bit | bit << 1;
            (number > 0).then_some(if above < size { above } else { number ^ bit })
        };
        let bit = lowest_bit(number, size);
        let lower = (number > 0 && bit > 1).then(|| number - bit / 2);
        let higher = doublings(bit).rev().map(|bit| number + bit).find(|&child| child < size);
        let tree = Tree {
            parent: parent(number).map(&member),
            children: lower.into_iter().chain(higher).map(member).collect(),
        };
        (tree, std::iter::successors(parent(number), |&number| parent(number)).count())
    }

    /// `chains` chains of members in a row, as equally long as can be, the first ones longer.
    pub(super) fn chains(member: &Member<'_>, chains: u32) -> Tree {
        let (number, rest) = (member.number(), member.size() - 1);
        let chains = chains.min(rest).max(1);
        let start = |chain: u32| 1 + rest / chains * chain + chain.min(rest % chains);
        if number == 0 {
            return Tree::numbered(member, None, (0..chains).map(start));
        }
        let heads = |number: u32| (0..chains).any(|chain| start(chain) == number);
        let parent = if heads(number) { 0 } else { number - 1 };
        let next = Some(number + 1).filter(|&next| !heads(next));
        Tree::numbered(member, Some(parent), next)
    }

    /// A subtree of n members in a row has its last as its root; the first n/2 are one subtree below it, the others the
    /// other. Here members count from 0, not from the root.
    pub(super) fn in_order(member: &Member<'_>) -> Tree {
        let (mut first, mut size, mut parent) = (0, member.size(), None);
        loop {
            let (top, far) = (first + size - 1, size / 2);
            let near = size - 1 - far;
            if member.me == top {
                // A subtree of two has only the member before its root.
                let near_top = (size > 1).then(|| if near > 0 { top - 1 } else { first });
                let far_top = (far > 0 && near > 0).then(|| first + far - 1);
                return Tree { parent, children: near_top.into_iter().chain(far_top).collect() };
            }
            parent = Some(top);
            (first, size) = if member.me >= first + far { (first + far, near) } else { (first, far) };
        }
    }

    /// Passes what the parent has to the children: each segment goes on while the next comes in.
    pub(super) fn spread(&self, member: &mut Member<'_>, part: Part) {
        let segment = member.choice.segment;
        self.spread_segments(member, segments(part, segment));
    }

    pub(super) fn spread_segments(&self, member: &mut Member<'_>, segments: impl IntoIterator<Item = Part>) {
        for part in segments {
            if let Some(parent) = self.parent {
                member.receive_now(parent, part, Combining::Replace);
            }
            self.children.iter().for_each(|&child| member.send(child, part));
            if self.parent.is_none() {
                member.wait();
            }
        }
        if self.parent.is_some() && !self.children.is_empty() {
            member.wait();
        }
    }

    /// Adds what the children have and passes it to the parent, segment by segment.
    pub(super) fn collect(&self, member: &mut Member<'_>, part: Part) {
        for part in segments(part, member.choice.segment) {
            self.children.iter().for_each(|&child| member.receive(child, part, Combining::Add));
            if !self.children.is_empty() {
                member.wait();
            }
            if let Some(parent) = self.parent {
                member.send(parent, part);
            }
            if self.children.is_empty() {
                member.wait();
            }
        }
        if self.parent.is_some() && !self.children.is_empty() {
            member.wait();
        }
    }
}

/// Levels of a balanced tree below its root.
pub(super) fn balanced_levels(size: u32) -> usize {
    doublings(size).count()
}

/// The lowest set bit of a number among `size`; of 0 a bit above all numbers.
pub(super) fn lowest_bit(number: u32, size: u32) -> u32 {
    if number == 0 { size.next_power_of_two() } else { 1 << number.trailing_zeros() }
}

/// Full segments and a rest; a message of nothing is one.
pub(super) fn segments(part: Part, segment: Option<u64>) -> impl Iterator<Item = Part> {
    let Part::Bytes(from, to) = part else { panic!("segments are of bytes in a row") };
    let segment = segment.unwrap_or(to - from).max(1);
    let count = (to - from).div_ceil(segment).max(1);
    (0..count).map(move |number| Part::Bytes(from + number * segment, (from + (number + 1) * segment).min(to)))
}
