//! One half of the message flows down the odd numbers of a binary tree, the other down the even ones; at last each
//! number of one kind swaps halves with a neighbour of the other (`coll_base_bcast.c` of Open MPI).

use super::Form;
use crate::collective::{Combining, Kind, Member};
use crate::{collective::layout::Part, collective::tree::Tree, collective::tree::segments};

pub(super) const FORMS: &[Form] = &[Form::segmented(Kind::Bcast, bcast)];

fn bcast(member: &mut Member<'_>) {
    let bytes = member.layout.total();
    let (middle, segment) = (bytes.div_ceil(2), member.choice.segment);
    // A half shorter than a segment: along a chain, as Open MPI does.
    if member.size() < 3 || bytes < 2 || segment.is_some_and(|segment| segment > bytes - middle) {
        return Tree::chains(member, 1).spread(member, member.whole());
    }
    let halves = [Part::Bytes(0, middle), Part::Bytes(middle, bytes)];
    match member.number() {
        0 => feed(member, halves),
        number => {
            let half = halves[usize::from(number.is_multiple_of(2))];
            Tree::binary(member).spread_segments(member, segments(half, segment));
        }
    }
    swap_halves(member, halves);
}

/// The root sends a segment of each half at a time.
fn feed(member: &mut Member<'_>, halves: [Part; 2]) {
    let [mut left, mut right] = halves.map(|half| segments(half, member.choice.segment));
    loop {
        let pair = [(1, left.next()), (2, right.next())];
        if pair.iter().all(|(_, segment)| segment.is_none()) {
            return;
        }
        for (child, segment) in pair {
            segment.into_iter().for_each(|part| member.send(member.numbered(child), part));
        }
        member.wait();
    }
}

/// Odd numbers pair with the next, even ones with the previous. The last odd number of an even
/// size pairs with the root, which needs nothing back.
fn swap_halves(member: &mut Member<'_>, [left, right]: [Part; 2]) {
    let (size, number) = (member.size(), member.number());
    let (next, previous) = (member.up(1), member.down(1));
    match number {
        0 if size.is_multiple_of(2) => member.send_now(previous, right),
        0 => {}
        _ if number % 2 == 0 => member.exchange((previous, right), (previous, left), Combining::Replace),
        _ if number + 1 == size => member.receive_now(next, right, Combining::Replace),
        _ => member.exchange((next, left), (next, right), Combining::Replace),
    }
}
