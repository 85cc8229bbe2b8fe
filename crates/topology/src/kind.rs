//! The families, listed once.

use crate::{
    AsBuilt, Bisection, Custom, Dragonfly, DragonflyPlus, FamilyFit, FatTree, FlattenedButterfly, FoldedClos, HyperX,
    KAryFatTree, Mesh, RailOptimised, SingleSwitch, SizeRequest, SlimFly, StagedFatTree, Topology, TopologyError,
    Torus,
};

/// Parameters that generate a fabric.
pub trait Family: Sized {
    /// The fabric with these parameters.
    ///
    /// # Errors
    /// When a parameter is out of range or the links do not make a valid fabric.
    fn generate(&self) -> Result<Topology, TopologyError>;

    /// Small valid members, for documentation and for tests that every family must pass.
    fn examples() -> Vec<Self>;

    /// The members with at least so many hosts from switches of so many ports.
    ///
    /// # Errors
    /// When the radix is too small for the family, or the family ends before so many hosts.
    fn fit(request: &SizeRequest) -> Result<FamilyFit<Self>, TopologyError>;

    /// Where what was built differs from the plan.
    fn as_built(&self) -> &AsBuilt;

    /// The bisection by formula, for valid parameters built as planned; none where no formula is known.
    fn bisection(&self) -> Option<Bisection> {
        None
    }
}

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
            pub fn generate(&self) -> Result<Topology, TopologyError> {
                match self {
                    $(Self::$family(parameters) => parameters.generate(),)*
                }
            }

            /// Small valid members of every family.
            pub fn examples() -> Vec<TopologyKind> {
                let families = [$($family::examples().into_iter().map(Self::$family).collect::<Vec<_>>()),*];
                families.into_iter().flatten().collect()
            }

            /// The members of every family that fulfil a request, or why none does, by the family's name.
            pub fn fits(request: &SizeRequest) -> Vec<(&'static str, Result<FamilyFit<TopologyKind>, TopologyError>)> {
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
        }
    };
}

families! {
    /// Hosts on one switch.
    SingleSwitch = "single_switch",
    /// Leaves and cores, tapered as one likes.
    FatTree = "fat_tree",
    /// The three-level fat tree of identical k-port switches.
    KAryFatTree = "k_ary_fat_tree",
    /// A fat tree of any number of stages.
    StagedFatTree = "staged_fat_tree",
    /// A folded Clos network of identical switches, cut to any number of hosts.
    FoldedClos = "folded_clos",
    /// Leaves by the network card's number within its server.
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
