//! State of a run when its loop turns: a digest of all events since the turn before, and the places of all ranks.

use etherweave_engine::{fingerprint::Fingerprint, frame::pause::priorities};
use etherweave_host::{Host, Role, SinkState};
use etherweave_kernel::{Processes, wire};
use etherweave_primitives::{Duration, Priority, Time, mix};
use etherweave_transport::{connection::SlowState, tcp::Limits};
use etherweave_workload::LoopPlace;

use super::messages::OpenMessages;
use super::series::{Digest, PROJECTIONS, SLOW};
use crate::{run::Simulation, shard::Shard};

/// Places of the ranks of a job in a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct JobLoop {
    pub job: u32,
    /// The lowest rank that is not done.
    rank: u32,
    /// Its loop: first block and repetitions.
    key: (u32, u32),
    /// Complete repetitions: of that rank, most of a rank and fewest.
    pub done: [u32; 3],
}

impl JobLoop {
    /// Repetitions in all.
    pub fn times(&self) -> u32 {
        self.key.1
    }

    /// Whether the same rank is in the same loop.
    pub fn is_that_of(&self, other: &JobLoop) -> bool {
        (self.job, self.rank, self.key) == (other.job, other.rank, other.key)
    }
}

/// Turn of the watched rank, and the time of a repetition, by which those of other ranks of its job are expected.
#[derive(Clone, Copy)]
pub(super) struct ExpectedTurn {
    pub job: u32,
    pub time: Time,
    pub done: u32,
    pub period: Duration,
}

impl ExpectedTurn {
    /// How much later a rank has begun a repetition than expected, after so many [ps].
    fn offset(&self, turned: Time, done: u32) -> i64 {
        let ahead = i64::from(done) - i64::from(self.done);
        turned.as_ps() as i64 - self.time.as_ps() as i64 - ahead.wrapping_mul(self.period.as_ps() as i64)
    }
}

#[derive(Clone, Default, Debug)]
pub(super) struct Standing {
    pub digest: Digest,
    /// Sums over ranks of the watched job, with random signs, of how much later they turn than expected [ps].
    pub offsets: [u64; PROJECTIONS],
    /// Sums over connections, with random weights, of parts of their states that may change for long.
    pub slow: [u64; SLOW.len()],
    /// Earliest of the last acknowledgements of connections on which data has arrived that waits for the next.
    pub waits_since: Option<Time>,
    /// Loops of jobs, ordered.
    pub loops: Vec<JobLoop>,
    /// Messages in progress, where no rank is in a loop.
    pub open: OpenMessages,
    /// Packet-hops since the start of the run.
    pub packets: u64,
    /// Connections and ports.
    pub entities: u64,
    /// Priorities of packets, a bit each.
    pub priorities: u8,
    /// Whether there are streams without end.
    pub has_streams: bool,
    /// Reason not to skip.
    pub obstacle: Option<String>,
    /// Key of state that digests leave out.
    pub left_out: Option<String>,
}

wire! {
    JobLoop { job, rank, key, done }
    Standing {
        digest, offsets, slow, waits_since, loops, open, packets, entities, priorities, has_streams, obstacle, left_out
    }
}

impl Standing {
    /// State of a shard at a time, at a turn of a loop or of messages; digests begin anew.
    fn take(shard: &mut Shard, at: Time, expected: Option<ExpectedTurn>, jobs: &[String]) -> Standing {
        let (slow, waits_since) = slow(shard, at, shard.wires.fingerprint_from);
        let arrivals = shard.wires.fingerprint.take();
        shard.wires.fingerprint_from = at;
        let digest = arrivals.map_or(Digest::default(), |own| digest(shard, at, own, expected.is_none()));
        let (left_out, packets) = (left_out(shard, at).map(str::to_owned), shard.wires.totals.hops);
        let entities = (shard.wires.ports.len() + shard.hosts.nics.endpoints.len()) as u64;
        let priorities = packet_priorities(shard);
        let own =
            Standing { digest, slow, waits_since, left_out, packets, entities, priorities, ..Standing::default() };
        let mut standing = own;
        match expected {
            Some(expected) => standing.add_threads(shard, expected, jobs),
            None => standing.add_messages(OpenMessages::of(shard, at, jobs)),
        }
        standing
    }

    /// Adds messages in progress.
    fn add_messages(&mut self, open: OpenMessages) {
        open.obstacle.iter().for_each(|(_, reason)| self.forbid(reason.clone()));
        self.open.merge(open);
    }

    /// Adds the loops of ranks of a shard.
    fn add_threads(&mut self, shard: &Shard, expected: ExpectedTurn, jobs: &[String]) {
        let received = |sink: &SinkState| shard.hosts.nics.endpoints[sink.endpoint].intake.bytes;
        for thread in &shard.hosts.processors.threads {
            let name = &jobs[thread.job as usize];
            match &thread.role {
                Role::Rank(rank) if rank.is_done => {}
                Role::Rank(rank) => match rank.loop_place() {
                    Some(LoopPlace { first, times, done }) => {
                        let is_watched = thread.job == expected.job;
                        let offset = expected.offset(rank.turned_at(), if is_watched { done } else { expected.done });
                        self.digest.add_rank((thread.job, rank.rank), offset);
                        if is_watched {
                            self.add_offset(rank.rank, offset);
                        }
                        let (job, rank, key) = (thread.job, rank.rank, (first, times));
                        self.add(JobLoop { job, rank, key, done: [done; 3] }, jobs);
                    }
                    None => self.forbid(format!("rank {} of job {name} is in no loop", rank.rank)),
                },
                Role::Source(source) if source.left.is_some() && !source.is_over() => {
                    self.forbid(format!("streams of job {name} end"));
                }
                Role::Sink(sink) if sink.total.is_some_and(|total| total > received(sink)) => {
                    self.forbid(format!("streams of job {name} end"));
                }
                Role::Sink(sink) => self.has_streams |= sink.total.is_none(),
                Role::Source(_) | Role::GraphStream(_) => {}
            }
        }
    }

    fn add(&mut self, own: JobLoop, jobs: &[String]) {
        let Some(known) = self.loops.iter_mut().find(|known| known.job == own.job) else {
            return self.loops.push(own);
        };
        let is_same = known.key == own.key;
        if own.rank < known.rank {
            (known.rank, known.done[0]) = (own.rank, own.done[0]);
        }
        let [_, most, fewest] = known.done;
        (known.done[1], known.done[2]) = (most.max(own.done[1]), fewest.min(own.done[2]));
        if !is_same {
            self.forbid(format!("ranks of job {} are in different loops", jobs[own.job as usize]));
        }
    }

    /// Adds how much later a rank turns than expected [ps].
    fn add_offset(&mut self, rank: u32, offset: i64) {
        let signs = mix(rank.into());
        for (number, sum) in self.offsets.iter_mut().enumerate() {
            let signed = if signs >> number & 1 == 0 { offset } else { offset.wrapping_neg() };
            *sum = sum.wrapping_add(signed as u64);
        }
    }

    /// Keeps a reason not to skip: of several the first by its letters, on any number of threads.
    fn forbid(&mut self, obstacle: String) {
        self.obstacle = self.obstacle.take().into_iter().chain([obstacle]).min();
    }

    /// Adds that of another part of the run.
    fn merge(&mut self, other: Standing, jobs: &[String]) {
        self.digest.merge(&other.digest);
        self.offsets.iter_mut().zip(other.offsets).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
        self.slow.iter_mut().zip(other.slow).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
        self.waits_since = self.waits_since.into_iter().chain(other.waits_since).min();
        other.loops.into_iter().for_each(|own| self.add(own, jobs));
        self.add_messages(other.open);
        self.packets += other.packets;
        self.entities += other.entities;
        self.priorities |= other.priorities;
        self.has_streams |= other.has_streams;
        other.obstacle.into_iter().for_each(|obstacle| self.forbid(obstacle));
        self.left_out = self.left_out.take().into_iter().chain(other.left_out).min();
    }
}

impl Simulation {
    /// State of all shards of all processes.
    pub(super) fn standing(&mut self, at: Time, expected: Option<ExpectedTurn>, processes: &Processes) -> Standing {
        let jobs = &self.names.jobs;
        let mut own = Standing::default();
        self.shards.iter_mut().for_each(|shard| own.merge(Standing::take(shard, at, expected, jobs), jobs));
        let mut all = Standing::default();
        processes.share(own).into_iter().for_each(|part| all.merge(part, jobs));
        let constants = self.shards.first().map(|shard| &shard.wires.constants);
        if !constants.is_some_and(|own| own.scheduler.have_turns(own.classes(all.priorities))) {
            all.digest.deficits = 0;
        }
        all.loops.sort_unstable_by_key(|own| own.job);
        all.open.messages.sort_unstable_by_key(|message| message.sender);
        all
    }
}

/// Digest of what arrives until a time, `within` messages of which any rest may be left.
fn digest(shard: &Shard, at: Time, arrivals: Fingerprint, within: bool) -> Digest {
    let (connections, ports, deficits) = (connections(shard, at, within), ports(shard, at), deficits(shard));
    Digest { arrivals: Some(arrivals), connections, ports, deficits, draws: shard.wires.marking_draws, ranks: 0 }
}

/// Sum over states of connections that arrivals do not show, `within` messages of which any rest may be left.
fn connections(shard: &Shard, at: Time, within: bool) -> u64 {
    let connections = shard.hosts.nics.endpoints.entries().map(|(index, end)| {
        let transport = shard.hosts.nics.state(index);
        let state = transport.send_state(at, &shard.wires.constants);
        let rate = state.rate.map_or(0, |rate| rate.as_bps());
        let open = transport.open_message().ok().flatten().filter(|_| within);
        let left = open.map_or(0, |message| message.left());
        let other = transport.repeatable_state(at, left).unwrap_or_default();
        mix(mix(mix(mix(state.window) ^ state.in_flight) ^ mix(rate) ^ other) ^ u64::from(end.number))
    });
    connections.fold(0, u64::wrapping_add)
}

/// Sums over connections, with weights of 1 to 16, of each part of [`SLOW`] since a time, and the earliest of the last
/// acknowledgements behind which data waits.
fn slow(shard: &Shard, at: Time, since: Time) -> ([u64; SLOW.len()], Option<Time>) {
    let (mut sums, mut earliest) = ([0u64; SLOW.len()], None);
    for (index, end) in shard.hosts.nics.endpoints.entries() {
        let transport = shard.hosts.nics.state(index);
        let sending = transport.send_state(at, &shard.wires.constants);
        let SlowState { limits, in_flight, waits_since, quick_acks } = transport.slow_state(since, sending);
        let Limits { window, threshold, send_buffer, receive_window } = limits;
        let rate = sending.rate.map_or(0, |rate| rate.as_bps());
        let effective = [window, in_flight, rate, threshold, send_buffer, receive_window, quick_acks];
        let parts = effective.into_iter().chain([sending.window, sending.in_flight]);
        earliest = earliest.into_iter().chain(waits_since).min();
        let weight = 1 + mix(u64::from(end.number)) % 16;
        sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum = sum.wrapping_add(weight.wrapping_mul(part)));
    }
    (sums, earliest)
}

/// Sum over pauses and the round robin of ports, and over receive buffers.
fn ports(shard: &Shard, at: Time) -> u64 {
    let ports = shard.wires.ports.entries().map(|(index, port)| {
        let paused = port.paused();
        let pauses = priorities(paused.priorities).map(|priority| paused.until[priority].since(at).as_ps());
        let channel = u64::from(shard.wires.channels[index].get());
        let start = channel << 16 | u64::from(port.turn) << 8 | u64::from(paused.priorities);
        mix(pauses.fold(start, |state, word| mix(state) ^ word))
    });
    let backlog = |host: &Host| mix(u64::from(host.id) ^ mix(host.nic.buffer.backlog(at).as_ps()));
    let buffers = shard.hosts.nics.hosts.iter().map(backlog);
    ports.chain(buffers).chain(packets(shard, at)).fold(0, u64::wrapping_add)
}

/// Sum over deficits of the classes of ports.
fn deficits(shard: &Shard) -> u64 {
    let ports = shard.wires.ports.entries().map(|(index, port)| {
        let deficits = (0..Priority::COUNT).map(|class| u64::from(port.queue(class).deficit as u32));
        mix(deficits.fold(shard.wires.channels[index].get().into(), |state, word| mix(state) ^ word))
    });
    ports.fold(0, u64::wrapping_add)
}

/// Priorities that packets may have, a bit each.
fn packet_priorities(shard: &Shard) -> u8 {
    let constants = &shard.wires.constants;
    if constants.rewrites_packets || constants.params.switch.trimming.is_some() {
        return u8::MAX;
    }
    let control = constants.params.transports().filter_map(|transport| transport.control_priority());
    let data = shard.hosts.nics.endpoints.iter().map(|end| end.priority);
    control.map(Priority::get).chain(data).fold(0, |mask, priority| mask | 1 << priority)
}

/// Packets in queues, on wires and in hosts, with their ages.
fn packets(shard: &Shard, at: Time) -> impl Iterator<Item = u64> {
    shard.wires.packets.iter().map(move |packet| {
        let age = if packet.sent == Time::ZERO { 0 } else { at.as_ps().wrapping_sub(packet.sent.as_ps()) };
        let kind = (packet.kind as u64) << 16 | u64::from(packet.priority) << 8 | u64::from(packet.flags);
        mix(mix(mix(u64::from(packet.sender) << 32 | u64::from(packet.wire)) ^ kind) ^ age)
    })
}

/// Key of state, or of random draws, that no digest shows.
fn left_out(shard: &Shard, at: Time) -> Option<&'static str> {
    let (wires, switches, constants) = (&shard.wires, &shard.switches, &shard.wires.constants);
    let (nic, host) = (&constants.params.nic, &constants.params.host);
    let keys = [
        ("host.noise", host.noise.is_some()),
        ("host.cores", host.cores.is_some()),
        ("nic.context_cache", nic.context_cache.is_some()),
        ("nic.dynamic_connections", nic.dynamic_connections.is_some()),
        ("nic.command_stall", nic.command_stall.is_some()),
        ("run.fidelity", wires.fluid.is_some()),
        ("routing", constants.packet_routing.is_some()),
        ("flow_control.credits", wires.credits.are_used()),
        ("flow_control.pfc.watchdog", constants.watchdog.is_some()),
        ("switch", wires.impaired_links.iter().next().is_some() || switches.learning.is_some()),
        ("switch.buffer", wires.totals.dropped > 0),
    ];
    let nics = &shard.hosts.nics;
    let of_transport =
        || nics.endpoints.indices().filter_map(|end| nics.state(end).repeatable_state(at, 0).err()).min();
    keys.into_iter().find(|&(_, is_used)| is_used).map(|(key, _)| key).or_else(of_transport)
}
