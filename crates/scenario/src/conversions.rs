//! Mistakes of the crates below as [`InputError`], until they return it themselves.

use etherweave_openloop::OpenLoopError;
use etherweave_primitives::InputError;

/// With the key from the scenario's root.
pub(crate) fn open_loop(error: OpenLoopError) -> InputError {
    // Some keys say a unit behind a comma.
    let key = match error.key.split(',').next().unwrap_or_default() {
        "topology" => "topology".to_owned(),
        "load" => "open_loop.loads".to_owned(),
        key @ ("warm_up" | "measured" | "batch" | "precision" | "longest" | "reroute_after") => {
            format!("open_loop.{key}")
        }
        "routing" => "open_loop.routings".to_owned(),
        key @ ("slots_per_packet" | "burst" | "peak" | "shape") => format!("open_loop.arrival.{key}"),
        key if PATTERN_KEYS.contains(&key) => format!("open_loop.patterns.{key}"),
        "address_plan" | "compaction" | "alternatives" => "open_loop.tables".to_owned(),
        key @ ("down.from" | "down.until") => format!("faults.{key}"),
        key => format!("open_loop.switch.{key}"),
    };
    InputError::new(key, error.found, error.expected)
}

/// Of tables to deploy, with the key from the scenario's root.
pub(crate) fn deployment(error: OpenLoopError) -> InputError {
    let key = match error.key.as_ref() {
        "alternatives" => "control.alternatives",
        "address_plan" => "design.tables.plan",
        "compaction" => "design.tables.compaction",
        "share_by_source" => "design.tables.share_by_source",
        _ => "topology",
    };
    InputError::new(key, error.found, error.expected)
}

/// What a pattern may find wrong.
const PATTERN_KEYS: [&str; 11] = [
    "at",
    "extents",
    "from",
    "hosts",
    "hosts_per_switch",
    "offset",
    "pairs",
    "patterns",
    "period",
    "rows",
    "switching",
];
