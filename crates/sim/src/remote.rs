//! Remote events between shards, and the state on which their workers agree when they meet.

use etherweave_engine::outbox::RemoteOutbox;
use etherweave_kernel::{Agreement, Division, Exchange, Outbox, Wire, wire};
use etherweave_primitives::Time;

use crate::shard::Shard;

/// Effects of the shards of one worker on those of another: outboxes, each after the place of its receiver among them.
#[derive(Default)]
pub(crate) struct WorkerOutbox {
    /// The first `used` hold something; the others keep their memory.
    shards: Vec<(u32, RemoteOutbox)>,
    used: usize,
}

impl WorkerOutbox {
    /// Takes what a shard has for another, and gives an empty outbox in return.
    fn put(&mut self, to: usize, outbox: &mut RemoteOutbox) {
        if self.used == self.shards.len() {
            self.shards.push((0, RemoteOutbox::default()));
        }
        let (place, empty) = &mut self.shards[self.used];
        *place = to as u32;
        std::mem::swap(empty, outbox);
        self.used += 1;
    }

    /// Hands everything over to the shards of its worker.
    pub fn deliver(&mut self, shards: &mut [Shard]) {
        for (to, outbox) in &mut self.shards[..self.used] {
            shards[*to as usize].receive(outbox);
            outbox.clear();
        }
        self.used = 0;
    }
}

impl Outbox for WorkerOutbox {
    fn is_empty(&self) -> bool {
        self.used == 0
    }

    fn clear(&mut self) {
        self.shards[..self.used].iter_mut().for_each(|(_, outbox)| outbox.clear());
        self.used = 0;
    }
}

impl Wire for WorkerOutbox {
    fn write(&self, words: &mut Vec<u32>) {
        (self.used as u32).write(words);
        for (to, outbox) in &self.shards[..self.used] {
            to.write(words);
            outbox.write(words);
        }
    }

    fn read(words: &mut &[u32]) -> WorkerOutbox {
        let used = u32::read(words) as usize;
        WorkerOutbox { shards: (0..used).map(|_| Wire::read(words)).collect(), used }
    }
}

/// State that workers know together at the end of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RunState {
    /// Earliest pending event.
    pub next: Time,
    /// Jobs and streams that are not finished.
    pub unfinished: u64,
    /// When anything last made progress.
    pub last_progress: Time,
    /// When a job or finite stream last ended.
    pub last_end: Time,
    /// Whether a caller wants to stop.
    pub is_stopped: bool,
    /// Whether a watched loop has begun a repetition.
    pub has_turned: bool,
    /// Longest real time for which a shard has served the last window, where times are kept [ns].
    pub slowest: u64,
}

wire! { RunState { next, unfinished, last_progress, last_end, is_stopped, has_turned, slowest } }

impl Default for RunState {
    fn default() -> RunState {
        let (next, unfinished, last_progress, last_end) = (Time::MAX, 0, Time::ZERO, Time::ZERO);
        RunState { next, unfinished, last_progress, last_end, is_stopped: false, has_turned: false, slowest: 0 }
    }
}

impl Agreement for RunState {
    fn with(self, other: RunState) -> RunState {
        RunState {
            next: self.next.min(other.next),
            unfinished: self.unfinished + other.unfinished,
            last_progress: self.last_progress.max(other.last_progress),
            last_end: self.last_end.max(other.last_end),
            is_stopped: self.is_stopped || other.is_stopped,
            has_turned: self.has_turned || other.has_turned,
            slowest: self.slowest.max(other.slowest),
        }
    }
}

/// Puts what shards have for others into the outboxes to their workers; returns when the first of it happens.
pub(super) fn post(
    shards: &mut [Shard],
    division: Division,
    exchange: &mut impl Exchange<WorkerOutbox, RunState>,
) -> Time {
    let mut first = Time::MAX;
    for shard in shards {
        for (to, outbox) in shard.wires.outboxes.iter_mut().enumerate().filter(|(_, outbox)| !outbox.is_empty()) {
            first = outbox.events.iter().fold(first, |first, event| first.min(event.time));
            let worker = division.worker_of(to);
            exchange.outboxes()[worker].put(to - division.shards_of(worker).start, outbox);
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use etherweave_engine::LoadReport;
    use etherweave_engine::event::{Event, EventKey, Kind};
    use etherweave_engine::packet::{Handle, Packet, PacketKind, PacketRoute};
    use etherweave_kernel::indices::{EndpointIndex, PortIndex};
    use etherweave_routing::RoutedPacket;
    use etherweave_transport::{SackBlocks, telemetry::PathTelemetry};

    use super::*;

    fn packet(kind: PacketKind) -> Packet {
        Packet {
            next: Handle::new(1),
            endpoint: EndpointIndex::new(2),
            route: 3,
            ingress: PortIndex::new(4),
            offset: 1 << 40,
            acknowledged: 6,
            sent: Time::from_ps(1 << 50),
            wire: 8,
            payload: 9,
            word: 10,
            side: 0,
            sender: 11,
            kind,
            priority: 7,
            flags: 0xff,
            header_bits: 129,
        }
    }

    #[test]
    fn outboxes_are_read_as_they_were_written() {
        let event =
            Event::new(Time::from_ps(1 << 45), EventKey::new(PortIndex::new(70_000), Kind::Deliver, 0xab_cdef), 5);
        let routed = RoutedPacket { dst: 1, src: 2, route_state: [3, 0xffff], hash: 5, hops: 6, is_misrouted: true };
        let mut sent = RemoteOutbox {
            events: vec![event],
            packets: PacketKind::ALL.map(packet).to_vec(),
            sides: vec![SackBlocks::default()],
            paths: vec![PathTelemetry::default()],
            routes: vec![PacketRoute { routed, egress: PortIndex::new(7), base: 1, channel: 2 }],
            loads: vec![LoadReport { time: Time::from_ps(1 << 44), queue: 8, bytes: 9 }],
        };
        let mut outbox = WorkerOutbox::default();
        outbox.put(3, &mut sent);
        let mut words = Vec::new();
        outbox.write(&mut words);
        let mut left = &words[..];
        let read = WorkerOutbox::read(&mut left);
        assert!(left.is_empty() && !read.is_empty() && sent.events.is_empty());
        assert_eq!(read.shards[0].0, 3);
        let [(_, one), (_, other)] = [&outbox.shards[0], &read.shards[0]];
        let text =
            |of: &RemoteOutbox| format!("{:?}", (&of.events, &of.packets, &of.sides, &of.paths, &of.routes, &of.loads));
        assert_eq!(text(one), text(other));
    }

    #[test]
    fn workers_agree_on_the_first_event_all_work_and_the_last_progress() {
        let time = Time::from_ps;
        let state = |next, unfinished, last_progress, last_end, is_stopped, has_turned| RunState {
            next: time(next),
            unfinished,
            last_progress: time(last_progress),
            last_end: time(last_end),
            is_stopped,
            has_turned,
            slowest: last_end,
        };
        let (one, other) = (state(5, 2, 3, 1, false, true), state(4, 1, 2, 2, true, false));
        let both = state(4, 3, 3, 2, true, true);
        assert_eq!(one.with(other).with(RunState::default()), both);
    }
}
