//! Slim Fly: where everything is, by tables of shortest paths, and the routings of Besta and Hoefler, "Slim Fly: a cost
//! effective low-diameter network topology", SC 2014, section IV.
//!
//! A channel for each link of a path (Gopal, "Prevention of store-and-forward deadlock in computer networks", IEEE
//! Trans. Commun. 1985): two for minimal paths, four by an intermediate switch.

use etherweave_primitives::{InputError, SwitchId};
use etherweave_topology::{Node, Topology};

use super::ShortestPath;
use crate::per_packet::choice::{WeightedPort, drawn, least};
use crate::per_packet::{
    FabricPlan, InputChannel, LoadScope, LoadView, Neighbourhood, NextHop, Oblivious, OutputChannel, PacketRouting,
    RoutedPacket, RoutingBasis, WalkTarget, unsuited,
};

/// The place in [`RoutedPacket::route_state`] of the switch to visit first, [`ANYWHERE`] when there is none.
const VIA: usize = 0;
const ANYWHERE: u16 = u16::MAX;
const CHANNELS_MAX: u8 = 8;
/// Intermediate switches that UGAL draws for a packet (section IV-C: "the choice of 4 paths provides the best average
/// packet latency").
const CANDIDATES: u8 = 4;

/// The kind of fabric in words.
const SLIM_FLY: &str = "a Slim Fly of at most 4,096 switches, no two farther than 4 links apart";

/// Shortest paths of a Slim Fly, and what its links lead to.
pub struct SlimFlyPlan {
    paths: ShortestPath,
    /// The switch at the far end of each port of each switch.
    far: Vec<u32>,
    radix: usize,
}

impl FabricPlan for SlimFlyPlan {
    const FABRIC: &'static str = SLIM_FLY;

    fn of(topology: &Topology) -> Result<SlimFlyPlan, InputError> {
        if topology.axes() != ["half", "row", "place"] {
            return Err(unsuited("another fabric".to_owned(), SLIM_FLY));
        }
        let paths = <ShortestPath as RoutingBasis>::of(topology.into())?;
        if 2 * paths.channels() > CHANNELS_MAX {
            return Err(unsuited(format!("one with paths of {} links", paths.channels()), SLIM_FLY));
        }
        let switches = || (0..topology.switches()).map(SwitchId::from_index);
        let radix = switches().map(|at| topology.out_channels(at).len()).max().unwrap_or(0);
        let mut far = vec![u32::MAX; topology.switches() * radix];
        for at in switches() {
            for (port, &id) in topology.out_channels(at).iter().enumerate() {
                if let Node::Switch(there) = topology.channel(id).to.node {
                    far[at.index() * radix + port] = there.get();
                }
            }
        }
        Ok(SlimFlyPlan { paths, far, radix })
    }
}

impl SlimFlyPlan {
    fn switches(&self) -> u32 {
        (self.far.len() / self.radix) as u32
    }

    /// The links of a packet's shortest path between two switches: switch and port.
    fn path(&self, from: u32, to: u32, packet: &RoutedPacket) -> impl Iterator<Item = (u32, u8)> {
        let hash = packet.hash;
        let mut at = from;
        std::iter::from_fn(move || {
            let port = self.paths.port(at, to, hash)?;
            let link = (at, port);
            at = self.far[at as usize * self.radix + usize::from(port)];
            Some(link)
        })
    }

    /// The next hop to the intermediate switch, when there is one, and then home.
    fn next(&self, at: InputChannel, packet: &mut RoutedPacket) -> NextHop {
        if u32::from(packet.route_state[VIA]) == at.switch {
            packet.route_state[VIA] = ANYWHERE;
        }
        let (home, host_port) = self.paths.home(packet.dst);
        let target = match packet.route_state[VIA] {
            ANYWHERE => home,
            via => u32::from(via),
        };
        match self.paths.port(at.switch, target, packet.hash) {
            Some(port) => NextHop { port, channel: packet.hops },
            None => NextHop { port: host_port, channel: 0 },
        }
    }

    /// Draws the intermediate switches of which UGAL compares the paths, and keeps the one with the least `cost`, if
    /// that is below the minimal path's by more than a threshold in the unit of queues: `cost` is of a path by a
    /// switch, absent for the minimal one.
    fn choose(
        &self,
        at: InputChannel,
        packet: &mut RoutedPacket,
        threshold: u32,
        cost: impl Fn(&RoutedPacket, Option<u32>) -> u32,
    ) {
        packet.route_state[VIA] = ANYWHERE;
        if self.paths.home(packet.dst).0 == at.switch {
            return;
        }
        let draw = |number: u8| drawn(&RoutedPacket { hops: u8::MAX - number, ..*packet }, self.switches());
        // Of equal ones the first that was drawn.
        let ranked = (0..CANDIDATES).map(draw).map(|via| (cost(packet, Some(via)), via)).min_by_key(|&(cost, _)| cost);
        if let Some((_, via)) = ranked.filter(|&(cheapest, _)| cheapest + threshold < cost(packet, None)) {
            packet.route_state[VIA] = via as u16;
            packet.is_misrouted = true;
        }
    }

    /// Links of a path by a switch, or of the minimal one.
    fn links(&self, from: u32, packet: &RoutedPacket, via: Option<u32>) -> impl Iterator<Item = (u32, u8)> {
        let (home, _) = self.paths.home(packet.dst);
        let turn = via.unwrap_or(from);
        self.path(from, turn, packet).chain(self.path(turn, home, packet))
    }

    /// Channels of paths by an intermediate switch.
    fn channels_by_another(&self) -> u8 {
        2 * self.paths.channels()
    }
}

/// MIN AD: of several shortest paths by the one with the shortest queue; most pairs of switches have a single one.
pub struct SlimFlyAdaptiveMinimal {
    /// Places of switches and hosts.
    pub plan: SlimFlyPlan,
}

impl PacketRouting for SlimFlyAdaptiveMinimal {
    fn channels(&self) -> u8 {
        self.plan.paths.channels()
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        Some(u32::from(out.channel))
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop {
        let (home, host_port) = self.plan.paths.home(packet.dst);
        let ports = self.plan.paths.ports(at.switch, home).iter();
        let weighed = ports.map(|&port| WeightedPort { port, weight: load.queued(port) });
        let host = NextHop { port: host_port, channel: 0 };
        least(weighed, packet).map_or(host, |choice| NextHop { port: choice.port, channel: packet.hops })
    }
}

/// VAL: to a random switch, each as likely, and from there to the destination (section IV-B).
pub struct SlimFlyValiant {
    /// Places of switches and hosts.
    pub plan: SlimFlyPlan,
}

impl PacketRouting for SlimFlyValiant {
    fn channels(&self) -> u8 {
        self.plan.channels_by_another()
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        Some(u32::from(out.channel))
    }

    fn oblivious(&self) -> Option<&dyn Oblivious> {
        Some(self)
    }

    fn start(&self, packet: &mut RoutedPacket) {
        packet.route_state[VIA] = drawn(packet, self.plan.switches()) as u16;
        packet.is_misrouted = true;
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, _load: L) -> NextHop {
        self.plan.next(at, packet)
    }
}

/// Any switch alike, shortest paths to it and from it.
impl Oblivious for SlimFlyValiant {
    fn vias(&self, _from: u32, each: &mut dyn FnMut(u32, f64)) {
        let switches = self.plan.switches();
        (0..switches).for_each(|via| each(via, 1.0 / f64::from(switches)));
    }

    fn hops(&self, at: u32, target: WalkTarget, each: &mut dyn FnMut(u8, f64)) {
        self.plan.paths.hops(at, target, each);
    }
}

/// UGAL-L: minimal or by one of four random switches, whichever has the least product of its links and the queue of its
/// first link (section IV-C2).
pub struct SlimFlyUgalLocal {
    /// Places of switches and hosts.
    pub plan: SlimFlyPlan,
    /// Lead of the minimal path [packets].
    pub threshold: u32,
}

impl PacketRouting for SlimFlyUgalLocal {
    fn channels(&self) -> u8 {
        self.plan.channels_by_another()
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        Some(u32::from(out.channel))
    }

    fn load_scope(&self) -> LoadScope {
        LoadScope::FirstSwitch
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop {
        if packet.hops == 0 {
            self.plan.choose(at, packet, self.threshold * load.packet_max(), |packet, via| {
                let mut links = self.plan.links(at.switch, packet, via);
                let first = links.next().map_or(0, |(_, port)| load.queued(port));
                first * (1 + links.count() as u32)
            });
        }
        self.plan.next(at, packet)
    }
}

/// UGAL-G: minimal or by one of four random switches, whichever has the least sum of queues along its path; an ideal
/// that knows the queues of all switches (section IV-C1).
pub struct SlimFlyUgalGlobal {
    /// Places of switches and hosts.
    pub plan: SlimFlyPlan,
    /// Lead of the minimal path [packets].
    pub threshold: u32,
}

impl PacketRouting for SlimFlyUgalGlobal {
    fn channels(&self) -> u8 {
        self.plan.channels_by_another()
    }

    fn rank(&self, out: OutputChannel) -> Option<u32> {
        Some(u32::from(out.channel))
    }

    fn load_scope(&self) -> LoadScope {
        LoadScope::FirstSwitch
    }

    fn neighbourhood(&self) -> Neighbourhood {
        Neighbourhood::Fabric
    }

    fn decide<L: LoadView>(&self, at: InputChannel, packet: &mut RoutedPacket, load: L) -> NextHop {
        if packet.hops == 0 {
            self.plan.choose(at, packet, self.threshold * load.packet_max(), |packet, via| {
                let queue = |(switch, port)| {
                    (0..self.channels()).map(|channel| load.occupancy_at(switch, port, channel)).sum::<u32>()
                };
                self.plan.links(at.switch, packet, via).map(queue).sum()
            });
        }
        self.plan.next(at, packet)
    }
}
