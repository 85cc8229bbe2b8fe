//! Deadlines of the sender's timers.

use etherweave_primitives::{Duration, Time};

use super::params::{SegmentLoss, TcpParams};

/// Deadline that comes before the retransmission timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EarlyDeadline {
    TailProbe(Time),
    Retransmit(Time),
    /// Time from which on what may be late only counts as lost.
    Loss(Time),
}

impl EarlyDeadline {
    pub(super) fn due(self) -> Time {
        match self {
            EarlyDeadline::TailProbe(due) | EarlyDeadline::Retransmit(due) | EarlyDeadline::Loss(due) => due,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Deadlines {
    pub(super) tail_probe: bool,
    pub(super) tail_probe_min: Duration,
    pub(super) early_retransmit: bool,
    /// Retransmission timeout while data is out, window probe while none is.
    pub(super) retransmit: Option<Time>,
    pub(super) early: Option<EarlyDeadline>,
}

impl Deadlines {
    pub(super) fn new(params: &TcpParams) -> Deadlines {
        Deadlines {
            tail_probe: params.tail_loss_probe && params.sack,
            tail_probe_min: params.tail_loss_probe_min,
            early_retransmit: params.early_retransmit
                && params.sack
                && params.loss_detection == SegmentLoss::Duplicates,
            retransmit: None,
            early: None,
        }
    }
}
