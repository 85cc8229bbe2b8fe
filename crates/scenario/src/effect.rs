//! Keys that cannot take effect under open loops.
//!
//! A file may describe a fabric for several verbs: its switches and hosts for `run`, its rules for `control`, its
//! synthetic traffic for `curve`. Where it has a table for none of the others, what only they use would be ignored in
//! silence.

use etherweave_primitives::{InputError, InputErrors};
use toml::Table;

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
    given.map(|(key, instead)| error((*key).to_owned(), instead)).collect()
}

fn error(key: String, instead: &str) -> InputError {
    InputError::new(key, "given in a file without a job", format!("none: open loops have {instead}"))
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
}
