//! A binary tree, filled level by level.

use super::Form;
use crate::{collective::Kind, collective::Member, collective::tree::Tree};

pub(super) const FORMS: &[Form] = &[Form::segmented(Kind::Bcast, bcast), Form::segmented(Kind::Reduce, reduce)];

fn bcast(member: &mut Member<'_>) {
    Tree::binary(member).spread(member, member.whole());
}

fn reduce(member: &mut Member<'_>) {
    Tree::binary(member).collect(member, member.whole());
}
