//! Along the chain root, root + 1, ..., one segment behind the other; a reduction the other way.

use super::Form;
use crate::{collective::Kind, collective::Member, collective::tree::Tree};

pub(super) const FORMS: &[Form] = &[Form::segmented(Kind::Bcast, bcast), Form::segmented(Kind::Reduce, reduce)];

fn bcast(member: &mut Member<'_>) {
    Tree::chains(member, 1).spread(member, member.whole());
}

fn reduce(member: &mut Member<'_>) {
    Tree::chains(member, 1).collect(member, member.whole());
}
