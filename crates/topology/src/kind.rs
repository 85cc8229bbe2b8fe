//! The families, listed once.

use etherweave_primitives::{InputError, InputErrors};

use crate::{
    Bisection, Custom, Distances, Dragonfly, DragonflyPlus, Family, FamilyFit, FatTree, FlattenedButterfly, FoldedClos,
    HyperX, KAryFatTree, Mesh, RailOptimised, SingleSwitch, SizeRequest, SlimFly, StagedFatTree, Topology, Torus,
};

/// Everything that follows from the list of families.
macro_rules! families {
    ($($(#[$doc:meta])* $family:ident = $name:literal,)*) => {
        /// A family with its parameters: `[topology.fat_tree]` in a scenario.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum TopologyKind {
            $($(#[$doc])* #[serde(rename = $name)] $family($family),)*
        }

        impl TopologyKind {
            /// What a scenario calls the families.
            pub const NAMES: &[&str] = &[$($name),*];

            /// What a scenario calls the family.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$family(_) => $name,)*
                }
            }

            /// The fabric with these parameters.
            ///
            /// # Errors
            /// When a parameter is out of range or the links do not make a valid fabric.
            pub fn generate(&self) -> Result<Topology, InputErrors> {
                let generated = match self {
                    $(Self::$family(parameters) => parameters.generate(),)*
                };
                generated.map_err(|error| error.within(self.name()))
            }

            /// Small valid members of every family.
            pub fn examples() -> Vec<TopologyKind> {
                let families = [$($family::examples().into_iter().map(Self::$family).collect::<Vec<_>>()),*];
                families.into_iter().flatten().collect()
            }

            /// The members of every family that satisfy a request, or why none does, by the family's name.
            pub fn fits(request: &SizeRequest) -> Vec<(&'static str, Result<FamilyFit<TopologyKind>, InputError>)> {
                vec![$(($name, $family::fit(request).map(|fit| fit.map(Self::$family)))),*]
            }

            /// The bisection by formula; none where no formula is known, or where it does not hold because the fabric
            /// was not built as planned.
            pub fn bisection(&self) -> Option<Bisection> {
                match self {
                    $(Self::$family(parameters) if parameters.as_built().is_regular() => parameters.bisection(),)*
                    $(Self::$family(_) => None,)*
                }
            }

            /// How far hosts are apart by formula; none where no formula is known, or where it does not hold because
            /// the fabric was not built as planned.
            pub fn distances(&self) -> Option<Distances> {
                match self {
                    $(Self::$family(parameters) if parameters.as_built().is_regular() => parameters.distances(),)*
                    $(Self::$family(_) => None,)*
                }
            }
        }
    };
}

families! {
    /// Hosts on one switch.
    SingleSwitch = "single_switch",
    /// Leaves and cores with any taper.
    FatTree = "fat_tree",
    /// The three-level fat tree of identical k-port switches.
    KAryFatTree = "k_ary_fat_tree",
    /// A fat tree of any number of stages.
    StagedFatTree = "staged_fat_tree",
    /// A folded Clos network of identical switches, cut to any number of hosts.
    FoldedClos = "folded_clos",
    /// Leaves by the number of the NIC within its server.
    RailOptimised = "rail_optimised",
    /// Fully connected rows in every dimension.
    FlattenedButterfly = "flattened_butterfly",
    /// A flattened butterfly with its own size and parallel links in every dimension.
    HyperX = "hyperx",
    /// Fully connected groups, fully connected with each other.
    Dragonfly = "dragonfly",
    /// A dragonfly whose groups are two-level trees.
    DragonflyPlus = "dragonfly_plus",
    /// The McKay-Miller-Širáň graphs of diameter 2.
    SlimFly = "slim_fly",
    /// A grid whose rows are rings.
    Torus = "torus",
    /// A grid whose rows are lines.
    Mesh = "mesh",
    /// Links listed one by one.
    Custom = "custom",
}
