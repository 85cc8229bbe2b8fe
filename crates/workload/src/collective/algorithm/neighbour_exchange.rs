//! Pairs exchange their blocks, then two blocks at a time with alternating neighbours
//! (J. Chen et al., *Performance evaluation of Allgather algorithms on Terascale Linux cluster with Fast Ethernet*,
//! HPC Asia 2005; even sizes only).

use super::{Form, Sizes, linear::block};
use crate::collective::layout::Part;
use crate::collective::{Combining, Kind, Member};

pub(super) const FORMS: &[Form] =
    &[Form::limited(Kind::Allgather, Sizes::Even, allgather), Form::limited(Kind::Allgatherv, Sizes::Even, allgather)];

fn allgather(member: &mut Member<'_>) {
    let (next, previous, me) = (member.up(1), member.down(1), member.me);
    let neighbours = if me.is_multiple_of(2) { [next, previous] } else { [previous, next] };
    member.exchange((neighbours[0], block(me)), (neighbours[0], block(neighbours[0])), Combining::Replace);
    for step in 1..member.size() / 2 {
        let peer = neighbours[step as usize % 2];
        let (sent, received) = (pair(member, step - 1), pair(member, step));
        member.exchange((peer, sent), (peer, received), Combining::Replace);
    }
}

/// The two blocks that a step brings: alternately from one side and the other, farther every second step.
fn pair(member: &Member<'_>, step: u32) -> Part {
    let (own, pairs) = (member.me / 2, member.size() / 2);
    let is_below = step.is_multiple_of(2) != member.me.is_multiple_of(2);
    let distance = step.div_ceil(2);
    let number = if is_below { own + pairs - distance } else { own + distance } % pairs;
    Part::Blocks { first: 2 * number, count: 2 }
}
