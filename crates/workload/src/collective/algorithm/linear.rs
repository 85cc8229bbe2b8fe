//! Directly between the root and each other member, or between all.

use super::Form;
use crate::collective::layout::Part;
use crate::collective::{Combining, Kind, Member};

pub(super) const FORMS: &[Form] = &[
    Form::new(Kind::Barrier, barrier),
    Form::new(Kind::Bcast, bcast),
    Form::new(Kind::Gather, gather),
    Form::new(Kind::Gatherv, gather),
    Form::new(Kind::Scatter, scatter),
    Form::new(Kind::Scatterv, scatter),
    Form::new(Kind::Reduce, reduce),
    Form::new(Kind::Allreduce, allreduce),
    Form::new(Kind::Allgather, allgather),
    Form::new(Kind::Allgatherv, allgather),
    Form::new(Kind::Alltoall, alltoall),
    Form::new(Kind::Alltoallv, alltoall),
    Form::new(Kind::Alltoallw, alltoall),
    Form::new(Kind::NeighborAllgather, neighbors),
    Form::new(Kind::NeighborAlltoall, neighbors),
    Form::new(Kind::Scan, scan),
    Form::new(Kind::Exscan, scan),
];

pub(super) fn block(number: u32) -> Part {
    Part::Blocks { first: number, count: 1 }
}

/// All but the root, in the order of the communicator.
pub(super) fn others(member: &Member<'_>) -> impl Iterator<Item = u32> + use<> {
    let root = member.root;
    (0..member.size()).filter(move |&other| other != root)
}

/// Everyone reports to the root, which then releases all.
fn barrier(member: &mut Member<'_>) {
    let nothing = member.whole();
    gather_parts(member, |_| nothing);
    bcast(member);
}

fn bcast(member: &mut Member<'_>) {
    let message = member.whole();
    scatter_parts(member, |_| message);
}

fn gather(member: &mut Member<'_>) {
    gather_parts(member, block);
}

/// Also the scatter of a composed reduce-scatter.
pub(super) fn scatter(member: &mut Member<'_>) {
    scatter_parts(member, block);
}

fn gather_parts(member: &mut Member<'_>, part: impl Fn(u32) -> Part) {
    if !member.is_root() {
        return member.send_now(member.root, part(member.me));
    }
    others(member).for_each(|other| member.receive(other, part(other), Combining::Replace));
    member.wait();
}

fn scatter_parts(member: &mut Member<'_>, part: impl Fn(u32) -> Part) {
    if !member.is_root() {
        return member.receive_now(member.root, part(member.me), Combining::Replace);
    }
    others(member).for_each(|other| member.send(other, part(other)));
    member.wait();
}

/// The root adds one after another, the last member first.
fn reduce(member: &mut Member<'_>) {
    let vector = member.whole();
    if !member.is_root() {
        return member.send_now(member.root, vector);
    }
    let senders: Vec<u32> = others(member).collect();
    senders.iter().rev().for_each(|&other| member.receive_now(other, vector, Combining::Add));
}

fn allreduce(member: &mut Member<'_>) {
    reduce(member);
    bcast(member);
}

/// Everyone sends its block to all.
fn allgather(member: &mut Member<'_>) {
    for step in 1..member.size() {
        member.receive(member.up(step), block(member.up(step)), Combining::Replace);
    }
    (1..member.size()).for_each(|step| member.send(member.down(step), block(member.me)));
    member.wait();
}

/// All receives upwards from the next member, then all sends downwards from the previous one; with a limit of
/// outstanding requests, batch by batch with as many receives from below and sends upwards.
fn alltoall(member: &mut Member<'_>) {
    let size = member.size();
    member.copy(block(0));
    let Some(most) = member.choice.outstanding.filter(|&most| most < size - 1) else {
        for step in 1..size {
            member.receive(member.up(step), block(size - step), Combining::Replace);
        }
        (1..size).for_each(|step| member.send(member.down(step), block(size - step)));
        return member.wait();
    };
    for first in (1..size).step_by(most as usize) {
        let batch = first..size.min(first + most);
        batch.clone().for_each(|step| member.receive(member.down(step), block(step), Combining::Replace));
        batch.for_each(|step| member.send(member.up(step), block(step)));
        member.wait();
    }
}

/// All receives, then all sends, dimension by dimension (`coll_basic_neighbor_alltoall.c` of Open MPI). Where a
/// dimension has one member, it copies.
fn neighbors(member: &mut Member<'_>) {
    let neighbors = member.layout.neighbors_of(member.me);
    let places = || (0..).step_by(2).zip(&neighbors).filter(|(_, pair)| pair[0] != member.me);
    let exchanges: Vec<(u32, [u32; 2])> = places().map(|(place, pair)| (place, *pair)).collect();
    let alone = neighbors.len() - exchanges.len();
    (0..2 * alone).for_each(|_| member.copy(block(0)));
    for &(place, [before, behind]) in &exchanges {
        member.receive(behind, block(place), Combining::Replace);
        member.receive(before, block(place + 1), Combining::Replace);
    }
    for &(place, [before, behind]) in &exchanges {
        member.send(before, block(place));
        member.send(behind, block(place + 1));
    }
    if !exchanges.is_empty() {
        member.wait();
    }
}

/// Each adds what comes from the member before it, and passes it on; whether its own part counts for its result changes
/// no message.
fn scan(member: &mut Member<'_>) {
    let (me, vector) = (member.me, member.whole());
    if me > 0 {
        member.receive_now(me - 1, vector, Combining::Add);
    }
    if me + 1 < member.size() {
        member.send_now(me + 1, vector);
    }
}
