//! The order of the switches by height.

use std::cmp::Reverse;

use etherweave_primitives::{ChannelId, SwitchId};
use etherweave_topology::{Topology, reverse};

use crate::kind::shortest_path::{distances, switch_after};

/// A total order of the switches.
pub(crate) struct Order {
    pub highest_first: Vec<SwitchId>,
    /// Heights by switch; the highest is the largest.
    pub heights: Vec<u32>,
}

impl Order {
    /// Orders switches by a key and, where it is the same, by id.
    fn by<Key: Ord>(topology: &Topology, key: impl Fn(SwitchId) -> Key) -> Order {
        let mut lowest_first: Vec<SwitchId> = (0..topology.switches()).map(SwitchId::from_index).collect();
        lowest_first.sort_by_key(|&switch| (key(switch), switch));
        let mut heights = vec![0; topology.switches()];
        (0..).zip(&lowest_first).for_each(|(height, switch)| heights[switch.index()] = height);
        Order { highest_first: lowest_first.into_iter().rev().collect(), heights }
    }

    /// Orders switches by level above the hosts.
    pub fn by_level(topology: &Topology) -> Order {
        Order::by(topology, |switch| topology.level(switch))
    }

    /// The nearer to the highest switch by level, the higher.
    pub fn by_root(topology: &Topology) -> Order {
        let distances = distances(topology, Order::by_level(topology).highest_first[0]);
        Order::by(topology, |switch| Reverse(distances[switch.index()]))
    }

    /// Whether a channel between switches leads to a higher one.
    pub fn is_up(&self, topology: &Topology, channel: ChannelId) -> bool {
        let (from, to) = (switch_after(topology, reverse(channel)), switch_after(topology, channel));
        self.heights[to.index()] > self.heights[from.index()]
    }
}
