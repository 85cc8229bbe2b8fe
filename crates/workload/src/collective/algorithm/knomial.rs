//! A tree of radix 4, where none is given: a member sends to up to three others for each of its digits.

use super::Form;
use crate::{collective::Kind, collective::Member, collective::tree::Tree};

pub(super) const FORMS: &[Form] =
    &[Form::segmented(Kind::Bcast, bcast).with_radix(), Form::segmented(Kind::Reduce, reduce).with_radix()];

/// Open MPI's default (`coll_tuned_bcast_algorithm_knomial_radix`).
const RADIX: u32 = 4;

fn radix(member: &Member<'_>) -> u32 {
    member.choice.radix.unwrap_or(RADIX)
}

fn bcast(member: &mut Member<'_>) {
    Tree::knomial(member, radix(member)).spread(member, member.whole());
}

fn reduce(member: &mut Member<'_>) {
    Tree::knomial(member, radix(member)).collect(member, member.whole());
}
