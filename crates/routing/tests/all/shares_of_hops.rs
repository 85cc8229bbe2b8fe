//! Expected loads of channels are what packets with every hash put on them.

use etherweave_primitives::{ChannelId, HostId, Port, SwitchId, Time};
use etherweave_routing::bounds::{ChannelLoads, host_groups};
use etherweave_routing::{
    DragonflyMinimal, DragonflyPlan, FabricPlan, InputChannel, PacketRouting, RoutedPacket, ValiantGroup, ValiantSwitch,
};
use etherweave_topology::{Arrangement, Dragonfly, Family, LinkClass, Node, Topology};
use etherweave_workload::{HostGroups, Pattern, pattern::Listed};

use crate::common::NO_LOAD;

/// Follows the packets of a pair with every hash, and counts the share of them on every channel.
fn followed(topology: &Topology, routing: &impl PacketRouting, [src, dst]: [u32; 2]) -> Vec<f64> {
    let mut shares = vec![0.0; topology.channels().len()];
    for hash in 0..=u16::MAX {
        let mut packet = RoutedPacket { dst, src, hash, ..RoutedPacket::default() };
        routing.start(&mut packet);
        let mut channel = topology.host_channel(HostId::new(src));
        while let Node::Switch(switch) = topology.channel(channel).to.node {
            shares[channel.index()] += 1.0 / 65_536.0;
            let class = topology.channel(channel).class;
            let at = InputChannel { switch: switch.get(), port: 0, channel: packet.hops.min(2), class };
            let hop = routing.decide(at, &mut packet, NO_LOAD);
            channel = topology.out_channel(SwitchId::new(at.switch), Port::new(u16::from(hop.port)));
            packet.hops += 1;
        }
        assert_eq!(topology.channel(channel).to.node, Node::Host(HostId::new(dst)));
        shares[channel.index()] += 1.0 / 65_536.0;
    }
    shares
}

fn check(topology: &Topology, routing: &impl PacketRouting, groups: &HostGroups, room: f64) {
    for pair in [[0, 1], [0, 7], [1, 9], [5, 20], [22, 3]] {
        let destinations = Pattern::Listed(Listed { pairs: vec![pair] }).plan(groups, 1).unwrap();
        let loads = ChannelLoads::new(topology, &[], routing.oblivious().unwrap(), &destinations, Time::ZERO).unwrap();
        for (channel, followed) in followed(topology, routing, pair).into_iter().enumerate() {
            let load = loads.of(ChannelId::from_index(channel));
            assert!((load - followed).abs() <= room, "{pair:?}, channel {channel}: {load}, but {followed}");
        }
    }
}

#[test]
fn loads_are_the_shares_of_all_hashes() {
    for (groups_wanted, arrangement) in [
        (None, Arrangement::PalmTree),
        (Some(3), Arrangement::PalmTree),
        (Some(4), Arrangement::Consecutive),
        (Some(5), Arrangement::Random { seed: 1 }),
    ] {
        let dragonfly = Dragonfly { p: 2, a: 4, h: 3, groups: groups_wanted, arrangement, ..Dragonfly::default() };
        let topology = dragonfly.generate().unwrap();
        let plan = DragonflyPlan::of(&topology).unwrap();
        assert!(topology.channels().iter().any(|channel| channel.class == LinkClass::Global));
        let groups = host_groups(&topology).unwrap();
        let others = f64::from(plan.groups() - 1);
        // A gateway and a port by eight bits each: neither share is wrong by more than one of 256 values.
        check(&topology, &DragonflyMinimal { plan: plan.clone() }, &groups, 2.0 / 256.0);
        // Hashes of one intermediate group have 65,536 / others values, so many fewer in the upper eight bits; a
        // channel is used at most once on each of the two parts.
        let room = 2.0 * (2.0 / (256.0 / others).floor());
        check(&topology, &ValiantGroup { plan: plan.clone() }, &groups, room);
        // The switch in that group is drawn from all bits mixed.
        check(&topology, &ValiantSwitch { plan }, &groups, room);
    }
}
