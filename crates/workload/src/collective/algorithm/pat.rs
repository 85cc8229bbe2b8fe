//! Parallel aggregated trees of NCCL (S. Jeaugey, *PAT: a new algorithm for all-gather and reduce-scatter operations at
//! scale*, arXiv:2506.20252, 2025): Bruck's rounds in reverse order, so that far messages have one block and near ones
//! many. Every block has a binomial tree of its own, and all trees send at once:
//!
//! ```text
//!   all-gather of 8, blocks by their distance from a member     to the member 4, then 2, then 1 places down
//!   distance 4:  0              distance 2:  0 4              distance 1:  0 2 4 6
//! ```
//!
//! A reduce-scatter passes the same blocks back, the near ones first, and adds up. A message has as many blocks as the
//! segment, a slot of NCCL's buffers, has room for; a longer block is a message of its own. NCCL begins with the next
//! round of a tree while others are behind; here a round ends before the next.

use super::Form;
use crate::collective::layout::Part;
use crate::collective::{Combining, Kind, Member, doublings};

pub(super) const FORMS: &[Form] = &[
    Form::new(Kind::Allgather, allgather),
    Form::new(Kind::ReduceScatter, reduce_scatter),
    Form::new(Kind::ReduceScatterBlock, reduce_scatter),
];

/// Rounds of half the distance before, in which a member sends down the blocks that it has at even multiples of it.
fn allgather(member: &mut Member<'_>) {
    for distance in doublings(member.size()).rev() {
        let (to, from) = (member.down(distance), member.up(distance));
        round(member, distance, [(to, member.me), (from, from)], Combining::Replace);
    }
}

/// Rounds of twice the distance before, in which a member sends up the sums of blocks at odd multiples of it.
fn reduce_scatter(member: &mut Member<'_>) {
    for distance in doublings(member.size()) {
        let (to, from) = (member.up(distance), member.down(distance));
        round(member, distance, [(to, to), (from, member.me)], Combining::Add);
    }
}

/// Blocks to a member, from the one named on, and as many from another.
fn round(member: &mut Member<'_>, distance: u32, [(to, sent), (from, got)]: [(u32, u32); 2], combining: Combining) {
    for part in messages(member, got, distance) {
        member.receive(from, part, combining);
    }
    for part in messages(member, sent, distance) {
        member.send(to, part);
    }
    member.wait();
}

/// Every second multiple of the distance, from a block on, in messages of as many blocks as a segment has room for.
fn messages(member: &Member<'_>, first: u32, distance: u32) -> Vec<Part> {
    let (size, step) = (member.size(), 2 * distance);
    let count = (size - distance).div_ceil(step);
    let room = match (member.choice.segment, member.layout.start(1)) {
        (Some(segment), block) if block > 0 => (segment / block).clamp(1, count.into()) as u32,
        _ => count,
    };
    let begin = |number: u32| ((u64::from(first) + u64::from(number) * u64::from(step)) % u64::from(size)) as u32;
    let message = |number: usize| {
        let number = number as u32;
        Part::Spread { first: begin(number), step, count: room.min(count - number) }
    };
    (0..count as usize).step_by(room as usize).map(message).collect()
}
