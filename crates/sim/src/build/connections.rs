//! Connections between hosts, and their paths.

use etherweave_primitives::{HostId, InputError, Purpose, Rank, Stream};
use etherweave_routing::{FlowKey, path};
use etherweave_workload::{Op, Traffic};

use super::layout::Layout;
use super::{Experiment, Job, Paths, branches, fluid, too_large};
use crate::constants::RunConstants;

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
                    let count = if is_neighbour { 1 } else { job.connections };
                    (0..count).map(move |place| PlannedConnection { job: number, ranks, number: place })
                };
                connections.extend(pairs(&job.traffic).into_iter().flat_map(|(a, b)| of_pair([a, b])));
            }
            Traffic::Streams(streams) => {
                let ends = streams.iter().map(|stream| [stream.src_rank.get(), stream.dst_rank.get()]);
                connections.extend((0..).zip(ends).map(|(place, ranks)| PlannedConnection { job: number, ranks, number: place }));
            }
        }
    }
    let (neighbours, connections): (Vec<_>, Vec<_>) = connections.into_iter().partition(|connection| {
        let [a, b] = connection.hosts(experiment);
        a == b
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

/// Pairs of ranks, the lower first, that exchange any message, in order.
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

/// Appends the egress ports of both directions of every connection to the routes; gives where each begins.
pub(super) fn routes(
    experiment: &Experiment,
    layout: &Layout,
    connections: &[PlannedConnection],
    constants: &mut RunConstants,
) -> Result<Vec<[u32; 2]>, InputError> {
    let topology = &experiment.topology;
    let (routing, selection) = match &experiment.paths {
        Paths::PerFlow { routing, selection } => (routing, selection),
        // Only what distinguishes the two ends of a connection.
        Paths::PerPacket(prepared) => {
            if fluid::is_used(experiment) {
                branches::add(experiment, prepared, layout, connections, constants)?;
            }
            return Ok((0..connections.len() as u32).map(|number| [2 * number, 2 * number + 1]).collect());
        }
    };
    let routes = &mut constants.routes;
    let mut starts = Vec::with_capacity(connections.len());
    for (number, connection) in connections.iter().enumerate() {
        let [a, b] = connection.hosts(experiment);
        let entropy = Stream::new(experiment.params.seed, Purpose::FlowEntropy, number as u64).bits();
        let mut start = [0; 2];
        for (direction, (src, dst)) in [(a, b), (b, a)].into_iter().enumerate() {
            start[direction] = u32::try_from(routes.len()).map_err(|_| too_large("hops of connections"))?;
            let flow = FlowKey { src, dst, entropy };
            let channels =
                path(topology, routing, selection, &flow).map_err(|error| InputError::new("routing", error, ""))?;
            assert!(channels.len() <= topology.switches() + 1, "the path of a flow visits no switch twice");
            routes.extend(channels[1..].iter().map(|&channel| layout.port(topology, channel).1));
        }
        starts.push(start);
    }
    Ok(starts)
}

/// The number of a job's ranks, as its traffic has them.
pub(super) fn ranks(job: &Job) -> usize {
    job.traffic.ranks() as usize
}
