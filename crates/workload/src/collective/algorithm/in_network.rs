//! Switches add up: each member sends its vector up an aggregation tree, and the sum comes back, for which both ends of
//! the message are the member itself (Graham et al., *Scalable Hierarchical Aggregation and Reduction Protocol*, ISC
//! 2020). A reduction to a root gives everyone the sum.

use super::Form;
use crate::collective::{Combining, Kind, Member};
use crate::{collective::layout::Part, collective::tree::segments};

pub(super) const FORMS: &[Form] = &[
    Form::new(Kind::Barrier, barrier),
    Form::segmented(Kind::Allreduce, allreduce),
    Form::segmented(Kind::Reduce, allreduce),
];

fn barrier(member: &mut Member<'_>) {
    let (me, nothing) = (member.me, Part::Bytes(0, 0));
    member.exchange((me, nothing), (me, nothing), Combining::Replace);
}

fn allreduce(member: &mut Member<'_>) {
    let parts: Vec<Part> = segments(member.whole(), member.choice.segment).collect();
    let me = member.me;
    parts.iter().for_each(|&part| member.receive(me, part, Combining::Replace));
    parts.iter().for_each(|&part| member.send(me, part));
    member.wait();
}
