//! Tracing of packets that leave ports, where a run is traced: see `trace.rs`.

use etherweave_kernel::indices::PortIndex;
use etherweave_primitives::{Duration, Priority, Time};

use crate::packet::{Handle, Packet, PacketKind, flags};
use crate::trace::{Beside, Departure, HoldCause, Trace, Wait, WaitReason};
use crate::wires::Wires;

/// Links from a port that is held to the cause.
const CHAIN_MAX: usize = 64;

impl Trace {
    fn depart(&mut self, wires: &Wires, port: PortIndex, handle: Handle) {
        let packet = &wires.packets[handle];
        let departure = self.departure(wires, port, packet.sender);
        let is_of_host = wires.host_of_port(port).is_some();
        if !is_of_host {
            self.ports[packet.ingress].freed_by = Some(port);
        }
        match packet.kind {
            PacketKind::Data if !packet.has(flags::FLOODED) => self.leave_all(wires, port, packet, &departure),
            PacketKind::Ack | PacketKind::Nak if !is_of_host => self.acknowledge(wires, port, packet),
            PacketKind::Data | PacketKind::Ack | PacketKind::Nak | PacketKind::Cnp | PacketKind::Announcement => {}
        }
        if is_of_host && packet.kind == PacketKind::Data {
            self.note_data(wires, port, packet);
        }
        self.ports[port].depart(departure);
    }

    fn departure(&mut self, wires: &Wires, port: PortIndex, sender: u32) -> Departure {
        let (start, end) = (wires.now, wires.ports[port].busy_until);
        let acknowledged = self.senders.get_mut(&sender).and_then(|sender| sender.acknowledged(start));
        Departure { start, end, sender: Some(sender), held: held(wires, port), acknowledged }
    }

    /// Notes traced messages that begin in a packet, and has those leave a port that end in it.
    fn leave_all(&mut self, wires: &Wires, port: PortIndex, packet: &Packet, departure: &Departure) {
        for place in self.places(packet) {
            self.flights[place].began.get_or_insert(wires.now);
            if self.messages[place].end <= packet.offset + u64::from(packet.payload) {
                self.leave(wires, (place, port), packet, departure);
            }
        }
    }

    /// Notes messages of flow-level mode on the link of a port: they delay the packet that has left, and occupy the
    /// port until it is free.
    fn cross(&mut self, wires: &Wires, handle: Handle, Beside { port, wait, until }: Beside) {
        let (packet, is_of_host) = (&wires.packets[handle], wires.host_of_port(port).is_some());
        if packet.kind == PacketKind::Data && !packet.has(flags::FLOODED) {
            let wait = Wait { port, is_of_host, reason: WaitReason::Beside, time: wait };
            self.places(packet).into_iter().for_each(|place| self.flights[place].delay(wires.now, wait));
        }
        let own = self.ports[port].sent.back().filter(|last| wires.now < last.end && last.end < until);
        if let Some(&last) = own {
            self.ports[port].depart(Departure {
                start: last.end,
                end: until,
                sender: None,
                acknowledged: None,
                ..last
            });
        }
    }

    /// Notes an acknowledgement on its last link.
    fn acknowledge(&mut self, wires: &Wires, port: PortIndex, packet: &Packet) {
        let is_last = wires.ports[port].peer.is_host;
        // The ends of a connection have numbers that differ in the last bit.
        if let (true, Some(sender)) = (is_last, self.senders.get_mut(&(packet.sender ^ 1))) {
            let sent = (packet.sent != Time::ZERO).then_some(packet.sent);
            sender.acknowledge(arrival(wires, port, packet), packet.acknowledged, sent);
        }
    }

    /// Notes data that leave their host, perhaps not for the first time.
    fn note_data(&mut self, wires: &Wires, port: PortIndex, packet: &Packet) {
        let until = packet.offset + u64::from(packet.payload);
        let (lost_behind, time) = (self.lost_behind(packet, port), wires.ports[port].serialization_time(packet.wire));
        let sender = self.senders.entry(packet.sender).or_default();
        sender.send(until, wires.now);
        sender.port = Some(port);
        let sent_at = sender.sent_at.replace(wires.now + time);
        if until <= sender.sent {
            let idle = sent_at.map_or(Duration::ZERO, |at| wires.now.since(at.min(wires.now)));
            let time = idle + time;
            let wait = Wait { port: lost_behind, is_of_host: true, reason: WaitReason::Lost, time };
            sender.resent.push((wires.now, wait));
        }
        sender.sent = sender.sent.max(until);
    }

    /// Port behind which the last packet of this sender was lost; the host's own where none was seen.
    fn lost_behind(&self, packet: &Packet, port: PortIndex) -> PortIndex {
        self.senders.get(&packet.sender).and_then(|sender| sender.behind).unwrap_or(port)
    }

    fn leave(&mut self, wires: &Wires, (message, port): (usize, PortIndex), packet: &Packet, departure: &Departure) {
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
        let began = self.flights[message].began.unwrap_or(wires.now);
        let waits = self.waits_at(wires, port, packet, (came, departure), began);
        let flight = &mut self.flights[message];
        waits.into_iter().for_each(|(reason, time)| flight.add(Wait { port, is_of_host, reason, time }));
        flight.left = Some((wires.now, arrival(wires, port, packet)));
    }

    /// Why a packet has waited at a port from when it came to its departure.
    fn waits_at(
        &self,
        wires: &Wires,
        port: PortIndex,
        packet: &Packet,
        (came, departure): (Time, &Departure),
        began: Time,
    ) -> Vec<(WaitReason, Duration)> {
        let sent = &self.ports[port].sent;
        let first = sent.partition_point(|sent| sent.end <= came);
        let held = first.checked_sub(1).map_or(Duration::ZERO, |before| sent[before].held);
        let arrival = Departure { start: came, end: came, held, ..*departure };
        let since = sent.iter().skip(first).map(|sent| Departure { start: sent.start.max(came), ..*sent });
        let departures: Vec<Departure> = [arrival].into_iter().chain(since).chain([*departure]).collect();
        let waits = PortWaits::new(&departures, wires.host_of_port(port).map(|_| (packet.sender, began)));
        let hold = || match (self.cause(wires, port, came), wires.credits.cover(packet.priority)) {
            (cause, true) => WaitReason::NoCredits(cause),
            (cause, false) => WaitReason::Paused(cause),
        };
        let mut reasons = waits.behind;
        reasons.extend((!waits.held.is_zero()).then(|| (hold(), waits.held)));
        reasons.push((WaitReason::Other, waits.other));
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

/// When a packet that leaves a port comes to the next node.
fn arrival(wires: &Wires, port: PortIndex, packet: &Packet) -> Time {
    let out = &wires.ports[port];
    wires.now + out.serialization_time(packet.wire).min(out.header_time) + out.delay
}

/// Waits of a packet at a port.
#[derive(Default)]
struct PortWaits {
    behind: Vec<(WaitReason, Duration)>,
    held: Duration,
    other: Duration,
}

impl PortWaits {
    /// Waits from the first departure, that of nothing, to the last, that of the packet; at its host with its sender,
    /// and when its message began, whose packets are counted up to this one.
    fn new(departures: &[Departure], own: Option<(u32, Time)>) -> PortWaits {
        let mut waits = PortWaits::default();
        let sender = own.map(|(sender, _)| sender);
        if let (Some(sender), Some(last)) = (sender, departures.last()) {
            waits.add(WaitReason::Behind(sender), last.start, last.end);
        }
        let mut window_from = Time::MAX;
        for (pair, window_until) in departures.windows(2).zip(windows_until(departures, sender)).rev() {
            let [before, next] = pair else { unreachable!("pairs have two") };
            let (idle, held) = gap(before, next);
            (waits.held, waits.other) = (waits.held + held, waits.other + idle);
            window_from = window(before, next, sender).map_or(window_from, |(start, _)| window_from.min(start));
            match (own.filter(|&(sender, _)| Some(sender) == before.sender), before.sender) {
                (Some(own), _) => waits.add_own(before, own, (window_until, window_from)),
                (None, Some(sender)) => waits.add(WaitReason::Behind(sender), before.start, before.end),
                (None, None) => waits.add(WaitReason::Beside, before.start, before.end),
            }
        }
        waits
    }

    /// Adds packets of the own connection: earlier messages in the windows before and behind them wait for these.
    fn add_own(&mut self, own: &Departure, (sender, began): (u32, Time), (window_until, window_from): (Time, Time)) {
        let began = began.clamp(own.start, own.end);
        let start = window_until.clamp(own.start, began);
        let end = window_from.clamp(start, began);
        self.other += start.since(own.start) + began.since(end);
        self.add(WaitReason::Earlier, start, end);
        self.add(WaitReason::Behind(sender), began, own.end);
    }

    fn add(&mut self, reason: WaitReason, start: Time, end: Time) {
        self.behind.push((reason, end.since(start)));
    }
}

/// End of the windows that were full before each departure.
fn windows_until(departures: &[Departure], own: Option<u32>) -> Vec<Time> {
    let windows = departures.windows(2).map(|pair| window(&pair[0], &pair[1], own));
    let until = windows.scan(Time::ZERO, |until, window| {
        let before = *until;
        *until = window.map_or(before, |(_, end)| before.max(end));
        Some(before)
    });
    until.collect()
}

/// Window that is full in an idle gap between two departures: from when the data left whose acknowledgement ends the
/// gap, and as long after it, while acknowledgements of that window let data leave.
fn window(before: &Departure, next: &Departure, own: Option<u32>) -> Option<(Time, Time)> {
    // At a low rate they may come while a packet leaves.
    let acknowledged = next.acknowledged.filter(|own| own.at >= before.start)?;
    let is_full = own.is_some() && own == next.sender && !gap(before, next).0.is_zero();
    is_full.then(|| (acknowledged.sent, next.start + next.start.since(acknowledged.sent)))
}

/// How long a port was idle between two departures, and how long it was held.
fn gap(before: &Departure, next: &Departure) -> (Duration, Duration) {
    let gap = next.start.since(before.end.min(next.start));
    let held = (next.held - before.held).min(gap);
    (gap - held, held)
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
            trace.senders.entry(packet.sender).or_default().behind = Some(port);
        }
    }

    /// Notes what messages of flow-level mode do to a packet that leaves a port.
    pub(crate) fn trace_beside(&mut self, handle: Handle, beside: Beside) {
        if let Some(mut trace) = self.trace.take() {
            trace.cross(self, handle, beside);
            self.trace = Some(trace);
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
