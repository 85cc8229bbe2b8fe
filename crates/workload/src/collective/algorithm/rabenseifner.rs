//! A reduce-scatter by halves, then an all-gather in reverse order, or a gather at the root (R. Rabenseifner,
//! *Optimization of Collective Reduction Operations*, ICCS 2004; R. Thakur, R. Rabenseifner,
//! W. Gropp, IJHPCA 19(1), 2005).

use super::Form;
use super::core::Core;
use crate::collective::layout::{Part, share_start};
use crate::collective::{Combining, ELEMENT, Kind, Member, doublings};

pub(super) const FORMS: &[Form] = &[Form::new(Kind::Allreduce, allreduce), Form::new(Kind::Reduce, reduce)];

/// A round with the member of the core `distance` away: the parts of each.
struct Round {
    distance: u32,
    mine: Part,
    theirs: Part,
}

fn allreduce(member: &mut Member<'_>) {
    let core = Core::of(member.size());
    let whole = member.whole();
    if let Some(inside) = core.fold(member, member.me, whole, |_, number| number) {
        let rounds = rounds(member, core, inside);
        for round in &rounds {
            let peer = core.outside(inside ^ round.distance);
            member.exchange((peer, round.theirs), (peer, round.mine), Combining::Add);
        }
        for round in rounds.iter().rev() {
            let peer = core.outside(inside ^ round.distance);
            member.exchange((peer, round.mine), (peer, round.theirs), Combining::Replace);
        }
    }
    core.unfold(member, |_| whole);
}

/// Members count from the root, which is number 0 of the core.
fn reduce(member: &mut Member<'_>) {
    let core = Core::of(member.size());
    // The even one of a pair steps aside: the root is an odd one.
    let shift = u32::from(core.extra > 0);
    let place = (member.number() + shift) % member.size();
    let to_member = move |member: &Member<'_>, place: u32| member.numbered(place + member.size() - shift);
    let Some(inside) = core.fold(member, place, member.whole(), to_member) else { return };
    let rounds = rounds(member, core, inside);
    let peer = |member: &Member<'_>, distance: u32| to_member(member, core.outside(inside ^ distance));
    for round in &rounds {
        let peer = peer(member, round.distance);
        member.exchange((peer, round.theirs), (peer, round.mine), Combining::Add);
    }
    for round in rounds.iter().rev() {
        let peer = peer(member, round.distance);
        if inside & round.distance != 0 {
            return member.send_now(peer, round.mine);
        }
        member.receive_now(peer, round.theirs, Combining::Replace);
    }
}

/// The vector in as many shares as the core has members; each round halves what a member works on.
fn rounds(member: &Member<'_>, core: Core, inside: u32) -> Vec<Round> {
    let elements = member.layout.total().div_ceil(ELEMENT);
    let start = |share: u32| share_start(elements, u64::from(core.size), u64::from(share)) * ELEMENT;
    let (mut first, mut count) = (0, core.size);
    let round = |distance| {
        count /= 2;
        let (kept, given) = if inside & distance == 0 { (first, first + count) } else { (first + count, first) };
        first = kept;
        let part = |first: u32| Part::Bytes(start(first), start(first + count));
        Round { distance, mine: part(kept), theirs: part(given) }
    };
    doublings(core.size).map(round).collect()
}
