//! Connections between hosts.

use etherweave_primitives::{HostId, InputError, Rank};
use etherweave_workload::{Op, Traffic};

use super::{Experiment, Job, too_large};

/// A connection of a pair of ranks that exchange messages, or a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedConnection {
    /// Job, by its place in the experiment.
    pub job: usize,
    /// Both ranks; of a stream, source and destination.
    pub ranks: [u32; 2],
    /// Stream, by its place in the job; of a pair of ranks, which of its connections this is.
    pub number: u32,
}

impl PlannedConnection {
    /// Whether it is the connection of a rank to itself, by an aggregation tree.
    pub fn is_tree(&self) -> bool {
        self.ranks[0] == self.ranks[1]
    }

    /// The hosts of both ends.
    pub fn hosts(&self, experiment: &Experiment) -> [HostId; 2] {
        self.ranks.map(|rank| experiment.jobs[self.job].hosts[rank as usize])
    }
}

/// Every connection that the jobs need, and every pair of ranks that needs none because they share a host, in an order
/// that depends on nothing else.
pub(super) fn plan(experiment: &Experiment) -> Result<(Vec<PlannedConnection>, Vec<PlannedConnection>), InputError> {
    let mut connections = Vec::new();
    for (number, job) in experiment.jobs.iter().enumerate() {
        match &job.traffic {
            Traffic::Ranks(_) | Traffic::Graphs { .. } => {
                let of_pair = |ranks: [u32; 2]| {
                    let is_neighbour = job.hosts[ranks[0] as usize] == job.hosts[ranks[1] as usize];
                    let count = if is_neighbour && ranks[0] != ranks[1] { 1 } else { job.connections };
                    (0..count).map(move |place| PlannedConnection { job: number, ranks, number: place })
                };
                connections.extend(pairs(&job.traffic).into_iter().flat_map(|(a, b)| of_pair([a, b])));
            }
            Traffic::Streams(streams) => {
                let ends = streams.iter().map(|stream| [stream.src_rank.get(), stream.dst_rank.get()]);
                connections.extend((0..).zip(ends).map(|(place, ranks)| PlannedConnection {
                    job: number,
                    ranks,
                    number: place,
                }));
            }
        }
    }
    let (neighbours, connections): (Vec<_>, Vec<_>) = connections.into_iter().partition(|connection| {
        let [a, b] = connection.hosts(experiment);
        a == b && !connection.is_tree()
    });
    let is_small = connections.len() < 1 << 23;
    if is_small { Ok((connections, neighbours)) } else { Err(too_large("connections")) }
}

/// Ranks that a rank names.
fn peers(traffic: &Traffic, rank: usize, peers: &mut Vec<u32>) {
    match traffic {
        Traffic::Ranks(programs) => {
            peers.extend(programs[rank].distinct_ops().filter_map(Op::peer).map(Rank::get));
        }
        Traffic::Graphs { ranks, .. } => peers.extend(ranks[rank].facts().peers().iter().map(|peer| peer.get())),
        Traffic::Streams(_) => {}
    }
}

/// Pairs of ranks, the lower first, that exchange any message, in order; one that reduces in the network with itself.
fn pairs(traffic: &Traffic) -> Vec<(u32, u32)> {
    let (mut pairs, mut named) = (Vec::new(), Vec::new());
    for rank in 0..traffic.ranks() as usize {
        peers(traffic, rank, &mut named);
        named.sort_unstable();
        named.dedup();
        let rank = rank as u32;
        pairs.extend(named.drain(..).map(|peer| (rank.min(peer), rank.max(peer))));
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// The number of a job's ranks, as its traffic has them.
pub(super) fn ranks(job: &Job) -> usize {
    job.traffic.ranks() as usize
}
