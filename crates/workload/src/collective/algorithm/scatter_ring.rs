//! A broadcast for very long messages: a binomial scatter, then an all-gather along a ring (R. van de Geijn, *On global
//! combine operations*, J. Parallel Distrib. Comput. 22(2), 1994).

use super::{Form, binomial::scatter_from, ring::allgather_from};
use crate::collective::{Kind, Member};

pub(super) const FORMS: &[Form] = &[Form::new(Kind::Bcast, bcast)];

fn bcast(member: &mut Member<'_>) {
    scatter_from(member, 0);
    allgather_from(member, member.number());
}
