//! The families, listed once.

use crate::{Custom, FatTree, KAryFatTree, SingleSwitch, StagedFatTree, Topology, TopologyError};

/// Parameters that generate a fabric.
pub trait Family: Sized {
    /// The fabric with these parameters.
    ///
    /// # Errors
    /// When a parameter is out of range or the links do not make a valid fabric.
    fn generate(&self) -> Result<Topology, TopologyError>;

    /// Small valid members, for documentation and for tests that every family must pass.
    fn examples() -> Vec<Self>;
}

/// Everything that follows from the list of families.
macro_rules! families {
    ($($(#[$doc:meta])* $family:ident,)*) => {
        /// A family with its parameters: `[topology.fat_tree]` in a scenario.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum TopologyKind {
            $($(#[$doc])* $family($family),)*
        }

        impl TopologyKind {
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
        }
    };
}

families! {
    /// Hosts on one switch.
    SingleSwitch,
    /// Leaves and cores, tapered as one likes.
    FatTree,
    /// The three-level fat tree of identical k-port switches.
    KAryFatTree,
    /// A fat tree of any number of stages.
    StagedFatTree,
    /// Links listed one by one.
    Custom,
}
