//! Broadcast: a binomial tree for short messages, a split binary tree for intermediate ones,
//! else a pipeline along a chain.

use super::{Member, doublings};

/// Bytes below which a binomial tree without segments is used [B].
const SMALL: u64 = 2_048;
/// Bytes below which a split binary tree with segments of 1 KiB is used [B].
const INTERMEDIATE: u64 = 370_728;

pub(super) fn lower(member: &mut Member<'_>, root: u32, bytes: u64) {
    assert!(root < member.size(), "root {root} of a communicator of {}", member.size());
    let place = TreePlace { root, number: member.down(root) };
    match bytes {
        _ if member.size() == 1 => {}
        ..SMALL => binomial(member, place, bytes),
        SMALL..INTERMEDIATE => split_tree(member, place, bytes, 1 << 10),
        _ => match long_segment(member.size(), bytes) {
            Long::SplitTree(segment) => split_tree(member, place, bytes, segment),
            Long::Pipeline(segment) => pipeline(member, place, bytes, segment),
        },
    }
}

/// Where a member stands, counted from the root.
#[derive(Clone, Copy)]
struct TreePlace {
    root: u32,
    number: u32,
}

impl TreePlace {
    /// The member whose number from the root is `number`.
    fn member(self, number: u32, size: u32) -> u32 {
        (self.root + number) % size
    }
}

enum Long {
    SplitTree(u64),
    Pipeline(u64),
}

/// The algorithm and its segment [B] for long messages: lines in the plane of sizes, fitted by the
/// authors of the component; coefficients in 10^-10 per byte and 10^-4, to stay in integers.
fn long_segment(size: u32, bytes: u64) -> Long {
    let below = |slope: u128, intercept: u128| {
        u128::from(size) * 10_000_000_000 < slope * u128::from(bytes) + intercept * 1_000_000
    };
    match size {
        _ if below(16_134, 21_102) => Long::Pipeline(128 << 10),
        ..13 => Long::SplitTree(8 << 10),
        _ if below(23_679, 11_787) => Long::Pipeline(64 << 10),
        _ if below(32_118, 87_936) => Long::Pipeline(16 << 10),
        _ => Long::Pipeline(8 << 10),
    }
}

/// Number n receives from n without its lowest set bit, then sends to n plus each lower bit, highest first.
fn binomial(member: &mut Member<'_>, place: TreePlace, bytes: u64) {
    let size = member.size();
    let lowest = if place.number == 0 { size.next_power_of_two() } else { 1 << place.number.trailing_zeros() };
    if place.number != 0 {
        relay(member, Some(place.member(place.number - lowest, size)), &[], [bytes]);
    }
    let children = doublings(lowest).map(|bit| place.number + bit).filter(|&child| child < size);
    let children: Vec<_> = children.map(|child| place.member(child, size)).collect();
    children.iter().rev().for_each(|&child| member.send(child, bytes));
    if !children.is_empty() {
        member.wait();
    }
}

/// Along the chain root, root + 1, ..., one segment behind the other.
fn pipeline(member: &mut Member<'_>, place: TreePlace, bytes: u64, segment: u64) {
    let parent = (place.number > 0).then(|| member.down(1));
    let last = place.number + 1 == member.size();
    let children: &[u32] = if last { &[] } else { &[member.up(1)] };
    relay(member, parent, children, segments(bytes, segment));
}

/// One half of the message flows down the odd numbers, the other down the even ones;
/// at last each number of one kind swaps halves with a neighbour of the other.
fn split_tree(member: &mut Member<'_>, place: TreePlace, bytes: u64, segment: u64) {
    let size = member.size();
    let halves = [bytes.div_ceil(2), bytes / 2];
    if size < 3 || segment > halves[1] {
        return pipeline(member, place, bytes, segment);
    }
    let side = |number: u32| if number % 2 == 1 { 0 } else { 1 };
    if place.number == 0 {
        let pairs = segments(halves[0], segment).map(Some).chain(std::iter::repeat(None));
        let right = segments(halves[1], segment).map(Some).chain(std::iter::repeat(None));
        for (left, right) in pairs.zip(right).take_while(|pair| *pair != (None, None)) {
            left.into_iter().for_each(|bytes| member.send(place.member(1, size), bytes));
            right.into_iter().for_each(|bytes| member.send(place.member(2, size), bytes));
            member.wait();
        }
    } else {
        let (parent, children) = tree(place.number, size);
        let children: Vec<_> = children.into_iter().map(|child| place.member(child, size)).collect();
        let half = halves[side(place.number)];
        relay(member, Some(place.member(parent, size)), &children, segments(half, segment));
    }
    swap_halves(member, place, halves);
}

/// Odd numbers pair with the next, even ones with the previous. The last odd number of an even
/// size pairs with the root, which needs nothing back.
fn swap_halves(member: &mut Member<'_>, place: TreePlace, [left, right]: [u64; 2]) {
    let size = member.size();
    let pair = |number: u32| place.member(number, size);
    match place.number {
        0 if size.is_multiple_of(2) => {
            member.send(pair(size - 1), right);
            member.wait();
        }
        0 => {}
        number if number % 2 == 0 => member.exchange_unequal((pair(number - 1), right), (pair(number - 1), left)),
        number if number + 1 == size => {
            member.receive(pair(0), right);
            member.wait();
        }
        number => member.exchange_unequal((pair(number + 1), left), (pair(number + 1), right)),
    }
}

/// Parent and children of `number` > 0 in the tree where level k (2^k numbers from 2^k - 1) hangs
/// below level k - 1 at a stride of 2^(k-1): odd numbers descend from 1, even ones from 2.
fn tree(number: u32, size: u32) -> (u32, Vec<u32>) {
    let stride = 1 << (number + 1).ilog2();
    let first = stride - 1;
    let above = stride / 2;
    let parent = if number - above >= first { number - stride } else { number - above };
    let children = [number + stride, number + 2 * stride];
    (parent, children.into_iter().filter(|&child| child < size).collect())
}

/// Receives each segment from the parent and sends it on while the next comes in.
fn relay(member: &mut Member<'_>, parent: Option<u32>, children: &[u32], segments: impl IntoIterator<Item = u64>) {
    for bytes in segments {
        if let Some(parent) = parent {
            member.receive(parent, bytes);
            member.wait();
        }
        children.iter().for_each(|&child| member.send(child, bytes));
        if parent.is_none() {
            member.wait();
        }
    }
    if parent.is_some() && !children.is_empty() {
        member.wait();
    }
}

/// Full segments and a rest.
fn segments(bytes: u64, segment: u64) -> impl Iterator<Item = u64> {
    let rest = bytes % segment;
    std::iter::repeat_n(segment, (bytes / segment) as usize).chain((rest > 0).then_some(rest))
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Bytes;

    use super::tree;
    use crate::Op;
    use crate::collective::test::{received, sent};
    use crate::collective::{Collective, Communicator};

    fn bcast(ranks: u32, me: u32, bytes: u64) -> Vec<Op> {
        Collective::Bcast { root: 0, bytes: Bytes::new(bytes) }.lower(&Communicator::world(ranks), me)
    }

    #[test]
    fn everyone_but_the_root_receives_the_message_once() {
        // Binomial, split tree, pipeline; even and odd sizes, two ranks.
        for bytes in [8, 2_047, 2_048, 10_001, 370_727, 370_728, 4 << 20] {
            for ranks in [2, 3, 6, 7, 48] {
                let total: Vec<_> = (0..ranks).map(|me| received(&bcast(ranks, me, bytes))).collect();
                assert_eq!(total[0], 0);
                assert!(total[1..].iter().all(|&bytes_in| bytes_in == bytes), "{bytes} B on {ranks}: {total:?}");
            }
        }
    }

    #[test]
    fn a_binomial_root_sends_once_per_round() {
        assert_eq!(sent(&bcast(48, 0, 100)), 6 * 100);
    }

    #[test]
    fn the_tree_hangs_together() {
        for number in 1..100 {
            for child in tree(number, 100).1 {
                assert_eq!(tree(child, 100).0, number);
                assert_eq!(child % 2, number % 2, "halves stay on their side");
            }
        }
    }
}
