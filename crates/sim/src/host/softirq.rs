//! The interrupt side of the kernel: a core for each receive queue or those of the host, frames in batches.
//!
//! The NIC writes frames to the rings of receive queues by itself. The first frame after a quiet spell waits for the
//! interrupt (moderation, then `interrupt`); while the softirq runs it polls, and merges what it finds of a connection
//! (GRO), so there is at most one acknowledgement per batch and connection, or per `merge_frames` of its frames.
//!
//! What has been sent interrupts too, and its interrupt polls the frames that wait (`host.transmit`).

use etherweave_primitives::{Duration, Time};

use super::OWN_CORE;
use super::receive_queue::Softirq;
use crate::engine::Shard;
use crate::engine::event::Kind;
use crate::indices::{EndpointIndex, HostIndex, ReceiveQueueIndex};
use crate::packet::{Handle, NO_PACKET, PacketKind, flags};
use crate::transport::tcp::{Ack, AckAction, SegmentArrival};

/// Frames that a poll takes at most (Linux: `NAPI_POLL_WEIGHT`).
const BUDGET: usize = 64;

/// A batch: how many frames of each kind, and of how many connections the data are.
#[derive(Default)]
struct FrameBatch {
    data: u32,
    acks: u32,
    merged: u32,
}

/// Connections that a batch has touched, in the order of their first frames.
struct Touched {
    endpoints: [EndpointIndex; BUDGET],
    count: usize,
}

impl Shard {
    /// A frame has arrived for the kernel: the NIC writes it to the ring of its queue, if both have room.
    pub(super) fn take_by_kernel(&mut self, host: HostIndex, handle: Handle) {
        let endpoint = self.packets[handle].endpoint;
        let queue = self.endpoints[endpoint].tcp().queue;
        let has_buffer = self.receive_queues[queue].occupancy < self.constants.params.host.receive.ring;
        if !has_buffer {
            self.hosts[host].nic.out_of_buffer[usize::from(self.packets[handle].priority)] += 1;
        }
        if !has_buffer || !self.drain(host, handle) {
            return self.drop_at_nic(host, handle);
        }
        self.queue_frame(queue, handle);
    }

    fn queue_frame(&mut self, number: ReceiveQueueIndex, handle: Handle) {
        self.packets[handle].next = NO_PACKET;
        let queue = &mut self.receive_queues[number];
        queue.occupancy += 1;
        if queue.frames.0 == NO_PACKET {
            queue.frames.0 = handle;
        } else {
            self.packets[queue.frames.1].next = handle;
        }
        queue.frames.1 = handle;
        if queue.complete(self.now) {
            self.expect_interrupt(number);
        }
    }

    /// The NIC has sent a segment of `frames` that left by the transmit queue beside this receive queue.
    pub(super) fn sent_by(&mut self, number: ReceiveQueueIndex, frames: u64, bytes: u64) {
        if self.receive_queues[number].sent(self.now, frames, bytes) {
            self.expect_interrupt(number);
        }
    }

    fn expect_interrupt(&mut self, number: ReceiveQueueIndex) {
        let queue = &mut self.receive_queues[number];
        let before = std::mem::replace(&mut queue.softirq, Softirq::Scheduled);
        let due = queue.raised_at() + self.constants.params.host.cpu.interrupt;
        // An interrupt that is postponed finds that out when it comes.
        if before == Softirq::Armed || due < queue.due {
            self.expect_softirq(number, due);
        }
    }

    fn expect_softirq(&mut self, number: ReceiveQueueIndex, due: Time) {
        let queue = &mut self.receive_queues[number];
        queue.due = due;
        let place = self.hosts[queue.host].port;
        self.schedule_at(due, place, Kind::Softirq, number.get());
    }

    /// The interrupt has come, or a batch is done.
    pub(crate) fn softirq(&mut self, number: ReceiveQueueIndex) {
        let interrupt = self.constants.params.host.cpu.interrupt;
        let queue = &mut self.receive_queues[number];
        if queue.due != self.now {
            return;
        }
        match queue.softirq {
            Softirq::Armed => {}
            Softirq::Scheduled => {
                let due = queue.raised_at() + interrupt;
                if due > self.now {
                    return self.expect_softirq(number, due);
                }
                queue.interrupt(self.now);
                queue.poll();
                self.begin_batch(number);
            }
            Softirq::Running(frames) => {
                queue.poll();
                self.finish_batch(number, frames);
                self.begin_batch(number);
            }
        }
    }

    /// Works on the frames that wait; without any, arms the interrupt.
    fn begin_batch(&mut self, number: ReceiveQueueIndex) {
        let batch = self.measure_batch(number);
        let frames = batch.data + batch.acks;
        let params = &self.constants.params.host;
        let queue = &mut self.receive_queues[number];
        if frames == 0 {
            return self.arm(number);
        }
        queue.softirq = Softirq::Running(frames);
        let (data, acks, merged) = (u64::from(batch.data), u64::from(batch.acks), u64::from(batch.merged));
        let costs = &params.cpu;
        let cost: Duration = costs.receive_batch * merged + costs.receive_frame * data + costs.acknowledgement * acks;
        let done = match queue.core {
            OWN_CORE => self.now + cost,
            core => self.cores[core].interrupt(self.now, cost),
        };
        self.expect_softirq(number, done);
    }

    /// Arms the interrupt, which is for what the last batch has sent, if that is all there is.
    fn arm(&mut self, number: ReceiveQueueIndex) {
        let queue = &mut self.receive_queues[number];
        let (host, profiles) = (queue.host, queue.arm(self.now));
        let has_sent = queue.raised_at() < Time::MAX;
        if let Some(stall) = &self.constants.params.nic.command_stall {
            (0..profiles).for_each(|_| self.hosts[host].nic.buffer.stall(self.now, stall.duration));
        }
        if has_sent {
            self.expect_interrupt(number);
        }
    }

    /// Counts the frames that wait, up to what is merged at once.
    fn measure_batch(&mut self, number: ReceiveQueueIndex) -> FrameBatch {
        let costs = &self.constants.params.host.cpu;
        let (limit, merge_frames) = (costs.offload.get(), costs.merge_frames.unwrap_or(u32::MAX));
        let queue = &mut self.receive_queues[number];
        queue.batch = queue.batch.wrapping_add(1);
        let mut batch = FrameBatch::default();
        let (mut bytes, mut handle) = (0, queue.frames.0);
        while handle != NO_PACKET && bytes < limit && batch.data + batch.acks < BUDGET as u32 {
            let packet = &self.packets[handle];
            match packet.kind {
                PacketKind::Data => {
                    let state = self.endpoints[packet.endpoint].tcp();
                    let is_first = std::mem::replace(&mut state.merged_in, queue.batch) != queue.batch;
                    let is_full = state.merged_frames == merge_frames;
                    state.merged_frames = if is_first || is_full { 1 } else { state.merged_frames + 1 };
                    batch.merged += u32::from(is_first || is_full);
                    batch.data += 1;
                }
                PacketKind::Ack | PacketKind::Nak | PacketKind::Cnp | PacketKind::Announcement => batch.acks += 1,
            }
            bytes += u64::from(packet.payload);
            handle = packet.next;
        }
        batch
    }

    fn finish_batch(&mut self, number: ReceiveQueueIndex, frames: u32) {
        let mut touched = Touched { endpoints: [EndpointIndex::NONE; BUDGET], count: 0 };
        for _ in 0..frames {
            self.take_frame(number, &mut touched);
        }
        for &endpoint in &touched.endpoints[..touched.count] {
            self.finish_connection(endpoint);
        }
    }

    /// What follows once a batch is done, for a connection.
    fn finish_connection(&mut self, endpoint: EndpointIndex) {
        let state = self.endpoints[endpoint].tcp();
        let (wants_ack, is_acked) = (std::mem::take(&mut state.wants_ack), std::mem::take(&mut state.is_acked));
        (state.is_touched, state.finished_frames) = (false, 0);
        if wants_ack {
            self.send_ack(endpoint);
        }
        self.pump(endpoint);
        if is_acked {
            self.after_ack(endpoint);
        }
        self.expect_read(endpoint);
    }

    /// Works on the first frame of a queue.
    fn take_frame(&mut self, number: ReceiveQueueIndex, touched: &mut Touched) {
        let now = self.now;
        let queue = &mut self.receive_queues[number];
        let packet = self.packets.remove(queue.frames.0);
        queue.frames.0 = packet.next;
        queue.took(packet.wire);
        self.totals.delivered += 1;
        let state = self.endpoints[packet.endpoint].tcp();
        if !std::mem::replace(&mut state.is_touched, true) {
            touched.endpoints[touched.count] = packet.endpoint;
            touched.count += 1;
            state.leave_by(state.channels.of_softirq);
        }
        if packet.kind == PacketKind::Data {
            let arrival = SegmentArrival {
                seq: packet.offset,
                len: packet.payload,
                congestion_experienced: packet.has(flags::CONGESTION),
                window_reduced: packet.has(flags::WINDOW_REDUCED),
                timestamp: packet.sent,
            };
            if state.receiver.changes_echo(&arrival) {
                self.send_ack(packet.endpoint);
            }
            let state = self.endpoints[packet.endpoint].tcp();
            state.wants_ack |= state.receiver.on_segment(now, &arrival) == AckAction::Now;
            state.finished_frames += 1;
            if Some(state.finished_frames) == self.constants.params.host.cpu.merge_frames {
                state.finished_frames = 0;
                if std::mem::take(&mut state.wants_ack) {
                    self.send_ack(packet.endpoint);
                }
            }
            return;
        }
        let ack = Ack {
            cumulative: packet.acknowledged,
            window: u64::from(packet.word),
            sack: self.packets.remove_side(packet.side).unwrap_or_default(),
            ecn_echo: packet.has(flags::ECN_ECHO),
            timestamp_echo: packet.sent,
            on_data: false,
        };
        state.sender.on_ack(now, &ack);
        state.is_acked = true;
    }
}
