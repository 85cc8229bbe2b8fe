//! The state of a kernel TCP socket.

use std::collections::VecDeque;

use etherweave_kernel::indices::ReceiveQueueIndex;
use etherweave_primitives::Time;
use etherweave_transport::tcp::{Receiver, Segment, Sender, TcpParams};

/// Bytes that wait to be copied into the socket.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingWrite {
    pub(super) length: u64,
    pub(super) left: u64,
    /// MPI tag.
    pub(super) tag: u32,
    /// Whether nothing of it has been copied yet.
    pub(super) is_new: bool,
    /// Whether a request of the rank completes with it.
    pub(super) completes: bool,
}

/// Transmit queues of a connection, each named by the receive queue that it shares an interrupt with; none where no
/// receive queue is there, or interrupts for what is sent are not modelled.
#[derive(Clone, Copy, Debug)]
pub struct Channels {
    /// Queue of what its thread sends: that of the thread's core.
    pub of_thread: ReceiveQueueIndex,
    /// Queue of what the interrupt side sends: that of its receive queue.
    pub of_softirq: ReceiveQueueIndex,
    present: ReceiveQueueIndex,
}

impl Channels {
    const NONE: Channels = Channels {
        of_thread: ReceiveQueueIndex::NONE,
        of_softirq: ReceiveQueueIndex::NONE,
        present: ReceiveQueueIndex::NONE,
    };
}

/// One end of a TCP connection.
pub struct TcpState {
    /// Sending side.
    pub sender: Sender,
    /// Receiving side.
    pub receiver: Receiver,
    pub(super) mss: u32,
    pub(super) is_ecn: bool,
    /// Segments that the NIC has still to cut and send, and their bytes.
    pub(super) backlog: VecDeque<Segment>,
    pub(super) queued: u64,
    /// Most bytes of them (TCP small queues); whether that held the connection back, and how large segments are.
    pub(super) limit: u64,
    pub(super) is_held: bool,
    offload: u32,
    /// Bytes of the first of them already sent.
    pub(super) cut: u32,
    /// Bytes of the segment whose last frame has just been cut.
    pub(super) completed: u32,
    /// Where segments leave.
    pub channels: Channels,
    pub(super) writes: VecDeque<PendingWrite>,
    pub(super) posted: u64,
    pub(super) is_write_assigned: bool,
    pub(super) is_read_assigned: bool,
    pub(super) consumed: u64,
    /// Receive queue of its frames, numbered in the shard.
    pub queue: ReceiveQueueIndex,
    /// The batch of that queue that has merged data of the connection last.
    pub(super) merged_in: u32,
    /// Frames in what it merges last there, and of those that are being finished.
    pub(super) merged_frames: u32,
    pub(super) finished_frames: u32,
    /// Flags of the batch that is being finished: it has frames, one of them wants an acknowledgement, one is one.
    pub(super) is_touched: bool,
    pub(super) wants_ack: bool,
    pub(super) is_acked: bool,
    pub(super) timer_at: Option<Time>,
    /// Segments have gone to the NIC since the timers were set.
    pub(super) wants_timer: bool,
    /// Data frames sent.
    pub packets: u64,
}

impl TcpState {
    /// A fresh connection.
    /// The NIC cuts segments of at most `offload` bytes.
    pub fn new(params: &TcpParams, offload: u32) -> TcpState {
        TcpState {
            sender: Sender::new(params),
            receiver: Receiver::new(params),
            mss: params.mss.get() as u32,
            is_ecn: params.ecn,
            backlog: VecDeque::new(),
            queued: 0,
            limit: params.limit_output.get(),
            is_held: false,
            offload,
            cut: 0,
            completed: 0,
            channels: Channels::NONE,
            writes: VecDeque::new(),
            posted: 0,
            is_write_assigned: false,
            is_read_assigned: false,
            consumed: 0,
            queue: ReceiveQueueIndex::NONE,
            merged_in: 0,
            merged_frames: 0,
            finished_frames: 0,
            is_touched: false,
            wants_ack: false,
            is_acked: false,
            timer_at: None,
            wants_timer: false,
            packets: 0,
        }
    }

    /// Who sends now does so by this transmit queue: a socket changes it while nothing waits, so that order is kept.
    pub(super) fn leave_by(&mut self, channel: ReceiveQueueIndex) {
        if self.backlog.is_empty() {
            (self.channels.present, self.completed) = (channel, 0);
        }
    }

    /// The transmit queue of what is sent now, if its completion interrupts.
    pub(super) fn channel(&self) -> Option<ReceiveQueueIndex> {
        Some(self.channels.present).filter(|&channel| channel != ReceiveQueueIndex::NONE)
    }

    /// Hands the NIC all that TCP may send now.
    pub(super) fn fill(&mut self, now: Time) {
        self.is_held = false;
        while let Some(segment) = self.sender.next_segment(now, self.offload) {
            self.queued += u64::from(segment.len);
            self.backlog.push_back(segment);
            if self.queued > self.limit {
                self.is_held = true;
                return;
            }
        }
    }

    /// Payload of the next frame, and the segment that it is cut from.
    pub(super) fn cut(&mut self, now: Time) -> Option<(Segment, u64, u32)> {
        let segment = *self.backlog.front()?;
        let payload = self.mss.min(segment.len - self.cut);
        let offset = segment.seq + u64::from(self.cut);
        self.cut += payload;
        self.queued -= u64::from(payload);
        if self.cut == segment.len {
            (self.cut, self.completed) = (0, segment.len);
            self.backlog.pop_front();
            if self.is_held && self.queued <= self.limit {
                self.fill(now);
                self.wants_timer = true;
            }
        }
        Some((segment, offset, payload))
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::Bytes;

    use super::*;

    /// A window of 4 MB is open, and no more than the limit and a segment are below TCP; each segment that the NIC has
    /// sent makes room for another.
    #[test]
    fn a_connection_has_no_more_below_tcp_than_small_queues_allow() {
        let limit = Bytes::new(262_144);
        let params = TcpParams { initial_window: 1_000, limit_output: limit, ..TcpParams::default() };
        let receive_buffer_initial = params.receive_buffer;
        let mut state = TcpState::new(&TcpParams { receive_buffer_initial, ..params }, 65_536);
        state.sender.write(1 << 20);
        state.fill(Time::ZERO);
        let most = 5 * 14 * 4_448;
        assert_eq!(state.queued, most);
        let mut left = 1 << 20;
        while let Some((_, _, payload)) = state.cut(Time::ZERO) {
            left -= u64::from(payload);
            assert!(state.queued <= most);
        }
        assert_eq!((left, state.queued), (0, 0));
    }
}
