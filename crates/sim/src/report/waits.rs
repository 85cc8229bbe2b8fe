//! Which ports and ranks wait for what, when a run is stuck.

use crate::engine::{Shard, Simulation};
use crate::frame::pause::priorities;
use crate::host::{Envelope, Role, Thread};

impl Simulation {
    /// Why no event makes progress: ports that are paused or lack credits, and ranks that wait.
    pub(crate) fn waiting_ports_and_ranks(&self) -> String {
        let mut lines = Vec::new();
        for (shard, index) in self.all_ports() {
            let port = &shard.ports[index];
            for priority in priorities(port.paused().priorities) {
                let queue = &port.class_states[shard.constants.scheduler.class(priority as u8)].queue;
                let (node, number, peer) = self.port_names(shard.channels[index]);
                let bytes = queue.bytes;
                lines.push(format!("{node} port {number}: priority {priority} is paused by {peer}, {bytes} B wait"));
            }
            for priority in shard.credits.waiting(index) {
                let bytes = port.class_states[shard.constants.scheduler.class(priority as u8)].queue.bytes;
                let (node, number, peer) = self.port_names(shard.channels[index]);
                let line =
                    format!("{node} port {number}: priority {priority} has no credits from {peer}, {bytes} B wait");
                lines.push(line);
            }
        }
        for shard in &self.shards {
            lines.extend(shard.threads.iter().filter_map(|thread| self.waiting_rank(shard, thread)));
        }
        lines.join("\n")
    }

    fn waiting_rank(&self, shard: &Shard, thread: &Thread) -> Option<String> {
        let Role::Rank(rank) = &thread.role else { return None };
        if rank.is_done || rank.outstanding == 0 {
            return None;
        }
        let job = &self.names.jobs[thread.job as usize];
        let host = self.host_name(shard.hosts[thread.host as usize].id);
        let from = |envelope: &Envelope| {
            format!(
                "a message of rank {} with tag {}",
                rank.peer_of(envelope.endpoint).unwrap_or(u32::MAX),
                envelope.tag
            )
        };
        let posted: Vec<String> = rank.matching.posted().iter().take(3).map(from).collect();
        let what = if posted.is_empty() { "sends to complete".to_owned() } else { posted.join(", ") };
        Some(format!("job {job}: rank {} on {host} waits for {} requests: {what}", rank.rank, rank.outstanding))
    }
}
