//! Collectives as point-to-point schedules.
//!
//! A [`Collective`] says what every member ends with, an [`Algorithm`] who sends what to whom, a [`Library`] which
//! algorithm is used for which sizes. [`Collective::lower`] yields the operations of one member; a collective waits for
//! *all* outstanding requests of its rank, so lower it where none is open.
//!
//! Each algorithm is a file in `algorithm/` and a line of its list; each library a file in `library/` and a line of its
//! list. Every member of both lists passes the tests in `tests/`, which execute the schedules on symbolic data.
//!
//! Not modelled: copies in memory, and the shared-memory components that take over within a node.
//!
//! ```
//! use etherweave_workload::collective::{Algorithm, Collective, Communicator, Rule};
//! let allreduce = Collective::Allreduce { bytes: "1MiB".parse().unwrap() };
//! let ring = Rule { algorithm: Some(Algorithm::Ring), ..Rule::default() };
//! // Buffers, 2 · (p − 1) exchanges of three operations, and a reduction behind each of the first p − 1.
//! assert_eq!(allreduce.lower(&ring, &Communicator::world(8), 3).len(), 1 + 2 * 7 * 3 + 7);
//! ```

mod algorithm;
mod layout;
mod library;
mod member;
mod protocol;
mod rule;
#[cfg(test)]
mod tests;
mod tree;

use etherweave_primitives::{Bytes, Rank};

pub use algorithm::Algorithm;
use layout::Layout;
pub use library::Library;
use member::{Combining, Member};
pub use protocol::Protocol;
pub use rule::{Channels, Rule};

use crate::{GraphOp, Op};

/// Tags from here up belong to blocking sends, as collectives have them; applications stay below.
pub const TAG_BASE: u32 = 1 << 31;
/// Tag of blocking sends that belong to no collective; no kind of collective has its number.
pub(crate) const BLOCKING: u32 = TAG_BASE | 0x7f;

/// Share of a rank in a sum that switches make: its messages to itself say it by their tags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SumRole {
    /// Rank that adds what it sends and gets the sum.
    Both,
    /// Rank that adds nothing: switches send it what others have sent.
    Listens,
    /// Rank that adds what it sends, of which the sum goes to others.
    Gives,
}

impl SumRole {
    /// First bit of tags with a role, above those of communicators.
    const SHIFT: u32 = 16;

    /// The role in a tag.
    pub fn of(tag: u32) -> SumRole {
        match tag >> SumRole::SHIFT & 3 {
            1 if tag >= TAG_BASE => SumRole::Listens,
            2 if tag >= TAG_BASE => SumRole::Gives,
            _ => SumRole::Both,
        }
    }

    /// A tag with the role.
    pub(crate) fn with(self, tag: u32) -> u32 {
        tag & !(3 << SumRole::SHIFT) | (self as u32) << SumRole::SHIFT
    }
}

/// Communicators that have numbers of their own.
const COMMUNICATORS: u32 = 32;

/// Number, below 32, of the communicator whose collectives have this tag; 0 is that of all other messages.
pub fn communicator_of(tag: u32) -> u8 {
    let context = u32::from(context_of(tag));
    if tag < TAG_BASE { 0 } else { (1 + context % (COMMUNICATORS - 1)) as u8 }
}

/// Bits of a tag that name the kind of a collective.
const KIND_BITS: u32 = 0x7f;
/// Those that name its communicator as well.
const CALL_BITS: u32 = TAG_BASE | 0xff00 | KIND_BITS;

/// Kind of the collective whose messages have a tag.
pub fn kind_of(tag: u32) -> Option<Kind> {
    if tag < TAG_BASE { None } else { Kind::ALL.get((tag & KIND_BITS) as usize).copied() }
}

/// Number of the communicator in the tag of a collective.
pub fn context_of(tag: u32) -> u8 {
    (tag >> 8) as u8
}

/// Bits of a tag that all messages of a collective in one communicator share.
pub fn call_of(tag: u32) -> u32 {
    tag & CALL_BITS
}

/// Size of an element of a reduction [B]: a double.
const ELEMENT: u64 = 8;

/// An ordered group of ranks that perform collectives together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Communicator {
    members: Vec<Rank>,
    context: u8,
}

/// Declares the collectives: variants with their parameters, and kinds in the order of their tags.
macro_rules! collectives {
    ($($(#[$doc:meta])* $kind:ident = $name:literal $({ $($(#[$about:meta])* $key:ident: $type:ty,)* })?;)*) => {
        /// A collective operation.
        #[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, rename_all = "snake_case")]
        pub enum Collective {
            $($(#[$doc])* $kind $({ $($(#[$about])* $key: $type,)* })?,)*
        }

        /// A collective without its parameters.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// Every kind, in order.
            pub const ALL: &'static [Kind] = &[$(Kind::$kind),*];

            /// Its name in a scenario.
            pub fn name(self) -> &'static str {
                match self {
                    $(Kind::$kind => $name,)*
                }
            }
        }

        impl Collective {
            /// Returns the kind of the collective.
            pub fn kind(&self) -> Kind {
                match self {
                    $(Collective::$kind { .. } => Kind::$kind,)*
                }
            }

            fn parameters(&self) -> Parameters<'_> {
                match self {
                    $(Collective::$kind $({ $($key,)* })? => {
                        Parameters { $($($key: Some(Listed::list($key)),)*)? ..Parameters::default() }
                    })*
                }
            }
        }
    };
}

/// Parameters of a collective, where it has them.
#[derive(Default)]
struct Parameters<'a> {
    root: Option<&'a [u32]>,
    /// Members in each dimension of its grid.
    dims: Option<&'a [u32]>,
    bytes: Option<&'a [Bytes]>,
}

/// A parameter as a list, be it one or a single value.
trait Listed<T> {
    fn list(&self) -> &[T];
}

impl<T> Listed<T> for T {
    fn list(&self) -> &[T] {
        std::slice::from_ref(self)
    }
}

impl<T> Listed<T> for Vec<T> {
    fn list(&self) -> &[T] {
        self
    }
}

collectives! {
    /// `MPI_Barrier`.
    Barrier = "barrier";
    /// `MPI_Alltoall`.
    Alltoall = "alltoall" {
        /// Block of each pair [B].
        bytes: Bytes,
    };
    /// `MPI_Allgather`.
    Allgather = "allgather" {
        /// Block of each member [B].
        bytes: Bytes,
    };
    /// `MPI_Allreduce` of 8-byte elements with a commutative operation.
    Allreduce = "allreduce" {
        /// The whole vector [B].
        bytes: Bytes,
    };
    /// `MPI_Bcast`.
    Bcast = "bcast" {
        /// The member that has the data.
        root: u32,
        /// The whole message [B].
        bytes: Bytes,
    };
    /// `MPI_Gather`.
    Gather = "gather" {
        /// The member that gets the data.
        root: u32,
        /// Block of each member [B].
        bytes: Bytes,
    };
    /// `MPI_Scatter`.
    Scatter = "scatter" {
        /// The member that has the data.
        root: u32,
        /// Block of each member [B].
        bytes: Bytes,
    };
    /// `MPI_Reduce` of 8-byte elements with a commutative operation.
    Reduce = "reduce" {
        /// The member that gets the result.
        root: u32,
        /// The whole vector [B].
        bytes: Bytes,
    };
    /// `MPI_Reduce_scatter` of 8-byte elements with a commutative operation, in shares as equal as can be.
    ReduceScatter = "reduce_scatter" {
        /// The whole vector [B].
        bytes: Bytes,
    };
    /// `MPI_Reduce_scatter_block` of 8-byte elements with a commutative operation.
    ReduceScatterBlock = "reduce_scatter_block" {
        /// Block of each member [B].
        bytes: Bytes,
    };
    /// `MPI_Scan` of 8-byte elements with a commutative operation.
    Scan = "scan" {
        /// The whole vector [B].
        bytes: Bytes,
    };
    /// `MPI_Exscan` of 8-byte elements with a commutative operation.
    Exscan = "exscan" {
        /// The whole vector [B].
        bytes: Bytes,
    };
    /// `MPI_Gatherv`.
    Gatherv = "gatherv" {
        /// The member that gets the data.
        root: u32,
        /// Block of each member [B]; a shorter list is repeated.
        bytes: Vec<Bytes>,
    };
    /// `MPI_Scatterv`.
    Scatterv = "scatterv" {
        /// The member that has the data.
        root: u32,
        /// Block of each member [B]; a shorter list is repeated.
        bytes: Vec<Bytes>,
    };
    /// `MPI_Allgatherv`.
    Allgatherv = "allgatherv" {
        /// Block of each member [B]; a shorter list is repeated.
        bytes: Vec<Bytes>,
    };
    /// `MPI_Neighbor_allgather` on a Cartesian grid without ends: the own block to both neighbours in each dimension.
    NeighborAllgather = "neighbor_allgather" {
        /// Members in each dimension, the last one running fastest.
        dims: Vec<u32>,
        /// Block of each member [B].
        bytes: Bytes,
    };
    /// `MPI_Neighbor_alltoall` on a Cartesian grid without ends: a block to each neighbour in each dimension.
    NeighborAlltoall = "neighbor_alltoall" {
        /// Members in each dimension, the last one running fastest.
        dims: Vec<u32>,
        /// Block of each pair [B].
        bytes: Bytes,
    };
    /// `MPI_Alltoallv`.
    Alltoallv = "alltoallv" {
        /// Block that each destination gets from every other member [B]; a shorter list is repeated.
        bytes: Vec<Bytes>,
    };
    /// `MPI_Alltoallw`, of types that are contiguous in memory.
    Alltoallw = "alltoallw" {
        /// Block that each destination gets from every other member [B]; a shorter list is repeated.
        bytes: Vec<Bytes>,
    };
}

impl Kind {
    /// Whether its sizes are a list.
    fn is_listed(self) -> bool {
        matches!(self, Kind::Gatherv | Kind::Scatterv | Kind::Allgatherv | Kind::Alltoallv | Kind::Alltoallw)
    }
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

    /// The same members with messages of their own, on one of their channels.
    pub(crate) fn channel(&self, number: u8) -> Communicator {
        Communicator::new(self.members.clone(), self.context + number)
    }

    /// Number that keeps its messages apart from those of others.
    pub(crate) fn context(&self) -> u8 {
        self.context
    }

    pub(crate) fn member(&self, number: u32) -> Rank {
        self.members[number as usize]
    }

    /// How many members.
    pub fn size(&self) -> u32 {
        self.members.len() as u32
    }
}

/// An operation of a collective in a graph.
pub(crate) struct FlowOp {
    pub op: GraphOp,
    /// The operations before that it waits for, by number.
    pub after: Vec<u32>,
}

impl Collective {
    /// The schedule of member `me` of `group`, with the algorithm that `rule` picks.
    ///
    /// # Panics
    /// When `group` has no member `me` or no root, or [`Rule::check`] refuses the combination.
    pub fn lower(&self, rule: &Rule, group: &Communicator, me: u32) -> Vec<Op> {
        self.lowered(rule, group, me).ops
    }

    /// The same as operations that start when those that they wait for are complete, where these are no sequence.
    ///
    /// # Panics
    /// As [`Collective::lower`].
    pub(crate) fn flow(&self, rule: &Rule, group: &Communicator, me: u32) -> Option<Vec<FlowOp>> {
        let layout = self.layout(group.size());
        let choice = rule.choice(self.kind(), &layout);
        let has_flow = matches!(choice.algorithm, Algorithm::DoubleTree | Algorithm::NvlsTree);
        has_flow.then(|| {
            let mut member = Member::new(group, me, self.kind(), layout, 0);
            member.choice = choice;
            algorithm::flow_ops(&member)
        })
    }

    fn lowered<'a>(&self, rule: &Rule, group: &'a Communicator, me: u32) -> Member<'a> {
        let size = group.size();
        assert!(me < size, "member {me} of a communicator of {size}");
        assert!(self.root() < size, "root {} of a communicator of {size}", self.root());
        let mut member = Member::new(group, me, self.kind(), self.layout(size), self.root());
        if size > 1 {
            let algorithm = rule.algorithm(self, size);
            // Switches read the send buffer and fill the receive buffer.
            if matches!(self, Collective::Allreduce { .. }) && !algorithm.is_of_switches() {
                member.prepare(algorithm);
            }
            member.perform(rule, self.kind());
        }
        member
    }

    /// The member with a part of its own, where there is one.
    pub fn root(&self) -> u32 {
        self.parameters().root.map_or(0, |root| root[0])
    }

    /// Its sizes as its parameters give them [B].
    pub fn sizes(&self) -> &[Bytes] {
        self.parameters().bytes.unwrap_or_default()
    }

    /// Returns the layout of a member's memory.
    fn layout(&self, size: u32) -> Layout {
        let lengths = self.sizes().iter().map(|bytes| bytes.get()).collect();
        match self {
            Collective::Barrier => Layout::vector(0, size, ELEMENT),
            Collective::Bcast { bytes, .. } => Layout::message(bytes.get(), size),
            Collective::Allreduce { bytes }
            | Collective::Reduce { bytes, .. }
            | Collective::ReduceScatter { bytes }
            | Collective::Scan { bytes }
            | Collective::Exscan { bytes } => Layout::vector(bytes.get(), size, ELEMENT),
            Collective::ReduceScatterBlock { .. }
            | Collective::Allgather { .. }
            | Collective::Gather { .. }
            | Collective::Gatherv { .. }
            | Collective::Scatter { .. }
            | Collective::Scatterv { .. }
            | Collective::Allgatherv { .. } => Layout::blocks(lengths, size),
            Collective::Alltoall { .. } | Collective::Alltoallv { .. } | Collective::Alltoallw { .. } => {
                Layout::pairs(lengths, size)
            }
            Collective::NeighborAllgather { dims, bytes } | Collective::NeighborAlltoall { dims, bytes } => {
                Layout::neighbors(dims.clone(), bytes.get())
            }
        }
    }
}

/// 1, 2, 4, ... below `size`: the distances of a logarithmic algorithm's rounds.
fn doublings(size: u32) -> impl DoubleEndedIterator<Item = u32> {
    let rounds = if size < 2 { 0 } else { (size - 1).ilog2() + 1 };
    (0..rounds).map(|round| 1 << round)
}
