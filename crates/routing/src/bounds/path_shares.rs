//! Shares of channels that packets from one switch to another use, under routings that do not look at queues.

use etherweave_primitives::{ChannelId, SwitchId};
use etherweave_topology::Topology;

use super::walk::FlowWalk;
use crate::{Oblivious, WalkTarget};

/// Shares of channels, pair of switches by pair.
pub struct PathShares<'a> {
    routing: &'a dyn Oblivious,
    walk: FlowWalk<'a>,
    /// Loads by channel; all zero between two pairs.
    loads: Vec<f64>,
}

impl<'a> PathShares<'a> {
    /// Those of a routing on a fabric.
    pub fn new(topology: &'a Topology, routing: &'a dyn Oblivious) -> PathShares<'a> {
        PathShares { routing, walk: FlowWalk::new(topology, routing), loads: vec![0.0; topology.channels().len()] }
    }

    /// Every channel between switches that packets from a switch to another use, with the share of them that does, in
    /// the order of channels. A packet that uses a channel twice counts twice.
    pub fn between(&mut self, from: SwitchId, to: SwitchId) -> Vec<(ChannelId, f64)> {
        let PathShares { routing, walk, loads } = self;
        let mut starts = Vec::new();
        routing.vias(from.get(), &mut |via, share| {
            walk.start(from.get(), share);
            walk.run(WalkTarget::Via(via), 1.0, loads, &mut |at, share| starts.push((at, share)));
        });
        if starts.is_empty() {
            starts.push((from.get(), 1.0));
        }
        starts.into_iter().for_each(|(at, share)| walk.start(at, share));
        walk.run(WalkTarget::Switch(to.get()), 1.0, loads, &mut |_, _| {});
        let used = |(channel, load): (usize, &mut f64)| {
            let load = std::mem::take(load);
            (load > 0.0).then_some((ChannelId::from_index(channel), load))
        };
        loads.iter_mut().enumerate().filter_map(used).collect()
    }
}

#[cfg(test)]
mod tests {
    use etherweave_topology::{Dragonfly, Family, FatTree};

    use super::*;
    use crate::{ClosPlan, DragonflyPlan, FabricPlan, HashScope, PacketRouting, UpByHash, ValiantGroup};

    #[test]
    fn a_sprayed_pair_of_leaves_uses_all_ports_up_and_down_alike() {
        let tree = FatTree { leaves: 2, hosts_per_leaf: 2, cores: 4, links_per_core: 1, ..FatTree::default() };
        let topology = tree.generate().unwrap();
        let routing = UpByHash { plan: ClosPlan::of(&topology).unwrap(), hash_scope: HashScope::PerPacket };
        let mut shares = PathShares::new(&topology, routing.oblivious().unwrap());
        let [first, second] = [0, 1].map(SwitchId::new);
        let spread = shares.between(first, second);
        assert_eq!(spread.iter().map(|&(_, share)| share).collect::<Vec<_>>(), [0.25; 8]);
        assert_eq!(shares.between(first, first), []);
        assert_eq!(shares.between(first, second), spread);
    }

    /// Through 8 other groups each as likely, of which one is the destination's: a local and a global link on average
    /// times what the groups' sizes say; the sum of shares is the mean number of links.
    #[test]
    fn every_packet_leaves_its_group_by_one_global_link() {
        let topology = Dragonfly::default().generate().unwrap();
        let routing = ValiantGroup { plan: DragonflyPlan::of(&topology).unwrap() };
        let last = SwitchId::from_index(topology.switches() - 1);
        let shares = PathShares::new(&topology, routing.oblivious().unwrap()).between(SwitchId::new(0), last);
        let group = |node| match node {
            etherweave_topology::Node::Switch(at) => topology.coordinates(at)[0],
            etherweave_topology::Node::Host(_) => unreachable!("both ends are switches"),
        };
        let leaving = shares.iter().filter(|&&(channel, _)| {
            let channel = topology.channel(channel);
            group(channel.from.node) == 0 && group(channel.to.node) != 0
        });
        let sum: f64 = leaving.map(|&(_, share)| share).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{sum}");
    }
}
