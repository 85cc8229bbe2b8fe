//! Ports, ranks and streams of a stuck run, and what each waits for.

use etherweave_engine::frame::pause::priorities;
use etherweave_host::{
    ANY_SOURCE, ANY_TAG, Endpoint, Envelope, RankState, Receive, Role, SinkState, Thread, reason_of_rendezvous,
};
use etherweave_kernel::Processes;
use etherweave_primitives::ChannelId;
use etherweave_workload::GraphOp;

use crate::{run::Simulation, shard::Shard};

/// Most requests of a rank that its line names.
const NAMED_MAX: usize = 3;

type RankKey = (u32, u32);

/// A rank that waits: what its line begins with, and its requests.
type WaitingRank = (RankKey, (String, Vec<String>));

impl Simulation {
    /// Why no event makes progress: ports that are paused or lack credits, and ranks that wait; on the first process.
    pub(crate) fn waiting_ports_and_ranks(&self, processes: &Processes) -> String {
        let ranks = self.shards.iter().flat_map(|shard| self.waiting_ranks(shard)).collect::<Vec<_>>();
        let sends = self.shards.iter().flat_map(waiting_sends).collect::<Vec<_>>();
        let gathered = processes.gather((self.waiting_ports(), (ranks, sends)));
        let (ports, others): (Vec<_>, Vec<_>) = gathered.into_iter().unzip();
        let (ranks, sends): (Vec<_>, Vec<_>) = others.into_iter().unzip();
        let (mut ports, mut ranks, sends) = (ports.concat(), ranks.concat(), sends.concat());
        ports.sort_by_key(|&(channel, _)| self.names.topology.channel(channel).from);
        ranks.sort_by_key(|&(rank, _)| rank);
        let ports = ports.into_iter().map(|(_, line): (ChannelId, String)| line);
        let ranks = ranks.into_iter().map(|rank| rank_line(rank, &sends));
        let cycle = self.deadlock.iter().map(|cycle| format!("Deadlock: {cycle} wait for each other"));
        cycle.chain(ports).chain(ranks).collect::<Vec<_>>().join("\n")
    }

    /// A line for each port and priority that is paused or lacks credits.
    fn waiting_ports(&self) -> Vec<(ChannelId, String)> {
        let mut lines = Vec::new();
        for (shard, index) in self.all_ports() {
            let port = &shard.wires.ports[index];
            let (node, number, peer) = self.port_names(shard.wires.channels[index]);
            let bytes =
                |priority| match shard.switches.crossbars.are_used() && shard.wires.host_of_port(index).is_none() {
                    true => shard.switches.bytes_waiting_for(index, priority),
                    false => port.queue(shard.wires.constants.scheduler.class(priority as u8)).bytes,
                };
            let mut add = |priority, why: &str| {
                let waiting = bytes(priority);
                let line = format!("{node} port {number}: priority {priority} {why} {peer}, {waiting} B wait");
                lines.push((shard.wires.channels[index], line));
            };
            priorities(port.paused().priorities).for_each(|priority| add(priority, "is paused by"));
            shard.wires.credits.waiting(index).for_each(|priority| add(priority, "has no credits from"));
        }
        lines
    }

    /// Ranks that wait, with their receives; of a graph with their sends too.
    fn waiting_ranks(&self, shard: &Shard) -> Vec<WaitingRank> {
        let ranks = shard.hosts.processors.threads.iter().filter_map(|thread| match &thread.role {
            Role::Rank(rank) => Some(((thread.job, rank.rank), self.waiting_rank(shard, thread, rank)?)),
            Role::Sink(sink) => {
                Some(((thread.job, sink.stream), (self.waiting_sink(shard, thread, sink)?, Vec::new())))
            }
            Role::GraphStream(_) | Role::Source(_) => None,
        });
        ranks.collect()
    }

    /// The line of a stream that has an end and has not arrived whole.
    fn waiting_sink(&self, shard: &Shard, thread: &Thread, sink: &SinkState) -> Option<String> {
        let Endpoint { hosts: (destination, source), intake, .. } = shard.hosts.nics.endpoints[sink.endpoint];
        let total = sink.total.filter(|&total| intake.bytes < total)?;
        let (job, [source, destination]) =
            (&self.names.jobs[thread.job as usize], [source, destination].map(|host| self.host_name(host)));
        let arrived = intake.bytes;
        Some(format!("job {job}: {destination} has {arrived} of {total} B of a stream from {source}"))
    }

    fn waiting_rank(&self, shard: &Shard, thread: &Thread, rank: &RankState) -> Option<(String, Vec<String>)> {
        let job = &self.names.jobs[thread.job as usize];
        let host = self.host_name(shard.hosts.nics.hosts[thread.host].id);
        let head = format!("job {job}: rank {} on {host}", rank.rank);
        if let Some(failure) = rank.graph_failure() {
            return Some((format!("{head} cannot go on: {failure}"), Vec::new()));
        }
        let requests = match rank.open_requests() {
            _ if rank.is_done => return None,
            0 => return None,
            1 => "1 request".to_owned(),
            count => format!("{count} requests"),
        };
        let receives = rank.matching.posted().iter().map(|receive| posted_receive(rank, receive));
        let matched = rank.matched_operations().map(|(node, op)| graph_request(shard, thread.job, rank, node, op));
        Some((format!("{head} waits for {requests}"), receives.chain(matched).take(NAMED_MAX).collect()))
    }
}

/// Sends of sequences whose request has arrived and that no receive takes, by their sender: a sequence counts its
/// requests only.
fn waiting_sends(shard: &Shard) -> Vec<(RankKey, String)> {
    let sends = |thread: &Thread| match &thread.role {
        Role::Rank(rank) if !rank.performs_graph() => unmatched_sends(shard, thread.job, rank),
        Role::Rank(_) | Role::GraphStream(_) | Role::Source(_) | Role::Sink(_) => Vec::new(),
    };
    shard.hosts.processors.threads.iter().flat_map(sends).collect()
}

/// Sends to a rank that none of its receives takes, by their sender.
fn unmatched_sends(shard: &Shard, job: u32, rank: &RankState) -> Vec<(RankKey, String)> {
    let waiting = rank.matching.unexpected().iter().filter(|message| message.is_rendezvous);
    let named = waiting.filter_map(|message| {
        let Envelope { endpoint, tag } = message.envelope;
        let send = send_text(rank.rank, tag, message.bytes);
        Some((
            (job, rank.peer_of(endpoint)?),
            format!("{send}, {}", reason_of_rendezvous(&shard.wires.constants, job, endpoint)),
        ))
    });
    named.collect()
}

fn rank_line((rank, (head, requests)): WaitingRank, sends: &[(RankKey, String)]) -> String {
    let sends = sends.iter().filter(|(sender, _)| *sender == rank).map(|(_, send)| send.clone());
    let named: Vec<String> = requests.into_iter().chain(sends).take(NAMED_MAX).collect();
    match (named.is_empty(), head.contains(" waits for ")) {
        (false, _) => format!("{head}: {}", named.join(", ")),
        (true, true) => format!("{head}: sends to complete"),
        (true, false) => head,
    }
}

fn send_text(peer: u32, tag: u32, bytes: u64) -> String {
    format!("a send of {bytes} B to rank {peer} with tag {tag}")
}

/// A receive that no message matches.
fn posted_receive(rank: &RankState, receive: &Receive) -> String {
    let source = match receive.envelope.endpoint {
        ANY_SOURCE => "any rank".to_owned(),
        endpoint => format!("rank {}", rank.peer_of(endpoint).unwrap_or(u32::MAX)),
    };
    let tag = match receive.envelope.tag {
        ANY_TAG => "any tag".to_owned(),
        tag => format!("tag {tag}"),
    };
    let operation = if rank.performs_graph() { format!(" (operation {})", receive.node) } else { String::new() };
    format!("a message of {source} with {tag}{operation}")
}

/// An operation of a graph whose message is not complete.
fn graph_request(shard: &Shard, job: u32, rank: &RankState, node: u32, op: GraphOp) -> String {
    match op {
        GraphOp::Send { peer, tag, bytes } => {
            let reason = rank
                .endpoint_to(peer.get())
                .map(|endpoint| reason_of_rendezvous(&shard.wires.constants, job, endpoint));
            let send = send_text(peer.get(), tag, bytes);
            format!("{send} (operation {node}), {}", reason.unwrap_or_default())
        }
        GraphOp::Receive { bytes, .. } => format!("{bytes} B of a message (operation {node})"),
        GraphOp::Compute { .. } | GraphOp::Copy { .. } | GraphOp::Transfer { .. } | GraphOp::Repeat { .. } => {
            unreachable!("only messages are requests")
        }
    }
}
