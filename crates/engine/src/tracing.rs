//! Tracing of packets that leave ports, where a run is traced: see `trace.rs`.

use etherweave_kernel::indices::PortIndex;
use etherweave_primitives::{Duration, Priority, Time};

use crate::packet::{Handle, Packet, PacketKind, flags};
use crate::trace::{Departure, HoldCause, SENT_MAX, Trace, TracedMessage, Wait, WaitReason};
use crate::wires::Wires;

/// Links from a port that is held to the cause.
const CHAIN_MAX: usize = 64;

impl Trace {
    fn depart(&mut self, wires: &Wires, port: PortIndex, handle: Handle) {
        let (packet, held) = (&wires.packets[handle], held(wires, port));
        let is_of_host = wires.host_of_port(port).is_some();
        if !is_of_host {
            self.ports[packet.ingress].freed_by = Some(port);
        }
        let until = packet.offset + u64::from(packet.payload);
        let is_behind = |message: &TracedMessage| (message.sender, message.end) <= (packet.sender, packet.offset);
        let mut place = self.messages.partition_point(is_behind);
        while packet.kind == PacketKind::Data
            && !packet.has(flags::FLOODED)
            && self.messages.get(place).is_some_and(|next| next.sender == packet.sender && next.end <= until)
        {
            self.leave(wires, (place, port), packet, held);
            place += 1;
        }
        if is_of_host && packet.kind == PacketKind::Data {
            self.count_resent(wires, port, packet, until);
        }
        let sent = &mut self.ports[port].sent;
        if sent.len() == SENT_MAX {
            sent.pop_front();
        }
        sent.push_back(Departure { start: wires.now, end: wires.ports[port].busy_until, sender: packet.sender, held });
    }

    fn count_resent(&mut self, wires: &Wires, port: PortIndex, packet: &Packet, until: u64) {
        let (lost_behind, time) = (self.lost_behind(packet, port), wires.ports[port].serialization_time(packet.wire));
        let losses = self.losses.entry(packet.sender).or_default();
        let sent_at = losses.sent_at.replace(wires.now + time);
        if until <= losses.sent {
            let idle = sent_at.map_or(Duration::ZERO, |at| wires.now.since(at.min(wires.now)));
            let time = idle + time;
            let wait = Wait { port: lost_behind, is_of_host: true, reason: WaitReason::Lost, time };
            losses.resent.push((wires.now, wait));
        }
        losses.sent = losses.sent.max(until);
    }

    /// Port behind which the last packet of this sender was lost; the host's own where none was seen.
    fn lost_behind(&self, packet: &Packet, port: PortIndex) -> PortIndex {
        self.losses.get(&packet.sender).and_then(|losses| losses.behind).unwrap_or(port)
    }

    fn leave(&mut self, wires: &Wires, (message, port): (usize, PortIndex), packet: &Packet, held: Duration) {
        let is_of_host = wires.host_of_port(port).is_some();
        let came = match (self.flights[message].left, is_of_host) {
            (None, true) => self.messages[message].posted.min(wires.now),
            (Some((_, came)), false) => came.min(wires.now),
            (Some((left, _)), true) => {
                let (port, time) = (self.lost_behind(packet, port), wires.now.since(left));
                let flight = &mut self.flights[message];
                flight.waits.retain(|wait| wait.is_of_host);
                flight.add(Wait { port, is_of_host, reason: WaitReason::Lost, time });
                wires.now
            }
            (None, false) => return,
        };
        let waits = self.waits_at(wires, port, packet, came, held);
        let flight = &mut self.flights[message];
        waits.into_iter().for_each(|(reason, time)| flight.add(Wait { port, is_of_host, reason, time }));
        let (out, duration) = (&wires.ports[port], wires.ports[port].serialization_time(packet.wire));
        flight.left = Some((wires.now, wires.now + duration.min(out.header_time) + out.delay));
    }

    /// Why a packet has waited at a port since it came.
    fn waits_at(
        &self,
        wires: &Wires,
        port: PortIndex,
        packet: &Packet,
        came: Time,
        held: Duration,
    ) -> Vec<(WaitReason, Duration)> {
        let sent = &self.ports[port].sent;
        let first = sent.partition_point(|sent| sent.end <= came);
        let mut held_before = first.checked_sub(1).map_or(Duration::ZERO, |before| sent[before].held);
        let (mut at, mut reasons) = (came, Vec::new());
        let cause = || self.cause(wires, port, came);
        let reason = |cause| match wires.credits.cover(packet.priority) {
            true => WaitReason::NoCredits(cause),
            false => WaitReason::Paused(cause),
        };
        let add_gap = |reasons: &mut Vec<_>, gap: Duration, held: Duration| {
            let held = held.min(gap);
            reasons.extend((!held.is_zero()).then(|| (reason(cause()), held)));
            reasons.extend((gap > held).then(|| (WaitReason::Other, gap - held)));
        };
        for departure in sent.iter().skip(first) {
            let start = departure.start.max(at);
            add_gap(&mut reasons, start.since(at), departure.held - held_before);
            reasons.push((WaitReason::Behind(departure.sender), departure.end.since(start)));
            (at, held_before) = (departure.end.max(at), departure.held);
        }
        add_gap(&mut reasons, wires.now.since(at.min(wires.now)), held - held_before);
        reasons
    }

    fn cause(&self, wires: &Wires, mut port: PortIndex, since: Time) -> HoldCause {
        let span = wires.now.since(since);
        for _ in 0..CHAIN_MAX {
            let peer = wires.ports[port].peer;
            if peer.is_host {
                return HoldCause::Receiver(port);
            }
            let Some(next) = self.ports[peer.port].freed_by else { return HoldCause::Link(port) };
            let trace = &self.ports[next];
            let (busy, held) = (trace.busy_since(since), trace.held_since(since, held(wires, next)));
            if busy + busy < span && held + held < span {
                return HoldCause::Link(port);
            }
            if held <= busy {
                return HoldCause::Busy(next, trace.busiest_since(since));
            }
            port = next;
        }
        HoldCause::Busy(port, self.ports[port].busiest_since(since))
    }
}

/// Time for which a port has been paused or has lacked credits until now, all priorities together.
fn held(wires: &Wires, port: PortIndex) -> Duration {
    let paused = wires.ports[port].paused();
    let of =
        |priority| paused.durations(wires.now, 0, priority).0 + wires.credits.wait_until(wires.now, port, priority);
    (0..Priority::COUNT).map(of).fold(Duration::ZERO, |sum, time| sum + time)
}

impl Wires {
    /// Notes that a data packet is lost, on the link behind a port or in the buffer of it.
    #[cold]
    #[inline(never)]
    pub fn trace_loss(&mut self, port: PortIndex, packet: &Packet) {
        if let (Some(trace), PacketKind::Data) = (&mut self.trace, packet.kind) {
            trace.losses.entry(packet.sender).or_default().behind = Some(port);
        }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn trace_departure(&mut self, port: PortIndex, handle: Handle) {
        let Some(mut trace) = self.trace.take() else { return };
        if trace.is_active(self.now) {
            trace.depart(self, port, handle);
        }
        self.trace = Some(trace);
    }
}
