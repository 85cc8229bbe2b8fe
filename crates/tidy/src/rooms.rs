//! The table of rooms in `ARCHITECTURE.md`: what it allows is what Cargo and the rule of Python's imports allow.

use crate::{File, Finding, manifest::MAY_USE, python::MAY_IMPORT};

const CRATES: &str = "crates/";
const PACKAGE: &str = "python/etherweave/";

/// Every room has a row whose last column lists the rooms that it may use, and no others.
pub fn table(map: &File) -> Vec<Finding> {
    let crates = MAY_USE.iter().map(|(room, allowed)| (format!("{CRATES}{room}"), *allowed));
    let python = MAY_IMPORT.iter().map(|(room, allowed)| (format!("{PACKAGE}{room}"), *allowed));
    crates.chain(python).filter_map(|(room, allowed)| row(map, &room, allowed)).collect()
}

fn row(map: &File, room: &str, allowed: &[&str]) -> Option<Finding> {
    let start = format!("| `{room}` |");
    let Some((number, line)) = map.lines().find(|(_, line)| line.starts_with(&start)) else {
        return Some(map.finding(1, format!("the table of rooms has no row for `{room}`")));
    };
    let listed = listed(line);
    let mut expected = allowed.to_vec();
    expected.sort_unstable();
    (listed != expected).then(|| map.finding(number, format!("`{room}` may use {expected:?}; the row says {listed:?}")))
}

/// The rooms of the last column, sorted; names in backticks are modules beside the rooms.
fn listed(line: &str) -> Vec<&str> {
    let cell = line.trim_end_matches([' ', '|']).rsplit('|').next().unwrap_or("");
    let names = cell.split(',').map(str::trim).filter(|name| !name.starts_with('`') && *name != "nothing");
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, allowed: &[&str], is_right: bool) {
        let finding = row(&File::new("ARCHITECTURE.md", line), "crates/sim", allowed);
        assert_eq!(finding.is_none(), is_right, "{line}: {finding:?}");
    }

    #[test]
    fn a_row_lists_what_is_allowed_in_any_order() {
        check("| `crates/sim` | what happens | topology, primitives, `_core` |\n", &["primitives", "topology"], true);
        check("| `crates/sim` | what happens | nothing |\n", &[], true);
    }

    #[test]
    fn a_room_too_many_or_too_few_and_a_missing_row_are_found() {
        check("| `crates/sim` | what happens | primitives |\n", &["primitives", "topology"], false);
        check("| `crates/sim` | what happens | primitives, power |\n", &["primitives"], false);
        check("| `crates/power` | what it costs | primitives |\n", &["primitives"], false);
    }
}
