//! Barrier: one exchange of empty messages for two, recursive doubling for powers of two,
//! else Bruck's dissemination.

use super::Member;

pub(super) fn lower(member: &mut Member<'_>) {
    let size = member.size();
    let distances = (0..32).map(|round| 1 << round).take_while(|&distance| distance < size);
    if size.is_power_of_two() {
        distances.for_each(|distance| member.exchange(member.me ^ distance, member.me ^ distance, 0));
    } else {
        distances.for_each(|distance| member.exchange(member.up(distance), member.down(distance), 0));
    }
}
