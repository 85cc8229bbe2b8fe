//! The interrupt side of the kernel's TCP: one core per connection, frames in batches.
//!
//! A frame stays in the NIC's receive buffer until the softirq has worked on it. The first frame after a quiet spell
//! waits for the interrupt (moderation, wake-up); while the softirq runs it polls, and merges what it finds (GRO), so
//! there is at most one acknowledgement per batch.

use etherweave_primitives::Duration;

use super::socket::Softirq;
use crate::engine::Shard;
use crate::engine::event::Kind;
use crate::packet::{Handle, NO_PACKET, PacketKind, flags};
use crate::transport::tcp::{Ack, AckAction, SegmentArrival};

/// A batch: how many frames of each kind.
#[derive(Default)]
struct FrameBatch {
    data: u32,
    acks: u32,
}

impl Shard {
    /// A frame has arrived for the kernel: it takes room in the NIC until a softirq has seen it.
    pub(super) fn buffer_for_softirq(&mut self, host: usize, handle: Handle) {
        let params = &self.constants.params.nic;
        let (size, xoff) = (params.receive_buffer.get(), params.xoff.get());
        let packet = self.packets[handle];
        let wire = u64::from(packet.wire);
        let nic = &mut self.hosts[host].nic;
        if nic.occupancy + wire > size && !self.credits.cover(packet.priority) {
            return self.drop_at_nic(host, handle);
        }
        nic.occupancy += wire;
        nic.occupancy_max = nic.occupancy_max.max(nic.occupancy);
        let is_short = nic.occupancy > xoff;
        self.hold_by_credits(self.hosts[host].port, &packet);
        self.queue_frame(handle);
        if is_short {
            self.nic_pause(host);
        }
    }

    fn queue_frame(&mut self, handle: Handle) {
        let endpoint = self.packets[handle].endpoint;
        self.packets[handle].next = NO_PACKET;
        let end = &mut self.endpoints[endpoint as usize];
        let place = self.hosts[end.host as usize].port;
        let state = end.tcp();
        if state.frames.0 == NO_PACKET {
            state.frames.0 = handle;
        } else {
            self.packets[state.frames.1].next = handle;
        }
        state.frames.1 = handle;
        if state.softirq == Softirq::Idle {
            state.softirq = Softirq::Scheduled;
            let delay = self.constants.params.host.cpu.interrupt;
            self.schedule(delay, place, Kind::Softirq, endpoint);
        }
    }

    /// The interrupt has come, or a batch is done.
    pub(crate) fn softirq(&mut self, endpoint: u32) {
        match self.endpoints[endpoint as usize].tcp().softirq {
            Softirq::Idle => unreachable!("an idle softirq has no event"),
            Softirq::Scheduled => self.begin_batch(endpoint),
            Softirq::Running(frames) => {
                self.finish_batch(endpoint, frames);
                self.begin_batch(endpoint);
            }
        }
    }

    fn begin_batch(&mut self, endpoint: u32) {
        let costs = self.constants.params.host.cpu.clone();
        let batch = self.measure_batch(endpoint, costs.offload.get());
        let end = &mut self.endpoints[endpoint as usize];
        let place = self.hosts[end.host as usize].port;
        if batch.data + batch.acks == 0 {
            end.tcp().softirq = Softirq::Idle;
            return;
        }
        end.tcp().softirq = Softirq::Running(batch.data + batch.acks);
        let base = if batch.data > 0 { costs.receive_batch } else { Duration::ZERO };
        let cost = base + costs.receive_frame * u64::from(batch.data) + costs.acknowledgement * u64::from(batch.acks);
        self.schedule(cost, place, Kind::Softirq, endpoint);
    }

    /// Counts the frames that wait, up to `limit` bytes of data.
    fn measure_batch(&mut self, endpoint: u32, limit: u64) -> FrameBatch {
        let mut batch = FrameBatch::default();
        let mut bytes = 0;
        let mut handle = self.endpoints[endpoint as usize].tcp().frames.0;
        while handle != NO_PACKET && bytes < limit {
            let packet = &self.packets[handle];
            match packet.kind {
                PacketKind::Data => batch.data += 1,
                PacketKind::Ack | PacketKind::Nak | PacketKind::Cnp | PacketKind::Announcement => batch.acks += 1,
            }
            bytes += u64::from(packet.payload);
            handle = packet.next;
        }
        batch
    }

    fn finish_batch(&mut self, endpoint: u32, frames: u32) {
        let mut wants_ack = false;
        let mut is_acked = false;
        for _ in 0..frames {
            match self.take_frame(endpoint) {
                Frame::Data(action) => wants_ack |= action == AckAction::Now,
                Frame::Ack => is_acked = true,
            }
        }
        if wants_ack {
            self.send_ack(endpoint);
        }
        self.pump(endpoint);
        if is_acked {
            self.after_ack(endpoint);
        }
        self.expect_read(endpoint);
        self.nic_may_resume(endpoint);
    }

    /// Works on one frame, and frees its place in the NIC.
    fn take_frame(&mut self, endpoint: u32) -> Frame {
        let now = self.now;
        let end = &mut self.endpoints[endpoint as usize];
        let host = end.host as usize;
        let state = end.tcp();
        let handle = state.frames.0;
        let packet = self.packets.remove(handle);
        state.frames.0 = packet.next;
        self.hosts[host].nic.occupancy -= u64::from(packet.wire);
        self.totals.delivered += 1;
        self.free_credits(self.hosts[host].port, &packet, now);
        let state = self.endpoints[endpoint as usize].tcp();
        if packet.kind == PacketKind::Data {
            let arrival = SegmentArrival {
                seq: packet.offset,
                len: packet.payload,
                congestion_experienced: packet.has(flags::CONGESTION),
                window_reduced: packet.has(flags::WINDOW_REDUCED),
                timestamp: packet.sent,
            };
            return Frame::Data(state.receiver.on_segment(now, &arrival));
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
        Frame::Ack
    }

    fn nic_may_resume(&mut self, endpoint: u32) {
        let host = &self.hosts[self.endpoints[endpoint as usize].host as usize];
        if host.nic.is_pausing {
            let port = host.port;
            self.nic_resume(port);
        }
    }
}

/// What a frame was.
enum Frame {
    /// Data, and what the receiver wants to answer.
    Data(AckAction),
    /// An acknowledgement.
    Ack,
}
