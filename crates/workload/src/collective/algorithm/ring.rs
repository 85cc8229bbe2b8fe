//! Around the ring: each step passes on what the previous one brought.

use super::{Form, linear::block};
use crate::collective::layout::{Part, share_start};
use crate::collective::{Combining, ELEMENT, Kind, Member};

pub(super) const FORMS: &[Form] = &[
    Form::new(Kind::Allgather, allgather).with_rounds(),
    Form::new(Kind::Allgatherv, allgather).with_rounds(),
    Form::segmented(Kind::Allreduce, allreduce).with_rounds(),
    Form::new(Kind::ReduceScatter, reduce_scatter).with_rounds(),
    Form::new(Kind::ReduceScatterBlock, reduce_scatter).with_rounds(),
];

fn allgather(member: &mut Member<'_>) {
    allgather_from(member, member.me);
}

/// The member has block `own`, the one before it the block before.
pub(super) fn allgather_from(member: &mut Member<'_>, own: u32) {
    let (to, from, size) = (member.up(1), member.down(1), member.size());
    for step in member.rounds(1..size) {
        let at = |step: u32| block((own + size - step) % size);
        member.exchange((to, at(step - 1)), (from, at(step)), Combining::Replace);
    }
}

/// The vector in `size` blocks travels once around the ring to be reduced, segment by segment,
/// and once more to be gathered (P. Patarasuk, X. Yuan, JPDC 69(2), 2009).
fn allreduce(member: &mut Member<'_>) {
    let (size, me) = (member.size(), member.me);
    let longest = member.layout.start(1);
    let phases = member.choice.segment.map_or(1, |segment| longest.div_ceil(segment).max(1));
    for phase in 0..phases {
        for step in member.rounds(0..size - 1) {
            let segment = |number: u32| segment(member, number % size, phases, phase);
            let (sent, received) = (segment(me + size - step), segment(me + size - step - 1));
            member.exchange((member.up(1), sent), (member.down(1), received), Combining::Add);
        }
    }
    allgather_from(member, member.up(1));
}

/// One of the `phases` segments of a block, in whole elements.
fn segment(member: &Member<'_>, number: u32, phases: u64, phase: u64) -> Part {
    let (start, end) = (member.layout.start(number), member.layout.start(number + 1));
    let at = |phase: u64| start + share_start((end - start) / ELEMENT, phases, phase) * ELEMENT;
    Part::Bytes(at(phase), at(phase + 1))
}

/// A block is added to on its way around, and ends at its owner.
fn reduce_scatter(member: &mut Member<'_>) {
    let (size, me) = (member.size(), member.me);
    for step in member.rounds(1..size) {
        let at = |step: u32| block((me + size - step) % size);
        let from = at((step + 1) % size);
        member.exchange((member.up(1), at(step)), (member.down(1), from), Combining::Add);
    }
}
