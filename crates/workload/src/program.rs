//! The schedule of one rank: blocks of operations, each block repeated.

use std::sync::Arc;

use etherweave_primitives::{Duration, Rank};

/// One step of a rank. A rank performs its steps in order, on one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Posts a non-blocking send; the request joins the rank's outstanding set.
    Isend {
        /// The receiving rank, never the rank itself.
        peer: Rank,
        /// What the receive must carry to match, besides the source.
        tag: u32,
        /// Payload [B].
        bytes: u64,
    },
    /// Posts a non-blocking receive; the request joins the rank's outstanding set.
    Irecv {
        /// The sending rank, never the rank itself.
        peer: Rank,
        /// What the send must carry to match, besides the source.
        tag: u32,
        /// Payload [B].
        bytes: u64,
    },
    /// Reaches into the memory of a peer, which takes no part; joins the rank's outstanding set, so that
    /// [`Op::WaitAll`] is its flush.
    OneSided {
        /// What is done.
        access: Access,
        /// The rank whose memory it is, never the rank itself.
        peer: Rank,
        /// Payload [B], 1 or more.
        bytes: u64,
    },
    /// Waits until every outstanding request of this rank is complete.
    WaitAll,
    /// Copies what the rank sends to itself.
    Copy {
        /// Payload [B].
        bytes: u64,
    },
    /// Computes on a busy core.
    Compute {
        /// How long [ps].
        duration: Duration,
    },
    /// Sleeps as `nanosleep` does: the host adds its timer slack.
    Sleep {
        /// How long at least [ps].
        duration: Duration,
    },
    /// An iteration of the application starts here.
    IterationStart,
    /// An iteration of the application ends here: in a measured block this is worth a row
    /// (rank, iteration, start, end). Iterations count from 0 over the measured blocks of a rank.
    IterationEnd,
}

impl Op {
    /// The other rank of a message or a one-sided operation.
    pub fn peer(&self) -> Option<Rank> {
        match *self {
            Op::Isend { peer, .. } | Op::Irecv { peer, .. } | Op::OneSided { peer, .. } => Some(peer),
            Op::WaitAll
            | Op::Copy { .. }
            | Op::Compute { .. }
            | Op::Sleep { .. }
            | Op::IterationStart
            | Op::IterationEnd => None,
        }
    }
}

/// What a one-sided operation does (MPI: chapter *One-Sided Communications*).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Writes (`MPI_Put`).
    #[default]
    Put,
    /// Reads (`MPI_Get`).
    Get,
    /// Adds to what is there (`MPI_Accumulate`).
    Accumulate,
    /// Adds to a word and gives what was there (`MPI_Fetch_and_op`).
    FetchAndOp,
}

impl Access {
    /// Payload of `bytes` that leaves the rank, and that comes to it [B].
    pub fn payload(self, bytes: u64) -> (u64, u64) {
        match self {
            Access::Put => (bytes, 0),
            Access::Get => (0, bytes),
            Access::Accumulate | Access::FetchAndOp => (bytes, bytes),
        }
    }
}

/// Operations that are performed `repeat` times over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// One repetition.
    pub ops: Vec<Op>,
    /// How often, 1 or more.
    pub repeat: u32,
    /// Whether its iteration marks count; `false` for warm-up and barriers.
    pub measured: bool,
}

/// What one rank does from start to end. Copies share their blocks: whoever performs, writes or counts a program reads
/// the same ones.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Program {
    /// In order.
    pub blocks: Arc<[Block]>,
}

impl Block {
    /// A block that is performed once and not measured: start-up, barriers.
    pub fn unmeasured(ops: Vec<Op>) -> Block {
        Block { ops, repeat: 1, measured: false }
    }

    /// A block of measured iterations.
    pub fn measured(ops: Vec<Op>, repeat: u32) -> Block {
        Block { ops, repeat, measured: true }
    }
}

impl Program {
    /// The program of these blocks; empty ones and those that never run are dropped.
    pub fn new(blocks: impl IntoIterator<Item = Block>) -> Program {
        Program { blocks: blocks.into_iter().filter(|block| !block.ops.is_empty() && block.repeat > 0).collect() }
    }

    /// How many measured iterations it records.
    pub fn iterations(&self) -> u64 {
        let ends = |block: &Block| block.ops.iter().filter(|op| **op == Op::IterationEnd).count() as u64;
        self.blocks.iter().filter(|block| block.measured).map(|block| ends(block) * u64::from(block.repeat)).sum()
    }

    /// Every block as often as it is repeated, while whoever asks goes on: nothing is written out.
    pub fn ops(&self) -> impl Iterator<Item = &Op> {
        self.blocks.iter().flat_map(|block| std::iter::repeat_n(&block.ops, block.repeat as usize).flatten())
    }
}

/// `ops` between the marks of one iteration.
pub(crate) fn iteration(ops: impl IntoIterator<Item = Op>) -> Vec<Op> {
    let mut marked = vec![Op::IterationStart];
    marked.extend(ops);
    marked.push(Op::IterationEnd);
    marked
}
