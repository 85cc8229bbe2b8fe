//! Adjacencies of switches: the parallel channels from one switch to another as one thing.

use etherweave_primitives::{ChannelId, SwitchId};
use etherweave_topology::{Node, Topology};

/// The place of a channel that leads to a host.
const NONE: u32 = u32::MAX;

/// All adjacencies: an adjacency is every channel from one switch to another. Those of a switch have consecutive
/// numbers, in the order of the switches they lead to. 16 bytes per adjacency and 8 per channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Adjacencies {
    /// Adjacencies out of switch `s` are `starts[s]..starts[s + 1]`.
    starts: Vec<u32>,
    from: Vec<SwitchId>,
    to: Vec<SwitchId>,
    /// Channels of adjacency `j` are `channels[bundles[j]..bundles[j + 1]]`.
    bundles: Vec<u32>,
    channels: Vec<ChannelId>,
    adjacency_of: Vec<u32>,
}

impl Adjacencies {
    /// Memory for each channel, about [B].
    pub const BYTES: u64 = (2 * size_of::<SwitchId>() + 2 * size_of::<u32>() + size_of::<ChannelId>()) as u64;

    pub fn of(topology: &Topology) -> Adjacencies {
        let mut adjacencies = Adjacencies {
            starts: vec![0],
            from: Vec::new(),
            to: Vec::new(),
            bundles: vec![0],
            channels: Vec::new(),
            adjacency_of: vec![NONE; topology.channels().len()],
        };
        let mut leaving = Vec::new();
        for at in (0..topology.switches()).map(SwitchId::from_index) {
            leaving.clear();
            leaving.extend(topology.out_channels(at).iter().filter_map(|&channel| onward(topology, channel)));
            // Stable: parallel channels stay in the order of their ports.
            leaving.sort_by_key(|&(to, _)| to);
            adjacencies.add(at, &leaving);
        }
        adjacencies
    }

    fn add(&mut self, at: SwitchId, leaving: &[(SwitchId, ChannelId)]) {
        for bundle in leaving.chunk_by(|a, b| a.0 == b.0) {
            for &(_, channel) in bundle {
                self.adjacency_of[channel.index()] = self.to.len() as u32;
                self.channels.push(channel);
            }
            self.from.push(at);
            self.to.push(bundle[0].0);
            self.bundles.push(self.channels.len() as u32);
        }
        self.starts.push(self.to.len() as u32);
    }

    pub fn len(&self) -> usize {
        self.to.len()
    }

    pub fn switches(&self) -> usize {
        self.starts.len() - 1
    }

    /// The adjacencies out of a switch.
    pub fn leaving(&self, at: SwitchId) -> std::ops::Range<u32> {
        self.starts[at.index()]..self.starts[at.index() + 1]
    }

    /// The adjacency between two switches; none when they are not neighbours.
    pub fn find(&self, at: SwitchId, to: SwitchId) -> Option<u32> {
        let leaving = self.leaving(at);
        let place = self.to[leaving.start as usize..leaving.end as usize].binary_search(&to).ok()?;
        Some(leaving.start + place as u32)
    }

    pub fn from(&self, adjacency: u32) -> SwitchId {
        self.from[adjacency as usize]
    }

    pub fn to(&self, adjacency: u32) -> SwitchId {
        self.to[adjacency as usize]
    }

    /// The channels of an adjacency, by port.
    pub fn channels(&self, adjacency: u32) -> &[ChannelId] {
        &self.channels[self.bundles[adjacency as usize] as usize..self.bundles[adjacency as usize + 1] as usize]
    }

    /// The adjacency of a channel; none when it starts or ends at a host.
    pub fn adjacency_of(&self, channel: ChannelId) -> Option<u32> {
        Some(self.adjacency_of[channel.index()]).filter(|&adjacency| adjacency != NONE)
    }
}

fn onward(topology: &Topology, channel: ChannelId) -> Option<(SwitchId, ChannelId)> {
    match topology.channel(channel).to.node {
        Node::Switch(to) => Some((to, channel)),
        Node::Host(_) => None,
    }
}
