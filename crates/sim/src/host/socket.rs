//! The state of a kernel TCP socket.

use std::collections::VecDeque;

use etherweave_primitives::Time;

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
    /// Receive queue of its frames, numbered in the shard.
    pub queue: u32,
    /// The batch of that queue that has merged data of the connection last.
    pub(super) merged_in: u32,
    /// In the batch that is being finished: it has frames, one of them wants an acknowledgement, one is one.
    pub(super) is_touched: bool,
    pub(super) wants_ack: bool,
    pub(super) is_acked: bool,
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
            queue: u32::MAX,
            merged_in: 0,
            is_touched: false,
            wants_ack: false,
            is_acked: false,
            timer_at: None,
            packets: 0,
        }
    }
}
