//! Assignment of entities to shards, and the numbers of their ports there.
//!
//! A host lives with its switches, and they with each other where it has several: only links between switches cross
//! shards. Switches are divided in blocks of their order, separately for each distance from the hosts: every shard
//! gets its part of each level, and neighbours stay together. Nodes and ports keep their order within a shard, so
//! simultaneous events of an entity are served alike in every layout.

use etherweave_kernel::indices::PortIndex;
use etherweave_primitives::{ChannelId, HostId, SwitchId};
use etherweave_topology::{Node, Topology};

/// See the module. Nodes are numbered hosts first, then switches.
pub(super) struct Layout {
    /// How many shards there are.
    pub shards: usize,
    /// How many threads may build them: as many as there are shards, or more.
    pub threads: usize,
    shard_of: Vec<u32>,
    first_port: Vec<u32>,
    hosts: usize,
}

impl Layout {
    /// Divides `topology` into at most `threads` shards.
    pub fn new(topology: &Topology, threads: usize) -> Layout {
        let levels = levels(topology);
        let shards = threads.clamp(1, levels.first().map_or(1, Vec::len));
        let mut shard_of = vec![0; topology.hosts() + topology.switches()];
        for level in &levels {
            for (place, neighbourhood) in level.iter().enumerate() {
                for switch in neighbourhood {
                    shard_of[topology.hosts() + switch.index()] = (place * shards / level.len()) as u32;
                }
            }
        }
        for host in hosts(topology) {
            let switch = switches_of(topology, host).next().expect("a host is on a switch");
            shard_of[host.index()] = shard_of[topology.hosts() + switch.index()];
        }
        let first_port = number_ports(topology, shards, &shard_of);
        Layout { shards, threads: shards, shard_of, first_port, hosts: topology.hosts() }
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
    pub fn port(&self, topology: &Topology, channel: ChannelId) -> (usize, PortIndex) {
        let from = topology.channel(channel).from;
        let node = self.index(from.node);
        (self.shard_of[node] as usize, PortIndex::new(self.first_port[node] + u32::from(from.port.get())))
    }

    /// The first port of a host; others stand behind it.
    pub fn host_port(&self, topology: &Topology, host: HostId) -> (usize, PortIndex) {
        self.port(topology, topology.host_channels(host)[0])
    }
}

pub(super) fn nodes(topology: &Topology) -> impl Iterator<Item = Node> {
    let switches = (0..topology.switches()).map(|index| Node::Switch(SwitchId::from_index(index)));
    hosts(topology).map(Node::Host).chain(switches)
}

fn hosts(topology: &Topology) -> impl Iterator<Item = HostId> + use<> {
    (0..topology.hosts()).map(HostId::from_index)
}

/// The switches of a host, by port.
fn switches_of(topology: &Topology, host: HostId) -> impl Iterator<Item = SwitchId> {
    let ends = topology.host_channels(host).iter().map(|&channel| topology.channel(channel).to.node);
    ends.filter_map(|node| match node {
        Node::Switch(switch) => Some(switch),
        Node::Host(_) => None,
    })
}

/// The first switch that each shares hosts with, directly or by others.
fn neighbourhoods(topology: &Topology) -> Vec<SwitchId> {
    let mut first: Vec<SwitchId> = (0..topology.switches()).map(SwitchId::from_index).collect();
    let find = |first: &[SwitchId], mut at: SwitchId| {
        while first[at.index()] != at {
            at = first[at.index()];
        }
        at
    };
    for host in hosts(topology).filter(|_| !topology.is_single_homed()) {
        let ends: Vec<SwitchId> = switches_of(topology, host).map(|switch| find(&first, switch)).collect();
        let lowest = *ends.iter().min().expect("a host is on a switch");
        ends.into_iter().for_each(|end| first[end.index()] = lowest);
    }
    (0..first.len()).map(|at| find(&first, SwitchId::from_index(at))).collect()
}

/// Switches by their distance from the nearest host: first those with hosts, then their neighbours, and so on; within a
/// level, those that share hosts together. Each level is in the order of the topology.
fn levels(topology: &Topology) -> Vec<Vec<Vec<SwitchId>>> {
    let neighbourhoods = neighbourhoods(topology);
    let mut is_listed = vec![false; topology.switches()];
    let mut level: Vec<SwitchId> = hosts(topology).flat_map(|host| switches_of(topology, host)).collect();
    let mut levels = Vec::new();
    loop {
        level.retain(|switch| !std::mem::replace(&mut is_listed[switch.index()], true));
        level.sort_unstable_by_key(|&switch| (neighbourhoods[switch.index()], switch));
        if level.is_empty() {
            return levels;
        }
        let next = level.iter().flat_map(|&switch| neighbours(topology, switch)).collect();
        let listed = std::mem::replace(&mut level, next);
        let are_together = |a: &SwitchId, b: &SwitchId| neighbourhoods[a.index()] == neighbourhoods[b.index()];
        levels.push(listed.chunk_by(are_together).map(<[SwitchId]>::to_vec).collect());
    }
}

fn neighbours(topology: &Topology, switch: SwitchId) -> impl Iterator<Item = SwitchId> {
    let ends = topology.out_channels(Node::Switch(switch)).iter().map(|&channel| topology.channel(channel).to.node);
    ends.filter_map(|node| match node {
        Node::Switch(switch) => Some(switch),
        Node::Host(_) => None,
    })
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
    use etherweave_topology::{Family, FatTree, KAryFatTree};

    #[test]
    fn every_shard_gets_its_part_of_every_level() {
        let topology = KAryFatTree { k: 8, ..KAryFatTree::default() }.generate().unwrap();
        // 32 edge, 32 aggregation, 16 core.
        assert_eq!(levels(&topology).iter().map(Vec::len).collect::<Vec<_>>(), [32, 32, 16]);
        let layout = Layout::new(&topology, 2);
        for level in levels(&topology) {
            let first = level.iter().flatten().filter(|&&switch| layout.shard(switch.into()) == 0).count();
            assert_eq!(2 * first, level.len());
        }
    }

    #[test]
    fn all_links_of_a_host_stay_in_its_shard() {
        let tree = FatTree::default().generate().unwrap();
        for topology in [tree.clone().in_planes(4).unwrap(), tree.on_leaves(2).unwrap()] {
            let layout = Layout::new(&topology, 3);
            assert_eq!(layout.shards, 3);
            for host in hosts(&topology) {
                let shards = switches_of(&topology, host).map(|switch| layout.shard(switch.into()));
                assert!(shards.into_iter().all(|shard| shard == layout.shard(host.into())));
            }
        }
    }

    #[test]
    fn hosts_live_with_their_switch_and_ports_are_numbered_without_gaps() {
        let topology = FatTree::default().generate().unwrap();
        for threads in [1, 2, 7, 100] {
            let layout = Layout::new(&topology, threads);
            assert_eq!(layout.shards, threads.min(8));
            let mut ports: Vec<(usize, PortIndex)> =
                (0..topology.channels().len()).map(|id| layout.port(&topology, ChannelId::from_index(id))).collect();
            ports.sort_unstable();
            for (shard, numbers) in ports.chunk_by(|a, b| a.0 == b.0).enumerate() {
                assert!(numbers.iter().enumerate().all(|(place, &port)| port == (shard, PortIndex::new(place as u32))));
            }
            for host in hosts(&topology) {
                assert_eq!(layout.shard(host.into()), layout.shard(topology.switch_of(host).into()));
            }
        }
    }
}
