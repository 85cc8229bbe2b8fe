//! Bruck's algorithms (J. Bruck et al., IEEE TPDS 8(11), 1997, sections 3 and 4), and the dissemination barrier
//! (D. Hensgen, R. Finkel, U. Manber, Int. J. Parallel Programming 17(1), 1988).

use super::Form;
use crate::collective::layout::Part;
use crate::collective::{Combining, Kind, Member, doublings};

pub(super) const FORMS: &[Form] = &[
    Form::new(Kind::Barrier, barrier),
    Form::new(Kind::Allgather, allgather),
    Form::new(Kind::Allgatherv, allgather),
    Form::new(Kind::Alltoall, alltoall),
];

fn barrier(member: &mut Member<'_>) {
    let nothing = member.whole();
    for distance in doublings(member.size()) {
        let (to, from) = (member.up(distance), member.down(distance));
        member.exchange((to, nothing), (from, nothing), Combining::Replace);
    }
}

/// Round k sends what has gathered 2^k places down; the last round only what is missing.
fn allgather(member: &mut Member<'_>) {
    let size = member.size();
    for distance in doublings(size) {
        let blocks = |first: u32| Part::Blocks { first, count: distance.min(size - distance) };
        let (to, from) = (member.down(distance), member.up(distance));
        member.exchange((to, blocks(member.me)), (from, blocks(from)), Combining::Replace);
    }
}

/// Sends in round k, 2^k places up, all blocks whose distance has bit k set.
fn alltoall(member: &mut Member<'_>) {
    for distance in doublings(member.size()) {
        let blocks = Part::WithBit(distance);
        let (to, from) = (member.up(distance), member.down(distance));
        member.exchange((to, blocks), (from, blocks), Combining::Replace);
    }
}
