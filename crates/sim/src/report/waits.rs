//! Which ports and ranks wait for what, when a run is stuck.

use etherweave_kernel::Processes;
use etherweave_primitives::ChannelId;

use crate::engine::{Shard, Simulation};
use crate::frame::pause::priorities;
use crate::host::{ANY_SOURCE, ANY_TAG, Receive, Role, Thread};

impl Simulation {
    /// Why no event makes progress: ports that are paused or lack credits, and ranks that wait; on the first process.
    pub(crate) fn waiting_ports_and_ranks(&self, processes: &Processes) -> String {
        let ranks = |shard| self.waiting_ranks(shard);
        let own = (self.waiting_ports(), self.shards.iter().flat_map(ranks).collect::<Vec<_>>());
        let (ports, ranks): (Vec<_>, Vec<_>) = processes.gather(own).into_iter().unzip();
        let (mut ports, mut ranks) = (ports.concat(), ranks.concat());
        ports.sort_by_key(|&(channel, _)| self.names.topology.channel(channel).from);
        ranks.sort_by_key(|&(rank, _)| rank);
        let ports = ports.into_iter().map(|(_, line): (ChannelId, String)| line);
        let ranks = ranks.into_iter().map(|(_, line): ((u32, u32), String)| line);
        ports.chain(ranks).collect::<Vec<_>>().join("\n")
    }

    /// A line for each port and priority that is paused or lacks credits.
    fn waiting_ports(&self) -> Vec<(ChannelId, String)> {
        let mut lines = Vec::new();
        for (shard, index) in self.all_ports() {
            let port = &shard.ports[index];
            let (node, number, peer) = self.port_names(shard.channels[index]);
            let bytes = |priority| match shard.crossbars.are_used() && shard.host_of_port(index).is_none() {
                true => shard.bytes_waiting_for(index, priority),
                false => port.class_states[shard.constants.scheduler.class(priority as u8)].queue.bytes,
            };
            let mut add = |priority, why: &str| {
                let waiting = bytes(priority);
                let line = format!("{node} port {number}: priority {priority} {why} {peer}, {waiting} B wait");
                lines.push((shard.channels[index], line));
            };
            priorities(port.paused().priorities).for_each(|priority| add(priority, "is paused by"));
            shard.credits.waiting(index).for_each(|priority| add(priority, "has no credits from"));
        }
        lines
    }

    /// A line for each rank that waits, by job and rank.
    fn waiting_ranks(&self, shard: &Shard) -> Vec<((u32, u32), String)> {
        let line = |thread: &Thread| {
            let Role::Rank(rank) = &thread.role else { return None };
            Some(((thread.job, rank.rank), self.waiting_rank(shard, thread)?))
        };
        shard.threads.iter().filter_map(line).collect()
    }

    fn waiting_rank(&self, shard: &Shard, thread: &Thread) -> Option<String> {
        let Role::Rank(rank) = &thread.role else { return None };
        let job = &self.names.jobs[thread.job as usize];
        let host = self.host_name(shard.hosts[thread.host].id);
        if let Some(failure) = rank.graph_failure() {
            return Some(format!("job {job}: rank {} on {host} cannot go on: {failure}", rank.rank));
        }
        if rank.is_done || rank.open_requests() == 0 {
            return None;
        }
        let is_graph = rank.performs_graph();
        let from = |receive: &Receive| {
            let source = match receive.envelope.endpoint {
                ANY_SOURCE => "any rank".to_owned(),
                endpoint => format!("rank {}", rank.peer_of(endpoint).unwrap_or(u32::MAX)),
            };
            let tag = match receive.envelope.tag {
                ANY_TAG => "any tag".to_owned(),
                tag => format!("tag {tag}"),
            };
            let operation = if is_graph { format!(" (operation {})", receive.node) } else { String::new() };
            format!("a message of {source} with {tag}{operation}")
        };
        let posted: Vec<String> = rank.matching.posted().iter().take(3).map(from).collect();
        let what = if posted.is_empty() { "sends to complete".to_owned() } else { posted.join(", ") };
        Some(format!("job {job}: rank {} on {host} waits for {} requests: {what}", rank.rank, rank.open_requests()))
    }
}
