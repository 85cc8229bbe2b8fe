//! Debug builds: every decision is checked against the order that keeps a routing free of deadlock.

use etherweave_primitives::{InputError, Port, SwitchId};
use etherweave_topology::{LinkClass, Node, Topology};

use super::{
    HashScope, InputChannel, KnownTraffic, LoadScope, LoadView, MeasuredGroups, Neighbourhood, NextHop, Oblivious,
    OutputChannel, PacketRouting, RoutedPacket, Saturation, tables::CompiledTables, tables::Trigger,
};

/// A routing that panics when it takes a channel that does not rank above the one by which the packet came.
pub(crate) struct Checked<R> {
    routing: R,
    /// Links by switch, then port: the far end's switch and port, and the class of the link.
    links: Vec<Vec<Link>>,
    /// Priorities that ports have; the last may carry several channels.
    priorities: u8,
}

struct Link {
    far: Option<(u32, u8)>,
    class: LinkClass,
}

impl<R> Checked<R> {
    pub fn new(routing: R, topology: &Topology) -> Checked<R> {
        let link = |&id| {
            let channel = topology.channel(id);
            let far = match channel.to.node {
                Node::Switch(there) => Some((there.get(), channel.to.port.get() as u8)),
                Node::Host(_) => None,
            };
            Link { far, class: channel.class }
        };
        let links = |at: usize| topology.out_channels(SwitchId::from_index(at)).iter().map(link).collect();
        Checked { routing, links: (0..topology.switches()).map(links).collect(), priorities: u8::MAX }
    }

    fn link(&self, switch: u32, port: u8) -> &Link {
        &self.links[switch as usize][Port::new(u16::from(port)).index()]
    }

    /// The channel of the switch before, by which a packet came; none from a host, or where it is not known.
    fn arrival(&self, at: InputChannel) -> Option<OutputChannel>
    where
        R: PacketRouting,
    {
        if at.channel + 1 == self.priorities && self.priorities < self.routing.channels() {
            return None;
        }
        let link = self.link(at.switch, at.port);
        link.far.map(|(switch, port)| OutputChannel { switch, port, channel: at.channel, class: link.class })
    }
}

impl<R: PacketRouting> PacketRouting for Checked<R> {
    fn channels(&self) -> u8 {
        self.routing.channels()
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        self.routing.rank(out)
    }

    fn links_max(&self) -> Option<u32> {
        self.routing.links_max()
    }

    fn hash_scope(&self) -> HashScope {
        self.routing.hash_scope()
    }

    fn saturation(&self) -> Option<Saturation> {
        self.routing.saturation()
    }

    fn neighbourhood(&self) -> Neighbourhood {
        self.routing.neighbourhood()
    }

    fn knows_traffic(&self) -> bool {
        self.routing.knows_traffic()
    }

    fn measures(&self) -> Option<MeasuredGroups> {
        self.routing.measures()
    }

    fn trigger(&self) -> Option<Trigger> {
        self.routing.trigger()
    }

    fn oblivious(&self) -> Option<&dyn Oblivious> {
        self.routing.oblivious()
    }

    fn load_scope(&self) -> LoadScope {
        self.routing.load_scope()
    }

    fn tables(&self) -> Option<&CompiledTables> {
        self.routing.tables()
    }

    fn learn(&mut self, traffic: impl FnOnce() -> Result<KnownTraffic, InputError>) -> Result<(), InputError> {
        self.routing.learn(traffic)
    }

    fn share_priorities(&mut self, priorities: u8) {
        self.priorities = priorities;
        self.routing.share_priorities(priorities);
    }

    fn start(&self, packet: &mut RoutedPacket) {
        self.routing.start(packet);
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop {
        let hop = self.routing.decide(at, packet, load);
        let link = self.link(at.switch, hop.port);
        let out = OutputChannel { switch: at.switch, port: hop.port, channel: hop.channel, class: link.class };
        if link.far.is_some() {
            assert!(hop.channel < self.channels(), "{out:?} of {} channels", self.channels());
            if let Some(arrival) = self.arrival(at) {
                let [before, after] = [arrival, out].map(|channel| self.rank(channel));
                let rises = before.is_none() || before < after;
                assert!(rises, "{out:?} ranks {after:?}, not above {before:?} of {arrival:?}");
            }
        }
        hop
    }
}

#[cfg(test)]
mod tests {
    use etherweave_topology::{Dragonfly, Family};

    use super::*;
    use crate::{DragonflyMinimal, DragonflyPlan, FabricPlan, per_packet::Idle};

    #[test]
    #[should_panic(expected = "ranks Some(0), not above Some(4)")]
    fn a_packet_that_falls_back_to_a_lower_channel_is_found() {
        // Nine groups of four switches; switch 0 has two hosts, then its neighbours.
        let topology = Dragonfly { p: 2, a: 4, h: 2, ..Dragonfly::default() }.generate().unwrap();
        let routing =
            Checked::new(FallingBack(DragonflyMinimal { plan: DragonflyPlan::of(&topology).unwrap() }), &topology);
        let at = InputChannel { switch: 0, port: 2, channel: 2, class: LinkClass::Local };
        routing.decide(at, &mut RoutedPacket { dst: 5, ..RoutedPacket::default() }, Idle::default());
    }

    /// Minimal routing that forgets to raise the channel.
    struct FallingBack(DragonflyMinimal);

    impl PacketRouting for FallingBack {
        fn channels(&self) -> u8 {
            3
        }

        fn rank(&self, out: OutputChannel) -> Option<u32> {
            self.0.rank(out)
        }

        fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop {
            NextHop { channel: 0, ..self.0.decide(at, packet, load) }
        }
    }
}
