//! A tree of radix 4: a member sends to up to three others for each of its digits.

use super::Form;
use crate::collective::tree::Tree;
use crate::collective::{Kind, Member};

pub(super) const FORMS: &[Form] = &[Form::segmented(Kind::Bcast, bcast), Form::segmented(Kind::Reduce, reduce)];

/// Open MPI's default (`coll_tuned_bcast_algorithm_knomial_radix`).
const RADIX: u32 = 4;

fn bcast(member: &mut Member<'_>) {
    Tree::knomial(member, RADIX).spread(member, member.whole());
}

fn reduce(member: &mut Member<'_>) {
    Tree::knomial(member, RADIX).collect(member, member.whole());
}
