//! The kernel's TCP socket at a host: buffers, writes, reads, and segments for the NIC to cut.
//!
//! The thread copies into the socket (processor time per call and per byte); TCP decides what may be sent; the NIC cuts
//! large segments into frames (TSO). The receive side is in [`super::softirq`].

use etherweave_engine::packet::{Handle, Packet, PacketKind, flags};
use etherweave_engine::params::{Fidelity, SimParams, Transport};
use etherweave_engine::{Wires, constants::RunConstants, event::Kind};
use etherweave_kernel::indices::{EndpointIndex, HostIndex, ThreadIndex};
use etherweave_primitives::{BitRate, Time};
use etherweave_transport::{ALLOCATION, ConnectionState, connection::SlowState, tcp::TcpHeader};

use super::{Alarm, ReceivedCounts, SendState, SentCounts, TransportState};
use crate::{
    Endpoint, Hosts, Nics, Processors, ReceiveQueue, graph_state::Request, graph_state::RequestPart,
    message::MessageKind, socket::PendingWrite, socket::TcpState, thread::Role, thread::Task,
};

/// Lists of an end that hold four entries from their first on [B]: writes, segments, the scoreboard.
const LISTS: u64 = 4 * (24 + 24 + 48) + 3 * ALLOCATION;

impl ConnectionState for TcpState {
    fn sent(&self) -> SentCounts {
        SentCounts {
            bytes: self.sender.acknowledged(),
            packets: self.packets,
            retransmissions: self.sender.counters().retransmissions,
            timeouts: self.sender.counters().timeouts,
            ..SentCounts::default()
        }
    }

    fn received(&self) -> ReceivedCounts {
        ReceivedCounts { out_of_order: self.receiver.out_of_order_segments(), naks: 0, resent_last: Time::ZERO }
    }

    fn send_state(&self, _now: Time, _transport: &Transport) -> SendState {
        SendState { window: self.sender.congestion_window(), in_flight: self.sender.in_flight(), rate: None }
    }

    fn slow_state(&self, since: Time, _: SendState) -> SlowState {
        SlowState {
            limits: self.sender.limits(since),
            in_flight: 0,
            waits_since: self.receiver.waits_since(since),
            quick_acks: self.receiver.quick_acks_left().into(),
        }
    }
}

impl TransportState for TcpState {
    fn begin(params: &SimParams, transport: &Transport, _: Fidelity, _: BitRate) -> Option<TcpState> {
        Some(TcpState::new(transport.tcp()?, params.host.cpu.offload.get() as u32))
    }

    fn memory(transport: &Transport) -> Option<u64> {
        transport.tcp()?;
        Some((size_of::<TcpState>() + size_of::<ReceiveQueue>()) as u64 + ALLOCATION + LISTS)
    }

    fn unwritten(&self) -> u64 {
        self.writes.iter().map(|write| write.left).sum()
    }

    #[inline]
    fn next_packet(
        nics: &mut Nics,
        endpoint: EndpointIndex,
        now: Time,
        constants: &RunConstants,
    ) -> (Option<Packet>, bool) {
        let header = constants.headers_of(nics.endpoints[endpoint].protocol.transport()).other;
        nics.states.tcp(endpoint).next_packet(&nics.endpoints[endpoint], now, header)
    }

    #[inline]
    fn after_sending(nics: &mut Nics, wires: &mut Wires, endpoint: EndpointIndex) {
        nics.after_sending_tcp(wires, endpoint);
    }

    fn on_alarm(hosts: &mut Hosts, wires: &mut Wires, endpoint: EndpointIndex, _: Alarm) {
        hosts.nics.tcp_timer(wires, endpoint);
    }

    fn post(
        hosts: &mut Hosts,
        wires: &mut Wires,
        endpoint: EndpointIndex,
        kind: MessageKind,
        tag: u32,
        length: u64,
    ) -> u64 {
        hosts.tcp_post(wires, endpoint, (kind, tag), length)
    }

    fn begin_stream_message(hosts: &mut Hosts, wires: &mut Wires, thread: ThreadIndex, _endpoint: EndpointIndex) {
        hosts.processors.source(thread).post();
        hosts.tcp_write_stream(wires, thread);
    }

    #[inline]
    fn arrive(hosts: &mut Hosts, wires: &mut Wires, host: HostIndex, handle: Handle) {
        if hosts.processors.observes_ranks && wires.packets[handle].kind == PacketKind::Data {
            hosts.observe_arrival(wires, &wires.packets[handle]);
        }
        hosts.nics.take_by_kernel(wires, host, handle);
    }

    fn receive(_: &mut Hosts, _: &mut Wires, _: EndpointIndex, _: &Packet) {
        unreachable!("the kernel takes packets of TCP from the NIC")
    }
}

impl TcpState {
    /// The next frame of its endpoint, cut from the first segment, and whether more can follow.
    fn next_packet(&mut self, end: &Endpoint, now: Time, header: u32) -> (Option<Packet>, bool) {
        let Some((segment, offset, payload)) = self.cut(now) else { return (None, false) };
        self.packets += 1;
        let (has_more, is_ecn) = (!self.backlog.is_empty(), self.is_ecn);
        let mut packet = end.packet(PacketKind::Data, header + payload, payload);
        packet.offset = offset;
        packet.sent = now;
        packet.flags = flags::KERNEL | if segment.retransmission { flags::RETRANSMISSION } else { 0 };
        packet.flags |= if is_ecn { flags::ECN_CAPABLE } else { 0 };
        let window_reduced = segment.window_reduced && offset == segment.seq;
        packet.set_header(TcpHeader { window_reduced, ..TcpHeader::default() }.pack());
        (Some(packet), has_more)
    }
}

impl Hosts {
    /// Puts a message into the stream. What an MPI send writes by itself goes at once, the rest by [`Task::Write`].
    pub(crate) fn tcp_post(
        &mut self,
        wires: &mut Wires,
        endpoint: EndpointIndex,
        (kind, tag): (MessageKind, u32),
        length: u64,
    ) -> u64 {
        let state = self.nics.states.tcp(endpoint);
        state.posted += length;
        let end = state.posted;
        let is_inline = matches!(kind, MessageKind::Eager | MessageKind::Fragment | MessageKind::RequestToSend)
            && state.writes.is_empty();
        let written = if is_inline { state.sender.writable(wires.now, length) } else { 0 };
        if written < length {
            let completes = kind == MessageKind::Payload;
            state.writes.push_back(PendingWrite {
                length,
                left: length - written,
                tag,
                is_new: written == 0,
                completes,
            });
        }
        if written > 0 {
            state.leave_by(state.channels.of_thread);
            state.sender.write(written);
            self.nics.pump(wires, endpoint);
        }
        self.expect_write(wires, endpoint);
        end
    }

    /// A stream's thread writes its next message.
    pub(crate) fn tcp_write_stream(&mut self, wires: &mut Wires, thread: ThreadIndex) {
        let source = self.processors.source(thread);
        let (endpoint, left) = (source.endpoint, source.bytes);
        let state = self.nics.states.tcp(endpoint);
        state.posted += left;
        state.writes.push_back(PendingWrite { length: left, left, tag: 0, is_new: true, completes: true });
        self.expect_write(wires, endpoint);
    }

    /// Has the thread write, if there is something to write and room for it.
    fn expect_write(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        let offload = wires.constants.params.host.cpu.offload.get();
        let thread = self.nics.endpoints[endpoint].thread;
        let state = self.nics.states.tcp(endpoint);
        let Some(first) = state.writes.front() else { return };
        let has_room = state.sender.is_writable(wires.now, first.left.min(offload));
        if has_room && !std::mem::replace(&mut state.is_write_assigned, true) {
            self.assign(wires, thread, Task::Write(endpoint, 0));
        }
    }

    pub(crate) fn write_done(&mut self, wires: &mut Wires, endpoint: EndpointIndex, bytes: u64) {
        let thread = self.nics.endpoints[endpoint].thread;
        let state = self.nics.states.tcp(endpoint);
        state.is_write_assigned = false;
        state.leave_by(state.channels.of_thread);
        state.sender.write(bytes);
        let first = state.writes.front_mut().expect("a write is in progress");
        first.left -= bytes;
        first.is_new = false;
        let is_complete = first.left == 0;
        let (completes, length, tag) = (is_complete && first.completes, first.length, first.tag);
        if is_complete {
            state.writes.pop_front();
        }
        self.nics.pump(wires, endpoint);
        self.expect_write(wires, endpoint);
        if is_complete {
            self.observe_written(wires, endpoint, (length, tag));
        }
        if completes {
            self.processors.write_complete(thread, endpoint, wires.now);
        }
    }

    /// Notes that a message which waited for room in its socket begins its way.
    fn observe_written(&mut self, wires: &Wires, endpoint: EndpointIndex, (length, tag): (u64, u32)) {
        let (thread, state) = (self.nics.endpoints[endpoint].thread, self.nics.states.tcp(endpoint));
        let written = state.posted - state.unwritten();
        self.processors.observe_posted(thread, endpoint, (written, length, tag), wires.now);
    }

    /// Bytes have been copied out of the socket.
    pub(crate) fn read_done(&mut self, wires: &mut Wires, endpoint: EndpointIndex, bytes: u64) {
        let state = self.nics.states.tcp(endpoint);
        state.is_read_assigned = false;
        state.leave_by(state.channels.of_thread);
        state.consumed += bytes;
        let consumed = state.consumed;
        if state.receiver.read(bytes) {
            self.nics.send_ack(wires, endpoint);
        }
        self.take_bytes(wires, endpoint, bytes, consumed);
        self.count_read(wires, endpoint, bytes);
        self.expect_read(wires, endpoint);
    }

    /// Has the thread read, if there is something to read.
    pub(crate) fn expect_read(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        let thread = self.nics.endpoints[endpoint].thread;
        let state = self.nics.states.tcp(endpoint);
        if state.receiver.readable() > 0 && !std::mem::replace(&mut state.is_read_assigned, true) {
            self.assign(wires, thread, Task::Read(endpoint, 0));
        }
    }

    /// An acknowledgement has freed socket buffer, or finished a stream.
    pub(crate) fn after_ack(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        self.expect_write(wires, endpoint);
        let thread = self.nics.endpoints[endpoint].thread;
        let sender = &self.nics.states.tcp(endpoint).sender;
        let is_drained = sender.acknowledged() == sender.written();
        if is_drained && matches!(self.processors.threads[thread].role, Role::Source(_)) {
            self.source_progress(wires, thread);
        }
    }
}

impl Processors {
    fn write_complete(&mut self, thread: ThreadIndex, endpoint: EndpointIndex, now: Time) {
        match &mut self.threads[thread].role {
            Role::Rank(_) => self.request_complete(thread, Request { endpoint, part: RequestPart::Written }, now),
            Role::Source(source) => source.completed += 1,
            Role::GraphStream(_) | Role::Sink(_) => {
                unreachable!("connections belong to ranks, and a sink does not write")
            }
        }
    }
}

impl Nics {
    /// How much the next write moves, and how many calls that is.
    pub(crate) fn write_size(&mut self, wires: &Wires, endpoint: EndpointIndex, is_stream: bool) -> (u64, u64) {
        let offload = wires.constants.params.host.cpu.offload.get();
        let state = self.states.tcp(endpoint);
        let first = state.writes.front().expect("a write was assigned for it");
        let PendingWrite { left, is_new, .. } = *first;
        let bytes = state.sender.writable(wires.now, left.min(offload));
        let calls = if is_stream { u64::from(is_new) } else { 1 };
        (bytes, calls)
    }

    /// How much the next read moves, and how many calls that is, where a call asks for so much.
    pub(crate) fn read_size(&mut self, wires: &Wires, endpoint: EndpointIndex, asked: Option<u64>) -> (u64, u64) {
        let largest = 2 * wires.constants.params.host.cpu.offload.get();
        let readable = self.states.tcp(endpoint).receiver.readable();
        let bytes = readable.min(largest);
        let calls = asked.map_or(1, |asked| bytes.div_ceil(asked));
        (bytes, calls)
    }

    /// Hands the NIC all that TCP may send now.
    pub(crate) fn pump(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        let now = wires.now;
        let state = self.states.tcp(endpoint);
        if state.queued <= state.limit {
            state.fill(now);
        }
        if !state.backlog.is_empty() {
            self.activate(wires, endpoint);
        }
        self.set_timer(wires, endpoint);
    }

    pub(crate) fn send_ack(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        let now = wires.now;
        let ack = self.states.tcp(endpoint).receiver.make_ack(now);
        let blocks = ack.sack.iter().filter(|block| !block.is_empty()).count() as u32;
        let wire = etherweave_engine::frame::size::tcp_wire_bytes(true, 0, blocks);
        let mut packet = self.endpoints[endpoint].packet(PacketKind::Ack, wire, 0);
        packet.acknowledged = ack.cumulative;
        let window = u32::try_from(ack.window).unwrap_or(u32::MAX);
        packet.set_header(TcpHeader { window, window_reduced: false, ecn_echo: ack.ecn_echo }.pack());
        packet.sent = ack.timestamp_echo;
        packet.flags = flags::KERNEL;
        if blocks > 0 {
            packet.side = wires.packets.insert_side(ack.sack);
        }
        let state = self.states.tcp(endpoint);
        let channel = state.channel();
        self.send_control(wires, endpoint, packet);
        if let Some(channel) = channel {
            self.sent_by(wires, channel, 1, wire.into());
        }
    }

    /// Timers that segments need which followed the one that was sent; the interrupt for that one.
    #[inline]
    pub(crate) fn after_sending_tcp(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        let state = self.states.tcp(endpoint);
        if state.wants_timer || state.channel().is_some() {
            self.after_sending_segment(wires, endpoint);
        }
    }

    #[inline(never)]
    fn after_sending_segment(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        let header = wires.constants.headers_of(self.endpoints[endpoint].protocol.transport()).other;
        let state = self.states.tcp(endpoint);
        if let Some(channel) = state.channel() {
            let completed = std::mem::take(&mut state.completed);
            let frames = completed.div_ceil(state.mss);
            if frames > 0 {
                self.sent_by(wires, channel, frames.into(), (completed + frames * header).into());
            }
        }
        if std::mem::take(&mut self.states.tcp(endpoint).wants_timer) {
            self.set_timer(wires, endpoint);
        }
    }

    /// Schedules the earliest timer of both directions, unless an earlier event is scheduled already.
    pub(crate) fn set_timer(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        let place = self.hosts[self.endpoints[endpoint].host].port;
        let state = self.states.tcp(endpoint);
        let deadline = [state.sender.timer(), state.receiver.timer()].into_iter().flatten().min();
        let Some(deadline) = deadline else { return };
        let deadline = deadline.max(wires.now);
        if state.timer_at.is_none_or(|at| deadline < at) {
            state.timer_at = Some(deadline);
            wires.schedule_at(deadline, place, Kind::TransportTimer, endpoint.get());
        }
    }

    /// A timer of a socket is due, or was.
    pub(crate) fn tcp_timer(&mut self, wires: &mut Wires, endpoint: EndpointIndex) {
        let now = wires.now;
        let state = self.states.tcp(endpoint);
        if state.timer_at != Some(now) {
            return;
        }
        state.timer_at = None;
        if state.sender.timer().is_some_and(|deadline| deadline <= now) {
            state.sender.on_timer(now);
        }
        let is_ack_due = state.receiver.timer().is_some_and(|deadline| deadline <= now);
        if is_ack_due {
            self.send_ack(wires, endpoint);
        }
        self.pump(wires, endpoint);
    }
}
