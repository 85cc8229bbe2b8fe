//! Maximum number of links between switches that a packet crosses.

use std::collections::BTreeSet;

use etherweave_topology::{Channel, Node, Topology};

use super::{OutputChannel, PacketRouting};

/// Links between switches that a packet crosses at most, by the routing's own order: every link has a higher
/// [rank](PacketRouting::rank) than the one before it, so there are no more links than ranks. Where the order follows
/// from more than the channel, as of tables by destination, a packet visits no switch twice.
pub fn hops_max<R: PacketRouting>(routing: &R, topology: &Topology) -> u32 {
    let channels = topology.channels().iter();
    let ranks: BTreeSet<u32> = channels.filter_map(output).flat_map(|out| ranks(routing, out)).collect();
    let limit = if ranks.is_empty() { topology.switches().saturating_sub(1) } else { ranks.len() };
    limit.min(usize::from(u8::MAX) - 1) as u32
}

/// The first virtual channel of a link between switches.
fn output(channel: &Channel) -> Option<OutputChannel> {
    let port = channel.from.port.get() as u8;
    match (channel.from.node, channel.to.node) {
        (Node::Switch(at), Node::Switch(_)) => {
            Some(OutputChannel { switch: at.get(), port, channel: 0, class: channel.class })
        }
        (Node::Host(_), _) | (_, Node::Host(_)) => None,
    }
}

/// The ranks of all virtual channels of a link.
fn ranks<R: PacketRouting>(routing: &R, out: OutputChannel) -> impl Iterator<Item = u32> {
    (0..routing.channels()).filter_map(move |channel| routing.rank(OutputChannel { channel, ..out }))
}

#[cfg(test)]
mod tests {
    use etherweave_topology::{Dragonfly, Family, FatTree, FlattenedButterfly, Topology};

    use super::*;
    use crate::{
        ButterflyPlan, ClosPlan, DragonflyMinimal, DragonflyPlan, FabricPlan, HashScope, ProgressiveAdaptive, UpByHash,
        Valiant, ValiantGroup, ValiantSwitch,
    };

    fn dragonfly() -> Topology {
        Dragonfly { p: 2, a: 4, h: 2, ..Dragonfly::default() }.generate().unwrap()
    }

    /// Local, global, local; over a group, each of the two parts; over a switch of it, a local link more.
    #[test]
    fn a_dragonfly_takes_three_five_or_six_links() {
        let topology = dragonfly();
        let plan = || DragonflyPlan::of(&topology).unwrap();
        assert_eq!(hops_max(&DragonflyMinimal { plan: plan() }, &topology), 3);
        assert_eq!(hops_max(&ValiantGroup { plan: plan() }, &topology), 5);
        assert_eq!(hops_max(&ValiantSwitch { plan: plan() }, &topology), 6);
        assert_eq!(hops_max(&ProgressiveAdaptive { plan: plan(), threshold: 0 }, &topology), 6);
    }

    /// Up to the top and down again.
    #[test]
    fn a_tree_of_two_levels_takes_two_links() {
        let topology = FatTree::default().generate().unwrap();
        let routing = UpByHash { plan: ClosPlan::of(&topology).unwrap(), hash_scope: HashScope::PerPacket };
        assert_eq!(hops_max(&routing, &topology), 2);
    }

    /// Each dimension once, to the random switch and from there.
    #[test]
    fn valiant_takes_two_links_a_dimension() {
        let topology = FlattenedButterfly::default().generate().unwrap();
        let plan = ButterflyPlan::of(&topology).unwrap();
        assert_eq!(hops_max(&Valiant { plan }, &topology) as usize, 2 * topology.axes().len());
    }
}
