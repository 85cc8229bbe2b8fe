//! Exchanges with the member whose number differs in one bit: 1, 2, 4, ... places away.

use super::{Form, Sizes, core::Core, linear::block};
use crate::collective::layout::Part;
use crate::collective::{Combining, Kind, Member, doublings};

pub(super) const FORMS: &[Form] = &[
    Form::new(Kind::Barrier, allreduce).with_radix(),
    Form::new(Kind::Allreduce, allreduce).with_radix(),
    Form::limited(Kind::Allgather, Sizes::PowersOfTwo, allgather),
    Form::limited(Kind::Allgatherv, Sizes::PowersOfTwo, allgather),
    Form::new(Kind::ReduceScatterBlock, reduce_scatter),
    Form::new(Kind::Scan, scan),
    Form::new(Kind::Exscan, scan),
];

/// Each round exchanges the whole vector, among as many as the radix has digits. A barrier is an all-reduce of nothing.
fn allreduce(member: &mut Member<'_>) {
    let radix = member.choice.radix.unwrap_or(2);
    let core = Core::of_radix(member.size(), radix);
    let vector = member.whole();
    if let Some(inside) = core.fold(member, member.me, vector, |_, number| number) {
        for (distance, members) in core.rounds(radix) {
            let peers = || others_of_round(inside, distance, members).map(|other| core.outside(other));
            peers().for_each(|peer| member.receive(peer, vector, Combining::Add));
            peers().for_each(|peer| member.send(peer, vector));
            member.wait();
        }
    }
    core.unfold(member, |_| vector);
}

/// Those whose numbers differ in one digit.
fn others_of_round(number: u32, distance: u32, members: u32) -> impl Iterator<Item = u32> {
    let digit = number / distance % members;
    (0..members).filter(move |&other| other != digit).map(move |other| number - digit * distance + other * distance)
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

/// Round k sends what those beyond the own group of 2^k still need, and gets what the own group does
/// (`ompi_coll_base_reduce_scatter_block_intra_recursivedoubling` of Open MPI).
fn reduce_scatter(member: &mut Member<'_>) {
    let (core, size) = (Core::of(member.size()), member.size());
    let all_blocks = Part::Blocks { first: 0, count: size };
    if let Some(inside) = core.fold(member, member.me, all_blocks, |_, number| number) {
        for distance in doublings(core.size) {
            let peer = inside ^ distance;
            let beyond = |number: u32| {
                let group = number & !(distance - 1);
                let (start, end) = (core.first(group), core.first(group + distance));
                Part::Blocks { first: end % size, count: size - (end - start) }
            };
            let to = core.outside(peer);
            member.exchange((to, beyond(inside)), (to, beyond(peer)), Combining::Add);
        }
    }
    core.unfold(member, block);
}

/// Adds to the own result what comes from a lower member; what is passed on is the sum of a growing group
/// (`MPIR_Scan_intra_recursive_doubling` of MPICH).
fn scan(member: &mut Member<'_>) {
    let vector = member.whole();
    for distance in doublings(member.size()) {
        let peer = member.me ^ distance;
        if peer < member.size() {
            let combining = if peer < member.me { Combining::Add } else { Combining::AddForOthers };
            member.exchange((peer, vector), (peer, vector), combining);
        }
    }
}
