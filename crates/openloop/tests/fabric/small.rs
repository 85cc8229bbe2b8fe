//! Small fabrics of every kind that a routing may be for.

use etherweave_topology::{
    Dimension, Dragonfly, Family, FatTree, FlattenedButterfly, FoldedClos, HyperX, KAryFatTree, Topology, Uplinks,
};

/// What tests must know of a fabric.
pub struct Small {
    pub topology: Topology,
    /// Links between the farthest two switches by a minimal way: levels twice, or dimensions, or local, global, local.
    #[allow(dead_code, reason = "not every test counts links")]
    pub diameter: u32,
}

/// Three dragonflies, two with several links between groups and one of these with ports to spare; three butterflies,
/// with unequal rows and parallel links; three trees, tapered and cut.
pub fn all() -> Vec<Small> {
    let dragonfly = |groups| Dragonfly { p: 2, a: 4, h: 2, groups, ..Dragonfly::default() }.generate();
    let butterfly = |hosts_per_switch, sizes: &[u32]| {
        FlattenedButterfly { hosts_per_switch, sizes: sizes.to_vec(), ..FlattenedButterfly::default() }.generate()
    };
    let dimension = |size, lag| Dimension { lag, ..Dimension::of(size) };
    let hyperx =
        HyperX { hosts_per_switch: 3, dimensions: vec![dimension(5, 1), dimension(2, 3)], ..HyperX::default() };
    let two_levels = FatTree { leaves: 6, hosts_per_leaf: 6, cores: 2, links_per_core: 2, ..FatTree::default() };
    let cut = FoldedClos { radix: 6, hosts: 53, uplinks: vec![Uplinks::default(); 2], ..FoldedClos::default() };
    let rows = [
        (dragonfly(None), 3),
        (dragonfly(Some(5)), 3),
        (dragonfly(Some(4)), 3),
        (butterfly(4, &[4, 4]), 2),
        (butterfly(2, &[3, 4, 3]), 3),
        (hyperx.generate(), 2),
        (two_levels.generate(), 2),
        (KAryFatTree { k: 6, ..KAryFatTree::default() }.generate(), 4),
        (cut.generate(), 4),
    ];
    rows.map(|(topology, diameter)| Small { topology: topology.unwrap(), diameter }).into()
}
