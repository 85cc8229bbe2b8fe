//! Construction of a checked [`Topology`] from nodes and links.

use std::{fmt, sync::Arc};

use etherweave_primitives::{BitRate, ChannelId, HostId, InputError, Length, Port, SwitchId};

use crate::topology::{Channel, ChannelEnd, LinkClass, Lists, Node, Topology, node_index};
use crate::{Cable, Medium, check::links, check::too_large};

/// Longer than any Ethernet cable (100GBASE-ZR reaches 80 km).
const LENGTH_MAX: Length = Length::from_m(1_000_000);
/// Slower than any Ethernet (1BASE5, 1 Mb/s, was the slowest).
const RATE_MIN: BitRate = BitRate::from_bps(1_000_000);
/// Far above any Ethernet; beyond, times per byte lose their digits.
const RATE_MAX: BitRate = BitRate::from_gbps(100_000);

/// Collects nodes and links; ports are given in the order of the links.
#[derive(Clone, Debug)]
pub struct Builder {
    pub(crate) host_names: Vec<String>,
    pub(crate) switch_names: Vec<String>,
    pub(crate) levels: Vec<u8>,
    pub(crate) axes: Vec<String>,
    pub(crate) coordinates: Vec<u32>,
    pub(crate) links: Vec<PlannedLink>,
    pub(crate) radix: Option<u32>,
    pub(crate) breakout: u32,
}

/// Hosts with several links, and the host that each link of theirs has instead.
struct SplitHosts {
    names: Vec<String>,
    ports: Vec<Vec<HostId>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedLink {
    pub(crate) ends: [Node; 2],
    /// Rates at which the ends send.
    pub(crate) rates: [BitRate; 2],
    pub(crate) length: Length,
    pub(crate) medium: Medium,
    pub(crate) class: LinkClass,
}

impl Default for Builder {
    fn default() -> Self {
        Builder::with_axes::<String>([])
    }
}

impl Builder {
    /// An empty fabric.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// An empty fabric whose switches have coordinates on these axes, most significant first.
    pub fn with_axes<Name: Into<String>>(axes: impl IntoIterator<Item = Name>) -> Builder {
        Builder {
            host_names: Vec::new(),
            switch_names: Vec::new(),
            levels: Vec::new(),
            axes: axes.into_iter().map(Into::into).collect(),
            coordinates: Vec::new(),
            links: Vec::new(),
            radix: None,
            breakout: 1,
        }
    }

    /// Sets how many ports every switch has.
    pub fn radix(&mut self, ports: u32) {
        self.radix = Some(ports);
    }

    /// Adds a switch `level` levels above the hosts' switches, in a fabric without axes.
    pub fn add_switch(&mut self, name: impl Into<String>, level: u8) -> SwitchId {
        self.add_switch_at(name, level, &[])
    }

    /// Adds a switch `level` levels above the hosts' switches, at a place.
    ///
    /// # Panics
    /// When there is not one coordinate per axis.
    pub fn add_switch_at(&mut self, name: impl Into<String>, level: u8, coordinates: &[u32]) -> SwitchId {
        assert_eq!(coordinates.len(), self.axes.len(), "a switch has one coordinate per axis");
        self.coordinates.extend_from_slice(coordinates);
        self.switch_names.push(name.into());
        self.levels.push(level);
        SwitchId::from_index(self.switch_names.len() - 1)
    }

    /// Adds `count` hosts, named by their ids, and returns those ids.
    pub fn add_hosts(&mut self, count: u32) -> Vec<HostId> {
        let first = self.host_names.len() as u32;
        let hosts: Vec<HostId> = (first..first + count).map(HostId::new).collect();
        self.host_names.extend(hosts.iter().map(HostId::to_string));
        hosts
    }

    /// Adds a host with a name of its own.
    pub fn add_host(&mut self, name: impl Into<String>) -> HostId {
        self.host_names.push(name.into());
        HostId::from_index(self.host_names.len() - 1)
    }

    /// Joins the next free port of `a` and of `b`.
    pub fn link(&mut self, a: impl Into<Node>, b: impl Into<Node>, rate: BitRate, cable: Cable, class: LinkClass) {
        let (length, medium) = (cable.length(), cable.medium(rate));
        self.links.push(PlannedLink { ends: [a.into(), b.into()], rates: [rate; 2], length, medium, class });
    }

    /// Checks the whole and freezes it.
    ///
    /// # Errors
    /// When a host has no link, a link is a loop, joins two hosts or has no Ethernet's rate, or some node
    /// cannot be reached.
    ///
    /// # Panics
    /// When a link names a node that was never added.
    pub fn build(mut self) -> Result<Topology, InputError> {
        let hosts = self.split_hosts();
        let built = self.build_by_port()?;
        Ok(match hosts {
            None => built,
            Some(hosts) => built.grouped(&hosts.ports, hosts.names),
        })
    }

    /// Makes a host of every link of a host, where some have several.
    fn split_hosts(&mut self) -> Option<SplitHosts> {
        let mut ports = vec![Vec::new(); self.host_names.len()];
        for (number, link) in self.links.iter().enumerate() {
            for (side, end) in link.ends.iter().enumerate() {
                if let Node::Host(host) = end {
                    ports[host.index()].push((number, side));
                }
            }
        }
        if ports.iter().all(|links| links.len() <= 1) {
            return None;
        }
        let names = std::mem::take(&mut self.host_names);
        let mut hosts = Vec::with_capacity(names.len());
        for (name, links) in names.iter().zip(&ports) {
            // A host without a link remains one, and is reported.
            let own = (0..links.len().max(1)).map(|port| self.add_host(format!("{name} port {port}")));
            hosts.push(own.collect::<Vec<HostId>>());
        }
        for (host, links) in ports.iter().enumerate() {
            for (&(number, side), &own) in links.iter().zip(&hosts[host]) {
                self.links[number].ends[side] = own.into();
            }
        }
        Some(SplitHosts { names, ports: hosts })
    }

    fn build_by_port(self) -> Result<Topology, InputError> {
        self.check_sizes()?;
        self.check_radix()?;
        self.links.iter().try_for_each(|link| self.check_link(link))?;
        let (channels, out) = self.wire();
        self.check_hosts(&out)?;
        let (port_channels, port_channel_of) = bundle(&channels, &out);
        let topology = Topology {
            channels: Arc::new(channels),
            out: Arc::new(out),
            port_channels: Arc::new(port_channels),
            port_channel_of: Arc::new(port_channel_of),
            host_names: Arc::new(self.host_names),
            switch_names: Arc::new(self.switch_names),
            levels: self.levels,
            axes: self.axes,
            coordinates: self.coordinates,
            radix: self.radix,
            breakout: self.breakout,
            by_port: None,
        };
        check_connected(&topology)?;
        Ok(topology)
    }

    fn check_sizes(&self) -> Result<(), InputError> {
        links(self.links.len() as u64)?;
        let limit = u64::from(u16::MAX) + 1;
        let degrees = self.degrees();
        match degrees.iter().position(|&degree| degree as u64 > limit) {
            Some(node) => Err(too_large(format_args!("ports of {}", self.name(node)), limit)),
            None => Ok(()),
        }
    }

    /// No switch needs more ports than it has.
    pub(crate) fn check_radix(&self) -> Result<(), InputError> {
        let Some(radix) = self.radix else { return Ok(()) };
        let needed = self.ports_needed();
        let Some((switch, &most)) = needed.iter().enumerate().max_by_key(|&(_, &ports)| ports) else { return Ok(()) };
        if most <= radix {
            return Ok(());
        }
        let expected = format!("at least {most}, which {} uses", self.switch_names[switch]);
        Err(InputError::new("as_built.radix", radix, expected))
    }

    /// Ports by switch; hosts on one breakout cable share theirs.
    fn ports_needed(&self) -> Vec<u32> {
        let mut hosts = vec![0u32; self.switch_names.len()];
        let mut switches = hosts.clone();
        for link in &self.links {
            let counts = if link.class == LinkClass::Host { &mut hosts } else { &mut switches };
            for node in link.ends {
                if let Node::Switch(switch) = node {
                    counts[switch.index()] += 1;
                }
            }
        }
        let breakout = self.breakout;
        hosts.into_iter().zip(switches).map(|(hosts, switches)| hosts.div_ceil(breakout) + switches).collect()
    }

    /// The coordinates of a switch but the last: its neighbourhood.
    pub(crate) fn group(&self, node: Node) -> &[u32] {
        let axes = self.axes.len();
        match node {
            Node::Switch(switch) => &self.coordinates[switch.index() * axes..][..axes.saturating_sub(1)],
            Node::Host(_) => &[],
        }
    }

    fn check_link(&self, link: &PlannedLink) -> Result<(), InputError> {
        let [a, b] = link.ends;
        let name = |node| self.name(self.index(node)).to_owned();
        if a == b {
            Err(links_error(format_args!("a link joins {} with itself", name(a)), "two different nodes"))
        } else if matches!((a, b), (Node::Host(_), Node::Host(_))) {
            let mistake = format!("a link joins the hosts {} and {}", name(a), name(b));
            Err(links_error(mistake, "a switch at one end"))
        } else if let Some(rate) = link.rates.iter().find(|rate| !(RATE_MIN..=RATE_MAX).contains(rate)) {
            let mistake = format!("the link {} - {} has rate {rate}", name(a), name(b));
            Err(links_error(mistake, format_args!("{RATE_MIN} to {RATE_MAX}")))
        } else if link.length > LENGTH_MAX {
            let mistake = format!("the link {} - {} is too long", name(a), name(b));
            Err(links_error(mistake, format_args!("at most {LENGTH_MAX}")))
        } else {
            Ok(())
        }
    }

    fn check_hosts(&self, out: &Lists) -> Result<(), InputError> {
        if self.host_names.is_empty() {
            return Err(InputError::new("hosts", 0, "at least 1"));
        }
        let lonely = (0..self.host_names.len()).find(|&host| out.list(host).len() != 1);
        lonely.map_or(Ok(()), |host| {
            let mistake = format!("{} has {} links", self.host_names[host], out.list(host).len());
            Err(links_error(mistake, "one or more, to switches"))
        })
    }

    /// Two channels per link, and the channels of every node by port.
    fn wire(&self) -> (Vec<Channel>, Lists) {
        let mut by_node: Vec<Vec<ChannelId>> = self.degrees().into_iter().map(Vec::with_capacity).collect();
        let mut channels = Vec::with_capacity(2 * self.links.len());
        for link in &self.links {
            let ends = link.ends.map(|node| {
                let port = Port::from_index(by_node[self.index(node)].len());
                ChannelEnd { node, port }
            });
            for ([from, to], rate) in [[ends[0], ends[1]], [ends[1], ends[0]]].into_iter().zip(link.rates) {
                by_node[self.index(from.node)].push(ChannelId::from_index(channels.len()));
                channels.push(Channel { from, to, rate, length: link.length, medium: link.medium, class: link.class });
            }
        }
        let mut out = Lists::new();
        by_node.into_iter().for_each(|list| out.push(list));
        (channels, out)
    }

    fn degrees(&self) -> Vec<usize> {
        let mut degrees = vec![0; self.host_names.len() + self.switch_names.len()];
        for node in self.links.iter().flat_map(|link| link.ends) {
            degrees[self.index(node)] += 1;
        }
        degrees
    }

    fn index(&self, node: Node) -> usize {
        node_index(node, self.host_names.len())
    }

    fn name(&self, index: usize) -> &str {
        match index.checked_sub(self.host_names.len()) {
            None => &self.host_names[index],
            Some(switch) => &self.switch_names[switch],
        }
    }
}

/// Port channels in the order of nodes and of their lowest port, and the one of every channel.
pub(crate) fn bundle(channels: &[Channel], out: &Lists) -> (Lists, Vec<u32>) {
    let mut bundles = Lists::new();
    let mut bundle_of = vec![0; channels.len()];
    for node in 0..out.len() {
        let mut leaving = out.list(node).to_vec();
        // Stable: channels to the same node stay in the order of their ports.
        leaving.sort_by_key(|channel| channels[channel.index()].to.node);
        let same_end = |a: &ChannelId, b: &ChannelId| channels[a.index()].to.node == channels[b.index()].to.node;
        let mut parts: Vec<&[ChannelId]> = leaving.chunk_by(same_end).collect();
        parts.sort_by_key(|part| channels[part[0].index()].from.port);
        for part in parts {
            part.iter().for_each(|channel| bundle_of[channel.index()] = bundles.len() as u32);
            bundles.push(part.iter().copied());
        }
    }
    (bundles, bundle_of)
}

/// A mistake that no single parameter makes.
fn links_error(mistake: impl fmt::Display, expected: impl fmt::Display) -> InputError {
    InputError::new("", mistake, expected)
}

fn check_connected(topology: &Topology) -> Result<(), InputError> {
    let hosts = topology.hosts();
    let mut is_reached = vec![false; hosts + topology.switches()];
    let mut frontier = vec![Node::Host(HostId::new(0))];
    is_reached[0] = true;
    while let Some(node) = frontier.pop() {
        for &channel in topology.out_channels(node) {
            let next = topology.channel(channel).to.node;
            if !std::mem::replace(&mut is_reached[node_index(next, hosts)], true) {
                frontier.push(next);
            }
        }
    }
    is_reached.iter().position(|&reached| !reached).map_or(Ok(()), |index| {
        let to = topology.host_names.iter().chain(topology.switch_names.iter()).nth(index).expect("a node by index");
        let mistake = format!("{to} cannot be reached from {}", topology.host_names[0]);
        Err(links_error(mistake, "a connected fabric"))
    })
}
