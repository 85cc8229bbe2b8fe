//! A binomial tree; gathers and scatters carry the blocks of whole subtrees.

use super::Form;
use crate::collective::{Combining, Kind, Member};
use crate::{collective::layout::Part, collective::tree::Tree, collective::tree::lowest_bit};

pub(super) const FORMS: &[Form] = &[
    Form::new(Kind::Barrier, barrier),
    Form::segmented(Kind::Bcast, bcast),
    Form::new(Kind::Gather, gather),
    Form::new(Kind::Scatter, scatter),
    Form::segmented(Kind::Reduce, reduce),
    Form::segmented(Kind::Allreduce, allreduce),
];

fn barrier(member: &mut Member<'_>) {
    allreduce(member);
}

/// Reduces to the root, and broadcasts from it.
fn allreduce(member: &mut Member<'_>) {
    reduce(member);
    bcast(member);
}

fn bcast(member: &mut Member<'_>) {
    Tree::binomial(member).spread(member, member.whole());
}

fn reduce(member: &mut Member<'_>) {
    Tree::binomial(member).collect(member, member.whole());
}

fn gather(member: &mut Member<'_>) {
    let tree = Tree::binomial(member);
    for &child in tree.children.iter().rev() {
        member.receive(child, subtree(member, child, member.root), Combining::Replace);
    }
    if !tree.children.is_empty() {
        member.wait();
    }
    if let Some(parent) = tree.parent {
        member.send_now(parent, subtree(member, member.me, member.root));
    }
}

fn scatter(member: &mut Member<'_>) {
    scatter_from(member, member.root);
}

/// Scatters the blocks from `first` on to the members from the root on.
pub(super) fn scatter_from(member: &mut Member<'_>, first: u32) {
    let tree = Tree::binomial(member);
    if let Some(parent) = tree.parent {
        member.receive_now(parent, subtree(member, member.me, first), Combining::Replace);
    }
    tree.children.iter().for_each(|&child| member.send(child, subtree(member, child, first)));
    if !tree.children.is_empty() {
        member.wait();
    }
}

/// The blocks of `top` and all below it, when those of the root are at `first`.
fn subtree(member: &Member<'_>, top: u32, first: u32) -> Part {
    let size = member.size();
    let number = (top + size - member.root) % size;
    Part::Blocks { first: (first + number) % size, count: lowest_bit(number, size).min(size - number) }
}
