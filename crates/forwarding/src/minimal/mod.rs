//! The routing that tables implement, by whole regions of addresses instead of one host after the other.
//!
//! | Family | The ports of a switch towards a host elsewhere |
//! |---|---|
//! | trees | down where a child leads to it, otherwise every port up |
//! | flattened butterfly, HyperX | along the most significant dimension in which the two differ |
//! | dragonfly | in the own group directly; otherwise the own links to its group, or those to switches that have some |
//! | dragonfly+ | every port on a shortest path: of a leaf, up to spines with links to the group |
//! | all others | every port on a shortest path, searched from one switch at a time |
//!
//! For all but the last nothing is searched: ports follow from a switch's own cables and the coordinates of a region,
//! so that 20,000 switches with 300,000 destinations take no memory. Where what was built departs from the plan, so
//! that this would not do, shortest paths are searched, as for all other families; trees have up/down routing listed
//! then.

mod butterfly;
mod dragonfly;
mod dragonfly_plus;
mod listed;
mod searched;
pub(crate) mod tree;
mod view;

use etherweave_primitives::{ChannelId, InputError, SwitchId};
use etherweave_routing::RoutingKind;
use etherweave_topology::{GroupShape, RowShape, Shape, Topology, TopologyKind};

pub use view::SwitchView;

use listed::ListedRouting;
use searched::Lengths;

/// The minimal routing of a fabric, by region.
#[derive(Clone, Debug)]
pub struct MinimalRouting<'a> {
    topology: &'a Topology,
    method: MinimalMethod,
}

#[derive(Clone, Debug)]
enum MinimalMethod {
    Grid,
    Tree,
    Groups(dragonfly::Gateways),
    SpineLinks(dragonfly_plus::SpineLinks),
    SearchedView(searched::SearchGraph),
    ListedRouting(ListedRouting),
}

impl<'a> MinimalRouting<'a> {
    /// The routing of `topology`, which `kind` has generated.
    ///
    /// # Errors
    /// When the routing has to be listed and the fabric is too large for that, or some host has no path to some other.
    pub fn of(kind: &TopologyKind, topology: &'a Topology) -> Result<MinimalRouting<'a>, InputError> {
        let shape = kind.shape();
        let method = match &shape {
            Shape::Grid { row: RowShape::Full, .. } => butterfly::is_regular(topology).then_some(MinimalMethod::Grid),
            Shape::Tree => tree::is_regular(topology).then_some(MinimalMethod::Tree),
            Shape::Groups(GroupShape::Full) => dragonfly::Gateways::of(topology).map(MinimalMethod::Groups),
            Shape::Groups(GroupShape::Tree) => dragonfly_plus::SpineLinks::of(topology).map(MinimalMethod::SpineLinks),
            Shape::Grid { row: RowShape::Ring | RowShape::Line, .. }
            | Shape::Single
            | Shape::Rails { .. }
            | Shape::Graph { .. } => None,
        };
        match method {
            Some(method) => Ok(MinimalRouting { topology, method }),
            None if shape.is_hierarchical() => MinimalRouting::listed(topology, RoutingKind::UpDown),
            None => Ok(MinimalRouting {
                topology,
                method: MinimalMethod::SearchedView(searched::SearchGraph::of(topology)),
            }),
        }
    }

    /// Shortest paths on links that are up, by group in a dragonfly; ports keep their numbers. Hosts that cannot be
    /// reached have no ports, and packets for them go nowhere. In a tree these paths may turn up again below: their
    /// priorities must be proved.
    pub fn around(kind: &TopologyKind, topology: &'a Topology, down: &[ChannelId]) -> MinimalRouting<'a> {
        let is_by_group = matches!(kind.shape(), Shape::Groups(_));
        let lengths = if is_by_group { Lengths::Hierarchical } else { Lengths::Equal };
        MinimalRouting {
            topology,
            method: MinimalMethod::SearchedView(searched::SearchGraph::around(topology, lengths, down)),
        }
    }

    /// A routing by name, listed.
    ///
    /// # Errors
    /// When the fabric is too large for that, or some host has no path to some other.
    pub fn listed(topology: &'a Topology, routing: RoutingKind) -> Result<MinimalRouting<'a>, InputError> {
        Ok(MinimalRouting { topology, method: MinimalMethod::ListedRouting(ListedRouting::of(topology, routing)?) })
    }

    /// Whether nothing is listed.
    pub fn is_implicit(&self) -> bool {
        !matches!(self.method, MinimalMethod::ListedRouting(_))
    }

    /// Whether shortest paths are searched, from one switch at a time.
    pub fn is_searched(&self) -> bool {
        matches!(self.method, MinimalMethod::SearchedView(_))
    }

    /// The fabric.
    pub fn topology(&self) -> &'a Topology {
        self.topology
    }

    /// The ports of one switch.
    pub fn view(&self, at: SwitchId) -> SwitchView<'_> {
        match &self.method {
            MinimalMethod::Grid => SwitchView::CoordinateView(butterfly::view(self.topology, at)),
            MinimalMethod::Tree => SwitchView::CoordinateView(tree::view(self.topology, at)),
            MinimalMethod::Groups(gateways) => SwitchView::CoordinateView(gateways.view(self.topology, at)),
            MinimalMethod::SpineLinks(fans) => SwitchView::CoordinateView(fans.view(self.topology, at)),
            MinimalMethod::SearchedView(graph) => SwitchView::SearchedView(graph.view(self.topology, at)),
            MinimalMethod::ListedRouting(listed) => SwitchView::ListedRouting { listed, topology: self.topology, at },
        }
    }
}
