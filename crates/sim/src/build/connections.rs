//! Connections between hosts.

use etherweave_engine::event::EventKey;
use etherweave_primitives::{HostId, InputError};
use etherweave_workload::{Traffic, collective::communicator_of};

use super::{Experiment, Job, PairConnections, too_large};

/// A connection of a pair of ranks that exchange messages, or a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedConnection {
    /// Job, by its place in the experiment.
    pub job: usize,
    /// Both ranks; of a stream, source and destination.
    pub ranks: [u32; 2],
    /// Stream, by its place in the job; of a pair of ranks, which of its connections this is.
    pub number: u32,
    /// The communicator whose messages it carries, where others have connections of their own.
    pub communicator: Option<u8>,
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
                for (ranks, communicators) in pairs(&job.traffic) {
                    let is_neighbour = job.hosts[ranks[0] as usize] == job.hosts[ranks[1] as usize];
                    let choice =
                        if is_neighbour && ranks[0] != ranks[1] { PairConnections::InTurn(1) } else { job.connections };
                    let own =
                        |(place, communicator)| PlannedConnection { job: number, ranks, number: place, communicator };
                    match choice {
                        PairConnections::InTurn(count) => {
                            connections.extend((0..count).map(|place| own((place, None))))
                        }
                        PairConnections::PerCommunicator => {
                            let used = (0..32).filter(|number| communicators >> number & 1 == 1).map(Some);
                            connections.extend((0..).zip(used).map(own));
                        }
                    }
                }
            }
            Traffic::Streams(streams) => {
                let ends = streams.iter().map(|stream| [stream.src_rank.get(), stream.dst_rank.get()]);
                connections.extend((0..).zip(ends).map(|(place, ranks)| PlannedConnection {
                    job: number,
                    ranks,
                    number: place,
                    communicator: None,
                }));
            }
        }
    }
    let (neighbours, connections): (Vec<_>, Vec<_>) = connections.into_iter().partition(|connection| {
        let [a, b] = connection.hosts(experiment);
        a == b && !connection.is_tree()
    });
    let is_small = connections.len() < EventKey::INDICES as usize / 2;
    if is_small { Ok((connections, neighbours)) } else { Err(too_large("connections")) }
}

/// Ranks that a rank names, with the communicators of its messages with them, as bits.
fn peers(traffic: &Traffic, rank: usize, peers: &mut Vec<(u32, u32)>) {
    match traffic {
        Traffic::Ranks(programs) => {
            let ops = programs[rank].distinct_ops();
            peers.extend(ops.filter_map(|op| Some((op.peer()?.get(), 1 << communicator_of(op.tag().unwrap_or(0))))));
        }
        Traffic::Graphs { ranks, .. } => {
            peers.extend(ranks[rank].facts().communicators().map(|(peer, communicators)| (peer.get(), communicators)));
        }
        Traffic::Streams(_) => {}
    }
}

/// Pairs of ranks, the lower first, that exchange any message, in order, with the communicators of all these;
/// one that reduces in the network with itself.
fn pairs(traffic: &Traffic) -> Vec<([u32; 2], u32)> {
    let (mut pairs, mut named) = (Vec::new(), Vec::new());
    for rank in 0..traffic.ranks() as usize {
        peers(traffic, rank, &mut named);
        merge(&mut named);
        let rank = rank as u32;
        pairs.extend(named.drain(..).map(|(peer, communicators)| ([rank.min(peer), rank.max(peer)], communicators)));
    }
    merge(&mut pairs);
    pairs
}

fn merge<K: Ord>(keys: &mut Vec<(K, u32)>) {
    keys.sort_unstable();
    keys.dedup_by(|(key, bits), (earlier, all)| {
        *all |= if key == earlier { *bits } else { 0 };
        key == earlier
    });
}

/// The number of a job's ranks, as its traffic has them.
pub(super) fn ranks(job: &Job) -> usize {
    job.traffic.ranks() as usize
}
