//! Static choices per flow: a hash in two steps, as in Ethernet switches, or the destination, as in InfiniBand's.

use etherweave_primitives::{ChannelId, SwitchId, mix};
use etherweave_topology::{Node, Topology};

use crate::FlowKey;

/// Domains of the two hashes, so that they are independent (fractional digits of π).
const NEXT_HOP: u64 = 0x243f_6a88_85a3_08d3;
const MEMBER: u64 = 0x1319_8a2e_0370_7344;

/// Hashes a flow first to a next hop (RFC 2992), then to a member of the port channel that leads there
/// (IEEE 802.1AX-2020 clause 6.2.4: frames of one conversation stay on one link).
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EcmpHash {
    /// Seed of the hash functions: another seed, another static spread of the same flows. Default 0.
    pub seed: u64,
    /// Whether all switches hash with the same function, so that a flow's choices at successive levels coincide.
    /// Default false: every switch has its own salt.
    pub polarised: bool,
}

impl EcmpHash {
    /// Salts and port channels for a topology.
    pub fn build(&self, topology: &Topology) -> HashSelection {
        let salt = |switch: u64| mix(mix(self.seed ^ NEXT_HOP) ^ if self.polarised { 0 } else { switch + 1 });
        let port_channels: Vec<u32> =
            (0..topology.channels().len()).map(|c| topology.port_channel(ChannelId::from_index(c)) as u32).collect();
        HashSelection {
            salts: (0..topology.switches() as u64).map(salt).collect(),
            strides: Vec::new(),
            has_bundles: topology.port_channels() < port_channels.len(),
            port_channels,
        }
    }
}

/// Hops by the number of the destination, as the forwarding tables of InfiniBand's fat-tree routing have them (D-Mod-K:
/// E. Zahavi, *D-Mod-K routing providing non-blocking traffic for shift permutations on real life fat trees*, 2010):
/// the destination over the product of the uplinks of switches of each level below, modulo the choices.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DestinationModulo {}

impl DestinationModulo {
    /// The selection of a topology, with the divisor of destinations at each switch.
    pub fn build(&self, topology: &Topology) -> HashSelection {
        let strides = strides(topology);
        let of_switch = |switch| strides[usize::from(topology.level(SwitchId::from_index(switch)))];
        HashSelection {
            strides: (0..topology.switches()).map(of_switch).collect(),
            ..EcmpHash::default().build(topology)
        }
    }
}

/// Product of the uplinks of switches below, by level.
fn strides(topology: &Topology) -> Vec<usize> {
    let (mut strides, mut uplinks) = (Vec::new(), Vec::new());
    for switch in (0..topology.switches()).map(SwitchId::from_index) {
        let level = usize::from(topology.level(switch));
        let is_up = |&&channel: &&ChannelId| match topology.channel(channel).to.node {
            Node::Switch(above) => usize::from(topology.level(above)) > level,
            Node::Host(_) => false,
        };
        uplinks.resize(uplinks.len().max(level + 1), 0);
        uplinks[level] = topology.out_channels(switch).iter().filter(is_up).count().max(uplinks[level]);
    }
    let mut product = 1;
    for count in uplinks {
        strides.push(product);
        product *= count.max(1);
    }
    strides
}

/// An [`EcmpHash`] or a [`DestinationModulo`] prepared for a topology.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HashSelection {
    salts: Vec<u64>,
    /// Divisor of destinations, by switch; empty of a hash.
    strides: Vec<usize>,
    /// Whether any port channel has more than one member.
    has_bundles: bool,
    port_channels: Vec<u32>,
}

impl HashSelection {
    /// The channel that a packet of flow `key` takes out of switch `at`.
    ///
    /// # Panics
    /// When there are no candidates.
    pub fn pick(&self, at: SwitchId, key: &FlowKey, candidates: &[ChannelId]) -> ChannelId {
        match candidates {
            [] => panic!("a selection picks among at least one candidate"),
            &[only] => only,
            _ if !self.strides.is_empty() => candidates[key.dst.index() / self.strides[at.index()] % candidates.len()],
            _ => {
                let word = mix(key.digest() ^ self.salts[at.index()]);
                let next_hop = self.next_hop(word, candidates);
                next_hop[scale(mix(word ^ MEMBER), next_hop.len())]
            }
        }
    }

    /// The candidates towards the chosen next hop.
    fn next_hop<'a>(&self, word: u64, candidates: &'a [ChannelId]) -> &'a [ChannelId] {
        if !self.has_bundles {
            let chosen = scale(word, candidates.len());
            return &candidates[chosen..=chosen];
        }
        let same = |a: &ChannelId, b: &ChannelId| self.port_channels[a.index()] == self.port_channels[b.index()];
        let chosen = scale(word, candidates.chunk_by(same).count());
        candidates.chunk_by(same).nth(chosen).expect("a scaled hash is below the count")
    }
}

/// A uniform word as an index below `count`, without division (Lemire, 2019).
fn scale(word: u64, count: usize) -> usize {
    ((u128::from(word) * count as u128) >> 64) as usize
}
