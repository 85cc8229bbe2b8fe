//! A reduction in the order of the members; its tree ends at the last one, which sends the result to the root.

use super::Form;
use crate::collective::tree::Tree;
use crate::collective::{Combining, Kind, Member};

pub(super) const FORMS: &[Form] = &[Form::segmented(Kind::Reduce, reduce)];

fn reduce(member: &mut Member<'_>) {
    let (top, vector) = (member.size() - 1, member.whole());
    Tree::in_order(member).collect(member, vector);
    if member.root == top {
        return;
    }
    if member.me == top {
        member.send_now(member.root, vector);
    }
    if member.is_root() {
        member.receive_now(top, vector, Combining::Replace);
    }
}
