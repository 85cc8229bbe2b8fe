//! The largest power of two of a communicator, or of a larger radix the largest multiple of a power: those beyond it
//! hand their part to a neighbour, who takes part for both.

use crate::{collective::Combining, collective::Member, collective::layout::Part};

/// Members in two numberings: all of them, and those of the core.
#[derive(Clone, Copy)]
pub(super) struct Core {
    pub(super) size: u32,
    pub(super) extra: u32,
}

impl Core {
    pub(super) fn of(size: u32) -> Core {
        let core = 1 << size.ilog2();
        Core { size: core, extra: size - core }
    }

    /// Rounds of exchanges among `radix` members each, the last among fewer where that takes in more of them
    /// (`ucc_knomial_pattern_init` of UCC).
    pub(super) fn of_radix(size: u32, radix: u32) -> Core {
        let power = std::iter::successors(Some(1), |power: &u32| power.checked_mul(radix))
            .take_while(|&power| power <= size)
            .last()
            .unwrap_or(1);
        let core = size / power * power;
        Core { size: core, extra: size - core }
    }

    /// Distance and members of each round.
    pub(super) fn rounds(self, radix: u32) -> Vec<(u32, u32)> {
        let (mut distance, mut rounds) = (1, Vec::new());
        while distance < self.size {
            let members = radix.min(self.size / distance);
            rounds.push((distance, members));
            distance *= members;
        }
        rounds
    }

    /// Whether `member` is one of a pair of which the odd one takes part.
    fn is_paired(self, member: u32) -> bool {
        member < 2 * self.extra
    }

    /// The number in the core of a member, none for those who step aside.
    pub(super) fn inside(self, member: u32) -> Option<u32> {
        match self.is_paired(member) {
            true if member.is_multiple_of(2) => None,
            true => Some(member / 2),
            false => Some(member - self.extra),
        }
    }

    /// The member with a number in the core.
    pub(super) fn outside(self, number: u32) -> u32 {
        if number < self.extra { 2 * number + 1 } else { number + self.extra }
    }

    /// The first of the members for which those of the core from `number` on stand.
    pub(super) fn first(self, number: u32) -> u32 {
        number + number.min(self.extra)
    }

    /// Everything of those beyond is added by their neighbours; the number in the core of who goes on.
    /// `place` is the member's number, `to_member` makes members of numbers.
    pub(super) fn fold(
        self,
        member: &mut Member<'_>,
        place: u32,
        part: Part,
        to_member: impl Fn(&Member<'_>, u32) -> u32,
    ) -> Option<u32> {
        match self.is_paired(place) {
            true if place.is_multiple_of(2) => member.send_now(to_member(member, place + 1), part),
            true => member.receive_now(to_member(member, place - 1), part, Combining::Add),
            false => {}
        }
        self.inside(place)
    }

    /// Those beyond get `part` of the result.
    pub(super) fn unfold(self, member: &mut Member<'_>, part: impl Fn(u32) -> Part) {
        let me = member.me;
        match self.is_paired(me) {
            true if me.is_multiple_of(2) => member.receive_now(me + 1, part(me), Combining::Replace),
            true => member.send_now(me - 1, part(me - 1)),
            false => {}
        }
    }
}
