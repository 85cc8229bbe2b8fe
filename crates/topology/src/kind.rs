//! The families, listed once: a family is a file in `kind`, its module and its entry here.

use std::ops::Deref;

use etherweave_primitives::{InputError, InputErrors};

use crate::{Bisection, Distances, Family, FamilyFit, SizeRequest, Topology};

mod custom;
mod dragonfly;
mod dragonfly_plus;
mod fat_tree;
mod flattened_butterfly;
mod folded_clos;
mod hyperx;
mod k_ary_fat_tree;
mod mesh;
mod rail_optimised;
mod single_switch;
mod slim_fly;
mod staged_fat_tree;
mod torus;

pub use folded_clos::Uplinks;
pub use staged_fat_tree::Stage;

macro_rules! families {
    ($($(#[$doc:meta])* $module:ident::$family:ident = $name:literal,)*) => {
        $(pub use $module::$family;)*

        /// A family with its parameters: `[topology.fat_tree]` in a scenario.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum TopologyKind {
            $($(#[$doc])* #[serde(rename = $name)] $family($family),)*
        }

        impl TopologyKind {
            /// Names of the families in a scenario.
            pub const NAMES: &[&str] = &[$($name),*];

            /// Returns the name of the family in a scenario.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$family(_) => $name,)*
                }
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
        }

        impl Deref for TopologyKind {
            type Target = dyn Family;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$family(parameters) => parameters,)*
                }
            }
        }
    };
}

families! {
    /// Hosts on one switch.
    single_switch::SingleSwitch = "single_switch",
    /// Leaves and cores with any taper.
    fat_tree::FatTree = "fat_tree",
    /// The three-level fat tree of identical k-port switches.
    k_ary_fat_tree::KAryFatTree = "k_ary_fat_tree",
    /// A fat tree of any number of stages.
    staged_fat_tree::StagedFatTree = "staged_fat_tree",
    /// A folded Clos network of identical switches, cut to any number of hosts.
    folded_clos::FoldedClos = "folded_clos",
    /// Leaves by the number of the NIC within its server.
    rail_optimised::RailOptimised = "rail_optimised",
    /// Fully connected rows in every dimension.
    flattened_butterfly::FlattenedButterfly = "flattened_butterfly",
    /// A flattened butterfly with its own size and parallel links in every dimension.
    hyperx::HyperX = "hyperx",
    /// Fully connected groups, fully connected with each other.
    dragonfly::Dragonfly = "dragonfly",
    /// A dragonfly whose groups are two-level trees.
    dragonfly_plus::DragonflyPlus = "dragonfly_plus",
    /// The McKay-Miller-Širáň graphs of diameter 2.
    slim_fly::SlimFly = "slim_fly",
    /// A grid whose rows are rings.
    torus::Torus = "torus",
    /// A grid whose rows are lines.
    mesh::Mesh = "mesh",
    /// Links listed one by one.
    custom::Custom = "custom",
}

impl TopologyKind {
    /// The fabric with these parameters.
    ///
    /// # Errors
    /// When a parameter is out of range or the links do not make a valid fabric.
    pub fn generate(&self) -> Result<Topology, InputErrors> {
        (**self).generate().map_err(|error| error.within(self.name()))
    }

    /// The bisection by formula; none where no formula is known, or where it does not hold because the fabric was not
    /// built as planned.
    pub fn bisection(&self) -> Option<Bisection> {
        if self.as_built().is_regular() { (**self).bisection() } else { None }
    }

    /// How far hosts are apart by formula; none where no formula is known, or where it does not hold because the fabric
    /// was not built as planned.
    pub fn distances(&self) -> Option<Distances> {
        if self.as_built().is_regular() { (**self).distances() } else { None }
    }
}
