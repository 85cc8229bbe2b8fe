//! The fabric as a value: flat vectors by typed index.

use std::sync::Arc;

use etherweave_primitives::{BitRate, ChannelId, HostId, InputError, Length, Port, SwitchId};

use crate::Medium;

/// A host or a switch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Node {
    /// A source and sink of traffic.
    Host(HostId),
    /// A switch.
    Switch(SwitchId),
}

impl From<HostId> for Node {
    fn from(host: HostId) -> Node {
        Node::Host(host)
    }
}

impl From<SwitchId> for Node {
    fn from(switch: SwitchId) -> Node {
        Node::Switch(switch)
    }
}

/// Where a channel starts or ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ChannelEnd {
    /// The node.
    pub node: Node,
    /// The port of that node.
    pub port: Port,
}

/// Class of a link; cables, prices and some routings differ by it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LinkClass {
    /// Between a host and its switch.
    Host,
    /// Between switches of one neighbourhood: a tree, a pod, a group.
    Local,
    /// Between neighbourhoods.
    Global,
}

impl LinkClass {
    /// All of them, from the hosts outwards.
    pub const ALL: [LinkClass; 3] = [LinkClass::Host, LinkClass::Local, LinkClass::Global];

    /// The class in a word: "local".
    pub const fn name(self) -> &'static str {
        match self {
            LinkClass::Host => "host",
            LinkClass::Local => "local",
            LinkClass::Global => "global",
        }
    }
}

/// One direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Channel {
    /// The sender.
    pub from: ChannelEnd,
    /// The receiver.
    pub to: ChannelEnd,
    /// How fast it sends [bit/s], never zero.
    pub rate: BitRate,
    /// How long the cable is [mm].
    pub length: Length,
    /// Medium of the cable.
    pub medium: Medium,
    /// Class of the link.
    pub class: LinkClass,
}

/// The other direction of the same link.
pub const fn reverse(channel: ChannelId) -> ChannelId {
    ChannelId::new(channel.get() ^ 1)
}

/// Connections of a fabric. Made by a [`Builder`](crate::Builder) or a [`Family`](crate::Family). Clones share its
/// lists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topology {
    pub(crate) channels: Arc<Vec<Channel>>,
    /// Leaving channels by node (hosts first, then switches) and port.
    pub(crate) out: Arc<Lists>,
    /// Channels of each port channel, by its first channel's place in the order of nodes and ports.
    pub(crate) port_channels: Arc<Lists>,
    pub(crate) port_channel_of: Arc<Vec<u32>>,
    pub(crate) host_names: Arc<Vec<String>>,
    pub(crate) switch_names: Arc<Vec<String>>,
    pub(crate) levels: Vec<u8>,
    pub(crate) axes: Vec<String>,
    /// Those of switch `s` at `s * axes.len()`.
    pub(crate) coordinates: Vec<u32>,
    pub(crate) radix: Option<u32>,
    pub(crate) breakout: u32,
    /// Absent where every host has one port.
    pub(crate) by_port: Option<Box<ByPort>>,
}

/// The fabric as routing sees it, and which of its hosts are the ports of a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ByPort {
    pub(crate) fabric: Topology,
    pub(crate) planes: u32,
    /// The host of `fabric` that is each port, in the order of hosts and their ports.
    pub(crate) hosts: Vec<HostId>,
}

impl Topology {
    /// How many hosts there are.
    pub fn hosts(&self) -> usize {
        self.host_names.len()
    }

    /// How many switches there are.
    pub fn switches(&self) -> usize {
        self.switch_names.len()
    }

    /// How much memory it takes, about [B]: short texts of names take the smallest allocation.
    pub fn memory_bytes(&self) -> u64 {
        let node = 2 * size_of::<String>() + size_of::<u32>() + size_of::<u8>() + self.axes.len() * size_of::<u32>();
        // In the list of its node, in that of its port channel, and the number of that.
        let channel = size_of::<Channel>() + 4 * size_of::<u32>();
        let by_port = if self.is_single_homed() { 0 } else { self.by_port().memory_bytes() };
        ((self.hosts() + self.switches()) * node + self.channels.len() * channel) as u64 + by_port
    }

    /// Every channel by id; link `l` has channels `2l` and `2l + 1`.
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// Every link by its first channel, in the order in which they were made.
    pub(crate) fn links(&self) -> impl Iterator<Item = &Channel> {
        self.channels.iter().step_by(2)
    }

    /// One channel.
    pub fn channel(&self, channel: ChannelId) -> &Channel {
        &self.channels[channel.index()]
    }

    /// The channels that leave a node, by port.
    pub fn out_channels(&self, node: impl Into<Node>) -> &[ChannelId] {
        self.out.list(node_index(node.into(), self.hosts()))
    }

    /// The channel that leaves a node by `port`.
    ///
    /// # Panics
    /// When the node has no such port.
    pub fn out_channel(&self, node: impl Into<Node>, port: Port) -> ChannelId {
        self.out_channels(node)[port.index()]
    }

    /// The channel from a host to its switch, of a fabric whose hosts have one port each.
    ///
    /// # Panics
    /// When the host has several: such a fabric is [refused](Topology::single_homed), or seen [by
    /// port](Topology::by_port).
    pub fn host_channel(&self, host: HostId) -> ChannelId {
        match self.out_channels(host) {
            [channel] => *channel,
            channels => panic!("{host} has {} ports; expected one", channels.len()),
        }
    }

    /// The switch that a host is attached to, of a fabric whose hosts have one port each.
    ///
    /// # Panics
    /// When the host has several.
    pub fn switch_of(&self, host: HostId) -> SwitchId {
        match self.channel(self.host_channel(host)).to.node {
            Node::Switch(switch) => switch,
            Node::Host(_) => unreachable!("a built topology has no link between hosts"),
        }
    }

    /// The channels from a host to its switches, by port.
    pub fn host_channels(&self, host: HostId) -> &[ChannelId] {
        self.out_channels(host)
    }

    /// Every port of every host, in the order of hosts.
    pub fn host_ports(&self) -> impl Iterator<Item = (HostId, usize)> {
        let hosts = (0..self.hosts()).map(HostId::from_index);
        hosts.flat_map(|host| (0..self.host_channels(host).len()).map(move |port| (host, port)))
    }

    /// The name of a port of a host: "host17"; "host17.1" where the host has several.
    pub fn host_port_name(&self, host: HostId, port: usize) -> String {
        port_name(self.host_name(host), port, self.host_channels(host).len())
    }

    /// Whether every host has one port.
    pub fn is_single_homed(&self) -> bool {
        self.by_port.is_none()
    }

    /// Refuses hosts with several ports, on behalf of `user`, which works for hosts with one.
    ///
    /// # Errors
    /// When a host has several.
    pub fn single_homed(&self, user: &str) -> Result<(), InputError> {
        let expected = format!("one port of every host: {user} does not know several");
        InputError::unless(self.is_single_homed(), "topology", "hosts with several ports", expected)
    }

    /// Most ports of a host.
    pub fn host_ports_max(&self) -> usize {
        let ports = (0..self.hosts()).map(|host| self.host_channels(HostId::from_index(host)).len());
        if self.is_single_homed() { 1 } else { ports.max().unwrap_or(1) }
    }

    /// The fabric as routing sees it, where every port is a host of its own; of equal planes, one.
    pub fn by_port(&self) -> &Topology {
        self.by_port.as_ref().map_or(self, |ports| &ports.fabric)
    }

    /// How many equal fabrics it is, each of which has a port of every host.
    pub fn planes(&self) -> usize {
        self.by_port.as_ref().map_or(1, |ports| ports.planes as usize)
    }

    /// The host that is a port of `host` in [`by_port`](Topology::by_port).
    pub fn port_host(&self, host: HostId, port: usize) -> HostId {
        let of_ports = |ports: &ByPort| ports.hosts[self.out.start(host.index()) + port];
        self.by_port.as_ref().map_or(host, |ports| of_ports(ports))
    }

    /// The plane that a port of a host is in.
    pub fn plane_of_port(&self, port: usize) -> usize {
        if self.planes() > 1 { port } else { 0 }
    }

    /// A channel of [`by_port`](Topology::by_port) in a plane of this fabric.
    pub fn plane_channel(&self, plane: usize, channel: ChannelId) -> ChannelId {
        ChannelId::from_index(plane * self.by_port().channels.len() + channel.index())
    }

    /// The plane of a channel, and the channel there, of [`by_port`](Topology::by_port).
    pub fn channel_in_plane(&self, channel: ChannelId) -> (usize, ChannelId) {
        let channels = self.by_port().channels.len();
        (channel.index() / channels, ChannelId::from_index(channel.index() % channels))
    }

    /// A switch of this fabric in [`by_port`](Topology::by_port).
    pub fn switch_in_plane(&self, switch: SwitchId) -> SwitchId {
        SwitchId::from_index(switch.index() % self.by_port().switches())
    }

    /// All channels from the same node to the same node, by port: what a switch would bundle into one port channel.
    pub fn parallel(&self, channel: ChannelId) -> &[ChannelId] {
        self.port_channels.list(self.port_channel(channel))
    }

    /// The number of the port channel that `channel` belongs to, `0..port_channels()`.
    pub fn port_channel(&self, channel: ChannelId) -> usize {
        self.port_channel_of[channel.index()] as usize
    }

    /// How many port channels there are, those of one link included.
    pub fn port_channels(&self) -> usize {
        self.port_channels.len()
    }

    /// How far a switch is above the hosts' switches; up/down routing climbs and descends by it.
    pub fn level(&self, switch: SwitchId) -> u8 {
        self.levels[switch.index()]
    }

    /// Returns the names of the coordinates of a switch, most significant first; empty where a fabric has none. All but
    /// the last identify the neighbourhood that address plans may give a prefix: the pod, the group, the row.
    pub fn axes(&self) -> &[String] {
        &self.axes
    }

    /// Where a switch is, one number per axis.
    pub fn coordinates(&self, switch: SwitchId) -> &[u32] {
        let axes = self.axes.len();
        &self.coordinates[switch.index() * axes..][..axes]
    }

    /// The ports that every switch has, if known.
    pub fn radix(&self) -> Option<u32> {
        self.radix
    }

    /// How many hosts share one port of their switch by a breakout cable.
    pub fn breakout(&self) -> u32 {
        self.breakout
    }

    /// The ports that a switch uses; hosts on one breakout cable share theirs.
    pub fn ports_used(&self, switch: SwitchId) -> u32 {
        let leaving = self.out_channels(switch);
        let hosts = leaving.iter().filter(|&&channel| self.channel(channel).class == LinkClass::Host).count() as u32;
        leaving.len() as u32 - hosts + hosts.div_ceil(self.breakout)
    }

    /// The name of a host: "host17".
    pub fn host_name(&self, host: HostId) -> &str {
        &self.host_names[host.index()]
    }

    /// The name of a switch: "leaf3", "core0".
    pub fn switch_name(&self, switch: SwitchId) -> &str {
        &self.switch_names[switch.index()]
    }

    /// The name of a node.
    pub fn name(&self, node: Node) -> &str {
        match node {
            Node::Host(host) => self.host_name(host),
            Node::Switch(switch) => self.switch_name(switch),
        }
    }
}

/// The name of one of so many ports of a host: "host17"; "host17.1" where the host has several.
pub(crate) fn port_name(host: &str, port: usize, ports: usize) -> String {
    if ports > 1 { format!("{host}.{port}") } else { host.to_owned() }
}

/// Hosts first, then switches.
pub(crate) fn node_index(node: Node, hosts: usize) -> usize {
    match node {
        Node::Host(host) => host.index(),
        Node::Switch(switch) => hosts + switch.index(),
    }
}

/// Many short lists in one vector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Lists {
    items: Vec<ChannelId>,
    /// List `i` is `items[starts[i]..starts[i + 1]]`.
    starts: Vec<u32>,
}

impl Lists {
    pub(crate) fn new() -> Lists {
        Lists { items: Vec::new(), starts: vec![0] }
    }

    pub(crate) fn push(&mut self, list: impl IntoIterator<Item = ChannelId>) {
        self.items.extend(list);
        self.starts.push(u32::try_from(self.items.len()).expect("channel ids are 32 bits wide"));
    }

    pub(crate) fn list(&self, index: usize) -> &[ChannelId] {
        &self.items[self.starts[index] as usize..self.starts[index + 1] as usize]
    }

    /// How many items stand before a list.
    pub(crate) fn start(&self, index: usize) -> usize {
        self.starts[index] as usize
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }
}
