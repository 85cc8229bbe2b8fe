//! Paths of code that documents and heads of modules name.

use crate::{File, Finding, Repository};

/// Where the repository keeps what texts name by its path.
const ROOTS: [&str; 10] =
    ["crates/", "python/", "tests/", "docs/", "scenarios/", "studies/", "profiles/", "mpi/", "bench/", ".ci/"];
/// Extensions of code, which is named by the end of its path too: `engine/shard.rs`.
const CODE: [&str; 2] = [".rs", ".py"];

/// A path that a document, or the head of a module, names leads to a file or folder.
pub fn named_paths(file: &File, repository: &Repository) -> Vec<Finding> {
    let lines = match file.extension() {
        "md" if is_decision(file) => Vec::new(),
        "md" => file.lines().collect(),
        _ => head(file),
    };
    let wrong =
        |line| -> Vec<String> { paths(line).filter(|path| !exists(path, repository)).map(Into::into).collect() };
    let findings = lines.into_iter().flat_map(|(number, line)| wrong(line).into_iter().map(move |path| (number, path)));
    findings.map(|(number, path)| file.finding(number, format!("there is no `{path}`"))).collect()
}

/// A page about a decision is of its day, and not edited afterwards.
pub(crate) fn is_decision(file: &File) -> bool {
    file.path.strip_prefix("docs/decisions/").is_some_and(|name| name.starts_with('0'))
}

fn head(file: &File) -> Vec<(usize, &str)> {
    match file.extension() {
        "rs" => file.lines().take_while(|(_, line)| line.starts_with("//!")).collect(),
        "py" => docstring(file),
        "c" | "h" | "js" => file.lines().take_while(|(_, line)| line.starts_with(['/', ' ', '*'])).collect(),
        _ => Vec::new(),
    }
}

/// The lines of a Python module's documentation.
fn docstring(file: &File) -> Vec<(usize, &str)> {
    const QUOTES: &str = "\"\"\"";
    if !file.text.starts_with(QUOTES) {
        return Vec::new();
    }
    let end = file.lines().position(|(number, line)| line.matches(QUOTES).count() >= if number == 1 { 2 } else { 1 });
    file.lines().take(end.unwrap_or(0) + 1).collect()
}

/// Words of a line that are paths of this repository, or in backticks the ends of such paths.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|letter: char| letter.is_whitespace() || "\"'()[]<>;|`=".contains(letter));
    let rooted = words.filter(|word| begins_at_root(word));
    let quoted = line.split('`').skip(1).step_by(2);
    let ends = quoted.filter(|word| {
        !begins_at_root(word) && word.contains('/') && CODE.iter().any(|extension| word.ends_with(extension))
    });
    rooted
        .chain(ends)
        .map(|word| word.trim_end_matches(['.', ',', ':', '/']))
        .filter(|word| is_plain(word) && !is_foreign(word))
}

fn begins_at_root(word: &str) -> bool {
    ROOTS.iter().any(|root| word.starts_with(root))
}

/// Neither a pattern (`tests/*`) nor with a place for a name (`studies/NAME`).
fn is_plain(word: &str) -> bool {
    let is_name = |part: &str| part.len() > 1 && part.chars().all(|letter| letter.is_ascii_uppercase());
    !word.contains(['*', '{', '}', '…', '$', '@', ' ']) && !word.split(['/', '.']).any(is_name)
}

/// Paths of other projects, which texts cite.
fn is_foreign(word: &str) -> bool {
    ["netbox/", "python/cpython"].iter().any(|root| word.starts_with(root))
}

fn exists(path: &str, repository: &Repository) -> bool {
    let path = path.split(['#', ':']).next().unwrap_or(path).trim_start_matches("../");
    let (folder, stem, end) = (format!("{path}/"), format!("{path}."), format!("/{path}"));
    let leads = |known: &String| {
        known == path || known.starts_with(&folder) || known.starts_with(&stem) || known.ends_with(&end)
    };
    repository.paths().iter().any(leads)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &[&str]) {
        assert_eq!(paths(line).collect::<Vec<_>>(), expected, "{line}");
    }

    #[test]
    fn paths_are_words_that_begin_at_the_root_or_end_in_code() {
        check("see `crates/sim/src/engine/`, then crates/sim.", &["crates/sim/src/engine", "crates/sim"]);
        check("the loop is in `engine/shard.rs`", &["engine/shard.rs"]);
        check("write `plugin.py` and run `python -m x`", &[]);
    }

    #[test]
    fn patterns_and_places_for_names_are_not_paths() {
        check("`studies/NAME/expected.csv` and tests/*.py, crates/{a,b}, `crates/x/NAME.rs`", &[]);
    }

    #[test]
    fn a_path_that_leads_nowhere_is_found_in_documents_and_heads() {
        let repository = Repository::open();
        let planted = |path: &str, text: &str| named_paths(&File::new(path, text), &repository).len();
        assert_eq!(planted("docs/a.md", "the loop: `crates/tidy/src/lib.rs`, `crates/tidy/src/attic.rs`\n"), 1);
        assert_eq!(planted("a.rs", "//! See `attic/loop.rs`.\n\n// crates/attic is history\n"), 1);
        assert_eq!(planted("a.py", "\"\"\"See ``python/etherweave/attic.py``.\"\"\"\n# tests/attic\n"), 1);
    }
}
