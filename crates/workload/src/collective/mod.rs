//! Collectives as point-to-point schedules: what Open MPI 4.0's tuned component picks when left alone.
//!
//! [`Collective::lower`] decides by message and communicator size, as
//! `coll_tuned_decision_fixed.c` of Open MPI 4.0 does; one file per collective holds the decision
//! and the algorithms. An exchange is Irecv, Isend, WaitAll. A collective waits for *all* outstanding
//! requests of its rank, so lower it where none is open.
//!
//! Not modelled: copies and reductions in memory, and the shared-memory components that take over
//! when several ranks live on one node.

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod bcast;

use etherweave_primitives::{Bytes, Rank};

use crate::Op;

/// Tags from here up belong to collectives; applications stay below.
pub const TAG_BASE: u32 = 1 << 31;

/// An ordered group of ranks that perform collectives together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Communicator {
    members: Vec<Rank>,
    context: u8,
}

/// A collective operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Collective {
    /// `MPI_Barrier`.
    Barrier,
    /// `MPI_Alltoall`.
    Alltoall {
        /// Block of each pair [B].
        bytes: Bytes,
    },
    /// `MPI_Allgather`.
    Allgather {
        /// Block of each member [B].
        bytes: Bytes,
    },
    /// `MPI_Allreduce` of 8-byte elements with a commutative operation.
    Allreduce {
        /// The whole vector [B].
        bytes: Bytes,
    },
    /// `MPI_Bcast`.
    Bcast {
        /// The member that has the data.
        root: u32,
        /// The whole message [B].
        bytes: Bytes,
    },
}

impl Communicator {
    /// The group of `members`, in this order. `context` keeps its messages apart from those of
    /// other communicators; 0 is the world.
    pub fn new(members: Vec<Rank>, context: u8) -> Communicator {
        Communicator { members, context }
    }

    /// All ranks of a job.
    pub fn world(ranks: u32) -> Communicator {
        Communicator::new((0..ranks).map(Rank::new).collect(), 0)
    }

    /// How many members.
    pub fn size(&self) -> u32 {
        self.members.len() as u32
    }
}

impl Collective {
    /// The schedule of member `me` of `group`.
    ///
    /// # Panics
    /// When `group` has no member `me`, or a broadcast no root.
    pub fn lower(self, group: &Communicator, me: u32) -> Vec<Op> {
        assert!(me < group.size(), "member {me} of a communicator of {}", group.size());
        let mut member = Member { group, me, tag: self.tag(group.context), ops: Vec::new() };
        match self {
            Collective::Barrier => barrier::lower(&mut member),
            Collective::Alltoall { bytes } => alltoall::lower(&mut member, bytes.get()),
            Collective::Allgather { bytes } => allgather::lower(&mut member, bytes.get()),
            Collective::Allreduce { bytes } => allreduce::lower(&mut member, bytes.get()),
            Collective::Bcast { root, bytes } => bcast::lower(&mut member, root, bytes.get()),
        }
        member.ops
    }

    /// One tag per kind and communicator: order of posting does the rest, as in MPI.
    fn tag(self, context: u8) -> u32 {
        let kind = match self {
            Collective::Barrier => 0,
            Collective::Alltoall { .. } => 1,
            Collective::Allgather { .. } => 2,
            Collective::Allreduce { .. } => 3,
            Collective::Bcast { .. } => 4,
        };
        TAG_BASE | u32::from(context) << 8 | kind
    }
}

/// 1, 2, 4, ... below `size`: the distances of a logarithmic algorithm's rounds.
fn doublings(size: u32) -> impl Iterator<Item = u32> {
    (0..32).map(|round| 1 << round).take_while(move |&distance| distance < size)
}

/// The progress of one member through a collective.
struct Member<'a> {
    group: &'a Communicator,
    me: u32,
    tag: u32,
    ops: Vec<Op>,
}

impl Member<'_> {
    fn size(&self) -> u32 {
        self.group.size()
    }

    /// The member `distance` places up, around the ring.
    fn up(&self, distance: u32) -> u32 {
        (self.me + distance) % self.size()
    }

    /// The member `distance` places down, around the ring.
    fn down(&self, distance: u32) -> u32 {
        (self.me + self.size() - distance % self.size()) % self.size()
    }

    fn send(&mut self, to: u32, bytes: u64) {
        self.ops.push(Op::Isend { peer: self.group.members[to as usize], tag: self.tag, bytes });
    }

    fn receive(&mut self, from: u32, bytes: u64) {
        self.ops.push(Op::Irecv { peer: self.group.members[from as usize], tag: self.tag, bytes });
    }

    fn wait(&mut self) {
        self.ops.push(Op::WaitAll);
    }

    /// Receives from one member while sending as much to another, and waits for both.
    fn exchange(&mut self, to: u32, from: u32, bytes: u64) {
        self.exchange_unequal((to, bytes), (from, bytes));
    }

    /// Receives (from, bytes) while sending (to, bytes), and waits for both.
    fn exchange_unequal(&mut self, (to, sent): (u32, u64), (from, received): (u32, u64)) {
        self.receive(from, received);
        self.send(to, sent);
        self.wait();
    }
}

/// What tests ask of a schedule.
#[cfg(test)]
mod test {
    use crate::Op;

    /// (to, from) of each exchange.
    pub(super) fn partners(ops: &[Op]) -> Vec<(u32, u32)> {
        let to = ops.iter().filter_map(|op| if let Op::Isend { peer, .. } = op { Some(peer.get()) } else { None });
        let from = ops.iter().filter_map(|op| if let Op::Irecv { peer, .. } = op { Some(peer.get()) } else { None });
        to.zip(from).collect()
    }

    pub(super) fn sent(ops: &[Op]) -> u64 {
        ops.iter().map(|op| if let Op::Isend { bytes, .. } = op { *bytes } else { 0 }).sum()
    }

    pub(super) fn received(ops: &[Op]) -> u64 {
        ops.iter().map(|op| if let Op::Irecv { bytes, .. } = op { *bytes } else { 0 }).sum()
    }
}
