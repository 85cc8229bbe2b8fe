//! The smallest scenario that fails likewise.

use toml::{Table, Value};

use crate::case::{Verdict, verdict_of};
use crate::check::{Failure, Limits};
use crate::settle::{smaller, text};
use crate::tree;

/// Removes keys, and halves and rounds what remains, for as long as a scenario fails in the same class; at most `tries`
/// scenarios are run.
pub fn shrink(failing: &str, failure: &Failure, limits: Limits, tries: usize) -> String {
    let mut scenario: Table = failing.parse().expect("what failed is TOML");
    let mut left = tries;
    let mut fails = |candidate: &Table| {
        left = left.saturating_sub(1);
        left > 0
            && match verdict_of(&text(candidate), limits) {
                Verdict::Failed(other) => other.class == failure.class,
                Verdict::Ran(_) | Verdict::Refused(_) => false,
            }
    };
    loop {
        let before = scenario.clone();
        without_keys(&mut scenario, &mut fails);
        with_less(&mut scenario, &mut fails);
        if scenario == before {
            return text(&scenario);
        }
    }
}

/// Tables and lists before what they hold.
fn without_keys(scenario: &mut Table, fails: &mut impl FnMut(&Table) -> bool) {
    let mut keys = tree::keys(scenario);
    keys.sort_by_key(|key| key.split('.').count());
    for key in keys {
        if tree::get(scenario, &key).is_none() {
            continue;
        }
        let mut candidate = scenario.clone();
        tree::remove(&mut candidate, &key);
        if fails(&candidate) {
            *scenario = candidate;
        }
    }
}

fn with_less(scenario: &mut Table, fails: &mut impl FnMut(&Table) -> bool) {
    for key in tree::keys(scenario) {
        while let Some(value) = tree::get(scenario, &key).and_then(smaller_or_fewer) {
            let mut candidate = scenario.clone();
            tree::set(&mut candidate, &key, value);
            if !fails(&candidate) {
                break;
            }
            *scenario = candidate;
        }
    }
}

/// A number half as large, or a text of lines without its last.
fn smaller_or_fewer(value: &Value) -> Option<Value> {
    let fewer = |text: &str| {
        let lines: Vec<&str> = text.lines().collect();
        (lines.len() > 1).then(|| Value::String(lines[..lines.len() - 1].join("\n")))
    };
    smaller(value).or_else(|| value.as_str().and_then(fewer))
}
