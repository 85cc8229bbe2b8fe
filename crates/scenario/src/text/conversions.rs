//! Mistakes of open loops and of tables to deploy, with keys from the root of a scenario.

use etherweave_primitives::{InputError, InputErrors};

/// Returns mistakes of open loops with keys from the scenario's root: what is about the fabric, its switches or its
/// faults does not stand in `open_loop`, and a scenario lists several routings, patterns and loads.
pub(crate) fn open_loop(errors: InputErrors) -> InputErrors {
    errors.into_iter().map(of_open_loop).collect()
}

fn of_open_loop(error: InputError) -> InputError {
    let (part, rest) = error.key.split_once('.').unwrap_or((&error.key, ""));
    let list = match part {
        "topology" | "faults" | "switch" | "flow_control" => return error,
        "routing" | "pattern" | "load" => format!("open_loop.{part}s"),
        part => format!("open_loop.{part}"),
    };
    let key = rest.to_owned();
    InputError { key, ..error }.within(&list)
}

/// Returns a mistake of tables to deploy, with the key from the scenario's root.
pub(crate) fn deployment(error: InputError) -> InputError {
    let key = match error.key.as_str() {
        "alternatives" => "control.alternatives",
        "address_plan" => "design.tables.plan",
        "compaction" => "design.tables.compaction",
        "group_coordinates" => "design.tables.group_coordinates",
        _ => "topology",
    };
    InputError::new(key, error.found, error.expected)
}
