//! The cables of a fabric in the order in which they are pulled: numbered, and those of a bundle together.

use super::ExportNames;
use crate::{Channel, ChannelEnd, LinkClass, Node, Topology};

/// A cable, or one leg of a breakout cable.
pub(super) struct Pulled<'a> {
    /// Number, from 1.
    pub number: usize,
    /// Cables between the same two nodes have the same bundle, from 1.
    pub bundle: usize,
    /// The breakout cable that it is a leg of, from 1, and its place there.
    pub breakout: Option<(usize, usize)>,
    /// Its end nearer to the hosts, and the other.
    pub ends: [ChannelEnd; 2],
    /// Its channel in one of the directions.
    pub link: &'a Channel,
}

/// Every cable: those of hosts by switch and port, then local and global ones by their ends.
pub(super) fn pulled(topology: &Topology) -> impl Iterator<Item = Pulled<'_>> {
    let mut links: Vec<([ChannelEnd; 2], &Channel)> =
        topology.links().map(|link| (outwards(topology, link), link)).collect();
    // Stable, so that cables of a bundle stay in the order of their ports.
    links.sort_by_key(|([near, far], link)| match near.node {
        Node::Host(_) => (link.class, far.node, near.node, far.port),
        Node::Switch(_) => (link.class, near.node, far.node, near.port),
    });
    let mut counts = Counts::new(topology);
    let mut before: Option<[Node; 2]> = None;
    links.into_iter().enumerate().map(move |(index, (ends, link))| {
        let nodes = ends.map(|end| end.node);
        counts.bundles += usize::from(before != Some(nodes));
        before = Some(nodes);
        Pulled { number: index + 1, bundle: counts.bundles, breakout: counts.breakout(ends, link), ends, link }
    })
}

/// Running numbers of bundles and breakout cables.
struct Counts {
    bundles: usize,
    breakouts: usize,
    legs: usize,
    /// The last switch with hosts, and how many of them have been met.
    hosts: (Option<Node>, usize),
}

impl Counts {
    fn new(topology: &Topology) -> Counts {
        Counts { bundles: 0, breakouts: 0, legs: topology.breakout() as usize, hosts: (None, 0) }
    }

    /// Hosts of a switch share its ports in their order, as `Topology::ports_used` counts them.
    fn breakout(&mut self, [_, far]: [ChannelEnd; 2], link: &Channel) -> Option<(usize, usize)> {
        if self.legs == 1 || link.class != LinkClass::Host {
            return None;
        }
        let met = if self.hosts.0 == Some(far.node) { self.hosts.1 } else { 0 };
        self.hosts = (Some(far.node), met + 1);
        let leg = met % self.legs;
        self.breakouts += usize::from(leg == 0);
        Some((self.breakouts, leg + 1))
    }
}

/// The ends of a link, the one nearer to the hosts first.
fn outwards(topology: &Topology, link: &Channel) -> [ChannelEnd; 2] {
    let height = |end: ChannelEnd| match end.node {
        Node::Host(_) => (None, end.node),
        Node::Switch(switch) => (Some(topology.level(switch)), end.node),
    };
    if height(link.from) <= height(link.to) { [link.from, link.to] } else { [link.to, link.from] }
}

/// Returns the text on a cable: its number after what all labels begin with.
pub(super) fn label(names: &ExportNames, cable: &Pulled<'_>) -> String {
    format!("{}{:07}", names.cable, cable.number)
}

/// Millimetres as metres.
pub(super) struct Metres(pub u64);

impl std::fmt::Display for Metres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.0 / 1000, self.0 % 1000) {
            (metres, 0) => write!(f, "{metres}"),
            (metres, mm) => f.write_str(format!("{metres}.{mm:03}").trim_end_matches('0')),
        }
    }
}
