//! Coordinates of a dragonfly, and the minimal path by them.
//!
//! Packets rise through the virtual channels in the order local 0, global 0, local 1, global 1, local 2 (Kim et al.,
//! ISCA 2008, section 4.1, after Günther): a channel depends on later ones only, so there is no deadlock.

use etherweave_primitives::{HostId, Port, SwitchId};
use etherweave_topology::{LinkClass, Node, Topology};

use super::{Divisor, FabricPlan, InputChannel, NextHop, OutputChannel, RoutedPacket, unsuited};
use etherweave_primitives::InputError;

/// The place in [`RoutedPacket::route_state`] of the group to visit first, [`ANYWHERE`] when there is none.
pub(crate) const VIA: usize = 0;
pub(crate) const ANYWHERE: u16 = u16::MAX;

#[derive(Clone, Copy, Debug)]
struct HostLocation {
    group: u16,
    /// Place of its switch within the group.
    place: u16,
    port: u8,
}

/// A switch that has links to a group, and the first of its ports that lead there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gateway {
    pub switch: u16,
    /// The switch at the far end.
    far: u16,
    pub port: u8,
    ports: u8,
}

impl Gateway {
    pub(crate) fn ports(&self) -> std::ops::Range<u8> {
        self.port..self.port + self.ports
    }

    fn port(&self, hash: u16) -> u8 {
        self.port + (hash >> 8) as u8 % self.ports
    }

    /// Links between switches from a place of its group to a host of the other, by this gateway.
    fn links(&self, place: u16, home: HostLocation) -> u32 {
        u32::from(self.switch != place) + 1 + u32::from(self.far != home.place)
    }
}

/// Where everything is on a dragonfly of `a` switches per group and `p` hosts per switch.
#[derive(Clone, Debug)]
pub struct DragonflyPlan {
    /// Switches per group.
    a: u16,
    /// Hosts per switch.
    p: Divisor,
    hosts_per_group: Divisor,
    groups: u16,
    /// Global ports of every switch at least: `h` where all are in use.
    h: u8,
    /// Group and place within it, by switch.
    places: Vec<[u16; 2]>,
    /// Gateways of group `g` to group `t` are `starts[g * groups + t]` and on, up to the next start.
    starts: Vec<u32>,
    gateways: Vec<Gateway>,
    /// The gateway of each such pair that has a single one.
    single: Vec<Option<Gateway>>,
}

impl FabricPlan for DragonflyPlan {
    const FABRIC: &'static str = "a complete dragonfly with hosts on every switch";

    /// # Errors
    /// When the fabric is not a complete dragonfly of equal switches: ports of a switch are hosts, then one to every
    /// other switch of the group in ascending order, then global ones.
    fn of(topology: &Topology) -> Result<DragonflyPlan, InputError> {
        let unsuited = |mistake: String| unsuited(mistake, DragonflyPlan::FABRIC);
        if topology.axes() != ["group", "switch"] || topology.switches() == 0 {
            return Err(unsuited("a fabric without groups".to_owned()));
        }
        let ids = || (0..topology.switches()).map(SwitchId::from_index);
        let place = |at: SwitchId| [topology.coordinates(at)[0], topology.coordinates(at)[1]];
        let [groups, a] = ids().map(place).fold([0; 2], |most, at| [most[0].max(at[0] + 1), most[1].max(at[1] + 1)]);
        let p = topology.hosts() / topology.switches();
        let is_small = groups < u32::from(ANYWHERE) && a < u32::from(ANYWHERE) && p < 256;
        let is_small = is_small && topology.hosts() < Divisor::DIVIDEND_END as usize && p as u32 * a <= Divisor::MAX;
        if !is_small
            || p == 0
            || (groups * a) as usize != topology.switches()
            || p * topology.switches() != topology.hosts()
        {
            return Err(unsuited(format!("{groups} groups of up to {a} switches with {} hosts", topology.hosts())));
        }
        let mut plan = DragonflyPlan {
            a: a as u16,
            p: Divisor::new(p as u32),
            hosts_per_group: Divisor::new(p as u32 * a),
            groups: groups as u16,
            h: global_ports(topology),
            places: ids().map(|at| place(at).map(|axis| axis as u16)).collect(),
            starts: Vec::new(),
            gateways: Vec::new(),
            single: Vec::new(),
        };
        if let Some(at) = ids().find(|&at| !plan.is_regular(topology, at)) {
            return Err(unsuited(format!("one whose {} has other ports", topology.switch_name(at))));
        }
        plan.join(topology);
        let joined = |pair: usize| plan.starts[pair] < plan.starts[pair + 1];
        let groups = groups as usize;
        match (0..groups * groups).find(|&pair| pair / groups != pair % groups && !joined(pair)) {
            Some(pair) => {
                Err(unsuited(format!("one without a link from group {} to {}", pair / groups, pair % groups)))
            }
            None => Ok(plan),
        }
    }
}

impl DragonflyPlan {
    fn is_regular(&self, topology: &Topology, at: SwitchId) -> bool {
        let [group, place] = self.places[at.index()];
        let number = u32::from(group) * u32::from(self.a) + u32::from(place);
        let is_host = |port: u16| {
            let host = at.get() * self.p.get() + u32::from(port);
            end(topology, at, port) == Some(Node::Host(HostId::new(host)))
        };
        let is_local = |other: u16| {
            let there = SwitchId::new(u32::from(group) * u32::from(self.a) + u32::from(other));
            end(topology, at, u16::from(self.local(place, other))) == Some(Node::Switch(there))
        };
        number == at.get()
            && topology.out_channels(at).len() < 256
            && (0..self.p.get() as u16).all(is_host)
            && (0..self.a).filter(|&other| other != place).all(is_local)
    }

    /// Gateways of every group to every other, by the switch where they are.
    fn join(&mut self, topology: &Topology) {
        let groups = usize::from(self.groups);
        let mut lists: Vec<Vec<Gateway>> = vec![Vec::new(); groups * groups];
        for at in (0..topology.switches()).map(SwitchId::from_index) {
            for (port, &channel) in topology.out_channels(at).iter().enumerate() {
                let (channel, [group, place]) = (topology.channel(channel), self.places[at.index()]);
                if let (LinkClass::Global, Node::Switch(there)) = (channel.class, channel.to.node) {
                    let list = &mut lists[usize::from(group) * groups + usize::from(self.places[there.index()][0])];
                    add_port(
                        list,
                        Gateway { switch: place, far: self.places[there.index()][1], port: port as u8, ports: 1 },
                    );
                }
            }
        }
        self.starts = vec![0];
        for list in lists {
            self.single.push(if let [gateway] = list[..] { Some(gateway) } else { None });
            self.gateways.extend(list);
            self.starts.push(self.gateways.len() as u32);
        }
    }

    /// How many groups there are.
    pub fn groups(&self) -> u32 {
        u32::from(self.groups)
    }

    /// Global ports of every switch, of the one with the fewest.
    pub fn global_ports(&self) -> u8 {
        self.h
    }

    pub(crate) fn switches_per_group(&self) -> u32 {
        u32::from(self.a)
    }

    /// Whether a port leads to a host.
    pub(crate) fn is_host(&self, port: u8) -> bool {
        u32::from(port) < self.p.get()
    }

    /// Whether a port leads to another group.
    pub(crate) fn is_global(&self, port: u8) -> bool {
        port >= self.first_global()
    }

    /// The port to the switch at a place of the group; none when it is the same.
    pub(crate) fn to_neighbour(&self, switch: u32, to: u16) -> Option<u8> {
        let own = self.places[switch as usize][1];
        (own != to).then(|| self.local(own, to))
    }

    /// Hosts of one group.
    pub fn hosts_per_group(&self) -> u32 {
        self.hosts_per_group.get()
    }

    pub(crate) fn group_of_host(&self, host: u32) -> u16 {
        self.hosts_per_group.quotient(host) as u16
    }

    pub(crate) fn place(&self, switch: u32) -> [u16; 2] {
        self.places[switch as usize]
    }

    pub(crate) fn is_in(&self, switch: u32, group: u16) -> bool {
        self.places[switch as usize][0] == group
    }

    /// The group of a host, the place of its switch there, and its port.
    fn home(&self, host: u32) -> HostLocation {
        let group = self.hosts_per_group.quotient(host);
        let within = host - group * self.hosts_per_group.get();
        let place = self.p.quotient(within);
        HostLocation { group: group as u16, place: place as u16, port: (within - place * self.p.get()) as u8 }
    }

    /// The next hop of the minimal path to the intermediate group, when there is one, and then to the host.
    #[inline(always)]
    pub(crate) fn minimal(&self, at: InputChannel, packet: &mut RoutedPacket) -> NextHop {
        let [group, place] = self.places[at.switch as usize];
        if packet.route_state[VIA] == group {
            packet.route_state[VIA] = ANYWHERE;
        }
        let home = self.home(packet.dst);
        let target = if packet.route_state[VIA] == ANYWHERE { home.group } else { packet.route_state[VIA] };
        if target != group {
            return self.leave(at, place, self.gateway(group, place, target, packet.hash), packet.hash);
        }
        self.go_home(at, place, home)
    }

    /// The next hop to a gateway, and from there to another group.
    fn leave(&self, at: InputChannel, place: u16, gateway: Gateway, hash: u16) -> NextHop {
        if gateway.switch == place {
            NextHop { port: gateway.port(hash), channel: same_or_above(at) }
        } else {
            NextHop { port: self.local(place, gateway.switch), channel: above(at) }
        }
    }

    fn go_home(&self, at: InputChannel, place: u16, home: HostLocation) -> NextHop {
        if home.place == place {
            NextHop { port: home.port, channel: 0 }
        } else {
            NextHop { port: self.local(place, home.place), channel: above(at) }
        }
    }

    /// Draws a group other than the source's to go by.
    pub(crate) fn draw_via(&self, packet: &mut RoutedPacket) {
        packet.route_state[VIA] = ANYWHERE;
        let others = u32::from(self.groups) - 1;
        if others > 0 {
            // A hash has 16 bits, and there are fewer groups.
            let drawn = ((u32::from(packet.hash) * others) >> 16) as u16;
            packet.route_state[VIA] = drawn + u16::from(drawn >= self.group_of_host(packet.src));
        }
    }

    /// [`DragonflyPlan::paths_from`] a packet's first switch; absent at others.
    #[inline(always)]
    pub(crate) fn paths(&self, at: InputChannel, packet: &RoutedPacket) -> Option<PathChoice> {
        if at.class == LinkClass::Host { self.paths_from(at, packet) } else { None }
    }

    /// The minimal path, and the one over the intermediate group; absent where there is no choice. Inlined, so that
    /// nothing is computed that a routing does not ask for.
    #[inline(always)]
    pub(crate) fn paths_from(&self, at: InputChannel, packet: &RoutedPacket) -> Option<PathChoice> {
        let [group, place] = self.places[at.switch as usize];
        let (via, hash) = (packet.route_state[VIA], packet.hash);
        let home = self.home(packet.dst);
        if via == ANYWHERE || [home.group, home.place] == [group, place] {
            return None;
        }
        let out = self.gateway(group, place, via, hash);
        let direct = (home.group != group).then(|| self.gateway(group, place, home.group, hash));
        let end =
            |gateway: Gateway| (u32::from(group) * u32::from(self.a) + u32::from(gateway.switch), gateway.port(hash));
        Some(PathChoice {
            minimal: direct
                .map_or_else(|| self.go_home(at, place, home), |gateway| self.leave(at, place, gateway, hash)),
            minimal_links: direct.map_or(u32::from(place != home.place), |gateway| gateway.links(place, home)),
            global: direct.map(end),
            nonminimal_global: end(out),
            nonminimal: self.leave(at, place, out, hash),
            nonminimal_links: u32::from(out.switch != place) + 1 + self.links([via, out.far], home, hash),
        })
    }

    /// Links of the minimal path from a switch to the home of a host.
    fn links(&self, [group, place]: [u16; 2], home: HostLocation, hash: u16) -> u32 {
        if group == home.group {
            return u32::from(place != home.place);
        }
        self.gateway(group, place, home.group, hash).links(place, home)
    }

    /// One of [`DragonflyPlan::gateways`] by hash.
    #[inline]
    fn gateway(&self, group: u16, place: u16, target: u16, hash: u16) -> Gateway {
        let pair = usize::from(group) * usize::from(self.groups) + usize::from(target);
        self.single[pair].unwrap_or_else(|| {
            let several = self.gateways(group, place, target);
            several[usize::from(hash & 0xff) % several.len()]
        })
    }

    /// The own switch where it is a gateway to another group, otherwise all gateways, of which one goes by hash.
    pub(crate) fn gateways(&self, group: u16, place: u16, target: u16) -> &[Gateway] {
        let pair = usize::from(group) * usize::from(self.groups) + usize::from(target);
        let gateways = &self.gateways[self.starts[pair] as usize..self.starts[pair + 1] as usize];
        if let [_] = gateways {
            return gateways;
        }
        let own = gateways.iter().position(|gateway| gateway.switch == place);
        own.map_or(gateways, |own| &gateways[own..=own])
    }

    pub(crate) fn links_between(&self, from: u16, to: u16) -> u32 {
        let pair = usize::from(from) * usize::from(self.groups) + usize::from(to);
        let gateways = &self.gateways[self.starts[pair] as usize..self.starts[pair + 1] as usize];
        gateways.iter().map(|gateway| u32::from(gateway.ports)).sum()
    }

    /// The port from one switch to another of its group.
    pub(crate) fn local(&self, from: u16, to: u16) -> u8 {
        (self.p.get() as u16 + to - u16::from(to > from)) as u8
    }

    /// The first global port of every switch.
    pub(crate) fn first_global(&self) -> u8 {
        (self.p.get() as u16 + self.a - 1) as u8
    }
}

/// Global ports of the switch with the fewest; one with more than 255 ports is rejected elsewhere.
fn global_ports(topology: &Topology) -> u8 {
    let global = |at: usize| {
        let channels = topology.out_channels(SwitchId::from_index(at)).iter().map(|&id| topology.channel(id));
        channels.filter(|channel| channel.class == LinkClass::Global).count()
    };
    (0..topology.switches()).map(global).min().unwrap_or(0) as u8
}

fn end(topology: &Topology, at: SwitchId, port: u16) -> Option<Node> {
    let channel = topology.out_channels(at).get(Port::new(port).index())?;
    Some(topology.channel(*channel).to.node)
}

fn add_port(list: &mut Vec<Gateway>, new: Gateway) {
    let joins =
        |last: &&mut Gateway| (last.switch, last.far, last.port + last.ports) == (new.switch, new.far, new.port);
    match list.last_mut().filter(joins) {
        Some(last) => last.ports += 1,
        None => list.push(new),
    }
}

/// The two paths of a packet at its first switch.
pub(crate) struct PathChoice {
    pub minimal: NextHop,
    /// Links between switches on the minimal path.
    pub minimal_links: u32,
    /// The switch and port of the global link of the minimal path, when it leaves the group.
    pub global: Option<(u32, u8)>,
    pub nonminimal: NextHop,
    /// The switch and port of the first global link of the path over another group.
    pub nonminimal_global: (u32, u8),
    /// Links between switches on the path over another group.
    pub nonminimal_links: u32,
}

/// The rank of a channel in the order of the module; none of the last global one of so many channels, which no path
/// takes: the last link is local.
pub(crate) fn by_link(out: OutputChannel, channels: u8) -> Option<u32> {
    let is_global = out.class == LinkClass::Global;
    let is_taken = out.channel + 1 < channels || !is_global;
    is_taken.then(|| 2 * u32::from(out.channel) + u32::from(is_global))
}

/// The channel of a local hop: one above the channel by which it arrived.
pub(crate) fn above(at: InputChannel) -> u8 {
    match at.class {
        LinkClass::Host => 0,
        LinkClass::Local | LinkClass::Global => at.channel + 1,
    }
}

/// The channel of a global hop: that of the local hop before it, or one above the global hop before it.
pub(crate) fn same_or_above(at: InputChannel) -> u8 {
    match at.class {
        LinkClass::Host => 0,
        LinkClass::Local => at.channel,
        LinkClass::Global => at.channel + 1,
    }
}
