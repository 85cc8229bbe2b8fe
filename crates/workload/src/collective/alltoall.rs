//! All-to-all: Bruck for tiny blocks among many, everything at once for small blocks, else pairwise.

use super::Member;

/// Below so many bytes per pair, and above so many members, Bruck's algorithm [B].
const SMALL: u64 = 200;
const MANY: u32 = 12;
/// Below so many bytes per pair all requests are posted at once [B].
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

/// In round k each member sends all blocks whose distance has bit k set, 2^k places up
/// (Bruck et al., IEEE TPDS 8(11), 1997; Open MPI runs it towards lower ranks' data).
fn bruck(member: &mut Member<'_>, bytes: u64) {
    let size = member.size();
    for distance in (0..32).map(|round| 1 << round).take_while(|&distance| distance < size) {
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
