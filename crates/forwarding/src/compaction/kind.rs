//! The compactions, listed once.

use super::{RegionRoutes, plain, prefixes, prefixes_nested, ternary, wildcards};
use crate::{FlowTable, Rule};

/// Everything that follows from the list of compactions, each with the module that writes its rules.
macro_rules! compactions {
    ($($(#[$meta:meta])* $compaction:ident = $name:literal => $module:ident,)*) => {
        /// How a table is made small: `compaction = "wildcards"` in a scenario.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum CompactionKind {
            $($(#[$meta])* #[serde(rename = $name)] $compaction,)*
        }

        impl CompactionKind {
            /// Every member.
            pub const ALL: &[CompactionKind] = &[$(CompactionKind::$compaction),*];

            /// Returns the name of the compaction in a scenario.
            pub const fn name(self) -> &'static str {
                match self {
                    $(CompactionKind::$compaction => $name,)*
                }
            }

            /// The table that does what `row` asks for.
            pub fn table(self, routes: &RegionRoutes<'_>) -> FlowTable {
                let rules: Vec<Rule> = match self {
                    $(CompactionKind::$compaction => $module::rules(routes),)*
                };
                FlowTable::new(rules, routes.sets.clone())
            }
        }
    };
}

compactions! {
    /// A rule per region.
    Plain = "plain" => plain,
    /// A rule per region that matches its last field only, behind the rules for larger regions.
    Wildcards = "wildcards" => wildcards,
    /// Disjoint prefixes: neighbouring regions with the same ports are one.
    Prefixes = "prefixes" => prefixes,
    /// Longest prefix first: the fewest prefixes that do.
    #[default]
    PrefixesNested = "prefixes_nested" => prefixes_nested,
    /// Patterns joined bit by bit, whatever their bits.
    Ternary = "ternary" => ternary,
}
