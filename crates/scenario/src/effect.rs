//! Keys that cannot take effect under open loops.
//!
//! A file may describe a fabric for several verbs: its hosts for `run`, its rules for `control`, its synthetic traffic
//! for `curve`. Switches and flow control are those of `run` and `curve` alike, so that what `curve` does not use of
//! them would be ignored in silence. Where a file has a table for none of the other verbs, so would all that only they
//! use.

use etherweave_primitives::{InputError, InputErrors};
use toml::{Table, Value};

/// Tables of which one makes use of all keys of [`RUNS`].
const USERS: [&str; 3] = ["job", "design", "control"];
/// Keys of runs, each with what open loops have instead.
const RUNS: [(&str, &str); 10] = [
    ("routing", "open_loop.routings"),
    ("selection", "open_loop.routings"),
    ("controller", "open_loop.controller"),
    ("ets", "open_loop.scheduler"),
    ("fec", "switch.latency"),
    ("nic", "switch"),
    ("host", "open_loop.loads"),
    ("transport", "open_loop.loads"),
    ("observe", "no ports and flows to sample, but open_loop.batch"),
    ("run", "open_loop.warm_up and open_loop.measured"),
];
/// Keys of `[switch]` that open loops use, with credits.
const SWITCH: [&str; 5] = ["model", "latency", "speed_up", "arbiter", "output_queue"];
/// Key that they use beside these with pauses.
const XON_OFFSET: &str = "xon_offset";
/// Keys that they use of a kind of flow control.
const FLOW_CONTROL: [&str; 3] = ["priorities", "buffer", "global_buffer"];

/// Every key that open loops do not use, and nothing else in the file, of those that the author wrote.
pub(crate) fn without_effect(values: &Table) -> InputErrors {
    let has_user = USERS.iter().any(|user| values.contains_key(*user));
    if !has_user && values.contains_key("interconnect") {
        return error("interconnect", "given in a file without a job", "none: open loops have switch").into();
    }
    let runs = RUNS.iter().filter(|(key, _)| !has_user && values.contains_key(*key));
    let runs = runs
        .map(|(key, instead)| error(*key, "given in a file without a job", format!("none: open loops have {instead}")));
    let shared = of_flow_control(values).into_iter().chain(of_switch(values));
    runs.chain(shared).collect()
}

fn table<'a>(values: &'a Table, key: &str) -> Option<&'a Table> {
    values.get(key).and_then(Value::as_table)
}

fn of_switch(values: &Table) -> Vec<InputError> {
    let has_pauses = table(values, "flow_control").is_some_and(|kinds| kinds.contains_key("pfc"));
    let is_used = |key: &str| SWITCH.contains(&key) || key == XON_OFFSET && has_pauses;
    let stated = table(values, "switch").into_iter().flatten();
    let error = |(key, value): (&String, &Value)| match (key.as_str(), value.as_str()) {
        ("model", Some("input_queued")) => None,
        ("model", _) => Some(error("switch.model", value, "\"input_queued\": open loops know no other")),
        (XON_OFFSET, _) if !has_pauses => {
            Some(error("switch.xon_offset", value, "none: without flow_control.pfc nothing pauses"))
        }
        (key, _) if is_used(key) => None,
        (key, _) => {
            let expected = format!("none: open loops use {}", SWITCH.join(", "));
            Some(error(format!("switch.{key}"), value, expected))
        }
    };
    stated.filter_map(error).collect()
}

fn of_flow_control(values: &Table) -> Vec<InputError> {
    let of_kind = |(kind, value): (&String, &Value)| -> Vec<InputError> {
        if kind != "credits" && kind != "pfc" {
            return vec![error(
                "flow_control",
                kind,
                "credits or pfc: open loops lose no packets, and pause by priority",
            )];
        }
        let stated = value.as_table().into_iter().flatten().filter(|(key, _)| !FLOW_CONTROL.contains(&key.as_str()));
        let expected = format!("none: open loops use {}", FLOW_CONTROL.join(", "));
        stated.map(|(key, value)| error(format!("flow_control.{kind}.{key}"), value, &expected)).collect()
    };
    table(values, "flow_control").into_iter().flatten().flat_map(of_kind).collect()
}

fn error(key: impl Into<String>, mistake: impl ToString, expected: impl ToString) -> InputError {
    InputError::new(key, mistake.to_string(), expected.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<String> {
        without_effect(&text.parse().unwrap()).iter().map(|error| error.key.clone()).collect()
    }

    #[test]
    fn keys_of_runs_are_found_unless_something_uses_them() {
        let runs = "routing = \"up_down\"\n[nic]\nlatency = \"1us\"\n[open_loop]\nloads = [0.1]\n";
        assert_eq!(keys(runs), ["routing", "nic"]);
        assert_eq!(keys(&format!("{runs}[[job]]\n")), [""; 0]);
        assert_eq!(keys("[open_loop]\nloads = [0.1]\n"), [""; 0]);
        assert_eq!(keys("[interconnect]\n[open_loop]\nloads = [0.1]\n[switch]\n"), ["interconnect"]);
    }

    #[test]
    fn keys_of_switches_that_open_loops_do_not_use_are_found_beside_a_job_too() {
        let switch = "[open_loop]\n[[job]]\n[switch]\nbuffer = \"1MB\"\nlatency = \"300ns\"\nxon_offset = \"2kB\"\n";
        assert_eq!(keys(switch), ["switch.buffer", "switch.xon_offset"]);
        assert_eq!(
            keys(&format!("{switch}[flow_control.pfc]\nquanta = 1\n")),
            ["flow_control.pfc.quanta", "switch.buffer"]
        );
        assert_eq!(keys("flow_control.none = {}\nswitch.model = \"shared_buffer\""), ["flow_control", "switch.model"]);
        assert_eq!(keys("flow_control.credits.buffer = \"32kB\"\nswitch.model = \"input_queued\""), [""; 0]);
    }
}
