//! Two collectives one after the other, each with the algorithm that the library picks for it.

use super::{Form, linear::block, linear::scatter};
use crate::collective::{Combining, Kind, Member};

pub(super) const FORMS: &[Form] = &[
    Form::new(Kind::Allreduce, allreduce),
    Form::new(Kind::ReduceScatter, reduce_scatter),
    Form::new(Kind::ReduceScatterBlock, reduce_scatter),
    Form::new(Kind::Allgatherv, allgatherv),
];

fn allreduce(member: &mut Member<'_>) {
    member.perform_part(Kind::Reduce);
    member.perform_part(Kind::Bcast);
}

/// Shares differ in length, so they are scattered directly, as `MPI_Scatterv` does.
fn reduce_scatter(member: &mut Member<'_>) {
    member.perform_part(Kind::Reduce);
    scatter(member);
}

/// Blocks are gathered directly, as `MPI_Gatherv` does.
fn allgatherv(member: &mut Member<'_>) {
    if member.is_root() {
        (1..member.size()).for_each(|other| member.receive(other, block(other), Combining::Replace));
        member.wait();
    } else {
        member.send_now(member.root, block(member.me));
    }
    member.perform_part(Kind::Bcast);
}
