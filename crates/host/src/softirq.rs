//! The interrupt side of the kernel: a core for each receive queue or those of the host, frames in batches.
//!
//! The NIC writes frames to the rings of receive queues by itself. The first frame after a quiet spell waits for the
//! interrupt (moderation, then `interrupt`); while the softirq runs it polls, and merges what it finds of a connection
//! (GRO), so there is at most one acknowledgement per batch and connection, or per `merge_frames` of its frames.
//!
//! What has been sent interrupts too, and its interrupt polls the frames that wait (`host.transmit`).

use etherweave_engine::packet::{Handle, NO_PACKET, PacketKind, flags};
use etherweave_engine::{Wires, event::Kind};
use etherweave_kernel::indices::{EndpointIndex, HostIndex, ReceiveQueueIndex};
use etherweave_primitives::{Duration, Time};
use etherweave_transport::tcp::{Ack, AckAction, SegmentArrival, TcpHeader};

use super::{OWN_CORE, receive_queue::Softirq};
use crate::{Hosts, Nics};

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

impl Nics {
    /// A frame has arrived for the kernel: the NIC writes it to the ring of its queue, if both have room.
    pub(super) fn take_by_kernel(&mut self, wires: &mut Wires, host: HostIndex, handle: Handle) {
        let endpoint = wires.packets[handle].endpoint;
        let queue = self.states.tcp(endpoint).queue;
        let has_buffer = self.receive_queues[queue].occupancy < wires.constants.params.host.receive.ring;
        if !has_buffer {
            self.hosts[host].nic.out_of_buffer[usize::from(wires.packets[handle].priority)] += 1;
        }
        if !has_buffer || !self.drain(wires, host, handle) {
            return self.drop_at_nic(wires, host, handle);
        }
        self.queue_frame(wires, queue, handle);
    }

    fn queue_frame(&mut self, wires: &mut Wires, number: ReceiveQueueIndex, handle: Handle) {
        self.append_frame(wires, number, handle);
        if self.receive_queues[number].complete(wires.now) {
            self.expect_interrupt(wires, number);
        }
    }

    fn append_frame(&mut self, wires: &mut Wires, number: ReceiveQueueIndex, handle: Handle) {
        wires.packets[handle].next = NO_PACKET;
        let queue = &mut self.receive_queues[number];
        queue.occupancy += 1;
        if queue.frames.0 == NO_PACKET {
            queue.frames.0 = handle;
        } else {
            wires.packets[queue.frames.1].next = handle;
        }
        queue.frames.1 = handle;
    }

    /// The NIC has sent a segment of `frames` that left by the transmit queue beside this receive queue.
    pub(super) fn sent_by(&mut self, wires: &mut Wires, number: ReceiveQueueIndex, frames: u64, bytes: u64) {
        if self.receive_queues[number].sent(wires.now, frames, bytes) {
            self.expect_interrupt(wires, number);
        }
    }

    fn expect_interrupt(&mut self, wires: &mut Wires, number: ReceiveQueueIndex) {
        let queue = &mut self.receive_queues[number];
        let before = std::mem::replace(&mut queue.softirq, Softirq::Scheduled);
        let due = queue.raised_at() + wires.constants.params.host.cpu.interrupt;
        // An interrupt that is postponed finds that out when it comes.
        if before == Softirq::Armed || due < queue.due {
            self.expect_softirq(wires, number, due.max(wires.now));
        }
    }

    fn expect_softirq(&mut self, wires: &mut Wires, number: ReceiveQueueIndex, due: Time) {
        let queue = &mut self.receive_queues[number];
        queue.due = due;
        let place = self.hosts[queue.host].port;
        wires.schedule_at(due, place, Kind::Softirq, number.get());
    }

    /// Arms the interrupt, which is for what the last batch has sent, if that is all there is.
    fn arm(&mut self, wires: &mut Wires, number: ReceiveQueueIndex) {
        let queue = &mut self.receive_queues[number];
        let (host, profiles) = (queue.host, queue.arm(wires.now));
        let has_sent = queue.raised_at() < Time::MAX;
        if let Some(stall) = &wires.constants.params.nic.command_stall {
            (0..profiles).for_each(|_| self.hosts[host].nic.buffer.stall(wires.now, stall.duration));
        }
        if has_sent {
            self.expect_interrupt(wires, number);
        }
    }

    /// Counts the frames that wait, up to what is merged at once.
    fn measure_batch(&mut self, wires: &mut Wires, number: ReceiveQueueIndex) -> FrameBatch {
        let costs = &wires.constants.params.host.cpu;
        let (limit, merge_frames) = (costs.offload.get(), costs.merge_frames.unwrap_or(u32::MAX));
        let queue = &mut self.receive_queues[number];
        queue.batch = queue.batch.wrapping_add(1);
        let mut batch = FrameBatch::default();
        let (mut bytes, mut handle) = (0, queue.frames.0);
        while handle != NO_PACKET && bytes < limit && batch.data + batch.acks < BUDGET as u32 {
            let packet = &wires.packets[handle];
            match packet.kind {
                PacketKind::Data => {
                    let state = self.states.tcp(packet.endpoint);
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

    /// Works on the first frame of a queue.
    fn take_frame(&mut self, wires: &mut Wires, number: ReceiveQueueIndex, touched: &mut Touched) {
        let now = wires.now;
        let queue = &mut self.receive_queues[number];
        let packet = wires.packets.remove(queue.frames.0);
        queue.frames.0 = packet.next;
        wires.totals.delivered += 1;
        let state = self.states.tcp(packet.endpoint);
        queue.took(packet.wire);
        if !std::mem::replace(&mut state.is_touched, true) {
            touched.endpoints[touched.count] = packet.endpoint;
            touched.count += 1;
            state.leave_by(state.channels.of_softirq);
        }
        let header = TcpHeader::unpack(packet.header());
        if packet.kind == PacketKind::Data {
            let arrival = SegmentArrival {
                seq: packet.offset,
                len: packet.payload,
                congestion_experienced: packet.has(flags::CONGESTION),
                window_reduced: header.window_reduced,
                timestamp: packet.sent,
            };
            if state.receiver.changes_echo(&arrival) {
                self.send_ack(wires, packet.endpoint);
            }
            let state = self.states.tcp(packet.endpoint);
            state.wants_ack |= state.receiver.on_segment(now, &arrival) == AckAction::Now;
            state.finished_frames += 1;
            if Some(state.finished_frames) == wires.constants.params.host.cpu.merge_frames {
                state.finished_frames = 0;
                if std::mem::take(&mut state.wants_ack) {
                    self.send_ack(wires, packet.endpoint);
                }
            }
            return;
        }
        let ack = Ack {
            cumulative: packet.acknowledged,
            window: header.window.into(),
            sack: wires.packets.remove_side(packet.side).unwrap_or_default(),
            ecn_echo: header.ecn_echo,
            timestamp_echo: packet.sent,
            on_data: false,
        };
        state.sender.on_ack(now, &ack);
        state.is_acked = true;
    }
}

impl Hosts {
    /// The interrupt has come, or a batch is done.
    pub fn softirq(&mut self, wires: &mut Wires, number: ReceiveQueueIndex) {
        let interrupt = wires.constants.params.host.cpu.interrupt;
        let queue = &mut self.nics.receive_queues[number];
        if queue.due != wires.now {
            return;
        }
        match queue.softirq {
            Softirq::Armed => {}
            Softirq::Scheduled => {
                let due = queue.raised_at() + interrupt;
                if due > wires.now {
                    return self.nics.expect_softirq(wires, number, due);
                }
                queue.free_at = queue.free_at.max(due);
                queue.interrupt(wires.now);
                queue.poll();
                self.begin_batch(wires, number);
            }
            Softirq::Running(frames) => {
                queue.poll();
                self.finish_batch(wires, number, frames);
                self.begin_batch(wires, number);
            }
        }
    }

    /// Works on the frames that wait; without any, arms the interrupt.
    fn begin_batch(&mut self, wires: &mut Wires, number: ReceiveQueueIndex) {
        let batch = self.nics.measure_batch(wires, number);
        let params = &wires.constants.params.host;
        let queue = &mut self.nics.receive_queues[number];
        let frames = batch.data + batch.acks;
        if frames == 0 {
            return self.nics.arm(wires, number);
        }
        queue.softirq = Softirq::Running(frames);
        let (data, acks, merged) = (u64::from(batch.data), u64::from(batch.acks), u64::from(batch.merged));
        let costs = &params.cpu;
        let cost: Duration = costs.receive_batch * merged + costs.receive_frame * data + costs.acknowledgement * acks;
        queue.free_at = match queue.core {
            OWN_CORE => queue.free_at + cost,
            core => self.processors.cores[core].interrupt(queue.free_at, cost),
        };
        let (free_at, done) = (queue.free_at, queue.free_at.max(wires.now));
        if self.processors.notes_tasks {
            self.processors.note_batch(wires.now, number, free_at, cost);
        }
        self.nics.expect_softirq(wires, number, done);
    }

    fn finish_batch(&mut self, wires: &mut Wires, number: ReceiveQueueIndex, frames: u32) {
        let mut touched = Touched { endpoints: [EndpointIndex::NONE; BUDGET], count: 0 };
        for _ in 0..frames {
            self.nics.take_frame(wires, number, &mut touched);
        }
        for &endpoint in &touched.endpoints[..touched.count] {
            self.finish_connection(wires, endpoint);
        }
    }

    /// Goes on with a connection once a batch is done.
    fn finish_connection(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        let state = self.nics.states.tcp(endpoint);
        let (wants_ack, is_acked) = (std::mem::take(&mut state.wants_ack), std::mem::take(&mut state.is_acked));
        (state.is_touched, state.finished_frames) = (false, 0);
        if wants_ack {
            self.nics.send_ack(wires, endpoint);
        }
        self.nics.pump(wires, endpoint);
        if is_acked {
            self.after_ack(wires, endpoint);
        }
        self.expect_read(wires, endpoint);
    }
}
