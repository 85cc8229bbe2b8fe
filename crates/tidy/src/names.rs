//! Names of values, and documentation of modules and items: nouns that stand alone.
//!
//! A pronoun names whatever stood before it, and a fragment continues the name above it: both are read twice.

use crate::{File, Finding, text::is_code};

/// Names that say nothing of a value.
const PRONOUNS: [&str; 5] = ["one", "some", "found", "given", "whole"];
/// Words that continue the name of an item in place of saying what it is.
const FRAGMENTS: [&str; 12] = ["Of", "From", "To", "By", "For", "With", "As", "In", "At", "Which", "What", "Whose"];
/// Words that begin a clause: the documentation of an item may begin with them, that of a module may not.
const CLAUSES: [&str; 7] = ["How", "Where", "When", "Who", "Why", "That", "On"];

/// A limit ends in `_MAX` or `_MIN`.
pub fn limits(file: &File) -> Vec<Finding> {
    if !is_named(file) {
        return Vec::new();
    }
    code(file)
        .flat_map(|(number, line)| {
            let limit = |name: &&str| name.ends_with("_MOST") || name.ends_with("_LEAST");
            names(&line).filter(limit).map(|name| (number, name.to_owned())).collect::<Vec<_>>()
        })
        .map(|(number, name)| file.finding(number, format!("`{name}`: limits end in `_MAX` and `_MIN`")))
        .collect()
}

/// A value, an argument or a variable of a loop is called by a noun: `quote`, `row`, `candidate`.
pub fn pronouns(file: &File) -> Vec<Finding> {
    if !is_named(file) {
        return Vec::new();
    }
    code(file)
        .filter_map(|(number, line)| {
            let pronoun = PRONOUNS.iter().find(|word| binds(&line, word))?;
            Some(file.finding(number, format!("`{pronoun}` is no noun: say what the value is")))
        })
        .collect()
}

/// The documentation of a module, and of an item below or beside it, begins with a noun or a verb.
pub fn fragments(file: &File) -> Vec<Finding> {
    let lines: Vec<&str> = file.text.lines().map(str::trim_start).collect();
    let first = |index: usize| match file.extension() {
        "rs" => ["/// ", "//! "].iter().find_map(|mark| {
            let above = index.checked_sub(1).map_or("", |above| lines[above]);
            lines[index].strip_prefix(mark).filter(|_| !above.starts_with(mark.trim_end()))
        }),
        "py" => lines[index].strip_prefix("\"\"\"").or_else(|| beside(lines[index])),
        _ => None,
    };
    let is_before_code = |line: &&str| line.is_empty() || line.starts_with('#');
    let is_of_module = |index: usize| match file.extension() {
        "rs" => lines[index].starts_with("//!"),
        _ => lines[index].starts_with('"') && lines[..index].iter().all(is_before_code),
    };
    (0..lines.len())
        .filter_map(|index| {
            let is_rejected = |word: &&str| FRAGMENTS.contains(word) || CLAUSES.contains(word) && is_of_module(index);
            let word = first(index)?.split(' ').next().filter(is_rejected)?;
            Some(file.finding(index + 1, format!("the documentation begins with `{word}`: a noun or a verb")))
        })
        .collect()
}

/// The comment beside a statement of Python.
fn beside(line: &str) -> Option<&str> {
    line.split_once("  # ").filter(|(code, _)| !code.starts_with('#')).map(|(_, comment)| comment)
}

fn is_named(file: &File) -> bool {
    is_code(file) && matches!(file.extension(), "rs" | "py") && file.path != "crates/tidy/src/names.rs"
}

/// Lines of code with their numbers, without comments, texts and documentation.
fn code(file: &File) -> impl Iterator<Item = (usize, String)> {
    let is_python = file.extension() == "py";
    let comment = if is_python { "#" } else { "//" };
    let (mut is_documentation, mut is_text) = (false, false);
    file.lines().map(move |(number, line)| {
        let quotes = if is_python { line.matches("\"\"\"").count() } else { 0 };
        let skipped = is_documentation || quotes > 0;
        is_documentation ^= quotes % 2 == 1;
        let begun = is_text;
        is_text = !skipped && goes_on(line, begun);
        (number, if skipped { String::new() } else { without_texts(line, begun, comment) })
    })
}

/// Whether a text that a backslash continues is open at the end of a line.
fn goes_on(line: &str, begun: bool) -> bool {
    let escaped = line.matches("\\\"").count() + line.matches("'\"'").count();
    let quotes = line.matches('"').count() - escaped;
    line.ends_with('\\') && (quotes % 2 == 1) != begun
}

/// A line up to its comment, with nothing between quotes; its beginning is a text where one was open.
fn without_texts(line: &str, begun: bool, comment: &str) -> String {
    let mut parts = line.split('"').skip(begun.into()).step_by(2);
    let bare = parts.next().unwrap_or("").to_owned();
    let bare = parts.fold(bare, |bare, part| bare + "\"\"" + part);
    bare.split(comment).next().unwrap_or("").to_owned()
}

fn names(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !is_part(letter)).filter(|word| !word.is_empty())
}

/// Whether the line makes a value of this name: by `let`, `for`, `=`, in a closure, or as an argument with its type.
fn binds(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + name.len()..]);
        let is_word = !before.ends_with(is_part) && !after.starts_with(is_part) && !before.ends_with(['.', '`', '\'']);
        let (before, after) = (before.trim_end(), after.trim_start());
        let is_assigned = before.is_empty() && after.starts_with('=') && !after.starts_with("==");
        let is_typed = (before.is_empty() || before.ends_with(['(', ',', '|', '*'])) && after.starts_with(": ");
        let is_bound = ["let", "let mut", "for", "lambda", "as", "|", "|&"].iter().any(|word| before.ends_with(word));
        let is_in_loop = before.contains("for ") && after.starts_with("in ");
        is_word && (is_assigned || is_typed || is_bound || is_in_loop)
    })
}

fn is_part(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::check;

    #[test]
    fn a_limit_ends_in_max_or_min() {
        check(limits, "a.py", "RUNS_MOST = 2\nRUNS_MAX = 2\n", &[1]);
        check(limits, "a.rs", "const LOAD_LEAST: f64 = 0.1;\nlet text = \"LOAD_LEAST\";\n", &[1]);
        check(limits, "a.py", "\"\"\"Of RUNS_MOST.\n\nRUNS_MOST\n\"\"\"\nx = _MOST\n", &[5]);
    }

    #[test]
    fn a_value_is_called_by_a_noun() {
        check(pronouns, "a.py", "for one in quotes:\nfor quote in quotes:\n", &[1]);
        check(pronouns, "a.py", "found = 1\nx.found = 1\nreturn found == 2\n", &[1]);
        check(pronouns, "a.py", "def f(whole: int, found: str) -> None:  # one\n", &[1]);
        check(pronouns, "a.py", "sorted(rows, key=lambda one: one.x)\nsorted(rows, key=lambda row: row.x)\n", &[1]);
        check(pronouns, "a.rs", "let found = 1;\nrows.iter().map(|one| one + 1);\nlet someone = 1;\n", &[1, 2]);
        check(pronouns, "a.rs", "// for one in all\nlet row = \"for one in all\";\n", &[]);
        check(
            pronouns,
            "a.rs",
            "let text = \"a pair \\\n    for one of \\\"a\\\", \\\n    as one\";\nlet one = 1;\n",
            &[4],
        );
    }

    #[test]
    fn documentation_begins_with_a_noun_or_a_verb() {
        check(fragments, "a.rs", "/// Of hosts on this fabric.\npub hosts: u32,\n", &[1]);
        check(fragments, "a.rs", "/// Rate of the link,\n/// In bits per second.\npub rate: u32,\n", &[]);
        check(fragments, "a.py", "RUNS = 2\n\"\"\"By which runs are named.\"\"\"\n", &[2]);
        check(fragments, "a.py", "RUNS = 2  # By which runs are named.\nNAME = 2  # Name of a run.\n# Of all\n", &[1]);
        check(fragments, "a.py", "\"\"\"Instances of runs.\"\"\"\n", &[]);
    }

    #[test]
    fn documentation_of_a_module_begins_with_a_noun_or_a_verb() {
        check(fragments, "a.rs", "//! What a run counts.\n", &[1]);
        check(fragments, "a.rs", "//! How hosts share a fabric.\n//!\n//! How they do not.\n", &[1]);
        check(fragments, "a.rs", "//! Counters of a run.\n//! How often each is read.\n\n/// How much.\n", &[]);
        check(fragments, "a.py", "\"\"\"Where work is done.\"\"\"\n", &[1]);
        check(fragments, "a.py", "#!/usr/bin/env python3\n\n\"\"\"Who may ask.\"\"\"\n", &[3]);
        check(fragments, "a.py", "\"\"\"Executors.\"\"\"\n\nN = 2\n\"\"\"How many.\"\"\"\n", &[]);
    }
}
