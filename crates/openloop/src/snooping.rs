//! Switches that sample packets at their congestion points, and snoop the notifications that pass them.

use etherweave_primitives::mix;
use etherweave_routing::PacketRouting;

use crate::{constants::RunConstants, packet::Packet, port::Port, switches::Switches};

impl Switches {
    /// Counts a packet at the congestion point of the output channel that it is granted, and sends a notification to
    /// its source if it is sampled.
    pub fn sample<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, output: usize, id: u32) {
        let (Some(plan), out) = (&constants.notifications, output >> self.shift) else { return };
        if self.is_to_host(out) {
            return;
        }
        let queue = (self.queued(constants, output) + 1) * plan.packet;
        let random = mix(constants.seed ^ u64::from(self.wires.now) << 32 ^ output as u64);
        if self.notifications.points[output].count(&plan.params, plan.packet, queue, random) {
            let packet = Packet { place: output as u32, ..*self.wires.slab.get(id) };
            self.snoop(constants, packet);
        }
    }

    /// Packets in an output queue and before it in the crossbar.
    fn queued<R>(&self, constants: &RunConstants<'_, R>, output: usize) -> u32 {
        let port = &self.ports[output >> self.shift];
        if constants.has_pauses {
            return u32::from(constants.room(port.class) - self.outputs[output].credits);
        }
        port.link_free.saturating_sub(self.wires.now) / constants.link(port.link).packet
    }

    /// A notification about a packet is at the port of its `place`: rules by this port for the packet's destination are
    /// inactive from now on, and the notification goes on to the packet's source.
    pub fn snoop<R: PacketRouting>(&mut self, constants: &RunConstants<'_, R>, packet: Packet) {
        let (Some(plan), Some(tables)) = (&constants.notifications, constants.routing.tables()) else { return };
        let (port, route) = (packet.place as usize >> self.shift, packet.route);
        self.notifications.until[plan.place(port, route.dst)] = self.wires.now + plan.hold;
        let home = usize::from(self.ports[port].home);
        let (switch, in_port) = (self.first_switch + home as u32, (port - home * self.radix) as u8);
        let out = home * self.radix + usize::from(tables.default_port(switch, [route.dst, route.src], in_port));
        if !self.is_to_host(out) {
            let Port { delay, peer, peer_shard, .. } = self.ports[out];
            let at = self.wires.now + constants.crossbar + u32::from(delay);
            self.wires.notify(at, peer_shard, Packet { place: peer << self.shift, ..packet });
        }
    }
}

#[cfg(test)]
mod tests {
    use etherweave_forwarding::{ConditionalTables, FabricTables, TableParams};
    use etherweave_primitives::{BitRate, SwitchId};
    use etherweave_routing::{TableSource, tables::Trigger};
    use etherweave_topology::{Dragonfly, TopologyKind, reverse};

    use super::*;
    use crate::pause::tests::{GLOBAL, LOCAL, experiment, links, offer, small};
    use crate::{notification::tests::notification, params::SwitchParams};

    /// Host 0 has a packet every 200 ns for a group whose link, of 25 Gb/s, is at the second switch.
    ///
    /// ```text
    /// decided at the first switch    200 k; its local link takes a packet in 200 ns, so that two are in its queue
    /// granted at the second          250 + 200 k; its global link takes a packet in 320 ns
    /// queue there, with packet k     (450 + 320 k - now) / 320 + 1: 1, 2, 2, 2, 3, 3 packets for k = 0, ..., 5
    /// k = 5, after 6,000 B, at 1250  3,000 B are more than 2,900: a notification, feedback 100 * 63 / 2900 = 2
    /// at the first switch            1250 + 200 + 50 = 1500: rules inactive until 1850, for packets of 1600 and 1800
    /// next sample                    5,100 to 6,900 B later: the sixth packet that follows is there at 2850
    /// ```
    #[test]
    fn a_switch_that_snoops_a_notification_sends_by_the_alternative_while_it_is_held() {
        let topology = small();
        let kind = TopologyKind::Dragonfly(Dragonfly { p: 2, a: 2, h: 1, ..Dragonfly::default() });
        let trigger = Trigger::Notification(notification(2_900, 0, 6_000, 350));
        let conditional = ConditionalTables { trigger, ..ConditionalTables::default() };
        let params = TableParams { conditional, ..TableParams::default() };
        let tables = FabricTables { kind: &kind, topology: &topology, params: &params }.conditional().unwrap();
        let mut links = links(&topology);
        let slow = topology.out_channels(SwitchId::new(1))[GLOBAL];
        for channel in [slow, reverse(slow)] {
            links.rates[channel.index()] = BitRate::from_gbps(25);
        }
        let mut experiment = experiment(&topology, tables, links);
        experiment.switch = SwitchParams::default();
        let mut prepared = experiment.prepare().unwrap();
        prepared.start();
        let beside = prepared.parts.shards[0].switches.ports[GLOBAL].peer / (2 * 4);
        let mut granted = [Vec::new(), Vec::new()];
        for now in 0..2_801 {
            let busy = |switches: &Switches| [LOCAL, GLOBAL].map(|port| switches.ports[port].busy);
            let before = busy(&prepared.parts.shards[0].switches);
            if now % 200 == 0 {
                offer(&mut prepared, 0, 4 * (3 - beside), 1);
            }
            let shard = &mut prepared.parts.shards[0];
            shard.run(&prepared.constants, now + 1);
            let after = busy(&shard.switches);
            (0..2).filter(|&port| after[port] > before[port]).for_each(|port| granted[port].push(now));
        }
        assert_eq!(granted[1], [1_600, 1_800]);
        let by_default = (0..15).map(|packet| 200 * packet).filter(|at| !granted[1].contains(at));
        assert_eq!(granted[0], by_default.collect::<Vec<u32>>());
    }
}
