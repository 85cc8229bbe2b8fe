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

mod activity_kind;
mod buffer_drain;
mod bus;
mod busy_time;
mod call_records;
mod completion_queue;
mod connection;
mod contexts;
mod core;
mod costs;
mod credits;
mod endpoint;
pub mod flow_costs;
pub mod fluid;
mod graph;
mod graph_state;
mod hosts;
mod inbound;
mod initiators;
mod matching;
pub mod message;
mod moderation;
mod mpi;
mod nic;
mod nic_times;
mod node_links;
mod observed_steps;
mod one_sided;
mod packet_route;
mod port_paths;
mod processors;
mod protocol;
mod rank;
mod rank_records;
mod receive_queue;
mod rounds;
pub mod rss;
mod shared_memory;
mod shortened;
mod socket;
mod softirq;
mod step_kind;
mod stream;
mod task_cost;
mod tasks;
mod thread;
mod throttle;
mod windows;

use etherweave_primitives::{BitRate, Duration, Time};
use etherweave_transport::uet::GrantPace;

use etherweave_engine::{event::PrefetchHint, params::CommandStall};
use etherweave_kernel::indices::{EndpointIndex, PortIndex};
use etherweave_kernel::{RowNames, rows};

pub use activity_kind::ActivityKind;
pub use buffer_drain::BufferDrain;
pub use busy_time::{BusyTime, ProcessorTimes};
pub use call_records::CallRecord;
pub use contexts::Contexts;
pub use core::{Core, OWN_CORE};
pub use costs::reason_of_rendezvous;
pub use endpoint::{Endpoint, Intake, MessageNumbers, lines};
pub use etherweave_transport::connection::ReceivedCounts;
pub use graph_state::GraphState;
pub use hosts::{Hosts, Nics};
pub use initiators::Initiators;
pub use matching::{ANY_SOURCE, ANY_TAG, Envelope, Receive};
pub use nic_times::NicTimes;
pub use port_paths::{PathChoice, PortPath, PortPaths, SendingPorts};
pub use processors::Processors;
pub use protocol::{Protocol, StateRef, TransportStates};
pub use rank::RankState;
pub use rank_records::{ArrivalRecord, EndRecord, PostRecord, RankRecords, StepRecord, StepTimes};
pub use receive_queue::ReceiveQueue;
pub use rounds::RepetitionRow;
pub use shared_memory::Neighbour;
pub use socket::TcpState;
pub use step_kind::StepKind;
pub use thread::{Follower, Role, SinkState, SourceState, Thread};

rows! {
    /// One measured iteration of a rank.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct IterationRow in RowNames<'n>, "iterations" {
        /// Job.
        job: u32 ["job" = |row, names| names.job(row.job)];
        /// Rank in its job.
        rank: u32 ["rank"];
        /// Host.
        host: u32 ["host" = |row, names| names.host(row.host)];
        /// Counted from 0.
        iteration: u32 ["iteration"];
        /// When it began.
        start: Time ["start_ns"];
        /// How long it took.
        duration: Duration ["duration_ns"];
    }
}

/// A NIC with its port. A host with several ports has as many, one behind the other.
pub struct Host {
    /// Number of the host in the topology.
    pub id: u32,
    /// Its port, numbered in the shard.
    pub port: PortIndex,
    /// Rate at which a connection of the host can send; 0 before it has any.
    pub rate: BitRate,
    /// Classes with endpoints that have something to send, a bit each.
    pub ready: u8,
    /// Such endpoints of each class stand in a ring and are served in turn: the first and the last of them.
    ring: [(EndpointIndex, EndpointIndex); 8],
    /// Receive side.
    pub nic: Nic,
}

/// Receive side of a NIC.
#[derive(Clone, Debug)]
pub struct Nic {
    /// Data in its buffer.
    pub buffer: BufferDrain,
    /// Endpoint of the packet before.
    pub last_endpoint: EndpointIndex,
    /// Packets that it has begun to write to memory, modulo 2^24: those that are written at one time have this order.
    pub writes: u32,
    /// Whether the switch is paused.
    pub is_pausing: bool,
    /// Priorities that the NIC pauses without end: it is broken.
    pub storming: u8,
    /// Pace at which its receivers grant credits.
    pub grants: GrantPace,
    /// The longest that it ever took to empty the buffer.
    pub backlog_max: Duration,
    /// Frames dropped because their ring had no buffer, by priority.
    pub out_of_buffer: [u32; 8],
}

impl Host {
    /// The NIC of a host at `port`.
    pub fn new(id: u32, port: PortIndex, stall: Option<&CommandStall>, seed: u64) -> Host {
        let nic = Nic {
            buffer: BufferDrain::new(id, stall),
            last_endpoint: EndpointIndex::NONE,
            writes: 0,
            is_pausing: false,
            storming: 0,
            grants: GrantPace::new(seed, id),
            backlog_max: Duration::ZERO,
            out_of_buffer: [0; 8],
        };
        let rate = BitRate::from_bps(0);
        Host { id, port, rate, ready: 0, ring: [(EndpointIndex::new(0), EndpointIndex::new(0)); 8], nic }
    }

    /// Priorities that the NIC, of which the run's NICs pause `mask`, has paused at its switch.
    pub fn held_pauses(&self, mask: u8) -> u8 {
        self.nic.storming | if self.nic.is_pausing { mask } else { 0 }
    }

    /// Hint at the first endpoint in the ring of the lowest class that has one; if none has, at any.
    fn next_sender(&self) -> PrefetchHint {
        PrefetchHint::endpoint(self.ring[self.ready.trailing_zeros() as usize % 8].0, true)
    }
}
