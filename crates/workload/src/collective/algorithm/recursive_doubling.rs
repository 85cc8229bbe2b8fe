//! Exchanges with the member whose number differs in one bit: 1, 2, 4, ... places away.

use super::core::Core;
use super::{Form, Sizes};
use crate::collective::layout::Part;
use crate::collective::{Combining, Kind, Member, doublings};

pub(super) const FORMS: &[Form] = &[
    Form::new(Kind::Barrier, allreduce),
    Form::new(Kind::Allreduce, allreduce),
    Form::limited(Kind::Allgather, Sizes::PowersOfTwo, allgather),
    Form::limited(Kind::Allgatherv, Sizes::PowersOfTwo, allgather),
    Form::new(Kind::Scan, scan),
];

/// Each round exchanges the whole vector. A barrier is an all-reduce of nothing.
fn allreduce(member: &mut Member<'_>) {
    let core = Core::of(member.size());
    let whole = member.whole();
    if let Some(inside) = core.fold(member, member.me, whole, |_, number| number) {
        for distance in doublings(core.size) {
            let peer = core.outside(inside ^ distance);
            member.exchange((peer, whole), (peer, whole), Combining::Add);
        }
    }
    core.unfold(member, |_| whole);
}

/// Round k exchanges 2^k blocks.
fn allgather(member: &mut Member<'_>) {
    allgather_numbered(member, 0);
}

/// The same, with the members counted from `first`, and blocks in that order.
pub(super) fn allgather_numbered(member: &mut Member<'_>, first: u32) {
    let size = member.size();
    let number = member.down(first);
    for distance in doublings(size) {
        let peer = number ^ distance;
        let blocks = |number: u32| Part::Blocks { first: number & !(distance - 1), count: distance };
        let to = (first + peer) % size;
        member.exchange((to, blocks(number)), (to, blocks(peer)), Combining::Replace);
    }
}

/// What comes from a lower member counts for the own result; what is passed on is the sum of a growing group
/// (`MPIR_Scan_intra_recursive_doubling` of MPICH).
fn scan(member: &mut Member<'_>) {
    let whole = member.whole();
    for distance in doublings(member.size()) {
        let peer = member.me ^ distance;
        if peer < member.size() {
            let combining = if peer < member.me { Combining::Add } else { Combining::AddForOthers };
            member.exchange((peer, whole), (peer, whole), combining);
        }
    }
}
