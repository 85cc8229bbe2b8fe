//! Cables by the names of the nodes that they join: `"leaf0 - core0"`.

use etherweave_primitives::{ChannelId, HostId, SwitchId};

use crate::{Node, Topology};

/// Both nodes of `"leaf0 - core0"`, also where a name has the separator in it.
pub(crate) fn ends(text: &str, node: impl Fn(&str) -> Option<Node>) -> Option<[Node; 2]> {
    let cuts = text.match_indices(" - ").map(|(at, separator)| (&text[..at], &text[at + separator.len()..]));
    let mut pairs = cuts.filter_map(|(from, to)| Some([node(from)?, node(to)?]));
    pairs.next()
}

impl Topology {
    /// The parallel cables between two nodes, `"leaf0 - core0"`, as channels from the first one by its ports; none when
    /// it is no such name. Linear in nodes.
    pub fn cables(&self, name: &str) -> &[ChannelId] {
        let channel = ends(name, |node| self.node(node.trim())).and_then(|[from, to]| {
            self.out_channels(from).iter().find(|&&channel| self.channel(channel).to.node == to)
        });
        channel.map_or(&[], |&channel| self.parallel(channel))
    }

    fn node(&self, name: &str) -> Option<Node> {
        let host = self.host_names.iter().position(|host| host == name);
        let switch = || self.switch_names.iter().position(|switch| switch == name);
        let host = host.map(|index| Node::Host(HostId::from_index(index)));
        host.or_else(|| switch().map(|index| Node::Switch(SwitchId::from_index(index))))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Family, FatTree};

    #[test]
    fn cables_are_named_by_their_ends_in_either_order() {
        let topology = FatTree::default().generate().unwrap();
        let ends = |name: &str| {
            let ends = topology.cables(name).iter().map(|&id| topology.channel(id));
            ends.map(|channel| (topology.name(channel.from.node), channel.from.port.get())).collect::<Vec<_>>()
        };
        // 12 hosts come first on a leaf, then its four uplinks.
        assert_eq!(ends("leaf3 - core0"), [("leaf3", 12), ("leaf3", 13), ("leaf3", 14), ("leaf3", 15)]);
        assert_eq!(ends("core0 - leaf3").len(), 4);
        assert_eq!(ends(" host0 - leaf0"), [("host0", 0)]);
        for none in ["leaf0 - leaf1", "leaf0", "leaf0-core0", "host95 - leaf0", "x - core0", ""] {
            assert!(ends(none).is_empty(), "{none}");
        }
    }
}
