//! The table `sweep` is read and checked with the scenario, and is no part of it when it is resolved.

use etherweave_scenario::{Scenario, sweep};

const FILE: &str = "seed = 3\n[sweep]\nseeds = 2\nsample = { method = \"sobol\", count = 8 }\n\
                    [[sweep.axis]]\nkey = \"switch.buffer\"\nvalues = [\"1MB\", 2, { a = [true] }]\n";

#[test]
fn a_sweep_is_given_as_json_with_its_defaults() {
    let json = sweep(FILE, "x.toml").unwrap().unwrap();
    let axis = r#"{"key":"switch.buffer","values":["1MB",2,{"a":[true]}],"from":null,"to":null,"count":null,"#;
    assert!(json.contains(axis), "{json}");
    assert!(json.contains(r#""sample":{"method":"sobol","count":8,"seed":1}"#), "{json}");
    assert_eq!(sweep("seed = 3", "x.toml").unwrap(), None);
}

#[test]
fn a_resolved_scenario_has_no_sweep() {
    let [with, without] = [FILE, "seed = 3"].map(|text| Scenario::parse(text, "x.toml", &[]).unwrap().resolved());
    assert_eq!(with, without);
}

#[test]
fn a_mistake_in_a_sweep_is_reported_with_its_place() {
    let error = sweep("[sweep]\nsamples = 2\n", "x.toml").unwrap_err().to_string();
    assert!(error.starts_with("x.toml:2:1: sweep.samples: unknown key; expected one of"), "{error}");
    assert!(error.ends_with("nearest is `sample`"), "{error}");
}
