//! A reduce-scatter by halves, then an all-gather in reverse order, or a gather at the root (R. Rabenseifner,
//! *Optimization of Collective Reduction Operations*, ICCS 2004; R. Thakur, R. Rabenseifner,
//! W. Gropp, IJHPCA 19(1), 2005). With a radix by as many parts: `sra_knomial` and `srg_knomial` of UCC.

use super::{Form, core::Core};
use crate::collective::layout::{Part, share_start};
use crate::collective::{Combining, ELEMENT, Kind, Member};

pub(super) const FORMS: &[Form] =
    &[Form::new(Kind::Allreduce, allreduce).with_radix(), Form::new(Kind::Reduce, reduce).with_radix()];

/// A round: the member's digit, and for each digit who has it and which part falls to it.
struct Round {
    digit: usize,
    peers: Vec<(u32, Part)>,
}

impl Round {
    fn mine(&self) -> Part {
        self.peers[self.digit].1
    }

    fn others(&self) -> impl Iterator<Item = (u32, Part)> {
        self.peers.iter().enumerate().filter(|(digit, _)| *digit != self.digit).map(|(_, peer)| *peer)
    }

    /// Everyone gets what the others have of its part.
    fn reduce(&self, member: &mut Member<'_>) {
        self.others().for_each(|(peer, _)| member.receive(peer, self.mine(), Combining::Add));
        self.others().for_each(|(peer, part)| member.send(peer, part));
        member.wait();
    }
}

fn allreduce(member: &mut Member<'_>) {
    let radix = member.choice.radix.unwrap_or(2);
    let core = Core::of_radix(member.size(), radix);
    let vector = member.whole();
    if let Some(inside) = core.fold(member, member.me, vector, |_, number| number) {
        let rounds = rounds(member, core, radix, inside, |number| core.outside(number));
        rounds.iter().for_each(|round| round.reduce(member));
        for round in rounds.iter().rev() {
            round.others().for_each(|(peer, part)| member.receive(peer, part, Combining::Replace));
            round.others().for_each(|(peer, _)| member.send(peer, round.mine()));
            member.wait();
        }
    }
    core.unfold(member, |_| vector);
}

/// Members count from the root, which is number 0 of the core.
fn reduce(member: &mut Member<'_>) {
    let radix = member.choice.radix.unwrap_or(2);
    let core = Core::of_radix(member.size(), radix);
    // The even one of a pair steps aside: the root is an odd one.
    let shift = u32::from(core.extra > 0);
    let place = (member.number() + shift) % member.size();
    let to_member = move |member: &Member<'_>, place: u32| member.numbered(place + member.size() - shift);
    let Some(inside) = core.fold(member, place, member.whole(), to_member) else { return };
    let rounds = rounds(member, core, radix, inside, |number| to_member(member, core.outside(number)));
    rounds.iter().for_each(|round| round.reduce(member));
    for round in rounds.iter().rev() {
        if round.digit > 0 {
            return member.send_now(round.peers[0].0, round.mine());
        }
        round.others().for_each(|(peer, part)| member.receive(peer, part, Combining::Replace));
        member.wait();
    }
}

/// The vector in as many shares as the core has members; each round divides what a member works on.
fn rounds(member: &Member<'_>, core: Core, radix: u32, inside: u32, to_member: impl Fn(u32) -> u32) -> Vec<Round> {
    let elements = member.layout.total().div_ceil(ELEMENT);
    let start = |share: u32| share_start(elements, u64::from(core.size), u64::from(share)) * ELEMENT;
    let (mut first, mut count) = (0, core.size);
    let round = |(distance, members)| {
        count /= members;
        let digit = inside / distance % members;
        let peer = |digit_of_peer: u32| {
            let number = inside - digit * distance + digit_of_peer * distance;
            let part = first + digit_of_peer * count;
            (to_member(number), Part::Bytes(start(part), start(part + count)))
        };
        let peers = (0..members).map(peer).collect();
        first += digit * count;
        Round { digit: digit as usize, peers }
    };
    core.rounds(radix).into_iter().map(round).collect()
}
