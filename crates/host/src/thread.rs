//! Threads: each runs one task at a time, on a core of its own or on one of its host.
//!
//! A thread has an inbox of tasks and a role that defines what it does between them. Every task costs processor time;
//! its effect happens when it is done. A rank handles its inbox only while it waits inside MPI, as an MPI library
//! without a progress thread does.
//!
//! [`OWN_CORE`]: super::OWN_CORE

use std::collections::VecDeque;

use etherweave_kernel::indices::{CoreIndex, EndpointIndex, HostIndex, PortIndex, ThreadIndex};
use etherweave_kernel::memory::prefetch_value;
use etherweave_primitives::{Duration, Time};
use etherweave_workload::IdealTime;

use super::{Host, message::Message, rank::RankState};

/// Something to do.
#[derive(Clone, Copy, Debug)]
pub enum Task {
    /// Perform the present operation of the rank's program, with the endpoint to its peer, if it has one.
    Step(EndpointIndex),
    Handle(EndpointIndex, Message),
    /// Copy bytes into a socket.
    Write(EndpointIndex, u64),
    /// Copy bytes out of a socket.
    Read(EndpointIndex, u64),
    /// Post the next message of a stream.
    Post,
}

/// Role of a thread.
pub enum Role {
    /// Runs a rank's program, or the first stream of its graph.
    Rank(Box<RankState>),
    /// Runs another stream of the graph of the rank whose thread is named.
    GraphStream(ThreadIndex),
    /// Sends a stream.
    Source(SourceState),
    /// Receives a stream.
    Sink(SinkState),
}

/// See the module.
pub struct Thread {
    /// Host, numbered in the shard.
    pub host: HostIndex,
    /// Its port, numbered in the shard: the place of its events.
    pub place: PortIndex,
    /// Its number in the topology.
    pub host_id: u32,
    /// Job or group of streams.
    pub job: u32,
    /// Its core, numbered in the shard, or [`OWN_CORE`].
    pub core: CoreIndex,
    /// Complex of its core: threads of a host that share a last-level cache have the same.
    pub complex: u32,
    /// Time that interrupts had taken of the core when the present task began; `None` while it needs no shared core.
    pub interrupts: Option<Duration>,
    /// When its last message to a rank of the same host is in that rank's queue.
    pub shared_at: Time,
    /// Tasks to be done.
    pub inbox: VecDeque<Task>,
    /// Task that is being done.
    pub current: Option<Task>,
    /// Role of the thread.
    pub role: Role,
}

impl Thread {
    /// An idle thread of a host, by its number in the shard.
    pub fn new(host: HostIndex, at: &Host, job: u32, core: CoreIndex, role: Role) -> Thread {
        let (complex, interrupts, inbox, current) = (0, None, VecDeque::new(), None);
        Thread {
            host,
            place: at.port,
            host_id: at.id,
            job,
            core,
            complex,
            interrupts,
            shared_at: Time::ZERO,
            inbox,
            current,
            role,
        }
    }

    /// Whether it performs a rank, or a stream of its graph.
    pub(super) fn is_of_rank(&self) -> bool {
        match self.role {
            Role::Rank(_) | Role::GraphStream(_) => true,
            Role::Source(_) | Role::Sink(_) => false,
        }
    }

    /// Begins to fetch what it will do next.
    #[inline]
    pub fn prefetch_next(&self) {
        if let Some(task) = self.inbox.front() {
            prefetch_value(task);
        }
        if let Role::Rank(rank) = &self.role {
            rank.prefetch_op();
        }
    }
}

/// The sending side of a stream.
#[derive(Clone, Debug)]
pub struct SourceState {
    /// Its endpoint.
    pub endpoint: EndpointIndex,
    /// One message [B].
    pub bytes: u64,
    /// Window of incomplete messages.
    pub outstanding: u32,
    /// Messages left to post; `None` without end.
    pub left: Option<u64>,
    /// Posted.
    pub posted: u64,
    /// Complete.
    pub completed: u64,
    /// When the last message was complete.
    pub done_at: Option<Time>,
    /// When it starts; of a flow that waits for another, the end of time until that ends.
    pub start: Time,
    /// Whether it is a flow, whose connection is used for nothing else.
    pub is_flow: bool,
    /// Number of a flow in its job, where it waits for the end of another.
    pub follows: Option<u32>,
    /// Bytes of its messages that are not simulated.
    pub skipped: u64,
}

impl SourceState {
    /// Whether the window allows another message, and there is one.
    pub fn may_post(&self) -> bool {
        self.posted - self.completed < u64::from(self.outstanding) && self.left != Some(0)
    }

    /// Counts a message that is posted, and gives its size [B].
    pub fn post(&mut self) -> u64 {
        self.posted += 1;
        self.left = self.left.map(|left| left - 1);
        self.bytes
    }

    /// Whether the last message is complete.
    pub fn is_over(&self) -> bool {
        self.left == Some(0) && self.completed == self.posted
    }

    /// Whether the last message is complete, which is noted once.
    pub fn end(&mut self, now: Time) -> bool {
        let ends = self.is_over() && self.done_at.is_none();
        if ends {
            self.done_at = Some(now);
        }
        ends
    }
}

/// A flow that starts when another has ended at its host.
#[derive(Clone, Copy, Debug)]
pub struct Follower {
    /// Thread that sends or receives the other flow.
    pub before: ThreadIndex,
    /// Thread that sends the flow.
    pub thread: ThreadIndex,
    /// Time between both.
    pub after: Duration,
}

/// The receiving side of a stream.
#[derive(Clone, Debug)]
pub struct SinkState {
    /// Its endpoint.
    pub endpoint: EndpointIndex,
    /// One message [B]: what a receive call asks for.
    pub bytes: u64,
    /// Stream, counted from 0 in its job.
    pub stream: u32,
    /// When it starts.
    pub start: Time,
    /// Bytes that will come in all, but for those that are not simulated; `None` without end.
    pub total: Option<u64>,
    /// Bytes of its messages that are not simulated.
    pub skipped: u64,
    /// Ideal time of a flow, by which its completion time is divided; `None` of other streams.
    pub ideal: Option<IdealTime>,
}
