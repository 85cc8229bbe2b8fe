//! The shapes of fabrics: what tables, proofs, defaults and drawings go by, so that none of them names a family.

use crate::Dimension;

/// Order in which a family joins its switches.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// All hosts on one switch.
    Single,
    /// Levels of switches, the hosts of a switch numbered in a row: packets go up, then down.
    Tree,
    /// A tree each of whose leaves has one NIC of every server.
    Rails {
        /// NICs of a server, each a host.
        nics_per_server: u32,
    },
    /// Switches in rows along several dimensions.
    Grid {
        /// Links within a row.
        row: RowShape,
        /// The dimensions, the fastest counted first.
        dimensions: Vec<Dimension>,
    },
    /// Groups of switches, every two groups joined.
    Groups(GroupShape),
    /// Switches joined in some other order.
    Graph {
        /// Whether links are listed one by one, so that nothing else is known of them.
        is_listed: bool,
    },
}

/// Links within a row of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowShape {
    /// Every two switches are joined.
    Full,
    /// Neighbours are joined, the last with the first as well.
    Ring,
    /// Neighbours are joined.
    Line,
}

/// Links within a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupShape {
    /// Every two switches are joined.
    Full,
    /// Leaves with the hosts below spines with the links to other groups.
    Tree,
}

impl Shape {
    /// Names of all shapes.
    pub const NAMES: [&str; 6] = ["single", "tree", "rails", "grid", "groups", "graph"];

    /// The shape in one word.
    pub const fn name(&self) -> &'static str {
        match self {
            Shape::Single => "single",
            Shape::Tree => "tree",
            Shape::Rails { .. } => "rails",
            Shape::Grid { .. } => "grid",
            Shape::Groups(_) => "groups",
            Shape::Graph { .. } => "graph",
        }
    }

    /// Whether packets go up and down without a rule of the routing's own.
    pub const fn is_hierarchical(&self) -> bool {
        matches!(self, Shape::Single | Shape::Tree | Shape::Rails { .. })
    }
}
