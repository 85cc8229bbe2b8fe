//! Which shard an entity belongs to, and the number of its ports there.
//!
//! A host lives with its switch: only links between switches cross shards. Switches with hosts are dealt out in blocks
//! of their order, the others likewise. Nodes and ports keep their order within a shard, so simultaneous events of an
//! entity are served alike in every layout.

use etherweave_primitives::{ChannelId, HostId, SwitchId};
use etherweave_topology::{Node, Topology};

/// See the module. Nodes are numbered hosts first, then switches.
pub(super) struct Layout {
    /// How many shards there are.
    pub shards: usize,
    shard_of: Vec<u32>,
    first_port: Vec<u32>,
    hosts: usize,
}

impl Layout {
    /// Deals `topology` out to at most `threads` shards.
    pub fn new(topology: &Topology, threads: usize) -> Layout {
        let has_hosts = switches_with_hosts(topology);
        let edge = has_hosts.iter().filter(|&&has| has).count();
        let shards = threads.clamp(1, edge.max(1));
        let mut shard_of = vec![0; topology.hosts() + topology.switches()];
        deal(topology, &has_hosts, true, shards, &mut shard_of);
        deal(topology, &has_hosts, false, shards, &mut shard_of);
        for host in hosts(topology) {
            shard_of[host.index()] = shard_of[topology.hosts() + topology.switch_of(host).index()];
        }
        let first_port = number_ports(topology, shards, &shard_of);
        Layout { shards, shard_of, first_port, hosts: topology.hosts() }
    }

    fn index(&self, node: Node) -> usize {
        match node {
            Node::Host(host) => host.index(),
            Node::Switch(switch) => self.hosts + switch.index(),
        }
    }

    /// The shard of a node.
    pub fn shard(&self, node: Node) -> usize {
        self.shard_of[self.index(node)] as usize
    }

    /// The port that sends into a channel: its shard and number there.
    pub fn port(&self, topology: &Topology, channel: ChannelId) -> (usize, u32) {
        let from = topology.channel(channel).from;
        let node = self.index(from.node);
        (self.shard_of[node] as usize, self.first_port[node] + u32::from(from.port.get()))
    }

    /// The port of a host.
    pub fn host_port(&self, topology: &Topology, host: HostId) -> (usize, u32) {
        self.port(topology, topology.host_channel(host))
    }
}

/// All nodes, hosts first.
pub(super) fn nodes(topology: &Topology) -> impl Iterator<Item = Node> {
    let switches = (0..topology.switches()).map(|index| Node::Switch(SwitchId::from_index(index)));
    hosts(topology).map(Node::Host).chain(switches)
}

fn hosts(topology: &Topology) -> impl Iterator<Item = HostId> + use<> {
    (0..topology.hosts()).map(HostId::from_index)
}

fn switches_with_hosts(topology: &Topology) -> Vec<bool> {
    let mut has_hosts = vec![false; topology.switches()];
    hosts(topology).for_each(|host| has_hosts[topology.switch_of(host).index()] = true);
    has_hosts
}

/// Deals the switches that have (or have no) hosts out in equal blocks.
fn deal(topology: &Topology, has_hosts: &[bool], wanted: bool, shards: usize, shard_of: &mut [u32]) {
    let chosen: Vec<usize> = (0..topology.switches()).filter(|&switch| has_hosts[switch] == wanted).collect();
    for (place, &switch) in chosen.iter().enumerate() {
        shard_of[topology.hosts() + switch] = (place * shards / chosen.len()) as u32;
    }
}

fn number_ports(topology: &Topology, shards: usize, shard_of: &[u32]) -> Vec<u32> {
    let mut next = vec![0; shards];
    let number = |(node, &shard): (Node, &u32)| {
        let first = next[shard as usize];
        next[shard as usize] += topology.out_channels(node).len() as u32;
        first
    };
    nodes(topology).zip(shard_of).map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherweave_topology::{Family, FatTree};

    #[test]
    fn hosts_live_with_their_switch_and_ports_are_numbered_without_gaps() {
        let topology = FatTree::default().generate().unwrap();
        for threads in [1, 2, 7, 100] {
            let layout = Layout::new(&topology, threads);
            assert_eq!(layout.shards, threads.min(8));
            let mut ports: Vec<(usize, u32)> =
                (0..topology.channels().len()).map(|id| layout.port(&topology, ChannelId::from_index(id))).collect();
            ports.sort_unstable();
            for (shard, numbers) in ports.chunk_by(|a, b| a.0 == b.0).enumerate() {
                assert!(numbers.iter().enumerate().all(|(place, &port)| port == (shard, place as u32)));
            }
            for host in hosts(&topology) {
                assert_eq!(layout.shard(host.into()), layout.shard(topology.switch_of(host).into()));
            }
        }
    }
}
