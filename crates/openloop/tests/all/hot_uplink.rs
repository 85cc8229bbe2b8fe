//! Adaptive routings on trees where one link is slower than those beside it: what the shared suite of the family does
//! not see, as it asks only where packets may go.

use crate::fabric::{links, offered};
use etherweave_openloop::{Links, OfferedTraffic, Pattern, RunParams};
use etherweave_primitives::{BitRate, Duration, SwitchId};
use etherweave_routing::{InputChannel, LoadView, PacketRouting, RoutedPacket, RoutingKind, Visit};
use etherweave_topology::{Family, FatTree, LinkClass, Topology, reverse};
use etherweave_workload::pattern::Shift;

/// A leaf whose first uplink holds so many packets, and all else nothing.
#[derive(Clone, Copy)]
struct FirstUplink(u32);

const FIRST: u8 = 4;

impl LoadView for FirstUplink {
    fn now_ns(&self) -> u64 {
        0
    }

    fn occupancy(&self, port: u8, _channel: u8) -> u32 {
        self.queued(port)
    }

    fn queued(&self, port: u8) -> u32 {
        if port == FIRST { self.0 } else { 0 }
    }

    fn occupancy_at(&self, _switch: u32, _port: u8, _channel: u8) -> u32 {
        0
    }

    fn is_saturated(&self, _switch: u32, _port: u8) -> bool {
        false
    }

    fn is_paused(&self, _port: u8, _channel: u8) -> bool {
        false
    }
}

/// How many packets of 256 take the first uplink of the first leaf while it holds so many packets.
struct TakenBeside(u32);

impl Visit for TakenBeside {
    type Output = usize;

    fn visit<R: PacketRouting>(self, routing: R) -> usize {
        let takes_first = |hash: &u16| {
            let mut packet = RoutedPacket { src: 0, dst: 7, hash: hash * 256, ..RoutedPacket::default() };
            routing.start(&mut packet);
            let at = InputChannel { switch: 0, port: 0, channel: 0, class: LinkClass::Host };
            routing.decide(at, &mut packet, FirstUplink(self.0)).port == FIRST
        };
        (0..256).filter(takes_first).count()
    }
}

/// Accepted load where links have rates of their own.
fn accepted(topology: &Topology, rates: Vec<BitRate>, pattern: &Pattern, routing: RoutingKind) -> f64 {
    let span = Duration::from_us(100);
    let links = Links { rates, ..links(topology) };
    let run = RunParams::fixed(1.0, span, span, 1);
    let traffic = OfferedTraffic { links, ..offered(topology, pattern.clone(), run) };
    traffic.run_with(routing, 1).unwrap().load_accepted
}

/// Four hosts on each of two leaves, and four cores.
fn tree() -> Topology {
    let tree = FatTree { leaves: 2, hosts_per_leaf: 4, cores: 4, links_per_core: 1, ..FatTree::default() };
    tree.generate().unwrap()
}

/// Routings that look at queues: a full uplink changes what they do.
fn adaptive() -> Vec<RoutingKind> {
    let topology = tree();
    let taken = |kind: RoutingKind, queue| kind.with(&topology, TakenBeside(queue)).ok();
    RoutingKind::all().into_iter().filter(|&kind| taken(kind, 0) != taken(kind, 30)).collect()
}

#[test]
fn a_routing_that_looks_at_queues_leaves_the_longer_one() {
    let topology = tree();
    for kind in adaptive() {
        let [empty, full] = [0, 30].map(|queue| kind.with(&topology, TakenBeside(queue)).unwrap());
        assert!(full == 0 && empty > 0, "{}: {full} take the full uplink, {empty} an empty one", kind.name());
    }
}

#[test]
fn an_adaptive_routing_accepts_no_less_than_spray_beside_a_hot_uplink() {
    // Hosts of each leaf send to the other.
    let topology = tree();
    let pattern = Pattern::Shift(Shift { offset: 4 });
    let up = |leaf: u32| {
        topology
            .out_channels(SwitchId::new(leaf))
            .iter()
            .copied()
            .find(|&id| topology.channel(id).class != LinkClass::Host)
    };
    // A quarter of the rate: up from the first leaf, and down to the second.
    for (place, slow) in [("up", up(0).unwrap()), ("down", reverse(up(1).unwrap()))] {
        let mut rates = links(&topology).rates;
        for channel in [slow, reverse(slow)] {
            rates[channel.index()] = BitRate::from_gbps(10);
        }
        let sprayed = accepted(&topology, rates.clone(), &pattern, RoutingKind::Spray);
        assert!(adaptive().len() >= 2, "{:?}", adaptive());
        for routing in adaptive() {
            let load = accepted(&topology, rates.clone(), &pattern, routing);
            assert!(load >= sprayed, "{place}, {}: {load}, spray {sprayed}", routing.name());
        }
    }
}
