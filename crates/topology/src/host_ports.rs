//! Hosts with several ports: one in each of several equal fabrics, or one on each of several switches.
//!
//! ```text
//!   planes = 2:   plane0.leaf0   plane1.leaf0        leaves = 2:   leaf0 ── leaf1
//!                          ╲       ╱                                   ╲     ╱
//!                            host0                                      host0
//! ```
//!
//! Routing, tables and proofs see each port as a host of its own, on a fabric whose hosts have one port each
//! ([`Topology::by_port`]). Of equal planes they see one: switch `s` of plane `p` is switch `p * switches + s` here,
//! and channels are numbered alike.

use std::sync::Arc;

use etherweave_primitives::{ChannelId, HostId, InputError, Port, SwitchId};

use crate::topology::{ByPort, Channel, ChannelEnd, Lists, Node, Topology, node_index, port_name};
use crate::{builder::bundle, check::in_range, check::links};

/// Ports of a host at most, and planes of a fabric.
const PORTS_MAX: u32 = 8;

impl Topology {
    /// The fabric `planes` times, with a port of every host in each, in their order.
    ///
    /// # Errors
    /// When the number is out of range, or hosts have several ports already.
    pub fn in_planes(self, planes: u32) -> Result<Topology, InputError> {
        in_range("planes", planes, 1..=PORTS_MAX)?;
        if planes == 1 {
            return Ok(self);
        }
        let expected = "1 where hosts have several ports already";
        InputError::unless(self.is_single_homed(), "planes", planes, expected)?;
        links(self.links().count() as u64 * u64::from(planes)).map_err(|error| error.within("planes"))?;
        let hosts = (0..self.hosts()).flat_map(|host| std::iter::repeat_n(HostId::from_index(host), planes as usize));
        let hosts = hosts.collect();
        let names = |plane: u32| self.switch_names.iter().map(move |name| format!("plane{plane}.{name}"));
        let axes = if self.axes.is_empty() { None } else { Some("plane".to_owned()) };
        let coordinates = |plane: u32| {
            let own = self.coordinates.chunks(self.axes.len().max(1));
            own.flat_map(move |place| std::iter::once(plane).chain(place.iter().copied()))
        };
        let channels = (0..planes).flat_map(|plane| self.channels.iter().map(move |channel| (plane, channel)));
        let channels = channels.map(|(plane, channel)| self.in_plane(plane, channel)).collect();
        Ok(Topology {
            host_names: self.host_names.clone(),
            switch_names: Arc::new((0..planes).flat_map(names).collect()),
            levels: self.levels.repeat(planes as usize),
            axes: axes.into_iter().chain(self.axes.iter().cloned()).collect(),
            coordinates: (0..planes).flat_map(coordinates).collect(),
            radix: self.radix,
            breakout: self.breakout,
            by_port: Some(Box::new(ByPort { fabric: self, planes, hosts })),
            ..Topology::of_channels(channels)
        }
        .with_ports())
    }

    fn in_plane(&self, plane: u32, channel: &Channel) -> Channel {
        let end = |end: ChannelEnd| match end.node {
            Node::Host(_) => ChannelEnd { port: Port::from_index(plane as usize), ..end },
            Node::Switch(switch) => {
                let node = SwitchId::from_index(plane as usize * self.switches() + switch.index()).into();
                ChannelEnd { node, ..end }
            }
        };
        Channel { from: end(channel.from), to: end(channel.to), ..*channel }
    }

    /// The fabric with hosts of `leaves` neighbouring switches made one, with a port on each: on trees, hosts on
    /// several leaves; on rail-optimised trees, with as many as there are rails, servers with all their NICs.
    ///
    /// # Errors
    /// When the number is out of range, or switches beside each other have different numbers of hosts.
    pub fn on_leaves(self, leaves: u32) -> Result<Topology, InputError> {
        in_range("leaves", leaves, 1..=PORTS_MAX)?;
        if leaves == 1 {
            return Ok(self);
        }
        let expected = "1 where hosts have several ports already";
        InputError::unless(self.is_single_homed(), "leaves", leaves, expected)?;
        let mut on_switch = vec![Vec::new(); self.switches()];
        (0..self.hosts()).map(HostId::from_index).for_each(|host| on_switch[self.switch_of(host).index()].push(host));
        on_switch.retain(|hosts| !hosts.is_empty());
        let is_even = |part: &[Vec<HostId>]| {
            part.len() == leaves as usize && part.iter().all(|hosts| hosts.len() == part[0].len())
        };
        let mistake = format!("{leaves} on {} switches with hosts", on_switch.len());
        let expected = "equal numbers of hosts on as many neighbouring switches, throughout";
        InputError::unless(on_switch.chunks(leaves as usize).all(is_even), "leaves", mistake, expected)?;
        let parts = on_switch.chunks(leaves as usize);
        let hosts = parts.flat_map(|part| (0..part[0].len()).map(|place| part.iter().map(|on| on[place]).collect()));
        let hosts: Vec<Vec<HostId>> = hosts.collect();
        let names = (0..hosts.len()).map(|host| HostId::from_index(host).to_string()).collect();
        Ok(self.grouped(&hosts, names))
    }

    /// The fabric whose hosts have these hosts of this one as ports.
    pub(crate) fn grouped(mut self, hosts: &[Vec<HostId>], host_names: Vec<String>) -> Topology {
        let mut place = vec![(HostId::new(0), Port::new(0)); self.hosts()];
        for (host, ports) in hosts.iter().enumerate() {
            for (port, own) in ports.iter().enumerate() {
                place[own.index()] = (HostId::from_index(host), Port::from_index(port));
                Arc::make_mut(&mut self.host_names)[own.index()] = port_name(&host_names[host], port, ports.len());
            }
        }
        let end = |end: ChannelEnd| match end.node {
            Node::Host(host) => {
                let (host, port) = place[host.index()];
                ChannelEnd { node: host.into(), port }
            }
            Node::Switch(_) => end,
        };
        let channels =
            self.channels.iter().map(|channel| Channel { from: end(channel.from), to: end(channel.to), ..*channel });
        Topology {
            host_names: Arc::new(host_names),
            switch_names: self.switch_names.clone(),
            levels: self.levels.clone(),
            axes: self.axes.clone(),
            coordinates: self.coordinates.clone(),
            radix: self.radix,
            breakout: self.breakout,
            ..Topology::of_channels(channels.collect())
        }
        .with_by_port(ByPort { fabric: self, planes: 1, hosts: hosts.concat() })
        .with_ports()
    }

    fn with_by_port(self, by_port: ByPort) -> Topology {
        Topology { by_port: Some(Box::new(by_port)), ..self }
    }

    /// Channels without nodes yet.
    fn of_channels(channels: Vec<Channel>) -> Topology {
        Topology {
            channels: Arc::new(channels),
            out: Arc::new(Lists::new()),
            port_channels: Arc::new(Lists::new()),
            port_channel_of: Arc::default(),
            host_names: Arc::default(),
            switch_names: Arc::default(),
            levels: Vec::new(),
            axes: Vec::new(),
            coordinates: Vec::new(),
            radix: None,
            breakout: 1,
            by_port: None,
        }
    }

    /// Lists the channels of every node by port, as the ends of channels say.
    fn with_ports(mut self) -> Topology {
        let mut by_node = vec![Vec::new(); self.hosts() + self.switches()];
        for (index, channel) in self.channels.iter().enumerate() {
            let node = node_index(channel.from.node, self.host_names.len());
            by_node[node].push((channel.from.port, ChannelId::from_index(index)));
        }
        let mut out = Lists::new();
        for mut leaving in by_node {
            leaving.sort_unstable();
            out.push(leaving.into_iter().map(|(_, channel)| channel));
        }
        let (port_channels, port_channel_of) = bundle(&self.channels, &out);
        (self.port_channels, self.port_channel_of) = (Arc::new(port_channels), Arc::new(port_channel_of));
        self.out = Arc::new(out);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Custom, Family, FatTree, KAryFatTree, RailOptimised, reverse};

    fn tree() -> Topology {
        FatTree { leaves: 4, hosts_per_leaf: 2, cores: 2, links_per_core: 1, ..FatTree::default() }.generate().unwrap()
    }

    /// Every channel stands at its port of both ends, and the ports of a host are hosts of the fabric by port.
    fn check(topology: &Topology) {
        for (index, channel) in topology.channels().iter().enumerate() {
            let id = ChannelId::from_index(index);
            assert_eq!(topology.out_channel(channel.from.node, channel.from.port), id);
            assert_eq!(topology.channel(reverse(id)).from, channel.to);
        }
        for host in (0..topology.hosts()).map(HostId::from_index) {
            for (port, &channel) in topology.host_channels(host).iter().enumerate() {
                let own = topology.by_port().host_channel(topology.port_host(host, port));
                assert_eq!(topology.plane_channel(topology.plane_of_port(port), own), channel);
                let Node::Switch(switch) = topology.channel(channel).to.node else { panic!("a link between hosts") };
                let seen = topology.by_port().switch_of(topology.port_host(host, port));
                assert_eq!(topology.switch_in_plane(switch), seen);
            }
        }
    }

    #[test]
    fn every_host_has_a_port_in_every_plane() {
        let topology = tree().in_planes(2).unwrap();
        assert_eq!((topology.hosts(), topology.switches(), topology.planes()), (8, 12, 2));
        assert_eq!(topology.channels().len(), 2 * tree().channels().len());
        let switches =
            topology.host_channels(HostId::new(5)).iter().map(|&id| topology.name(topology.channel(id).to.node));
        assert_eq!(switches.collect::<Vec<_>>(), ["plane0.leaf2", "plane1.leaf2"]);
        assert_eq!(topology.by_port(), &tree());
        check(&topology);
    }

    #[test]
    fn planes_of_every_size_keep_the_numbers_of_channels() {
        let cube = KAryFatTree { k: 4, ..KAryFatTree::default() }.generate().unwrap();
        for planes in [2, 4, 8] {
            let topology = cube.clone().in_planes(planes).unwrap();
            check(&topology);
            assert_eq!(topology.host_ports_max(), planes as usize);
        }
        assert_eq!(cube.clone().in_planes(1), Ok(cube.clone()));
        assert_eq!(cube.in_planes(9).unwrap_err().to_string(), "planes: 9; expected 1 to 8");
    }

    #[test]
    fn dual_homed_hosts_are_on_two_neighbouring_leaves() {
        let topology = tree().on_leaves(2).unwrap();
        assert_eq!((topology.hosts(), topology.switches(), topology.planes()), (4, 6, 1));
        let leaves = |host| {
            let channels = topology.host_channels(HostId::new(host)).iter();
            channels.map(|&id| topology.name(topology.channel(id).to.node)).collect::<Vec<_>>()
        };
        assert_eq!([leaves(1), leaves(2)], [["leaf0", "leaf1"], ["leaf2", "leaf3"]]);
        check(&topology);
        let error = tree().on_leaves(3).unwrap_err();
        assert_eq!(error.key, "leaves");
    }

    #[test]
    fn a_server_of_a_rail_optimised_tree_has_its_nics_as_ports() {
        let rails = RailOptimised { rails: 4, servers: 6, servers_per_pod: 3, spines: 2, ..RailOptimised::default() };
        let topology = rails.generate().unwrap().on_leaves(4).unwrap();
        assert_eq!(topology.hosts(), 6);
        // NIC r of server s is host 4 s + r of the fabric by port.
        for (server, port) in [(0, 0), (2, 3), (5, 1)] {
            assert_eq!(topology.port_host(HostId::new(server), port), HostId::new(4 * server + port as u32));
        }
        check(&topology);
    }

    #[test]
    fn a_listed_host_may_have_several_links() {
        let links = "h0,s0\nh0,s1\nh1,s1\nh1,s0\ns0,s1\n".to_owned();
        let topology = Custom { links, ..Custom::default() }.generate().unwrap();
        assert_eq!((topology.hosts(), topology.by_port().hosts()), (2, 4));
        assert_eq!(topology.host_name(HostId::new(1)), "host1");
        check(&topology);
        let error = topology.single_homed("this").unwrap_err().to_string();
        assert_eq!(
            error,
            "topology: hosts with several ports; expected one port of every host: this does not know several"
        );
    }

    #[test]
    fn a_host_keeps_the_links_that_have_not_failed() {
        let links = "h0,s0\nh0,s1\nh1,s1\nh1,s0\ns0,s1\n".to_owned();
        let as_built = crate::AsBuilt { failed: vec!["host0 - s1".into()], ..crate::AsBuilt::default() };
        let topology = Custom { links, as_built, ..Custom::default() }.generate().unwrap();
        let ports = [0, 1].map(|host| topology.host_channels(HostId::new(host)).len());
        assert_eq!(ports, [1, 2]);
        check(&topology);
    }
}
