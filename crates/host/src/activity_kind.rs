//! Kinds of what ranks do.

use etherweave_kernel::Wire;
use etherweave_workload::{GraphOp, Op};

/// Kind of a rank's activity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ActivityKind {
    /// It computes.
    Compute,
    /// It sleeps.
    Sleep,
    /// It copies what it sends to itself.
    Copy,
    /// It posts sends and one-sided operations.
    Send,
    /// It posts receives.
    Receive,
    /// It waits for messages, and handles those that arrive.
    Wait,
    /// Its data pass the links to others of its node.
    NodeTransfer,
}

impl ActivityKind {
    /// Every kind, in order.
    pub const ALL: [ActivityKind; 7] = [
        ActivityKind::Compute,
        ActivityKind::Sleep,
        ActivityKind::Copy,
        ActivityKind::Send,
        ActivityKind::Receive,
        ActivityKind::Wait,
        ActivityKind::NodeTransfer,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            ActivityKind::Compute => "compute",
            ActivityKind::Sleep => "sleep",
            ActivityKind::Copy => "copy",
            ActivityKind::Send => "send",
            ActivityKind::Receive => "receive",
            ActivityKind::Wait => "wait",
            ActivityKind::NodeTransfer => "node_transfer",
        }
    }

    /// Kind of an operation of a program; none of a mark.
    pub(super) fn of(op: Op) -> Option<ActivityKind> {
        match op {
            Op::Isend { .. } | Op::OneSided { .. } => Some(ActivityKind::Send),
            Op::Irecv { .. } | Op::Poll { .. } => Some(ActivityKind::Receive),
            Op::Copy { .. } | Op::Prepare { .. } => Some(ActivityKind::Copy),
            Op::Compute { .. } | Op::Reduce { .. } => Some(ActivityKind::Compute),
            Op::Sleep { .. } => Some(ActivityKind::Sleep),
            Op::WaitAll | Op::IterationStart | Op::IterationEnd => None,
        }
    }

    pub(super) fn of_graph(op: GraphOp) -> ActivityKind {
        match op {
            GraphOp::Send { .. } => ActivityKind::Send,
            GraphOp::Receive { .. } => ActivityKind::Receive,
            GraphOp::Copy { .. } => ActivityKind::Copy,
            GraphOp::Compute { .. } => ActivityKind::Compute,
            GraphOp::Transfer { .. } => ActivityKind::NodeTransfer,
            GraphOp::Repeat { .. } => ActivityKind::Sleep,
        }
    }
}

impl Wire for ActivityKind {
    fn write(&self, words: &mut Vec<u32>) {
        (*self as u8).write(words);
    }

    fn read(words: &mut &[u32]) -> ActivityKind {
        ActivityKind::ALL[usize::from(u8::read(words))]
    }
}
