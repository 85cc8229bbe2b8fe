//! All-to-all: Bruck for tiny blocks among many, everything at once for small blocks, else pairwise.

use super::{Member, doublings};

/// Bytes per pair below which more than `MANY` members use Bruck's algorithm [B].
const SMALL: u64 = 200;
const MANY: u32 = 12;
/// Bytes per pair below which all requests are posted at once [B].
const INTERMEDIATE: u64 = 3_000;

pub(super) fn lower(member: &mut Member<'_>, bytes: u64) {
    match member.size() {
        1 => {}
        2 => member.exchange(member.up(1), member.down(1), bytes),
        size if bytes < SMALL && size > MANY => bruck(member, bytes),
        _ if bytes < INTERMEDIATE => linear(member, bytes),
        _ => pairwise(member, bytes),
    }
}

/// In round k each member sends 2^k places up all blocks whose distance has bit k set
/// (Bruck et al., IEEE TPDS 8(11), 1997, section 3).
fn bruck(member: &mut Member<'_>, bytes: u64) {
    let size = member.size();
    for distance in doublings(size) {
        let blocks = (1..size).filter(|block| block & distance != 0).count() as u64;
        member.exchange(member.up(distance), member.down(distance), blocks * bytes);
    }
}

/// All receives upwards from the next member, then all sends downwards from the previous one.
fn linear(member: &mut Member<'_>, bytes: u64) {
    (1..member.size()).for_each(|step| member.receive(member.up(step), bytes));
    (1..member.size()).for_each(|step| member.send(member.down(step), bytes));
    member.wait();
}

/// Step s sends s places up and receives from s places down, one exchange at a time.
fn pairwise(member: &mut Member<'_>, bytes: u64) {
    (1..member.size()).for_each(|step| member.exchange(member.up(step), member.down(step), bytes));
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Bytes;

    use crate::Op;
    use crate::collective::test::{partners, sent};
    use crate::collective::{Collective, Communicator};

    fn alltoall(ranks: u32, me: u32, bytes: u64) -> Vec<Op> {
        Collective::Alltoall { bytes: Bytes::new(bytes) }.lower(&Communicator::world(ranks), me)
    }

    fn waits(ops: &[Op]) -> usize {
        ops.iter().filter(|op| **op == Op::WaitAll).count()
    }

    #[test]
    fn ten_thousand_bytes_on_four_ranks_are_three_dependent_exchanges() {
        assert_eq!(partners(&alltoall(4, 1, 10_000)), [(2, 0), (3, 3), (0, 2)]);
        assert_eq!(waits(&alltoall(4, 1, 10_000)), 3);
    }

    #[test]
    fn thresholds_are_those_of_open_mpi_4_0() {
        let rounds = |ranks, bytes| waits(&alltoall(ranks, 0, bytes));
        // Pairwise from 3,000 B: a wait per partner. Below: one wait for all.
        assert_eq!((rounds(13, 3_000), rounds(13, 2_999)), (12, 1));
        // Bruck below 200 B on more than 12 ranks: ceil(log2 13) rounds.
        assert_eq!((rounds(13, 200), rounds(13, 199), rounds(12, 199)), (1, 4, 1));
    }

    #[test]
    fn bruck_moves_each_block_once_per_set_bit_of_its_distance() {
        let bits: u32 = (1u32..13).map(u32::count_ones).sum();
        assert_eq!(sent(&alltoall(13, 0, 100)), 100 * u64::from(bits));
    }
}
