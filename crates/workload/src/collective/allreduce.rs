//! All-reduce: recursive doubling below 10,000 bytes, else a ring, segmented for very long vectors.

use super::{Member, doublings};

/// Bytes below which recursive doubling is used [B].
const INTERMEDIATE: u64 = 10_000;
/// Ring messages are at most so long [B].
const SEGMENT: u64 = 1 << 20;
/// Vectors are of doubles [B].
const ELEMENT: u64 = 8;

pub(super) fn lower(member: &mut Member<'_>, bytes: u64) {
    match member.size() {
        1 => {}
        _ if bytes < INTERMEDIATE => recursive_doubling(member, bytes),
        _ => ring(member, bytes),
    }
}

/// Members beyond the largest power of two hand their vector to a neighbour, who takes part for
/// both; each round exchanges the whole vector with the member whose number differs in one bit.
fn recursive_doubling(member: &mut Member<'_>, bytes: u64) {
    let size = member.size();
    let core = 1 << size.ilog2();
    let extra = size - core;
    if member.me < 2 * extra && member.me.is_multiple_of(2) {
        member.send(member.me + 1, bytes);
        member.wait();
        member.receive(member.me + 1, bytes);
        member.wait();
        return;
    }
    let folded = member.me < 2 * extra;
    if folded {
        member.receive(member.me - 1, bytes);
        member.wait();
    }
    // Numbers within the power of two, and back.
    let inside = if folded { member.me / 2 } else { member.me - extra };
    let outside = |number: u32| if number < extra { 2 * number + 1 } else { number + extra };
    for distance in doublings(core) {
        member.exchange(outside(inside ^ distance), outside(inside ^ distance), bytes);
    }
    if folded {
        member.send(member.me - 1, bytes);
        member.wait();
    }
}

/// The vector in `size` blocks travels once around the ring to be reduced, segment by segment,
/// and once more to be gathered.
fn ring(member: &mut Member<'_>, bytes: u64) {
    let size = u64::from(member.size());
    let me = u64::from(member.me);
    let elements = bytes.div_ceil(ELEMENT);
    let block = move |number: u64| share(elements, size, number % size);
    let phases = (block(0) * ELEMENT).div_ceil(SEGMENT).max(1);
    let pass = |member: &mut Member<'_>, sent: u64, received: u64| {
        let (to, from) = (member.up(1), member.down(1));
        member.exchange_unequal((to, sent * ELEMENT), (from, received * ELEMENT));
    };
    for phase in 0..phases {
        for step in 0..size - 1 {
            let segment = |number| share(block(number), phases, phase);
            pass(member, segment(me + size - step), segment(me + size - step - 1));
        }
    }
    (0..size - 1).for_each(|step| pass(member, block(me + 1 + size - step), block(me + size - step)));
}

/// The part of `whole` that falls to `number` of `parts`: the first ones get the remainder.
fn share(whole: u64, parts: u64, number: u64) -> u64 {
    whole / parts + u64::from(number < whole % parts)
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Bytes;

    use crate::Op;
    use crate::collective::test::{partners, sent};
    use crate::collective::{Collective, Communicator};

    fn allreduce(ranks: u32, me: u32, bytes: u64) -> Vec<Op> {
        Collective::Allreduce { bytes: Bytes::new(bytes) }.lower(&Communicator::world(ranks), me)
    }

    #[test]
    fn short_vectors_double_and_those_beyond_the_power_of_two_step_aside() {
        assert_eq!(partners(&allreduce(4, 1, 8)), [(0, 0), (3, 3)]);
        // Six ranks: 0 and 2 hand over to 1 and 3; 1, 3, 4, 5 double.
        assert_eq!(sent(&allreduce(6, 0, 8)), 8);
        assert_eq!(sent(&allreduce(6, 1, 8)), 3 * 8);
        assert_eq!(sent(&allreduce(6, 5, 8)), 2 * 8);
    }

    #[test]
    fn a_ring_moves_the_optimal_volume() {
        // 2 · (p - 1) / p of the vector (Patarasuk and Yuan, JPDC 69(2), 2009).
        assert_eq!(sent(&allreduce(5, 3, 80_000)), 2 * 4 * 80_000 / 5);
    }

    #[test]
    fn messages_of_a_long_reduction_stay_below_a_segment() {
        let ops = allreduce(3, 0, 9 << 20);
        let segments = ops.iter().filter(|op| matches!(op, Op::Isend { bytes, .. } if *bytes == 1 << 20)).count();
        assert_eq!(segments, 3 * 2, "three phases of two steps");
        assert_eq!(sent(&ops), 2 * 2 * (3 << 20));
    }
}
