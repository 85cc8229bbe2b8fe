//! The routing that tables implement, asked for whole regions of addresses instead of one host after the other.
//!
//! | Family | The ports of a switch towards a host elsewhere |
//! |---|---|
//! | trees | down where a child leads to it, otherwise every port up |
//! | flattened butterfly, HyperX | along the most significant dimension in which the two differ |
//! | dragonfly | in the own group directly; otherwise the own links to its group, or those to switches that have some |
//! | dragonfly+ | every port on a shortest path: of a leaf, up to spines with links to the group |
//! | all others | every port on a shortest path, searched from one switch at a time |
//!
//! For all but the last nothing is searched: a switch looks at its own cables and at the coordinates of a region, so
//! that 20,000 switches with 300,000 destinations take no memory. Where what was built departs from the plan, so that
//! this would not do, shortest paths are searched, as for all other families; trees have up/down routing listed then.

mod fans;
mod grid;
mod groups;
mod listed;
mod searched;
mod tree;
mod view;

use etherweave_primitives::{ChannelId, SwitchId};
use etherweave_routing::RoutingKind;
use etherweave_topology::{Topology, TopologyKind};

pub use view::View;

use crate::ForwardingError;
use listed::Listed;
use searched::Lengths;

/// The minimal routing of a fabric, by region.
#[derive(Clone, Debug)]
pub struct Minimal<'a> {
    topology: &'a Topology,
    rule: Rule,
}

#[derive(Clone, Debug)]
enum Rule {
    Grid,
    Tree,
    Groups(groups::Gateways),
    Fans(fans::Fans),
    Searched(searched::Graph),
    Listed(Listed),
}

impl<'a> Minimal<'a> {
    /// The routing of `topology`, which `kind` has generated.
    ///
    /// # Errors
    /// When the routing has to be listed and the fabric is too large for that, or some host has no way to some other.
    pub fn of(kind: &TopologyKind, topology: &'a Topology) -> Result<Minimal<'a>, ForwardingError> {
        let rule = match kind {
            TopologyKind::FlattenedButterfly(_) | TopologyKind::HyperX(_) => {
                grid::is_regular(topology).then_some(Rule::Grid)
            }
            TopologyKind::FatTree(_)
            | TopologyKind::KAryFatTree(_)
            | TopologyKind::StagedFatTree(_)
            | TopologyKind::FoldedClos(_) => tree::is_regular(topology).then_some(Rule::Tree),
            TopologyKind::Dragonfly(_) => groups::Gateways::of(topology).map(Rule::Groups),
            TopologyKind::DragonflyPlus(_) => fans::Fans::of(topology).map(Rule::Fans),
            TopologyKind::SingleSwitch(_)
            | TopologyKind::RailOptimised(_)
            | TopologyKind::SlimFly(_)
            | TopologyKind::Torus(_)
            | TopologyKind::Mesh(_)
            | TopologyKind::Custom(_) => None,
        };
        match rule {
            Some(rule) => Ok(Minimal { topology, rule }),
            None if is_tree(kind) => Minimal::listed(topology, RoutingKind::UpDown),
            None => Ok(Minimal { topology, rule: Rule::Searched(searched::Graph::of(topology)) }),
        }
    }

    /// Shortest paths on links that are up, by group in a dragonfly; ports keep their numbers. Hosts that cannot be
    /// reached have no ports, and packets for them go nowhere. In a tree these paths may turn up again below: their
    /// priorities must be proved.
    pub fn around(kind: &TopologyKind, topology: &'a Topology, down: &[ChannelId]) -> Minimal<'a> {
        let is_hierarchical = matches!(kind, TopologyKind::Dragonfly(_) | TopologyKind::DragonflyPlus(_));
        let lengths = if is_hierarchical { Lengths::Hierarchical } else { Lengths::Equal };
        Minimal { topology, rule: Rule::Searched(searched::Graph::around(topology, lengths, down)) }
    }

    /// A routing by name, listed.
    ///
    /// # Errors
    /// When the fabric is too large for that, or some host has no way to some other.
    pub fn listed(topology: &'a Topology, routing: RoutingKind) -> Result<Minimal<'a>, ForwardingError> {
        Ok(Minimal { topology, rule: Rule::Listed(Listed::of(topology, routing)?) })
    }

    /// Whether nothing is listed.
    pub fn is_implicit(&self) -> bool {
        !matches!(self.rule, Rule::Listed(_))
    }

    /// The fabric.
    pub fn topology(&self) -> &'a Topology {
        self.topology
    }

    /// What one switch does.
    pub fn view(&self, at: SwitchId) -> View<'_> {
        match &self.rule {
            Rule::Grid => View::Near(grid::view(self.topology, at)),
            Rule::Tree => View::Near(tree::view(self.topology, at)),
            Rule::Groups(gateways) => View::Near(gateways.view(self.topology, at)),
            Rule::Fans(fans) => View::Near(fans.view(self.topology, at)),
            Rule::Searched(graph) => View::Searched(graph.view(self.topology, at)),
            Rule::Listed(listed) => View::Listed { listed, topology: self.topology, at },
        }
    }
}

/// Whether packets in a fabric without a rule of its own, or with departures from it, go up and down; otherwise they
/// take shortest paths.
fn is_tree(kind: &TopologyKind) -> bool {
    match kind {
        TopologyKind::FatTree(_)
        | TopologyKind::KAryFatTree(_)
        | TopologyKind::StagedFatTree(_)
        | TopologyKind::FoldedClos(_)
        | TopologyKind::RailOptimised(_)
        | TopologyKind::SingleSwitch(_) => true,
        TopologyKind::FlattenedButterfly(_)
        | TopologyKind::HyperX(_)
        | TopologyKind::Dragonfly(_)
        | TopologyKind::DragonflyPlus(_)
        | TopologyKind::SlimFly(_)
        | TopologyKind::Torus(_)
        | TopologyKind::Mesh(_)
        | TopologyKind::Custom(_) => false,
    }
}
