//! The state of a kernel TCP socket.

use std::collections::VecDeque;

use etherweave_primitives::Time;

use crate::packet::{Handle, NO_PACKET};
use crate::transport::tcp::{Receiver, Segment, Sender, TcpParams};

/// Bytes that wait to be copied into the socket.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingWrite {
    pub(super) left: u64,
    /// Whether nothing of it has been copied yet.
    pub(super) is_new: bool,
    /// Whether a request of the rank completes with it.
    pub(super) completes: bool,
}

/// State of the interrupt side of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Softirq {
    /// Nothing to do.
    Idle,
    /// The interrupt is scheduled.
    Scheduled,
    /// A batch of so many frames is being worked on.
    Running(u32),
}

/// One end of a TCP connection.
pub(crate) struct TcpState {
    pub sender: Sender,
    pub receiver: Receiver,
    pub(super) mss: u32,
    pub(super) is_ecn: bool,
    /// Segments that the NIC has still to cut and send.
    pub(super) backlog: VecDeque<Segment>,
    /// Bytes of the first of them already sent.
    pub(super) cut: u32,
    pub(super) writes: VecDeque<PendingWrite>,
    pub(super) posted: u64,
    pub(super) is_write_assigned: bool,
    pub(super) is_read_assigned: bool,
    /// Copied to the thread.
    pub(super) consumed: u64,
    /// Frames that wait for the softirq: a list through the packet slab.
    pub(super) frames: (Handle, Handle),
    pub(super) softirq: Softirq,
    pub(super) timer_at: Option<Time>,
    /// Data frames sent.
    pub packets: u64,
}

impl TcpState {
    /// A fresh connection.
    pub fn new(params: &TcpParams) -> TcpState {
        TcpState {
            sender: Sender::new(params),
            receiver: Receiver::new(params),
            mss: params.mss.get() as u32,
            is_ecn: params.ecn,
            backlog: VecDeque::new(),
            cut: 0,
            writes: VecDeque::new(),
            posted: 0,
            is_write_assigned: false,
            is_read_assigned: false,
            consumed: 0,
            frames: (NO_PACKET, NO_PACKET),
            softirq: Softirq::Idle,
            timer_at: None,
            packets: 0,
        }
    }
}
