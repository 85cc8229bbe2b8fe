//! All-gather: logarithmic below 50,000 bytes in total, else neighbour exchange or a ring.

use super::{Member, doublings};

/// Bytes over all members below which a logarithmic algorithm is used [B].
const SMALL_TOTAL: u64 = 50_000;

pub(super) fn lower(member: &mut Member<'_>, bytes: u64) {
    let size = member.size();
    match size {
        1 => {}
        2 => member.exchange(member.up(1), member.down(1), bytes),
        _ if u64::from(size) * bytes < SMALL_TOTAL && size.is_power_of_two() => recursive_doubling(member, bytes),
        _ if u64::from(size) * bytes < SMALL_TOTAL => bruck(member, bytes),
        _ if size.is_multiple_of(2) => neighbour_exchange(member, bytes),
        _ => ring(member, bytes),
    }
}

/// Round k exchanges 2^k blocks with the member whose number differs in bit k.
fn recursive_doubling(member: &mut Member<'_>, bytes: u64) {
    for distance in doublings(member.size()) {
        member.exchange(member.me ^ distance, member.me ^ distance, u64::from(distance) * bytes);
    }
}

/// Round k sends what has gathered 2^k places down; the last round only what is missing.
fn bruck(member: &mut Member<'_>, bytes: u64) {
    let size = member.size();
    for distance in doublings(size) {
        let blocks = distance.min(size - distance);
        member.exchange(member.down(distance), member.up(distance), u64::from(blocks) * bytes);
    }
}

/// Pairs exchange their blocks, then two blocks at a time with alternating neighbours
/// (Chen et al., SC|05 poster; even sizes only).
fn neighbour_exchange(member: &mut Member<'_>, bytes: u64) {
    let (next, previous) = (member.up(1), member.down(1));
    let neighbours = if member.me.is_multiple_of(2) { [next, previous] } else { [previous, next] };
    member.exchange(neighbours[0], neighbours[0], bytes);
    for step in 1..member.size() / 2 {
        let peer = neighbours[step as usize % 2];
        member.exchange(peer, peer, 2 * bytes);
    }
}

/// Each step passes on the block that the previous step brought.
fn ring(member: &mut Member<'_>, bytes: u64) {
    (1..member.size()).for_each(|_| member.exchange(member.up(1), member.down(1), bytes));
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Bytes;

    use crate::collective::test::sent;
    use crate::collective::{Collective, Communicator};

    #[test]
    fn every_algorithm_moves_each_foreign_block_once() {
        // 8 and 7 ranks below 50,000 B in total, then above: all four algorithms.
        for (ranks, bytes) in [(2, 100), (8, 100), (7, 100), (8, 10_000), (7, 10_000)] {
            let allgather = Collective::Allgather { bytes: Bytes::new(bytes) };
            let ops = allgather.lower(&Communicator::world(ranks), 1);
            assert_eq!(sent(&ops), u64::from(ranks - 1) * bytes, "{ranks} ranks");
        }
    }
}
