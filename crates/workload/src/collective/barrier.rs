//! Barrier: one exchange of empty messages for two, recursive doubling for powers of two,
//! else Bruck's dissemination.

use super::{Member, doublings};

pub(super) fn lower(member: &mut Member<'_>) {
    let size = member.size();
    if size.is_power_of_two() {
        doublings(size).for_each(|distance| member.exchange(member.me ^ distance, member.me ^ distance, 0));
    } else {
        doublings(size).for_each(|distance| member.exchange(member.up(distance), member.down(distance), 0));
    }
}

#[cfg(test)]
mod tests {
    use crate::collective::test::{partners, sent};
    use crate::collective::{Collective, Communicator};

    #[test]
    fn powers_of_two_double_and_others_disseminate() {
        let doubling = Collective::Barrier.lower(&Communicator::world(8), 5);
        assert_eq!(partners(&doubling), [(4, 4), (7, 7), (1, 1)]);
        // 6 rounds for 48 ranks: 1, 2, 4, 8, 16, 32 up, and as far down.
        let dissemination = Collective::Barrier.lower(&Communicator::world(48), 40);
        assert_eq!(partners(&dissemination), [(41, 39), (42, 38), (44, 36), (0, 32), (8, 24), (24, 8)]);
        assert_eq!(sent(&dissemination), 0);
    }
}
