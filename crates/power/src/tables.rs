//! Forwarding tables as far as power sees them: what they are made of, and how many entries they have.

use std::fmt;

use etherweave_primitives::{InputError, SwitchId};

/// Kind of memory of a table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TableKind {
    /// Finds exact matches.
    Cam,
    /// Finds matches with wildcards.
    Tcam,
}

impl TableKind {
    /// How a profile writes it.
    pub const fn name(self) -> &'static str {
        match self {
            TableKind::Cam => "cam",
            TableKind::Tcam => "tcam",
        }
    }
}

impl fmt::Display for TableKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The tables of a fabric.
#[derive(Clone, PartialEq, Debug)]
pub struct Tables {
    /// Kind of memory of the tables.
    pub kind: TableKind,
    /// How many entries they have.
    pub entries: Entries,
}

/// Entries in use; unused ones are taken to be switched off.
#[derive(Clone, PartialEq, Debug)]
pub enum Entries {
    /// Number of entries that every switch has.
    Each(u64),
    /// Those of every switch, by number of the switch.
    PerSwitch(Vec<u64>),
}

impl Entries {
    pub(crate) fn of(&self, switch: SwitchId) -> u64 {
        match self {
            Entries::Each(entries) => *entries,
            Entries::PerSwitch(entries) => entries[switch.index()],
        }
    }

    /// Entries of the largest table.
    pub fn max(&self) -> u64 {
        match self {
            Entries::Each(entries) => *entries,
            Entries::PerSwitch(entries) => entries.iter().copied().max().unwrap_or(0),
        }
    }

    pub(crate) fn check(&self, switches: usize) -> Result<(), InputError> {
        match self {
            Entries::PerSwitch(entries) if entries.len() != switches => {
                let expected = format!("one number for each of the {switches} switches");
                Err(InputError::new("entries", format!("a list of {}", entries.len()), expected))
            }
            Entries::Each(_) | Entries::PerSwitch(_) => Ok(()),
        }
    }
}
