//! State of a run when its loop turns: a digest of all events since the turn before, and the places of all ranks.

use etherweave_engine::fingerprint::Fingerprint;
use etherweave_engine::frame::pause::priorities;
use etherweave_host::{Host, Role};
use etherweave_kernel::{Processes, wire};
use etherweave_primitives::{Priority, Time, mix};
use etherweave_workload::LoopPlace;

use super::series::Digest;
use crate::run::Simulation;
use crate::shard::Shard;

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

/// State of a part of the run.
#[derive(Clone, Default, Debug)]
pub(super) struct Standing {
    pub digest: Digest,
    /// Loops of jobs, ordered.
    pub loops: Vec<JobLoop>,
    /// Reason not to skip.
    pub obstacle: Option<String>,
    /// Key of state that digests leave out.
    pub left_out: Option<String>,
}

wire! {
    JobLoop { job, rank, key, done }
    Standing { digest, loops, obstacle, left_out }
}

impl Standing {
    /// State of a shard at a time; digests begin anew.
    fn take(shard: &mut Shard, at: Time, jobs: &[String]) -> Standing {
        let arrivals = shard.wires.fingerprint.replace(Fingerprint::default()).unwrap_or_default();
        shard.wires.fingerprint_from = at;
        let digest = Digest { arrivals, states: states(shard, at) };
        let left_out = left_out(shard).map(str::to_owned);
        let mut standing = Standing { digest, left_out, ..Standing::default() };
        for thread in &shard.hosts.processors.threads {
            let name = &jobs[thread.job as usize];
            match &thread.role {
                Role::Rank(rank) if rank.is_done => {}
                Role::Rank(rank) => match rank.loop_place() {
                    Some(LoopPlace { first, times, done }) => {
                        let (job, rank, key) = (thread.job, rank.rank, (first, times));
                        standing.add(JobLoop { job, rank, key, done: [done; 3] }, jobs);
                    }
                    None => standing.forbid(format!("rank {} of job {name} is in no loop", rank.rank)),
                },
                Role::Source(source) if source.left.is_some_and(|left| left > 0) => {
                    standing.forbid(format!("streams of job {name} end"));
                }
                Role::Source(_) | Role::Sink(_) | Role::GraphStream(_) => {}
            }
        }
        standing
    }

    /// Adds ranks of a job to others, which must be in the same loop.
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

    fn forbid(&mut self, obstacle: String) {
        self.obstacle.get_or_insert(obstacle);
    }

    /// Adds that of another part of the run.
    fn merge(&mut self, other: Standing, jobs: &[String]) {
        self.digest.merge(&other.digest);
        other.loops.into_iter().for_each(|own| self.add(own, jobs));
        self.obstacle = self.obstacle.take().or(other.obstacle);
        self.left_out = self.left_out.take().or(other.left_out);
    }
}

impl Simulation {
    /// State of all shards of all processes.
    pub(super) fn standing(&mut self, at: Time, processes: &Processes) -> Standing {
        let jobs = &self.names.jobs;
        let mut own = Standing::default();
        self.shards.iter_mut().for_each(|shard| own.merge(Standing::take(shard, at, jobs), jobs));
        let mut all = Standing::default();
        processes.share(own).into_iter().for_each(|part| all.merge(part, jobs));
        all.loops.sort_unstable_by_key(|own| own.job);
        all
    }
}

/// Sum over states that arrivals do not show: of connections, of receive buffers, and of pauses and the round robin of
/// ports.
fn states(shard: &Shard, at: Time) -> u64 {
    let connections = shard.hosts.nics.endpoints.iter().map(|end| {
        let state = end.protocol.send_state(at, &shard.wires.constants);
        let rate = state.rate.map_or(0, |rate| rate.as_bps());
        let other = end.protocol.repeatable_state().unwrap_or(0);
        mix(mix(mix(mix(state.window) ^ state.in_flight) ^ mix(rate) ^ other) ^ u64::from(end.number))
    });
    let ports = shard.wires.ports.entries().map(|(index, port)| {
        let deficits = (0..Priority::COUNT).map(|class| u64::from(port.queue(class).deficit as u32));
        let paused = port.paused();
        let pauses = priorities(paused.priorities).map(|priority| paused.until[priority].since(at).as_ps());
        let channel = u64::from(shard.wires.channels[index].get());
        let start = channel << 16 | u64::from(port.turn) << 8 | u64::from(paused.priorities);
        mix(deficits.chain(pauses).fold(start, |state, word| mix(state) ^ word))
    });
    let backlog = |host: &Host| mix(u64::from(host.id) ^ mix(host.nic.buffer.backlog(at).as_ps()));
    let buffers = shard.hosts.nics.hosts.iter().map(backlog);
    connections.chain(ports).chain(buffers).fold(0, u64::wrapping_add)
}

/// Key of state, or of random draws, that no digest shows.
fn left_out(shard: &Shard) -> Option<&'static str> {
    let (wires, switches, constants) = (&shard.wires, &shard.switches, &shard.wires.constants);
    let (nic, host) = (&constants.params.nic, &constants.params.host);
    let has_history = || shard.hosts.nics.endpoints.iter().any(|end| end.protocol.repeatable_state().is_none());
    let keys = [
        ("host.noise", host.noise.is_some()),
        ("host.cores", host.cores.is_some()),
        ("nic.command_stall", nic.command_stall.is_some()),
        ("run.fidelity", wires.fluid.is_some()),
        ("routing", constants.packet_routing.is_some()),
        ("flow_control.credits", wires.credits.are_used()),
        ("flow_control.pfc.watchdog", constants.watchdog.is_some()),
        ("switch", wires.impaired_links.iter().next().is_some() || switches.learning.is_some()),
        ("switch.buffer", wires.totals.dropped > 0),
        ("transport", has_history()),
    ];
    keys.into_iter().find(|&(_, is_used)| is_used).map(|(key, _)| key)
}
