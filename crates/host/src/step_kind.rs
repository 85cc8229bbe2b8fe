//! Kinds of steps of ranks.

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
