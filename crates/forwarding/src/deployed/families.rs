//! The flow tables of each family of fabrics.

use etherweave_primitives::InputError;
use etherweave_routing::tables::{ChannelScheme, CompiledTables, Trigger};
use etherweave_routing::{FabricOf, TableSource};
use etherweave_topology::{Dimension, GroupShape, RowShape, Shape, Topology, TopologyKind};

use super::{ConditionalTables, MinimalTables, TableParams, flow_tables::Conditions, flow_tables::FlowTables};
use crate::{CompactionKind, PlanKind, Strategy};

/// The tables of a fabric with given parameters, for its routings.
#[derive(Clone, Copy)]
pub struct FabricTables<'a> {
    /// Topology that generated the fabric.
    pub kind: &'a TopologyKind,
    /// Connections of the fabric.
    pub topology: &'a Topology,
    /// How tables are made.
    pub params: &'a TableParams,
}

/// The fabric with these tables, without failures.
impl<'a> From<&'a FabricTables<'a>> for FabricOf<'a> {
    fn from(tables: &'a FabricTables<'a>) -> FabricOf<'a> {
        FabricOf { tables: Some(tables), ..tables.topology.into() }
    }
}

impl TableSource for FabricTables<'_> {
    fn minimal(&self) -> Result<CompiledTables, InputError> {
        let tables = self.params.minimal.build(self.kind, self.topology);
        tables.map_err(|error| within(error, "tables.minimal"))
    }

    fn conditional(&self) -> Result<CompiledTables, InputError> {
        let tables = self.params.conditional.build(self.kind, self.topology);
        tables.map_err(|error| within(error, "tables.conditional"))
    }

    fn has_minimal(&self) -> bool {
        self.params.minimal.tables(self.kind, self.topology).is_ok()
    }

    fn has_conditional(&self) -> bool {
        self.params.conditional.tables(self.kind, self.topology).is_ok()
    }
}

/// The error of tables, with the path of their parameters where it concerns these and not the fabric.
fn within(error: InputError, tables: &str) -> InputError {
    if error.key == "topology" { error } else { error.within(tables) }
}

impl MinimalTables {
    /// Returns the generator of the tables, with the channels of their hops.
    ///
    /// # Errors
    /// When the family has no tables here, or the address plan does not suit the fabric.
    pub fn tables<'a>(
        &self,
        kind: &TopologyKind,
        topology: &'a Topology,
    ) -> Result<(FlowTables<'a>, ChannelScheme), InputError> {
        let ranks = match TableFamily::of(kind)? {
            TableFamily::Dragonfly => ChannelScheme::ByLink(2),
            TableFamily::Butterfly(_) | TableFamily::Tree => ChannelScheme::One,
        };
        let fitting = Strategy::fitting(kind);
        let plan = self.address_plan.unwrap_or(fitting.plan);
        let compaction = self.compaction.unwrap_or(fitting.compaction);
        let tables = FlowTables::new(kind, topology, Strategy { plan, compaction, ..fitting }, Conditions::None)?;
        Ok((tables, ranks))
    }

    /// The routing on `topology`, which `kind` has generated.
    ///
    /// # Errors
    /// As [`MinimalTables::tables`], and when the tables are too large.
    pub fn build(&self, kind: &TopologyKind, topology: &Topology) -> Result<CompiledTables, InputError> {
        let (tables, ranks) = self.tables(kind, topology)?;
        tables.compile(ranks, Trigger::default())
    }
}

impl ConditionalTables {
    /// Returns the generator of the tables, with the channels of their hops.
    ///
    /// # Errors
    /// When the family has no such tables, or a parameter does not suit it.
    pub fn tables<'a>(
        &self,
        kind: &TopologyKind,
        topology: &'a Topology,
    ) -> Result<(FlowTables<'a>, ChannelScheme), InputError> {
        let family = TableFamily::of(kind)?;
        let conditions = self.conditions(family, topology)?;
        let tables = FlowTables::new(kind, topology, self.strategy(family, kind)?, conditions)?;
        Ok((tables, self.ranks(family)?))
    }

    /// The routing on `topology`, which `kind` has generated.
    ///
    /// # Errors
    /// As [`ConditionalTables::tables`], and when the tables are too large.
    pub fn build(&self, kind: &TopologyKind, topology: &Topology) -> Result<CompiledTables, InputError> {
        let (tables, ranks) = self.tables(kind, topology)?;
        tables.compile(ranks, self.trigger)
    }

    fn strategy(&self, family: TableFamily, kind: &TopologyKind) -> Result<Strategy, InputError> {
        use CompactionKind::{Plain, Prefixes, PrefixesNested, Ternary, Wildcards};
        let possible: &[CompactionKind] = match family {
            TableFamily::Dragonfly => &[Prefixes, Plain],
            TableFamily::Butterfly(_) => &[Wildcards],
            TableFamily::Tree => &[PrefixesNested, Plain, Prefixes, Ternary],
        };
        let compaction = self.compaction.unwrap_or(possible[0]);
        if !possible.contains(&compaction) {
            let names: Vec<&str> = possible.iter().map(|kind| kind.name()).collect();
            let expected = format!("{} under conditional rules on a {}", names.join(" or "), kind.name());
            return Err(InputError::new("compaction", compaction.name(), expected));
        }
        Ok(Strategy { plan: PlanKind::Coordinates, compaction, ..Strategy::fitting(kind) })
    }

    fn conditions(&self, family: TableFamily, topology: &Topology) -> Result<Conditions, InputError> {
        let alternatives = self.alternatives.unwrap_or(1);
        match (family, self.alternatives) {
            (TableFamily::Dragonfly | TableFamily::Tree, Some(0)) => {
                Err(InputError::new("alternatives", 0, "1 or more; minimal_tables have none"))
            }
            (TableFamily::Tree, alternatives) => Ok(Conditions::Uplinks(alternatives.unwrap_or(u32::MAX))),
            (TableFamily::Dragonfly, _) => Ok(Conditions::NonMinimal { axes: 1, alternatives }),
            (TableFamily::Butterfly(_), _) => Ok(Conditions::NonMinimal { axes: topology.axes().len(), alternatives }),
        }
    }

    fn ranks(&self, family: TableFamily) -> Result<ChannelScheme, InputError> {
        match (family, self.priorities) {
            (TableFamily::Dragonfly, None | Some(2)) => Ok(ChannelScheme::ByRule),
            (TableFamily::Dragonfly, Some(3)) => Ok(ChannelScheme::ByLink(3)),
            (TableFamily::Butterfly(rows), None) => {
                Ok(ChannelScheme::ByHop(rows.links_max(self.alternatives != Some(0))))
            }
            (TableFamily::Tree, None) => Ok(ChannelScheme::One),
            (family, Some(found)) => {
                let expected = match family {
                    TableFamily::Dragonfly => "2 or 3",
                    TableFamily::Butterfly(_) | TableFamily::Tree => {
                        "nothing: the fabric determines how many are needed"
                    }
                };
                Err(InputError::new("priorities", found, expected))
            }
        }
    }
}

/// Families with conditional rules of the same kind.
#[derive(Clone, Copy)]
enum TableFamily {
    Dragonfly,
    Butterfly(GridRows),
    Tree,
}

#[derive(Clone, Copy)]
struct GridRows {
    /// Dimensions of several places.
    dimensions: u8,
    /// Whether the last of them has a third place, and single links: then a non-minimal path may be a link longer.
    has_third_place: bool,
}

impl GridRows {
    fn of(dimensions: &[Dimension]) -> GridRows {
        let rows: Vec<&Dimension> = dimensions.iter().filter(|row| row.size > 1).collect();
        let has_third_place = rows.last().is_some_and(|row| row.size > 2 && row.lag == 1);
        GridRows { dimensions: rows.len() as u8, has_third_place }
    }

    /// Links between switches on the longest path, at least 1.
    fn links_max(self, is_non_minimal: bool) -> u8 {
        (self.dimensions + u8::from(is_non_minimal && self.has_third_place)).max(1)
    }
}

impl TableFamily {
    fn of(kind: &TopologyKind) -> Result<TableFamily, InputError> {
        match kind.shape() {
            Shape::Groups(GroupShape::Full) => Ok(TableFamily::Dragonfly),
            Shape::Grid { row: RowShape::Full, dimensions } => Ok(TableFamily::Butterfly(GridRows::of(&dimensions))),
            Shape::Tree => Ok(TableFamily::Tree),
            Shape::Single
            | Shape::Rails { .. }
            | Shape::Groups(GroupShape::Tree)
            | Shape::Grid { row: RowShape::Ring | RowShape::Line, .. }
            | Shape::Graph { .. } => {
                let expected = "a dragonfly, flattened butterfly, HyperX or tree where packets go by tables".to_owned();
                Err(InputError::new("topology", kind.name(), expected))
            }
        }
    }
}
