//! Kernel TCP in flow-level mode: a segment, as TCP hands it down, drains like a message and comes whole.
//!
//! ```text
//!   socket ── segments ──► max-min fair rate ──► receive queue ──► socket ──► thread
//!     ▲                                                              │
//!     └──────────── acknowledgements, as on an idle path ◄───────────┘
//! ```
//!
//! Where packets come one after another, interrupt side and thread work on the first while others are under way. So a
//! segment that comes whole leaves them what they could not have done yet: at least its last batch.

use std::collections::VecDeque;

use etherweave_engine::Wires;
use etherweave_engine::event::{EventKey, Kind};
use etherweave_engine::packet::{Packet, PacketKind, flags};
use etherweave_engine::params::CpuCosts;
use etherweave_kernel::indices::EndpointIndex;
use etherweave_primitives::{Duration, Time};
use etherweave_transport::tcp::{Segment, TcpHeader};

use super::fluid::{FluidState, Load, fluid_latency};
use super::task_cost::{TaskCost, per_kib};
use crate::{Hosts, Nics};

/// Segments of a window, at least.
pub(super) const SEGMENTS: u64 = 4;
/// What is written or sent at once is this part of a message at most.
const PIECES: u64 = 16;
/// Nor is it larger [B].
const PIECE_MAX: u64 = 4 << 20;

/// Both directions of a connection at one host, between the NICs and while it is read.
pub struct SegmentFlow {
    /// Segments as messages.
    pub(super) fluid: FluidState,
    /// Since when the one that drains does.
    began: Time,
    in_network: VecDeque<SentSegment>,
    /// When there was something to read.
    pub(super) readable_at: Time,
    /// Bytes of the last batch.
    pub(super) last_batch: u64,
    writing: Writing,
    /// The largest segment of the message that is being written.
    pub(super) piece: u64,
    /// Whether windows hold nothing back.
    pub(super) is_open: bool,
    /// When the present read could be done, if bytes were read as they came.
    pub(super) read_at: Time,
}

/// A write that TCP sends from as it goes on: where it ends in the stream, its bytes and its time.
#[derive(Default)]
struct Writing {
    end: u64,
    bytes: u64,
    began: Time,
    time: Duration,
}

/// A segment that has left its host.
struct SentSegment {
    segment: Segment,
    sent: Time,
    /// When its first frame comes.
    first: Time,
}

/// Frames that come one after another.
pub(super) struct FrameTrain {
    pub first: Time,
    pub last: Time,
    pub frames: u32,
}

/// How much of a message is moved at once, at most.
pub(super) fn piece(bytes: u64, offload: u64) -> u64 {
    ((bytes / PIECES).min(PIECE_MAX) / offload).max(1) * offload
}

/// How much of a write is moved at once, if so much is left: its end goes by itself, as in packets.
pub(super) fn most(left: u64, piece: u64, offload: u64) -> u64 {
    (left.saturating_sub(1) / offload * offload).clamp(offload, piece)
}

/// Frames of a segment that are taken at once: in its first batch, and in its last.
#[derive(Clone, Copy)]
pub(super) struct BatchSizes {
    pub first: u16,
    pub last: u16,
}

impl BatchSizes {
    /// In [`Packet::word`].
    pub fn to_word(self) -> u32 {
        u32::from(self.first) << 16 | u32::from(self.last)
    }

    /// From there.
    pub fn from_word(word: u32) -> BatchSizes {
        BatchSizes { first: (word >> 16) as u16, last: word as u16 }
    }
}

impl Default for SegmentFlow {
    fn default() -> SegmentFlow {
        SegmentFlow {
            fluid: FluidState::default(),
            began: Time::ZERO,
            in_network: VecDeque::new(),
            readable_at: Time::ZERO,
            last_batch: 0,
            read_at: Time::ZERO,
            writing: Writing::default(),
            piece: 0,
            is_open: false,
        }
    }
}

impl SegmentFlow {
    /// There is something to read in a segment of so many frames, which was worked on from `began` until `end`.
    pub(super) fn readable(&mut self, [began, end]: [Time; 2], packet: &Packet, frames: u32, costs: &CpuCosts) {
        let BatchSizes { first, last } = BatchSizes::from_word(packet.word);
        let of_first = costs.receive_batch + costs.receive_frame * u64::from(first);
        self.readable_at = if u32::from(first) == frames { end } else { began + of_first };
        self.last_batch = u64::from(last) * u64::from(packet.payload / frames);
    }

    /// When all before `end` is written, if that is in progress.
    fn written_at(&self, end: u64) -> Time {
        let Writing { end: last, bytes, began, time } = self.writing;
        let part = (end + bytes).saturating_sub(last);
        if part == 0 || bytes == 0 {
            return Time::ZERO;
        }
        began + Duration::from_ps((u128::from(time.as_ps()) * u128::from(part) / u128::from(bytes)) as u64)
    }
}

impl FrameTrain {
    /// Between two frames.
    pub fn gap(&self) -> Duration {
        self.last.since(self.first) / u64::from(self.frames - 1).max(1)
    }

    /// Whether the next frame comes before one alone is worked on.
    pub fn keeps_polling(&self, costs: &CpuCosts) -> bool {
        self.gap() <= costs.receive_batch + costs.receive_frame
    }

    /// When the last frame is taken, if a frame that finds nothing polling is taken `wait` after it has come.
    pub fn last_taken_at(&self, wait: Duration, costs: &CpuCosts) -> Time {
        let (span, gap) = (self.last.since(self.first), self.gap());
        if wait >= span {
            return self.first + wait;
        }
        if self.keeps_polling(costs) {
            return self.last;
        }
        let frames = wait.as_ps() / gap.as_ps() + 1;
        let busy = wait + costs.receive_batch + costs.receive_frame * frames;
        let cycle = busy.as_ps().div_ceil(gap.as_ps()) * gap.as_ps();
        let phase = span.as_ps() % cycle;
        self.last + Duration::from_ps(wait.as_ps().saturating_sub(phase))
    }

    /// How many frames are taken at once: those of `wait`, or in the end of polling.
    pub fn batch_sizes(&self, wait: Duration, costs: &CpuCosts) -> BatchSizes {
        let (gap, frame) = (self.gap().as_ps(), costs.receive_frame.as_ps());
        let within = |frames: u64| frames.clamp(1, self.frames.min(u16::MAX.into()).into()) as u16;
        let first = within(wait.as_ps() / gap.max(1) + 1);
        let polled = within(costs.receive_batch.as_ps() / gap.saturating_sub(frame).max(1));
        let is_polled = u32::from(first) < self.frames && self.keeps_polling(costs);
        BatchSizes { first, last: if is_polled { polled } else { first } }
    }
}

impl Nics {
    /// Whether a thread moves more than a call does at once.
    pub(super) fn moves_much(&self, wires: &Wires, endpoint: EndpointIndex) -> bool {
        let host = &wires.constants.params.host;
        self.endpoints[endpoint].sends_segments() && host.cores.is_none() && host.memory_rate.is_none()
    }

    /// Rest of a read by a thread that has been idle: in flow-level mode it has read as bytes came.
    pub(super) fn left_of_read(
        &mut self,
        wires: &Wires,
        endpoint: EndpointIndex,
        bytes: u64,
        whole: TaskCost,
        idle_since: Time,
    ) -> TaskCost {
        let costs = &wires.constants.params.host.cpu;
        let Some(flow) = &mut self.endpoints[endpoint].tcp().flow else { return whole };
        let done = idle_since.max(flow.readable_at) + whole.time;
        let tail = costs.receive_call + per_kib(costs.receive_per_kib, bytes.min(flow.last_batch));
        flow.read_at = done;
        TaskCost { time: done.since(wires.now).max(tail.min(whole.time)), ..whole }
    }

    /// A thread begins to write that much, which takes so long: TCP sends it meanwhile.
    pub(super) fn begin_write(&mut self, wires: &mut Wires, endpoint: EndpointIndex, bytes: u64, time: Duration) {
        let (now, enough) = (wires.now, self.enough(wires, endpoint));
        let state = self.endpoints[endpoint].tcp();
        state.leave_by(state.channels.of_thread);
        state.sender.write(bytes);
        let is_open = state.sender.window() as f64 >= enough;
        let piece = state.writes.front().expect("a write was assigned for it").piece;
        let writing = Writing { end: state.sender.written(), bytes, began: now, time };
        let flow = state.flow.as_mut().expect("only flow-level mode writes much at once");
        (flow.writing, flow.piece, flow.is_open) = (writing, piece, is_open);
        state.sender.open(if is_open { SEGMENTS * piece } else { 0 });
        self.pump(wires, endpoint);
    }

    /// A window that holds nothing back [B]: twice what the link of the host carries in a round trip with two
    /// interrupts.
    fn enough(&self, wires: &Wires, endpoint: EndpointIndex) -> f64 {
        let links = [endpoint, self.endpoints[endpoint].remote].map(|endpoint| self.fluid_links(wires, endpoint));
        let constants = &wires.constants;
        let there = fluid_latency(wires, &links[0], constants.largest_frame);
        let headers = constants.headers_of(self.endpoints[endpoint].protocol.transport());
        let back = fluid_latency(wires, &links[1], headers.ack);
        let host = &constants.params.host;
        let interrupt = host.cpu.interrupt + host.receive.period_max();
        let fluid = wires.fluid.as_ref().expect("a run in flow-level mode has it");
        2.0 * fluid.capacity(links[0].first) * (there + back + interrupt * 2).as_ps() as f64
    }

    /// Has the segments drain that TCP has handed down.
    pub(super) fn send_segments(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        let number = self.endpoints[endpoint].protocol.transport();
        let (now, overhead) = (wires.now, wires.constants.headers_of(number).other);
        loop {
            let state = self.endpoints[endpoint].tcp();
            let flow = state.flow.as_mut().expect("segments drain in flow-level mode");
            let Some(segment) = state.backlog.get(flow.fluid.unsent()) else { return };
            if flow.fluid.unsent() == 0 {
                flow.began = now;
            }
            let (bytes, end) = (u64::from(segment.len), segment.seq + u64::from(segment.len));
            let packets = bytes.div_ceil(state.mss.into()).max(1);
            let wire = packets * u64::from(overhead) + bytes;
            let largest = overhead + segment.len.min(state.mss);
            let load = Load { end, bytes, packets, wire, largest, until: flow.written_at(end), began: now };
            self.fluid_load(wires, endpoint, load);
        }
    }

    /// The first segment has left its host; its first frame came `latency` after it had begun to.
    pub(super) fn segment_sent(&mut self, wires: &mut Wires, endpoint: EndpointIndex, latency: Duration) {
        let now = wires.now;
        let state = self.endpoints[endpoint].tcp();
        let segment = state.take(now);
        state.packets += u64::from(state.frames(segment.len));
        let flow = state.flow.as_mut().expect("segments drain in flow-level mode");
        let sent = std::mem::replace(&mut flow.began, now);
        flow.in_network.push_back(SentSegment { segment, sent, first: sent + latency });
        self.after_sending_tcp(wires, endpoint);
        self.send_segments(wires, endpoint);
    }

    /// Sends a control packet over an idle path.
    pub(super) fn send_idle(&mut self, wires: &mut Wires, endpoint: EndpointIndex, packet: Packet) {
        let links = self.fluid_links(wires, endpoint);
        let arrives = wires.now + fluid_latency(wires, &links, packet.wire);
        let peer = self.endpoints[endpoint].peer();
        let handle = wires.packets.insert(packet);
        wires.totals.created += 1;
        // Several may arrive at one time: in the order in which they are sent, all by this shard.
        let number = (wires.totals.created % u64::from(EventKey::INDICES)) as u32;
        wires.post(peer, Kind::Deliver, number, arrives, handle);
    }
}

impl Hosts {
    /// A segment has come whole to the other end.
    pub(super) fn segment_arrived(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        let constants = std::sync::Arc::clone(&wires.constants);
        let end = &mut self.nics.endpoints[endpoint];
        let header = constants.headers_of(end.protocol.transport()).other;
        let state = end.tcp();
        let flow = state.flow.as_mut().expect("segments drain in flow-level mode");
        let SentSegment { segment, sent, first } = flow.in_network.pop_front().expect("what arrives was sent");
        let frames = state.frames(segment.len);
        let is_ecn = state.is_ecn;
        let train = FrameTrain { first: first.min(wires.now), last: wires.now, frames };
        let mut packet = end.packet(PacketKind::Data, frames * header + segment.len, segment.len);
        (packet.offset, packet.sent, packet.acknowledged) = (segment.seq, sent, train.first.as_ps());
        packet.flags = flags::KERNEL | if segment.retransmission { flags::RETRANSMISSION } else { 0 };
        packet.flags |= if is_ecn { flags::ECN_CAPABLE } else { 0 };
        let window_reduced = segment.window_reduced;
        packet.set_header(TcpHeader { window_reduced, ..TcpHeader::default() }.pack());
        let number = self.nics.endpoints[packet.endpoint].tcp().queue;
        let handle = wires.packets.insert(packet);
        // Frames were counted when they left; this one will be again when it has been worked on.
        wires.totals.delivered -= 1;
        self.queue_segment(wires, number, handle, &train);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Time {
        Time::ZERO + Duration::from_ns(ns)
    }

    fn train(last: u64, frames: u32) -> FrameTrain {
        FrameTrain { first: at(1_000), last: at(1_000 + last), frames }
    }

    /// A batch costs 1,200 ns and 200 ns for each frame.
    fn taken(last: u64, frames: u32, wait: u64) -> (Time, BatchSizes) {
        let (train, costs, wait) = (train(last, frames), CpuCosts::default(), Duration::from_ns(wait));
        (train.last_taken_at(wait, &costs), train.batch_sizes(wait, &costs))
    }

    #[test]
    fn frames_that_come_before_the_interrupt_are_one_batch() {
        let (taken_at, BatchSizes { first, last }) = taken(4_000, 11, 8_000);
        assert_eq!((taken_at, first, last), (at(9_000), 11, 11));
    }

    /// A frame each 400 ns: polling goes on, and a batch of 1,200 / (400 - 200) frames takes as long as they come.
    #[test]
    fn frames_that_come_fast_are_polled() {
        let (taken_at, BatchSizes { first, last }) = taken(40_000, 101, 8_000);
        assert_eq!((taken_at, first, last), (at(41_000), 21, 6));
    }

    /// A frame each 4,000 ns: an interrupt takes three of them, is done after 8,000 + 1,200 + 3 * 200 = 9,800 ns, and
    /// the fourth waits for another. The eighth is the second of a cycle of 12,000 ns.
    #[test]
    fn frames_that_come_slowly_wait_for_interrupts() {
        let (taken_at, BatchSizes { first, last }) = taken(28_000, 8, 8_000);
        assert_eq!((taken_at, first, last), (at(29_000 + 4_000), 3, 3));
    }

    #[test]
    fn a_write_in_progress_holds_back_what_is_not_written() {
        let mut flow = SegmentFlow::default();
        assert_eq!(flow.written_at(500), Time::ZERO, "nothing is being written");
        flow.writing = Writing { end: 1_000, bytes: 800, began: at(0), time: Duration::from_ns(80) };
        assert_eq!([200, 600, 1_000].map(|end| flow.written_at(end)), [Time::ZERO, at(40), at(80)]);
    }

    /// A sixteenth of a message, in whole segments; its end goes by itself.
    #[test]
    fn long_messages_go_in_large_pieces() {
        let offload = 1 << 16;
        assert_eq!([1 << 20, 8 << 20, 1 << 30].map(|bytes| piece(bytes, offload)), [1 << 16, 1 << 19, 4 << 20]);
        assert_eq!(
            [1 << 20, 1 << 18, 100_000, 10].map(|left| most(left, 1 << 19, offload)),
            [1 << 19, 3 << 16, 1 << 16, 1 << 16]
        );
    }
}
