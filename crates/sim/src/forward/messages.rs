//! Messages in progress: while none begins or ends, packets of them are the repetitions of a loop.
//!
//! ```text
//!   acknowledgements of the watched message   │  │  │  │  │  │  │  │  │  │  │
//!   all events served until                         at          stop        at          stop
//!   turn                                            └── the last ┘ before a stop, `at` a step behind it
//! ```
//!
//! Stops depend on the events before them alone, so that they are the same on any number of threads.

use etherweave_kernel::{Processes, wire};
use etherweave_primitives::{Duration, Time, mix};
use etherweave_workload::LoopPlace;

use super::{FastForward, TurnedPlace};
use crate::shard::Shard;

/// Turns of messages among which a period is looked for before they are made longer.
pub(super) const TURNS_MAX: usize = 128;

/// Longest time between two looks at a run in which no message can be shortened, in steps.
const WAIT_MAX: u64 = 16;

/// Longest step.
const LONGEST: Duration = Duration::from_ms(100);

/// A message in progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MessagePlace {
    /// Number of the connection end that sends it.
    pub sender: u32,
    start: u64,
    end: u64,
    /// Next byte never sent.
    next: u64,
    /// All below is acknowledged.
    pub acknowledged: u64,
    acknowledged_at: Time,
    /// Window of the connection [B].
    pub window: u64,
    /// Payload of a packet [B].
    packet: u64,
}

wire! { MessagePlace { sender, start, end, next, acknowledged, acknowledged_at, window, packet } }

impl MessagePlace {
    /// The message: its sender, and where it begins and ends in the stream.
    pub fn message(&self) -> (u32, u64, u64) {
        (self.sender, self.start, self.end)
    }

    /// Bytes acknowledged since.
    pub fn passed(&self, before: &MessagePlace) -> u64 {
        self.acknowledged - before.acknowledged
    }

    /// How often so many bytes may be taken away, so that as many are left to be sent.
    pub fn times_left(&self, passed: u64) -> u64 {
        let left = (self.end - self.next).saturating_sub(passed + self.packet);
        left.checked_div(passed).unwrap_or(u64::MAX)
    }

    /// Its packets as repetitions of a loop.
    fn loop_place(&self, key: u64) -> LoopPlace {
        let packets = |bytes: u64| u32::try_from(bytes / self.packet).unwrap_or(u32::MAX);
        let (times, done) = (packets(self.end - self.start), packets(self.acknowledged - self.start));
        LoopPlace { first: key as u32, times, done }
    }
}

/// Messages in progress, and a digest of which they are.
#[derive(Clone, Default, Debug)]
pub(super) struct OpenMessages {
    pub messages: Vec<MessagePlace>,
    key: u64,
    /// Packet-hops since the start of the run.
    hops: u64,
    /// Reason not to shorten them: of several the first of their order, on any number of threads.
    pub obstacle: Option<Obstacle>,
}

wire! { OpenMessages { messages, key, hops, obstacle } }

/// Reason not to shorten messages: a job whose rank computes or waits, or what endpoints are about; the first counts.
pub(super) type Obstacle = (u32, String);

impl OpenMessages {
    /// Adds those of another part of the run.
    pub fn merge(&mut self, other: OpenMessages) {
        self.messages.extend(other.messages);
        self.key = self.key.wrapping_add(other.key);
        self.hops += other.hops;
        self.obstacle = self.obstacle.take().into_iter().chain(other.obstacle).min();
    }

    /// Those before `at`, of all processes, ordered.
    fn of_all(shards: &[Shard], at: Time, jobs: &[String], processes: &Processes) -> OpenMessages {
        let mut own = OpenMessages::default();
        shards.iter().for_each(|shard| own.merge(OpenMessages::of(shard, at, jobs)));
        let mut all = OpenMessages::default();
        processes.share(own).into_iter().for_each(|part| all.merge(part));
        all
    }

    /// Those of a shard.
    pub fn of(shard: &Shard, at: Time, jobs: &[String]) -> OpenMessages {
        let mut open = OpenMessages { hops: shard.wires.totals.hops, ..OpenMessages::default() };
        let busy = shard.hosts.processors.threads.iter().filter(|thread| !thread.waits_for_packets(at));
        let busy = busy.map(|thread| thread.job).min();
        open.obstacle = busy.map(|job| (job, format!("job {} computes, or waits for a time", jobs[job as usize])));
        let nics = &shard.hosts.nics;
        for (index, end) in nics.endpoints.entries().take_while(|_| busy.is_none()) {
            let sent = nics.state(index).sent();
            let (start, until) = match shard.hosts.open_message(index) {
                Err(reason) => {
                    let own = Some((u32::MAX, reason.to_owned()));
                    open.obstacle = open.obstacle.take().into_iter().chain(own).min();
                    continue;
                }
                Ok(None) => (sent.bytes, sent.bytes),
                Ok(Some(message)) => {
                    let transport = shard.wires.constants.params.transport_of(end.protocol.transport());
                    open.messages.push(MessagePlace {
                        sender: end.number,
                        start: message.start,
                        end: message.end,
                        next: message.next,
                        acknowledged: message.acknowledged,
                        acknowledged_at: sent.acknowledged_at,
                        window: nics.state(index).send_state(at, &shard.wires.constants).window,
                        packet: transport.payload().get(),
                    });
                    (message.start, message.end)
                }
            };
            open.key = open.key.wrapping_add(mix(mix(u64::from(end.number) ^ mix(start)) ^ until));
        }
        open
    }

    /// The longest rest of a message, whose acknowledgements are counted.
    fn watched(&self) -> Option<&MessagePlace> {
        self.messages.iter().max_by_key(|message| (message.end - message.next, u32::MAX - message.sender))
    }
}

/// Times at which a run is looked at while no rank is in a loop.
pub(super) struct Stops {
    /// Shortest step.
    step_min: Duration,
    /// Time between an acknowledgement and the end of its turn, and until the next is looked for.
    step: Duration,
    /// All events before are served.
    at: Time,
    /// Steps until the next look, after looks in which no message could be shortened.
    wait: u64,
    /// Packet-hops at the last turn.
    hops: u64,
}

impl Stops {
    /// Stops of a run whose shards are so far from each other.
    pub fn new(lookahead: Duration) -> Stops {
        let step = lookahead * 2;
        Stops { step_min: step, step, at: Time::ZERO, wait: 1, hops: 0 }
    }

    /// When to look at messages next, unless a loop turns before.
    pub fn next(&self, shards: &mut [Shard], processes: &Processes) -> Time {
        let next = shards.iter_mut().filter_map(|shard| shard.wires.queue.next_time()).min();
        let next = processes.share(next).into_iter().flatten().min().unwrap_or(Time::ZERO);
        self.at.max(next) + self.step * self.wait
    }

    /// Takes a look at an obstacle.
    fn obstruct(&mut self, at: Time) {
        (self.at, self.wait) = (at, WAIT_MAX.min(2 * self.wait));
    }

    /// Takes a turn that all events before `at` belong to, in which so many packet-hops may pass at least: a turn costs
    /// what some packet-hops do for each port and connection. Whether turns go on as before.
    pub fn turn(&mut self, at: Time, hops: u64, hops_min: u64) -> bool {
        let is_long = hops - self.hops >= hops_min;
        (self.at, self.wait, self.hops) = (at, 1, hops);
        if !is_long {
            self.step_min = LONGEST.min(self.step_min * 2);
            self.lengthen();
        }
        is_long
    }

    /// Takes no turn before as much time as so many have lasted.
    pub fn pause(&mut self, turns: u64) {
        self.wait = turns;
    }

    /// Makes turns longer, as a period may be that they have not shown, until other messages are in progress.
    pub fn lengthen(&mut self) {
        self.step = LONGEST.min(self.step * 2);
    }

    /// Makes turns as short as they may be.
    pub fn shorten(&mut self) {
        self.step = self.step_min;
    }
}

impl FastForward {
    /// The turn of the watched message with its last acknowledgement before a stop.
    pub(super) fn message_turn(
        &mut self,
        (shards, jobs): (&[Shard], &[String]),
        stop: Time,
        processes: &Processes,
    ) -> Option<TurnedPlace> {
        let open = OpenMessages::of_all(shards, stop, jobs, processes);
        let step = self.stops.step;
        let watched = open.watched().filter(|_| open.obstacle.is_none());
        let turned = watched.filter(|message| stop.since(message.acknowledged_at) < step);
        if let Some(message) = turned {
            let (time, place) = (message.acknowledged_at, message.loop_place(open.key));
            return Some(TurnedPlace { time, place, at: time + step, is_of_loop: false });
        }
        match watched {
            Some(_) => self.stops.lengthen(),
            None => self.stops.shorten(),
        }
        self.stops.obstruct(stop);
        self.budget.pause(open.hops);
        let reason = open.obstacle.map(|(_, reason)| reason);
        self.is_between(reason.unwrap_or_else(|| "no message is acknowledged".to_owned()));
        None
    }
}

/// Takes bytes away from messages, by the numbers of their senders, which are ordered.
pub(super) fn shorten(shards: &mut [Shard], messages: &[(u32, u64)]) {
    let bytes = |sender: u32| {
        let place = messages.binary_search_by_key(&sender, |&(number, _)| number);
        place.ok().map(|place| messages[place].1)
    };
    for shard in shards {
        let ends = shard.hosts.nics.endpoints.entries().map(|(index, end)| (index, end.number));
        let shortened: Vec<_> = ends.map(|(index, number)| (index, bytes(number), bytes(number ^ 1))).collect();
        for (index, sent, expected) in shortened {
            sent.into_iter().for_each(|bytes| shard.hosts.shorten(index, bytes));
            expected.into_iter().for_each(|bytes| shard.hosts.shorten_incoming(index, bytes));
        }
    }
}
