//! The switches and which of them are joined, however many links that takes.

use etherweave_primitives::{HostId, SwitchId};

use crate::{Node, Topology};

pub(crate) struct SwitchGraph {
    neighbours: Vec<u32>,
    /// Those of switch `s` are `neighbours[starts[s]..starts[s + 1]]`.
    starts: Vec<usize>,
    /// Hosts by switch.
    pub hosts: Vec<u32>,
    /// Switches with hosts, those with equally many side by side.
    pub access: Vec<u32>,
}

impl SwitchGraph {
    pub fn of(topology: &Topology) -> SwitchGraph {
        let mut graph = SwitchGraph {
            neighbours: Vec::with_capacity(topology.port_channels()),
            starts: vec![0],
            hosts: vec![0; topology.switches()],
            access: Vec::new(),
        };
        let mut joined = Vec::new();
        for switch in (0..topology.switches()).map(SwitchId::from_index) {
            joined.clear();
            joined
                .extend(topology.out_channels(switch).iter().filter_map(|&id| switch_at(topology.channel(id).to.node)));
            joined.sort_unstable();
            joined.dedup();
            graph.neighbours.extend_from_slice(&joined);
            graph.starts.push(graph.neighbours.len());
        }
        for host in (0..topology.hosts()).map(HostId::from_index) {
            graph.hosts[topology.switch_of(host).index()] += 1;
        }
        graph.access = (0..topology.switches() as u32).filter(|&switch| graph.hosts[switch as usize] > 0).collect();
        graph.access.sort_by_key(|&switch| graph.hosts[switch as usize]);
        graph
    }

    /// How much memory it takes, about [B].
    pub fn memory_bytes(topology: &Topology) -> u64 {
        let switch = size_of::<usize>() + 2 * size_of::<u32>();
        (topology.port_channels() * size_of::<u32>() + topology.switches() * switch) as u64
    }

    pub fn switches(&self) -> usize {
        self.hosts.len()
    }

    /// Neighbourhoods, each pair of switches counted from both ends.
    pub fn adjacencies(&self) -> usize {
        self.neighbours.len()
    }

    pub fn neighbours(&self, switch: usize) -> &[u32] {
        &self.neighbours[self.starts[switch]..self.starts[switch + 1]]
    }
}

fn switch_at(node: Node) -> Option<u32> {
    match node {
        Node::Switch(switch) => Some(switch.get()),
        Node::Host(_) => None,
    }
}
