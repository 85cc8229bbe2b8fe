//! Shares of hops on a dragonfly, as [`DragonflyPlan`] takes them by hash.

use crate::routing::{DragonflyMinimal, DragonflyPlan, Oblivious, ValiantGroup, ValiantSwitch, WalkTarget};

impl Oblivious for DragonflyMinimal {
    fn hops(&self, at: u32, target: WalkTarget, each: &mut dyn FnMut(u8, f64)) {
        hops(&self.plan, at, target, each);
    }
}

impl Oblivious for ValiantGroup {
    /// Every other group alike, that of the destination included; packets within the group go by another one too.
    fn vias(&self, from: u32, each: &mut dyn FnMut(u32, f64)) {
        let groups = self.plan.groups();
        let others = (0..groups).filter(|&group| !self.plan.is_in(from, group as u16));
        others.for_each(|group| each(group, 1.0 / f64::from(groups - 1)));
    }

    fn hops(&self, at: u32, target: WalkTarget, each: &mut dyn FnMut(u8, f64)) {
        hops(&self.plan, at, target, each);
    }
}

impl Oblivious for ValiantSwitch {
    /// Every switch of every other group alike.
    fn vias(&self, from: u32, each: &mut dyn FnMut(u32, f64)) {
        let switches = self.plan.groups() * self.plan.switches_per_group();
        let [group, _] = self.plan.place(from);
        let others = switches - self.plan.switches_per_group();
        let elsewhere = (0..switches).filter(|&switch| !self.plan.is_in(switch, group));
        elsewhere.for_each(|switch| each(switch, 1.0 / f64::from(others)));
    }

    fn hops(&self, at: u32, target: WalkTarget, each: &mut dyn FnMut(u8, f64)) {
        let (WalkTarget::Via(to) | WalkTarget::Switch(to)) = target;
        hops(&self.plan, at, WalkTarget::Switch(to), each);
    }
}

fn hops(plan: &DragonflyPlan, at: u32, target: WalkTarget, each: &mut dyn FnMut(u8, f64)) {
    let [group, place] = plan.place(at);
    match target {
        WalkTarget::Via(target) if target != u32::from(group) => out(plan, at, target as u16, each),
        WalkTarget::Via(_) => {}
        WalkTarget::Switch(to) => match plan.place(to) {
            [target, _] if target != group => out(plan, at, target, each),
            [_, to] if to != place => each(plan.local(place, to), 1.0),
            _ => {}
        },
    }
}

/// To another group: a gateway, then its ports, all alike.
fn out(plan: &DragonflyPlan, at: u32, target: u16, each: &mut dyn FnMut(u8, f64)) {
    let [group, place] = plan.place(at);
    let gateways = plan.gateways(group, place, target);
    let share = 1.0 / gateways.len() as f64;
    for gateway in gateways {
        if gateway.switch == place {
            gateway.ports().for_each(|port| each(port, share / gateway.ports().len() as f64));
        } else {
            each(plan.local(place, gateway.switch), share);
        }
    }
}

#[cfg(test)]
mod tests {
    use etherweave_primitives::{HostId, Port, SwitchId, Time};
    use etherweave_topology::{Arrangement, Dragonfly, Family, LinkClass, Node, Topology};
    use etherweave_workload::HostGroups;
    use etherweave_workload::pattern::Listed;

    use super::super::ChannelLoads;
    use super::*;
    use crate::load_view::LoadView;
    use crate::outage::Outages;
    use crate::packet::Packet;
    use crate::routing::{FabricPlan, InputChannel, Routing};
    use crate::{Pattern, groups};

    /// Follows the packets of a pair with every hash, and counts the share of them on every channel.
    fn followed(topology: &Topology, routing: &impl Routing, [src, dst]: [u32; 2]) -> Vec<f64> {
        let mut shares = vec![0.0; topology.channels().len()];
        for hash in 0..=u16::MAX {
            let (born, entered, next, place) = (0, 0, 0, 0);
            let (route_state, hops, is_misrouted) = ([0; 2], 0, false);
            let mut packet = Packet { born, entered, next, place, dst, src, route_state, hash, hops, is_misrouted };
            routing.start(&mut packet);
            let mut channel = topology.host_channel(HostId::new(src));
            while let Node::Switch(switch) = topology.channel(channel).to.node {
                shares[channel.index()] += 1.0 / 65_536.0;
                let class = topology.channel(channel).class;
                let at = InputChannel { switch: switch.get(), port: 0, channel: packet.hops.min(2), class };
                let hop = routing.decide(at, &mut packet, empty());
                channel = topology.out_channel(SwitchId::new(at.switch), Port::new(u16::from(hop.port)));
                packet.hops += 1;
            }
            assert_eq!(topology.channel(channel).to.node, Node::Host(HostId::new(dst)));
            shares[channel.index()] += 1.0 / 65_536.0;
        }
        shares
    }

    fn empty() -> LoadView<'static> {
        static NONE: Outages = Outages::NONE;
        let (base, radix, first_switch, room, shift, now, full) = (0, 0, 0, [0; 3], 0, 0, 0);
        let (channel_last, outages) = (u8::MAX, &NONE);
        let (ports, outputs, queues) = (&[], &[], &[]);
        LoadView { ports, outputs, queues, channel_last, outages, base, radix, first_switch, room, shift, now, full }
    }

    fn check(topology: &Topology, routing: &impl Routing, groups: &HostGroups, room: f64) {
        for pair in [[0, 1], [0, 7], [1, 9], [5, 20], [22, 3]] {
            let destinations = Pattern::Listed(Listed { pairs: vec![pair] }).plan(groups, 1).unwrap();
            let loads = ChannelLoads::new(topology, routing.oblivious().unwrap(), &destinations, Time::ZERO).unwrap();
            for (channel, followed) in followed(topology, routing, pair).into_iter().enumerate() {
                let load = loads.of(etherweave_primitives::ChannelId::from_index(channel));
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
            let groups = groups(&topology).unwrap();
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
}
