//! A broadcast for long messages: a binomial scatter, then an all-gather by recursive doubling (M. Barnett et al.,
//! *Interprocessor collective communication library*, SHPCC 1994).

use super::{Form, Sizes, binomial::scatter_from, recursive_doubling::allgather_numbered};
use crate::collective::{Kind, Member};

pub(super) const FORMS: &[Form] = &[Form::limited(Kind::Bcast, Sizes::PowersOfTwo, bcast)];

fn bcast(member: &mut Member<'_>) {
    scatter_from(member, 0);
    allgather_numbered(member, member.root);
}
