//! A reduce-scatter: each round exchanges half of what is left, the farthest partner first.

use super::{Form, core::Core, linear::block};
use crate::collective::layout::Part;
use crate::collective::{Combining, Kind, Member, doublings};

pub(super) const FORMS: &[Form] =
    &[Form::new(Kind::ReduceScatter, reduce_scatter), Form::new(Kind::ReduceScatterBlock, reduce_scatter)];

fn reduce_scatter(member: &mut Member<'_>) {
    let core = Core::of(member.size());
    let all_blocks = Part::Blocks { first: 0, count: member.size() };
    if let Some(inside) = core.fold(member, member.me, all_blocks, |_, number| number) {
        for distance in doublings(core.size).rev() {
            let peer = inside ^ distance;
            let half = |number: u32| blocks(core, number & !(distance - 1), distance);
            let to = core.outside(peer);
            member.exchange((to, half(peer)), (to, half(inside)), Combining::Add);
        }
    }
    core.unfold(member, block);
}

/// The blocks for which members of the core stand.
pub(super) fn blocks(core: Core, first: u32, count: u32) -> Part {
    let (start, end) = (core.first(first), core.first(first + count));
    Part::Blocks { first: start, count: end - start }
}
