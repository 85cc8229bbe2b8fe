//! Far ends of links and connections, which may lie in another process, as a report needs them.

use std::collections::BTreeMap;

use etherweave_engine::port::Port;
use etherweave_host::{Endpoint, ReceivedCounts};
use etherweave_kernel::{Exchange, Processes, indices::EndpointIndex, indices::PortIndex, wire};
use etherweave_primitives::Priority;

use crate::{remote::RunState, run::Simulation};

/// Counts of a port that its peer reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FarPort {
    /// Packets and bytes sent, by priority.
    pub sent: [(u64, u64); Priority::COUNT],
    /// Pause frames received that were damaged.
    pub pauses_damaged: u64,
}

wire! {
    FarPort { sent, pauses_damaged }
}

impl FarPort {
    fn of(port: &Port) -> FarPort {
        let counters = |priority| port.counters(priority);
        FarPort {
            sent: std::array::from_fn(|priority| (counters(priority).tx_packets, counters(priority).tx_bytes)),
            pauses_damaged: port.paused().fcs_errors.iter().sum(),
        }
    }
}

/// The far ends in other processes, by shard and index of the near end.
#[derive(Default)]
pub(super) struct FarEnds {
    ports: BTreeMap<(u32, PortIndex), FarPort>,
    endpoints: BTreeMap<(u32, EndpointIndex), ReceivedCounts>,
}

impl FarEnds {
    /// Exchanges ends of one process: sends each near end to the process that has its far end.
    pub fn of(simulation: &Simulation, processes: &Processes) -> FarEnds {
        let (mut ports, mut endpoints) = (processes.end(), processes.end());
        for shard in &simulation.shards {
            for port in &shard.wires.ports {
                let to = shard.wires.impaired_links.shard_at(port.peer.link);
                if simulation.shard(to).is_none() {
                    let worker = simulation.division.worker_of(to as usize);
                    Exchange::<Vec<_>, RunState>::outboxes(&mut ports)[worker]
                        .push(((to, port.peer.port), FarPort::of(port)));
                }
            }
            for (index, end) in shard.hosts.nics.endpoints.entries() {
                let to = shard.wires.impaired_links.shard_at(end.remote_link);
                if simulation.shard(to).is_none() {
                    let worker = simulation.division.worker_of(to as usize);
                    Exchange::<Vec<_>, RunState>::outboxes(&mut endpoints)[worker]
                        .push(((to, end.remote), shard.hosts.nics.received(index)));
                }
            }
        }
        let mut far = FarEnds::default();
        ports.meet(RunState::default(), |outbox| far.ports.extend(outbox.drain(..)));
        endpoints.meet(RunState::default(), |outbox| far.endpoints.extend(outbox.drain(..)));
        far
    }

    /// The peer of a port.
    pub fn port(&self, simulation: &Simulation, shard: u32, port: PortIndex) -> FarPort {
        let near = simulation.shard(shard).expect("a report is of the shards of its process");
        let peer = near.wires.ports[port].peer;
        let far = simulation
            .shard(near.wires.impaired_links.shard_at(peer.link))
            .map(|far| FarPort::of(&far.wires.ports[peer.port]));
        far.unwrap_or_else(|| self.ports[&(shard, port)].clone())
    }

    /// Returns the counts of data that the other end of a connection has received.
    pub fn received(&self, simulation: &Simulation, shard: u32, endpoint: EndpointIndex) -> ReceivedCounts {
        let near = simulation.shard(shard).expect("a report is of the shards of its process");
        let Endpoint { remote, remote_link, .. } = near.hosts.nics.endpoints[endpoint];
        let far = simulation.shard(near.wires.impaired_links.shard_at(remote_link));
        let received = far.map(|far| far.hosts.nics.received(remote));
        received.unwrap_or_else(|| self.endpoints[&(shard, endpoint)])
    }
}
