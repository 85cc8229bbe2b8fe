//! RoCE reliable connection: segmentation, window, acknowledgement, go-back-N.
//!
//! Requester and responder of one direction each, in bytes of the stream; packet sequence numbers run beside them for
//! captures. The network keeps order, so a gap means loss: the responder reports it once (NAK), and the requester goes
//! back (InfiniBand Architecture vol. 1, 9.7.5).

mod state;

use etherweave_primitives::Time;

use super::{Endpoint, Protocol};
use crate::constants::RunConstants;
use crate::engine::Shard;
use crate::engine::event::Kind;
use crate::packet::{Packet, PacketKind, flags};
use crate::params::{RoceParams, Transport};

pub(crate) use state::{Operation, RoceState};

/// The parameters of RoCE.
fn params(constants: &RunConstants) -> &RoceParams {
    match &constants.params.transport {
        Transport::Roce(roce) => roce,
        Transport::Tcp(_) => unreachable!("a RoCE endpoint exists only under the RoCE transport"),
    }
}

impl Endpoint {
    pub(super) fn roce(&mut self) -> &mut RoceState {
        match &mut self.protocol {
            Protocol::Roce(state) => state,
            Protocol::Tcp(_) => unreachable!("asked for RoCE state of a TCP endpoint"),
        }
    }

    /// The next packet, and whether more can follow at once.
    pub(super) fn next_roce_packet(&mut self, now: Time, constants: &RunConstants) -> (Option<Packet>, bool) {
        let roce_params = params(constants);
        let (window, mtu) = (roce_params.window.get(), roce_params.path_mtu.get());
        let state = self.roce();
        if !state.may_send(window) || state.is_pacing {
            return (None, false);
        }
        let message = state.next_message();
        let payload = mtu.min(message.end - state.next);
        let mut bits = 0;
        if state.next == message.start {
            bits |= flags::FIRST;
        }
        if state.next + payload == message.end {
            bits |= flags::LAST;
        }
        let (mut bits, overhead) = message.operation.dress(bits, &constants.overheads);
        if state.next < state.sent_max {
            bits |= flags::RETRANSMISSION;
            state.retransmitted_packets += 1;
        }
        let (offset, sequence) = (state.next, state.sequence.0);
        state.next += payload;
        state.sequence.0 = (sequence + 1) & 0xff_ffff;
        state.sent_max = state.sent_max.max(state.next);
        state.packets += 1;
        let wire = overhead + (payload as u32).next_multiple_of(4);
        if let Some(limiter) = &mut state.limiter {
            state.is_pacing = limiter.sent(now, wire);
            bits |= flags::ECN_CAPABLE;
        }
        let has_more = state.may_send(window) && !state.is_pacing;
        let mut packet = self.packet(PacketKind::Data, wire, payload as u32);
        packet.offset = offset;
        packet.word = sequence;
        packet.flags = bits;
        (Some(packet), has_more)
    }
}

impl Shard {
    /// Hands a message to a connection and announces it.
    pub(crate) fn roce_post(&mut self, endpoint: u32, bytes: u64, operation: Operation) -> u64 {
        let now = self.now;
        let state = self.endpoints[endpoint as usize].roce();
        if state.acknowledged == state.posted {
            state.last_progress = now;
        }
        let end = state.post(bytes, operation);
        self.roce_wake(endpoint);
        end
    }

    /// Puts the endpoint in the ring if it can send.
    fn roce_wake(&mut self, endpoint: u32) {
        let window = params(&self.constants).window.get();
        let state = self.endpoints[endpoint as usize].roce();
        if state.may_send(window) && !state.is_pacing {
            self.activate(endpoint);
        }
    }

    /// Timers that a sent packet needs.
    pub(crate) fn after_sending_roce(&mut self, endpoint: u32) {
        let timeout = params(&self.constants).retransmission_timeout;
        let place = self.hosts[self.endpoints[endpoint as usize].host as usize].port;
        let now = self.now;
        let state = self.endpoints[endpoint as usize].roce();
        let pacing = state.limiter.as_ref().filter(|_| state.is_pacing).map(|limiter| limiter.next_at().since(now));
        let starts_timer = !state.is_timer_set;
        state.is_timer_set = true;
        if starts_timer {
            self.schedule(timeout, place, Kind::TransportTimer, endpoint);
        }
        if let Some(delay) = pacing {
            self.schedule(delay, place, Kind::Pacing, endpoint);
        }
    }

    /// A paced connection may send again.
    pub(crate) fn pacing(&mut self, endpoint: u32) {
        self.endpoints[endpoint as usize].roce().is_pacing = false;
        self.roce_wake(endpoint);
    }

    /// Nothing acknowledged for too long: start again.
    pub(crate) fn roce_timer(&mut self, endpoint: u32) {
        let timeout = params(&self.constants).retransmission_timeout;
        let place = self.hosts[self.endpoints[endpoint as usize].host as usize].port;
        let now = self.now;
        let state = self.endpoints[endpoint as usize].roce();
        if state.next == state.acknowledged {
            state.is_timer_set = false;
            return;
        }
        let idle = now.since(state.last_progress);
        let wait = if idle >= timeout {
            state.timeouts += 1;
            state.last_progress = now;
            state.go_back();
            timeout
        } else {
            timeout - idle
        };
        self.schedule(wait, place, Kind::TransportTimer, endpoint);
        self.roce_wake(endpoint);
    }

    /// A packet for this endpoint.
    #[inline]
    pub(crate) fn roce_receive(&mut self, endpoint: u32, packet: &Packet) {
        match packet.kind {
            PacketKind::Data => self.roce_data(endpoint, packet),
            PacketKind::Ack => self.roce_acknowledged(endpoint, packet, false),
            PacketKind::Nak => self.roce_acknowledged(endpoint, packet, true),
            PacketKind::Cnp => self.roce_congestion(endpoint),
            PacketKind::Announcement => unreachable!("announcements do not cross the network"),
        }
    }

    fn roce_data(&mut self, endpoint: u32, packet: &Packet) {
        let every = params(&self.constants).ack_every;
        if packet.has(flags::CONGESTION) {
            self.notify_congestion(endpoint);
        }
        let state = self.endpoints[endpoint as usize].roce();
        if packet.offset > state.expected {
            if !std::mem::replace(&mut state.is_nak_sent, true) {
                self.roce_answer(endpoint, PacketKind::Nak);
            }
            return;
        }
        if packet.offset < state.expected {
            return self.roce_answer(endpoint, PacketKind::Ack);
        }
        state.expected += u64::from(packet.payload);
        state.expected_sequence = (state.expected_sequence + 1) & 0xff_ffff;
        state.is_nak_sent = false;
        state.unacknowledged_packets += 1;
        let received = state.expected;
        if packet.has(flags::LAST) || state.unacknowledged_packets >= every {
            self.roce_answer(endpoint, PacketKind::Ack);
        }
        self.received(endpoint, u64::from(packet.payload));
        while let Some(message) = self.endpoints[endpoint as usize].take_complete(received) {
            self.deliver(endpoint, message);
        }
    }

    fn roce_answer(&mut self, endpoint: u32, kind: PacketKind) {
        let end = &mut self.endpoints[endpoint as usize];
        let mut packet = end.packet(kind, self.constants.overheads.ack, 0);
        let state = end.roce();
        state.unacknowledged_packets = 0;
        packet.acknowledged = state.expected;
        packet.word = state.expected_sequence;
        self.send_control(endpoint, packet);
    }

    fn roce_acknowledged(&mut self, endpoint: u32, packet: &Packet, is_negative: bool) {
        let now = self.now;
        let state = self.endpoints[endpoint as usize].roce();
        state.acknowledge(packet.acknowledged, packet.word, now);
        if is_negative {
            state.go_back();
        }
        let acknowledged = state.acknowledged;
        self.roce_wake(endpoint);
        self.acknowledged(endpoint, acknowledged);
    }

    /// The responder saw a mark: notifies the requester, at most once an interval.
    fn notify_congestion(&mut self, endpoint: u32) {
        let Some(interval) = params(&self.constants).dcqcn.as_ref().map(|dcqcn| dcqcn.cnp_interval) else { return };
        let now = self.now;
        let end = &mut self.endpoints[endpoint as usize];
        if end.roce().last_cnp.is_some_and(|last| now.since(last) < interval) {
            return;
        }
        end.roce().last_cnp = Some(now);
        let packet = end.packet(PacketKind::Cnp, self.constants.overheads.cnp, 0);
        self.send_control(endpoint, packet);
    }

    fn roce_congestion(&mut self, endpoint: u32) {
        let now = self.now;
        if let Some(limiter) = &mut self.endpoints[endpoint as usize].roce().limiter {
            limiter.congestion(now);
        }
    }
}
