//! Rules for Rust: what may not happen below `scenario`, and what must be said where it happens.

use crate::{File, Finding};

/// Crates whose results are a function of their arguments.
pub const PURE: [&str; 13] = [
    "primitives",
    "topology",
    "routing",
    "forwarding",
    "workload",
    "transport",
    "fluid",
    "engine",
    "switch",
    "host",
    "sim",
    "openloop",
    "power",
];

/// Names that a pure crate does not use, and why.
const WORLD: [(&str, &str); 12] = [
    ("std::fs", "files are read in `scenario`"),
    ("std::env::", "the environment is read in `scenario`"),
    ("std::process", "processes are started at the Python edge"),
    ("std::net", "addresses of a model are its own types"),
    ("Instant::now", "a run knows simulated time only"),
    ("SystemTime", "a run knows simulated time only"),
    ("println!", "what is worth observing is a probe"),
    ("print!", "what is worth observing is a probe"),
    ("static mut", "two simulations live in one process"),
    ("thread_local!", "two simulations live in one process"),
    ("OnceLock<", "two simulations live in one process"),
    ("LazyLock<", "two simulations live in one process"),
];

/// Functions whose last bit depends on the platform's mathematics library.
const PLATFORM_MATHEMATICS: [&str; 9] =
    [".ln()", ".exp()", ".powf(", ".powi(", ".log2()", ".log10()", ".cbrt()", ".sin()", ".cos()"];

/// Ways to walk a hash table, in an order that differs from run to run.
const WALKS: [&str; 9] = [
    ".iter()",
    ".iter_mut()",
    ".keys()",
    ".values()",
    ".values_mut()",
    ".drain()",
    ".into_iter()",
    ".retain(",
    ".into_values()",
];

/// Below `scenario` nothing reads files, environment or clocks, and nothing prints.
pub fn world(file: &File) -> Vec<Finding> {
    if !is_pure(file) {
        return Vec::new();
    }
    findings(file, |code| {
        let (name, why) = WORLD.iter().find(|(name, _)| code.contains(name))?;
        Some(format!("`{name}`: {why}"))
    })
}

/// Below `scenario` no decision depends on the last bit of a platform's mathematics; `sqrt` is exact by IEEE 754.
pub fn platform_mathematics(file: &File) -> Vec<Finding> {
    if !is_pure(file) {
        return Vec::new();
    }
    findings(file, |code| {
        let name = PLATFORM_MATHEMATICS.iter().find(|name| code.contains(*name))?;
        Some(format!("`{name}` rounds differently on another platform"))
    })
}

/// A hash table is asked, never walked; Clippy sees the loops, this sees the chains.
pub fn hash_walks(file: &File) -> Vec<Finding> {
    let tables: Vec<String> = code(file).filter_map(|(_, line)| hash_table(line)).collect();
    findings(file, |code| {
        let walked = tables.iter().find(|table| WALKS.iter().any(|walk| calls(code, table, walk)))?;
        Some(format!("`{walked}` is walked in an order that differs from run to run"))
    })
}

/// `unsafe` stands under a comment that says why it is sound.
pub fn soundness(file: &File) -> Vec<Finding> {
    if file.extension() != "rs" {
        return Vec::new();
    }
    let lines: Vec<&str> = file.text.lines().collect();
    let explained = |number: usize| lines[number.saturating_sub(4)..number].iter().any(|line| line.contains("SAFETY"));
    // In halves, for this file's own sake.
    const WORD: &str = concat!("un", "safe ");
    code(file)
        .filter(|(number, code)| code.contains(WORD) && !explained(*number))
        .map(|(number, _)| file.finding(number, "say why this is sound, under the word SAFETY"))
        .collect()
}

/// A test that does not run says why.
pub fn ignored_tests(file: &File) -> Vec<Finding> {
    if file.extension() != "rs" {
        return Vec::new();
    }
    file.findings(|line| (line.trim() == concat!("#[ig", "nore]")).then_some("say why: `#[ignore = \"reason\"]`"))
}

fn is_pure(file: &File) -> bool {
    let source = file.path.contains("/src/") && file.extension() == "rs";
    source && file.room().is_some_and(|room| PURE.contains(&room))
}

fn findings(file: &File, what: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    code(file).filter_map(|(number, line)| Some(file.finding(number, what(line)?))).collect()
}

/// Lines of code with their numbers: without comments, up to the tests at the end of the file.
pub(crate) fn code(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let source = if file.extension() == "rs" { file.text.as_str() } else { "" };
    let lines = source.lines().enumerate().map(|(index, line)| (index + 1, line));
    lines
        .take_while(|(_, line)| line.trim_end() != "#[cfg(test)]")
        .map(|(number, line)| (number, without_comment(line)))
}

/// Cuts at the first `//` that does not stand between quotes.
fn without_comment(line: &str) -> &str {
    let outside = |at: usize| line[..at].matches('"').count().is_multiple_of(2);
    let comment = line.match_indices("//").map(|(at, _)| at).find(|at| outside(*at));
    &line[..comment.unwrap_or(line.len())]
}

/// The name that a line gives to a hash table: a field, an argument or a variable.
fn hash_table(line: &str) -> Option<String> {
    let (before, _) = line.split_once("HashMap").or_else(|| line.split_once("HashSet"))?;
    let before = before.trim_end_matches("std::collections::").trim_end().trim_end_matches(['&', ':', '=']).trim_end();
    let name = before.rsplit(|letter: char| !is_name(letter)).next()?;
    let declared = line.contains(':') || line.contains('=');
    (declared && !name.is_empty() && !line.trim_start().starts_with("use ")).then(|| name.to_owned())
}

/// Whether the method is called on exactly this name.
fn calls(code: &str, name: &str, method: &str) -> bool {
    let call = format!("{name}{method}");
    code.match_indices(&call).any(|(at, _)| !code[..at].ends_with(is_name))
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::check;

    #[test]
    fn a_pure_crate_does_not_touch_the_world_but_scenario_may() {
        check(world, "crates/sim/src/a.rs", "use std::fs;\n", &[1]);
        check(world, "crates/sim/src/a.rs", "let now = Instant::now();\n", &[1]);
        check(world, "crates/scenario/src/a.rs", "use std::fs;\n", &[]);
    }

    #[test]
    fn comments_and_tests_may_speak_of_the_world() {
        check(world, "crates/sim/src/a.rs", "/// println!(\"{x}\")\n", &[]);
        check(world, "crates/sim/src/a.rs", "#[cfg(test)]\nuse std::fs;\n", &[]);
        check(world, "crates/sim/tests/a.rs", "use std::fs;\n", &[]);
    }

    #[test]
    fn a_root_is_exact_and_a_logarithm_is_not() {
        check(platform_mathematics, "crates/workload/src/a.rs", "x.sqrt();\nx.ln();\n", &[2]);
    }

    #[test]
    fn a_hash_table_may_be_asked_but_not_walked() {
        let table = "let seen: HashMap<u32, u32> = HashMap::new();\n";
        check(hash_walks, "a.rs", &format!("{table}seen.get(&1);\n"), &[]);
        check(hash_walks, "a.rs", &format!("{table}seen.keys().max();\n"), &[2]);
        check(hash_walks, "a.rs", &format!("{table}unseen.keys().max();\n"), &[]);
    }

    #[test]
    fn the_dangerous_word_needs_its_reason_above_it() {
        let block = concat!("un", "safe { read() }\n");
        check(soundness, "a.rs", block, &[1]);
        check(soundness, "a.rs", &format!("// SAFETY: the slot has one owner.\n{block}"), &[]);
    }

    #[test]
    fn an_ignored_test_names_its_reason() {
        check(ignored_tests, "a.rs", concat!("#[ig", "nore]\n"), &[1]);
        check(ignored_tests, "a.rs", "#[ignore = \"takes an hour\"]\n", &[]);
    }
}
