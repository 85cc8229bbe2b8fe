//! An all-reduce along two binary trees, half of the vector along each: who passes on in one is a leaf of the other,
//! but for one member at most (P. Sanders, J. Speck, J. L. Träff, *Two-tree algorithms for full bandwidth broadcast,
//! reduction and scan*, Parallel Computing 35(12), 2009). Their shape is that of NCCL (`src/graph/trees.cc`).

use super::Form;
use crate::collective::layout::{Part, share_start};
use crate::collective::tree::{Tree, segments};
use crate::collective::{ELEMENT, Kind, Member};

pub(super) const FORMS: &[Form] = &[Form::segmented(Kind::Allreduce, allreduce)];

/// Segment by segment to the roots, then back: both halves in turn.
fn allreduce(member: &mut Member<'_>) {
    let trees = [Tree::balanced(member, |me, _| me), Tree::balanced(member, second)];
    let (total, segment) = (member.layout.total(), member.choice.segment);
    let middle = share_start(total.div_ceil(ELEMENT), 2, 1) * ELEMENT;
    let halves = [Part::Bytes(0, middle.min(total)), Part::Bytes(middle.min(total), total)];
    let parts = halves.map(|half| segments(half, segment).collect::<Vec<_>>());
    for number in 0..parts[0].len().max(parts[1].len()) {
        let of_trees = || trees.iter().zip(&parts).filter_map(|(tree, parts)| Some((tree, *parts.get(number)?)));
        of_trees().for_each(|(tree, part)| tree.collect(member, part));
        of_trees().for_each(|(tree, part)| tree.spread(member, part));
    }
}

/// The place of a member in the second tree: mirrored where there are as many odd numbers as even ones, else moved.
fn second(me: u32, size: u32) -> u32 {
    if size.is_multiple_of(2) { size - 1 - me } else { (me + size - 1) % size }
}
