//! Switches add up: each member sends its vector up an aggregation tree, and the sum comes back, for which both ends of
//! the message are the member itself (Graham et al., *Scalable Hierarchical Aggregation and Reduction Protocol*, ISC
//! 2020). A broadcast is a sum to which the root alone adds; a reduce-scatter or an all-gather has one for each member.

use super::Form;
use crate::collective::{Combining, Kind, Member, SumRole};
use crate::{collective::layout::Part, collective::tree::segments};

pub(super) const FORMS: &[Form] = &[
    Form::new(Kind::Barrier, barrier),
    Form::segmented(Kind::Allreduce, allreduce),
    Form::segmented(Kind::Reduce, reduce),
    Form::segmented(Kind::Bcast, bcast),
    Form::new(Kind::ReduceScatter, reduce_scatter),
    Form::new(Kind::ReduceScatterBlock, reduce_scatter),
    Form::new(Kind::Allgather, allgather),
    Form::new(Kind::Allgatherv, allgather),
];

fn barrier(member: &mut Member<'_>) {
    let (me, nothing) = (member.me, Part::Bytes(0, 0));
    member.exchange((me, nothing), (me, nothing), Combining::Replace);
}

pub(super) fn allreduce(member: &mut Member<'_>) {
    vector(member, SumRole::Both);
}

fn reduce(member: &mut Member<'_>) {
    vector(member, if member.is_root() { SumRole::Both } else { SumRole::Gives });
}

fn bcast(member: &mut Member<'_>) {
    vector(member, if member.is_root() { SumRole::Gives } else { SumRole::Listens });
}

fn reduce_scatter(member: &mut Member<'_>) {
    blocks(member, SumRole::Both, SumRole::Gives);
}

fn allgather(member: &mut Member<'_>) {
    blocks(member, SumRole::Gives, SumRole::Listens);
}

/// Sums of the segments of a vector.
fn vector(member: &mut Member<'_>, role: SumRole) {
    let parts = segments(member.whole(), member.choice.segment);
    sums(member, parts.map(|part| (part, role)).collect());
}

/// A sum of each member's block.
fn blocks(member: &mut Member<'_>, own: SumRole, other: SumRole) {
    let (me, block) = (member.me, |first| Part::Blocks { first, count: 1 });
    let role = |first| if first == me { own } else { other };
    sums(member, (0..member.size()).map(|first| (block(first), role(first))).collect());
}

fn sums(member: &mut Member<'_>, parts: Vec<(Part, SumRole)>) {
    let me = member.me;
    for &(part, role) in &parts {
        member.take_role(role);
        member.receive(me, part, Combining::Replace);
    }
    for (part, role) in parts {
        member.take_role(role);
        member.send(me, part);
    }
    member.take_role(SumRole::Both);
    member.wait();
}
