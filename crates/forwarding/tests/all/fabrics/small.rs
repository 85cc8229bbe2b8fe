//! Small fabrics of every kind that a routing may be for.

use etherweave_topology::{
    Dimension, Dragonfly, FatTree, FlattenedButterfly, FoldedClos, HyperX, KAryFatTree, Mesh, SlimFly, Topology,
    TopologyKind, Torus, Uplinks,
};

/// Fabric with the facts that tests must know.
pub struct Small {
    pub kind: TopologyKind,
    pub topology: Topology,
    /// Links between the farthest two switches by a minimal path: levels twice, or dimensions, or local, global, local.
    #[allow(dead_code, reason = "not every test counts links")]
    pub diameter: u32,
}

/// Three dragonflies, two with several links between groups and one of these with ports to spare; three butterflies,
/// with unequal rows and parallel links; three trees, tapered and cut; a torus with rings of even and odd length and
/// parallel links, a mesh, and a Slim Fly.
pub fn all() -> Vec<Small> {
    let dragonfly = |groups| TopologyKind::Dragonfly(Dragonfly { p: 2, a: 4, h: 2, groups, ..Dragonfly::default() });
    let butterfly = |hosts_per_switch, sizes: &[u32]| {
        let sizes = sizes.to_vec();
        TopologyKind::FlattenedButterfly(FlattenedButterfly {
            hosts_per_switch,
            sizes,
            ..FlattenedButterfly::default()
        })
    };
    let dimension = |size, lag| Dimension { lag, ..Dimension::of(size) };
    let hyperx =
        HyperX { hosts_per_switch: 3, dimensions: vec![dimension(5, 1), dimension(2, 3)], ..HyperX::default() };
    let two_levels = FatTree { leaves: 6, hosts_per_leaf: 6, cores: 2, links_per_core: 2, ..FatTree::default() };
    let cut = FoldedClos { radix: 6, hosts: 53, uplinks: vec![Uplinks::default(); 2], ..FoldedClos::default() };
    let rings = vec![dimension(5, 1), dimension(4, 2)];
    let torus = Torus { hosts_per_switch: 2, dimensions: rings, ..Torus::default() };
    let lines = vec![dimension(3, 1), dimension(4, 1)];
    let mesh = Mesh { hosts_per_switch: 2, dimensions: lines, ..Mesh::default() };
    let slim_fly = SlimFly { q: 3, hosts_per_switch: Some(2), ..SlimFly::default() };
    let rows = [
        (dragonfly(None), 3),
        (dragonfly(Some(5)), 3),
        (dragonfly(Some(4)), 3),
        (butterfly(4, &[4, 4]), 2),
        (butterfly(2, &[3, 4, 3]), 3),
        (TopologyKind::HyperX(hyperx), 2),
        (TopologyKind::FatTree(two_levels), 2),
        (TopologyKind::KAryFatTree(KAryFatTree { k: 6, ..KAryFatTree::default() }), 4),
        (TopologyKind::FoldedClos(cut), 4),
        (TopologyKind::Torus(torus), 4),
        (TopologyKind::Mesh(mesh), 5),
        (TopologyKind::SlimFly(slim_fly), 2),
    ];
    rows.map(|(kind, diameter)| Small { topology: kind.generate().unwrap(), kind, diameter }).into()
}
