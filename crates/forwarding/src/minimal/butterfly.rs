//! Rows that are fully connected: flattened butterflies and HyperX. Dimension order, most significant first, so that
//! a packet reaches its group before its switch (Benito et al. 2015, section V-C: higher-level rules come first).

use etherweave_primitives::{Port, SwitchId};
use etherweave_topology::{Node, Topology};

use super::view::CoordinateView;

pub(super) fn view(topology: &Topology, at: SwitchId) -> CoordinateView {
    CoordinateView::new(topology, at, topology.coordinates(at).to_vec(), apart(topology, at), Vec::new())
}

/// Ports by the first axis in which their far end is apart, and its place there.
pub(super) fn apart(topology: &Topology, at: SwitchId) -> Vec<(usize, u32, Port)> {
    let own = topology.coordinates(at);
    let leaving = topology.out_channels(at).iter().map(|&channel| topology.channel(channel));
    let apart = leaving.filter_map(|channel| {
        let Node::Switch(far) = channel.to.node else { return None };
        let place = topology.coordinates(far);
        let axis = (0..own.len()).find(|&axis| own[axis] != place[axis])?;
        Some((axis, place[axis], channel.from.port))
    });
    apart.collect()
}

/// Whether every switch has links to all others of its rows, and to no others.
pub(super) fn is_regular(topology: &Topology) -> bool {
    let switches = || (0..topology.switches()).map(SwitchId::from_index);
    let axes = topology.axes().len();
    let size = |axis| switches().map(|switch| topology.coordinates(switch)[axis] + 1).max().unwrap_or(0) as usize;
    let sizes: Vec<usize> = (0..axes).map(size).collect();
    let neighbours: usize = sizes.iter().map(|size| size - 1).sum();
    let is_full = |switch| {
        let mut places: Vec<(usize, u32)> = apart(topology, switch).iter().map(|&(axis, at, _)| (axis, at)).collect();
        places.sort_unstable();
        places.dedup();
        places.len() == neighbours && is_straight(topology, switch)
    };
    sizes.iter().product::<usize>() == topology.switches() && switches().all(is_full)
}

/// Whether every link leads to a switch that differs in one coordinate.
fn is_straight(topology: &Topology, at: SwitchId) -> bool {
    let own = topology.coordinates(at);
    topology.out_channels(at).iter().all(|&channel| match topology.channel(channel).to.node {
        Node::Host(_) => true,
        Node::Switch(far) => own.iter().zip(topology.coordinates(far)).filter(|(a, b)| a != b).count() == 1,
    })
}
