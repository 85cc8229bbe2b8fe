//! Hosts: NIC, connections, and the threads that use them.
//!
//! ```text
//!   thread (rank or stream) ── posts / writes ──► endpoint ── packets ──► NIC ──► wire
//!          ▲                                         ▲                      │
//!          └── completions, messages, bytes ─────────┴──── softirq (TCP) ◄──┘
//! ```
//!
//! A connection is a pair of endpoints, one at each host, each sending a stream of bytes cut into messages. The
//! receiver learns where a message ends, and what it is, from an *announcement* that travels outside the
//! network, one lookahead ahead of the bytes: bookkeeping of the simulator, never earlier than physics allows to use
//! it.

mod endpoint;
mod matching;
pub mod message;
mod mpi;
mod nic;
mod roce;
mod softirq;
mod stream;
mod tcp;
mod thread;

pub(crate) use endpoint::{Endpoint, Intake, Protocol};
pub(crate) use matching::{Envelope, Matching};
pub(crate) use mpi::RankState;
pub(crate) use nic::Host;
pub(crate) use roce::{Operation, RoceState};
pub(crate) use stream::{SinkState, SourceState};
pub(crate) use tcp::TcpState;
pub(crate) use thread::{Role, Thread};

/// One measured iteration of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IterationRow {
    /// Job.
    pub job: u32,
    /// Rank in its job.
    pub rank: u32,
    /// Host.
    pub host: u32,
    /// Counted from 0.
    pub iteration: u32,
    /// When it began.
    pub start: etherweave_primitives::Time,
    /// How long it took.
    pub duration: etherweave_primitives::Duration,
}
