//! Phases of loss recovery, and what its end or an error in it restores.

/// Phase of a connection's congestion control (RFC 5681, 6582, 6675; names as in Linux).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RecoveryPhase {
    Open,
    /// Reducing the window because of a mark, until `until` is acknowledged.
    Reducing {
        until: u64,
    },
    /// Repairing a loss that duplicate ACKs reported, until `until` is acknowledged.
    Recovery {
        until: u64,
    },
    /// Repairing after a timeout, until `until` is acknowledged.
    Loss {
        until: u64,
    },
}

/// Window before a loss, until the loss is certain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    /// Congestion window, and slow-start threshold [B].
    pub window: u64,
    pub threshold: u64,
    /// Retransmissions from here on count [offset] (`undo_marker` of Linux).
    pub from: u64,
    /// Retransmitted and not reported to have arrived twice [B] (`undo_retrans`).
    pub resent: u64,
    /// Whether any was.
    pub has_resent: bool,
}

/// F-RTO after a timeout (RFC 5682, section 3.1: with SACK).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Frto {
    /// Not in use, or decided: retransmit what is lost.
    Off,
    /// Only the first segment goes out again (step 1).
    Armed,
    /// It was acknowledged, and nothing else: new data go out (step 2.b).
    Probing,
}
