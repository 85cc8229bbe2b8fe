//! Numbers of table entries, and whether a switch has room for them.

use etherweave_primitives::params;

/// Entries of the tables of many switches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count {
    /// Entries of the smallest table.
    pub min: u64,
    /// Entries of the largest table.
    pub max: u64,
    /// Entries of all tables.
    pub total: u64,
    /// How many tables.
    pub tables: u64,
}

impl Count {
    /// Counts tables by their entries; none when there is no table.
    pub fn of(entries: impl IntoIterator<Item = u64>) -> Option<Count> {
        let mut entries = entries.into_iter();
        let first = entries.next()?;
        let start = Count { min: first, max: first, total: first, tables: 1 };
        Some(entries.fold(start, |count, entries| Count {
            min: count.min.min(entries),
            max: count.max.max(entries),
            total: count.total + entries,
            tables: count.tables + 1,
        }))
    }

    /// Returns the entries of a table on average.
    pub fn mean(&self) -> f64 {
        self.total as f64 / self.tables as f64
    }
}

params! {
    /// The tables that a switch has room for.
    pub struct TableProfile {
        /// Entries of the exact-match (CAM) table, one MAC address each. Default 65,536: Benito et al. 2015, section
        /// II, give 4 K to 64 K.
        pub exact_entries: u32 = 65_536,
        /// Entries of the ternary (TCAM) table, one rule each. Default 4,096: Benito et al. 2015, section III-A, give 4
        /// K to 32 K.
        pub ternary_entries: u32 = 4_096,
    }
}

/// The entries of a fabric's largest table against the capacity of a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableUse {
    /// Entries needed.
    pub entries: u64,
    /// Entries that the switch has.
    pub capacity: u64,
}

impl TableUse {
    /// Entries beyond the capacity; zero when the table fits.
    pub const fn excess(&self) -> u64 {
        self.entries.saturating_sub(self.capacity)
    }
}

impl TableProfile {
    /// The largest of some exact-match tables against the capacity.
    pub fn exact(&self, count: &Count) -> TableUse {
        TableUse { entries: count.max, capacity: self.exact_entries.into() }
    }

    /// The largest of some ternary tables against the capacity.
    pub fn ternary(&self, count: &Count) -> TableUse {
        TableUse { entries: count.max, capacity: self.ternary_entries.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_keep_the_extremes_and_the_mean() {
        let count = Count::of([4, 1, 4]).unwrap();
        assert_eq!((count.min, count.max, count.total, count.mean()), (1, 4, 9, 3.0));
        assert_eq!(Count::of([]), None);
    }

    #[test]
    fn a_table_overflows_by_what_exceeds_the_capacity() {
        let profile = TableProfile::default();
        let flat = Count::of([303_264]).unwrap();
        assert_eq!((profile.exact(&flat).excess(), profile.ternary(&flat).excess()), (237_728, 299_168));
        assert_eq!(profile.ternary(&Count::of([515]).unwrap()).excess(), 0);
    }
}
