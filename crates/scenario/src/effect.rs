//! Keys that cannot take effect under open loops.
//!
//! A file may describe a fabric for several verbs: its switches and hosts for `run`, its cables for `design`, its rules
//! for `control`, its synthetic traffic for `curve`. Where it has a table for none of the first three, what only they
//! use would be ignored in silence.

use etherweave_primitives::{InputError, InputErrors};
use toml::{Table, Value};

/// Tables of which one makes use of all keys here.
const USERS: [&str; 3] = ["job", "design", "control"];
/// Keys of runs, each with what open loops have instead.
const RUNS: [(&str, &str); 11] = [
    ("routing", "open_loop.routings"),
    ("selection", "open_loop.routings"),
    ("controller", "open_loop.controller"),
    ("switch", "open_loop.switch"),
    ("flow_control", "open_loop.switch.flow_control"),
    ("ets", "one class of traffic"),
    ("nic", "open_loop.switch"),
    ("host", "open_loop.loads"),
    ("transport", "open_loop.loads"),
    ("observe", "no ports and flows to sample, but open_loop.batch"),
    ("run", "open_loop.warm_up and open_loop.measured"),
];

/// Every key that nothing in the file uses.
pub(crate) fn without_effect(values: &Table) -> InputErrors {
    if USERS.iter().any(|user| values.contains_key(*user)) {
        return InputErrors::default();
    }
    if values.contains_key("interconnect") {
        return error("interconnect".to_owned(), "open_loop.switch").into();
    }
    let given = RUNS.iter().filter(|(key, _)| values.contains_key(*key));
    let of_runs = given.map(|(key, instead)| error((*key).to_owned(), instead));
    let mut links = Vec::new();
    if let Some(topology) = values.get("topology") {
        find_links("topology", topology, &mut links);
    }
    of_runs.chain(links).collect()
}

fn error(key: String, instead: &str) -> InputError {
    InputError::new(key, "given in a file without a job", format!("none: open loops have {instead}"))
}

/// Rates and cables of the fabric, at any depth.
fn find_links(key: &str, value: &Value, errors: &mut Vec<InputError>) {
    let name = key.rsplit('.').next().unwrap_or(key);
    if name == "rate" || name.ends_with("_rate") {
        return errors.push(error(key.to_owned(), "open_loop.switch.rate"));
    }
    if name == "cable" || name.ends_with("_cable") {
        return errors.push(error(key.to_owned(), "open_loop.switch.local_delay and global_delay"));
    }
    match value {
        Value::Table(table) => {
            table.iter().for_each(|(name, value)| find_links(&format!("{key}.{name}"), value, errors));
        }
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(at, value)| find_links(&format!("{key}.{at}"), value, errors));
        }
        Value::String(_) | Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<String> {
        without_effect(&text.parse().unwrap()).iter().map(|error| error.key.clone()).collect()
    }

    #[test]
    fn keys_of_runs_are_found_unless_something_uses_them() {
        let runs = "routing = \"up_down\"\n[switch]\nbuffer = \"1MB\"\n[open_loop]\nloads = [0.1]\n";
        assert_eq!(keys(runs), ["routing", "switch"]);
        assert_eq!(keys(&format!("{runs}[[job]]\n")), [""; 0]);
        assert_eq!(keys("[open_loop]\nloads = [0.1]\n"), [""; 0]);
        assert_eq!(keys("[interconnect]\n[open_loop]\nloads = [0.1]\n[switch]\n"), ["interconnect"]);
    }

    #[test]
    fn rates_and_cables_are_found_at_any_depth() {
        let hyperx = "[[topology.hyperx.dimensions]]\nsize = 3\nrate = \"200Gb/s\"\ncable.length = \"2m\"\n";
        assert_eq!(keys(hyperx), ["topology.hyperx.dimensions.0.cable", "topology.hyperx.dimensions.0.rate"]);
        assert_eq!(keys(&format!("{hyperx}[design]\n")), [""; 0]);
    }
}
