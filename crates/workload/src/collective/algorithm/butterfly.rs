//! A reduce-scatter by halves, the nearest partner first; shares end where the bits of their number are in reverse
//! order, so a last message brings each to its owner (J. L. Träff, *An improved algorithm for (non-commutative)
//! reduce-scatter with an application*, EuroPVM/MPI 2005).

use super::{Form, core::Core, linear::block, recursive_halving::blocks};
use crate::collective::layout::Part;
use crate::collective::{Combining, Kind, Member, doublings};

pub(super) const FORMS: &[Form] =
    &[Form::new(Kind::ReduceScatter, reduce_scatter), Form::new(Kind::ReduceScatterBlock, reduce_scatter)];

fn reduce_scatter(member: &mut Member<'_>) {
    let core = Core::of(member.size());
    let all_blocks = Part::Blocks { first: 0, count: member.size() };
    let inside = core.fold(member, member.me, all_blocks, |_, number| number);
    if let Some(inside) = inside {
        halve(member, core, inside);
    }
    deliver(member, core, inside);
}

fn halve(member: &mut Member<'_>, core: Core, inside: u32) {
    let (mut first, mut count) = (0, core.size);
    for distance in doublings(core.size) {
        count /= 2;
        let (kept, given) = if inside & distance == 0 { (first, first + count) } else { (first + count, first) };
        let to = core.outside(inside ^ distance);
        member.exchange((to, blocks(core, given, count)), (to, blocks(core, kept, count)), Combining::Add);
        first = kept;
    }
}

/// The shares in hand to their owners, and the own share from who has it.
fn deliver(member: &mut Member<'_>, core: Core, inside: Option<u32>) {
    let me = member.me;
    let stands_for = |owner: u32| core.inside(owner).unwrap_or(owner / 2);
    let holder = core.outside(mirrored(stands_for(me), core.size));
    if holder != me {
        member.receive(holder, block(me), Combining::Replace);
    }
    if let Some(inside) = inside {
        let group = mirrored(inside, core.size);
        let owners = core.first(group)..core.first(group + 1);
        owners.filter(|&owner| owner != me).for_each(|owner| member.send(owner, block(owner)));
    }
    member.wait();
}

/// The bits of a number below `size` in reverse order.
fn mirrored(number: u32, size: u32) -> u32 {
    if size < 2 { number } else { number.reverse_bits() >> (u32::BITS - size.ilog2()) }
}
