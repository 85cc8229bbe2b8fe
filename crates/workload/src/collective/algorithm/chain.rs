//! Chains that hang below the root, as Open MPI builds them: four, its default fan-out.

use super::Form;
use crate::{collective::Kind, collective::Member, collective::tree::Tree};

pub(super) const FORMS: &[Form] = &[Form::segmented(Kind::Bcast, bcast), Form::segmented(Kind::Reduce, reduce)];

/// Open MPI's default fan-out (`coll_tuned_bcast_algorithm_chain_fanout`).
const CHAINS: u32 = 4;

fn bcast(member: &mut Member<'_>) {
    Tree::chains(member, CHAINS).spread(member, member.whole());
}

fn reduce(member: &mut Member<'_>) {
    Tree::chains(member, CHAINS).collect(member, member.whole());
}
