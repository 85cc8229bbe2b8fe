//! Step s sends s places up and receives from s places down, one exchange at a time. The last step of an all-to-all is
//! to itself, as in Open MPI.

use super::{Form, linear::block};
use crate::collective::{Combining, Kind, Member};

pub(super) const FORMS: &[Form] = &[
    Form::new(Kind::Alltoall, alltoall).with_rounds(),
    Form::new(Kind::Alltoallv, alltoall).with_rounds(),
    Form::new(Kind::ReduceScatter, reduce_scatter).with_rounds(),
    Form::new(Kind::ReduceScatterBlock, reduce_scatter).with_rounds(),
];

fn alltoall(member: &mut Member<'_>) {
    for step in member.rounds(1..member.size()) {
        let (to, from) = (member.up(step), member.down(step));
        member.exchange((to, block(step)), (from, block(step)), Combining::Replace);
    }
    member.copy(block(0));
}

/// Sends to each its share, which it adds to its own.
fn reduce_scatter(member: &mut Member<'_>) {
    for step in member.rounds(1..member.size()) {
        let (to, from) = (member.up(step), member.down(step));
        member.exchange((to, block(to)), (from, block(member.me)), Combining::Add);
    }
}
