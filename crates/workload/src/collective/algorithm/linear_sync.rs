//! A linear gather in which the root asks one member after another: the first segment of the next comes in while the
//! rest of the last does (`coll_base_gather.c` of Open MPI).

use super::{Form, linear::others};
use crate::collective::layout::Part;
use crate::collective::{Combining, Kind, Member};

pub(super) const FORMS: &[Form] = &[Form::segmented(Kind::Gather, gather)];

const SIGNAL: Part = Part::Bytes(0, 0);

fn gather(member: &mut Member<'_>) {
    if !member.is_root() {
        let [first, rest] = halves(member, member.me);
        member.receive_now(member.root, SIGNAL, Combining::Replace);
        member.send_now(member.root, first);
        return member.send_now(member.root, rest);
    }
    for other in others(member) {
        let [first, rest] = halves(member, other);
        member.receive(other, first, Combining::Replace);
        member.send(other, SIGNAL);
        member.wait();
        member.receive(other, rest, Combining::Replace);
    }
    member.wait();
}

/// The first segment of a member's block, and the rest.
fn halves(member: &Member<'_>, owner: u32) -> [Part; 2] {
    let (start, end) = (member.layout.start(owner), member.layout.start(owner + 1));
    let middle = start + member.choice.segment.unwrap_or(u64::MAX).min(end - start);
    [Part::Bytes(start, middle), Part::Bytes(middle, end)]
}
