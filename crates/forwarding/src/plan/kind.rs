//! The address plans, listed once.

use etherweave_topology::Topology;

use super::{AddressPlan, HostSites, coordinates, flat, per_group, per_switch};
use etherweave_primitives::InputError;

/// How the fields of a plan are laid out.
#[derive(Clone, Copy, Debug, Default)]
pub struct FieldLayout<'a> {
    /// Width of each field, most significant first [bits]; none: as narrow as values allow.
    pub widths: &'a [u32],
    /// Leading coordinates that the switches of a group share, 1 up to all but one; none: all but the last.
    pub group_coordinates: Option<u32>,
}

/// Everything that follows from the list of plans, each with the module that fills its fields.
macro_rules! plans {
    ($($(#[$meta:meta])* $plan:ident = $name:literal => $module:ident,)*) => {
        /// How hosts get their addresses: `address_plan = "per_group"` in a scenario.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum PlanKind {
            $($(#[$meta])* #[serde(rename = $name)] $plan,)*
        }

        impl PlanKind {
            /// Every member.
            pub const ALL: &[PlanKind] = &[$(PlanKind::$plan),*];

            /// Returns the name of the plan in a scenario.
            pub const fn name(self) -> &'static str {
                match self {
                    $(PlanKind::$plan => $name,)*
                }
            }

            /// Gives every host of a fabric its address, in fields as narrow as their values allow.
            ///
            /// # Errors
            /// When the fabric lacks the coordinates that the plan needs, or the fields do not fit an address.
            pub fn plan(self, topology: &Topology) -> Result<AddressPlan, InputError> {
                self.plan_with(topology, FieldLayout::default())
            }

            /// Does the same as [`plan`](Self::plan), with a layout of its own.
            ///
            /// # Errors
            /// Also when there is not one width per field, or one is too narrow, or no such group.
            pub fn plan_with(self, topology: &Topology, layout: FieldLayout<'_>) -> Result<AddressPlan, InputError> {
                let sites = HostSites::of(topology, layout.group_coordinates);
                let columns = match self {
                    $(PlanKind::$plan => $module::columns(&sites)?,)*
                };
                AddressPlan::new(self, &sites, columns, layout.widths)
            }
        }
    };
}

plans! {
    /// An entry per host.
    Flat = "flat" => flat,
    /// An entry per switch with hosts, and one per own host.
    PerSwitch = "per_switch" => per_switch,
    /// An entry per remote group, per switch of the own group, per own host.
    PerGroup = "per_group" => per_group,
    /// A sub-field per coordinate, for wildcards.
    #[default]
    Coordinates = "coordinates" => coordinates,
}
