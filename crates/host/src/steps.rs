//! Steps of ranks, one by one, and where their messages were posted: what limits a job is worked out from them.
//! Kept only where a run observes its ranks.

use etherweave_primitives::{Duration, Time};

use super::activity_kind::ActivityKind;

/// Kind of a step: the work of the processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepKind {
    /// An operation of a program or graph.
    Operation(ActivityKind),
    /// It handles a message that has come.
    Handle,
    /// MPI sends, and copies into a socket at once what has room there.
    SocketSend,
    /// It copies into a socket what has found room since.
    Write,
    /// It copies out of a socket.
    Read,
}

impl StepKind {
    const PLACES: [StepKind; 4] = [StepKind::Handle, StepKind::Write, StepKind::Read, StepKind::SocketSend];

    /// Its number, for other processes.
    pub fn number(&self) -> u8 {
        match self {
            StepKind::Operation(kind) => StepKind::PLACES.len() as u8 + *kind as u8,
            StepKind::Handle => 0,
            StepKind::Write => 1,
            StepKind::Read => 2,
            StepKind::SocketSend => 3,
        }
    }

    /// The kind of a number.
    pub fn of_number(number: u8) -> StepKind {
        let behind = || StepKind::Operation(ActivityKind::ALL[usize::from(number) - StepKind::PLACES.len()]);
        StepKind::PLACES.get(usize::from(number)).copied().unwrap_or_else(behind)
    }
}

/// The name of a message, known to both ends: its connection, by the number of the sending end, and where it ends in
/// the stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MessageName {
    /// Number of the sending end in the run; [`MessageName::NEIGHBOUR`] of one within a host.
    pub connection: u32,
    /// Where it ends in the stream [B].
    pub end: u64,
}

impl MessageName {
    /// Number that stands for shared memory in place of a connection.
    pub const NEIGHBOUR: u32 = u32::MAX;
    /// No message.
    pub const NONE: MessageName = MessageName { connection: MessageName::NEIGHBOUR, end: u64::MAX };
}

/// One task of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Number of the stream in its rank.
    pub stream: u8,
    /// Kind of work.
    pub kind: StepKind,
    /// When the task began.
    pub start: Time,
    /// When it ends.
    pub end: Time,
    /// Time on a core that does nothing else.
    pub worked: Duration,
    /// How much of that is copying, and waiting for memory.
    pub copied: Duration,
    /// The rank that sent what is handled; of other kinds, none.
    pub peer: u32,
    /// Message that is handled.
    pub message: MessageName,
}

/// Where a message began its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Posted {
    /// The message.
    pub message: MessageName,
    /// When it was posted, or its last byte copied into a socket.
    pub at: Time,
    /// The message that a NIC answers by this one.
    pub answers: MessageName,
}

/// When the last byte of a message was at the NIC of its receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrived {
    /// The message.
    pub message: MessageName,
    /// When. A byte that is sent again may come later.
    pub at: Time,
}

/// Steps of a rank, in the order in which they began, and messages that it posted.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct StepLog {
    /// Its steps.
    pub steps: Vec<Step>,
    /// Messages by time; those of a connection in the order of its stream.
    pub posted: Vec<Posted>,
    /// Messages whose last byte has come to the NIC, where a kernel takes it from there, by time.
    pub arrived: Vec<Arrived>,
    /// Message that the NIC of the rank answers at the moment.
    pub(super) answered: Option<MessageName>,
}

impl StepLog {
    /// Number that stands for no peer.
    pub const NO_PEER: u32 = u32::MAX;

    /// Has the present step of a stream end later.
    pub(super) fn postpone(&mut self, stream: u8, span: Duration) {
        if let Some(step) = self.steps.iter_mut().rev().find(|step| step.stream == stream) {
            step.end += span;
        }
    }

    /// Puts steps in the order of their ends, without those that last beyond the end of the run.
    pub fn close(&mut self, end: Time) {
        // Those of one stream follow each other.
        if self.steps.iter().any(|step| step.stream > 0) {
            self.steps.sort_by_key(|step| (step.end, step.start, step.stream));
        }
        self.steps.truncate(self.steps.partition_point(|step| step.end <= end));
    }

    /// A message begins its way.
    pub(super) fn post(&mut self, connection: u32, end: u64, at: Time) {
        let message = MessageName { connection, end };
        self.posted.push(Posted { message, at, answers: self.answered.unwrap_or(MessageName::NONE) });
    }
}

etherweave_kernel::wire! {
    MessageName { connection, end }
    Posted { message, at, answers }
    Arrived { message, at }
    StepLog { steps, posted, arrived, answered }
    Step { stream, start, end, worked, copied, peer, message; kind: StepKind::number => StepKind::of_number }
}
