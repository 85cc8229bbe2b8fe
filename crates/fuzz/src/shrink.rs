//! The smallest scenario that fails likewise.

use toml::{Table, Value};

use crate::{case::Verdict, case::verdict_of, check::Limits, failure::Failure, settle::smaller, settle::text, tree};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_is_removed_and_the_rest_is_halved() {
        let mut scenario: Table = "a.b = 40\na.c = 1\nd = [1, 2, 3]\ne = \"16KiB\"\n".parse().unwrap();
        // It fails while a.b is 5 or more and d has an element 3.
        let mut fails = |candidate: &Table| {
            let b = tree::get(candidate, "a.b").and_then(Value::as_integer).unwrap_or(0);
            let d = candidate.get("d").and_then(Value::as_array);
            b >= 5 && d.is_some_and(|list| list.contains(&Value::Integer(3)))
        };
        without_keys(&mut scenario, &mut fails);
        with_less(&mut scenario, &mut fails);
        without_keys(&mut scenario, &mut fails);
        assert_eq!(text(&scenario), "d = [3]\n\n[a]\nb = 5\n");
    }

    #[test]
    fn a_refusal_is_not_a_failure_of_the_same_class() {
        let failure = Failure::new("packets are conserved", "");
        let text = "[[job]]\nname = \"a\"\n\n[job.workload.osu_latency]\niterations = 4\n";
        assert_eq!(shrink(text, &failure, Limits::default(), 9), text);
    }
}
