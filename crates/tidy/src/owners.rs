//! Types with more methods than anybody can keep in mind.

use std::collections::BTreeMap;

use crate::{File, Finding, Repository};

/// Most inherent methods of a type, over all its files.
const METHODS_MAX: usize = 80;

/// Types of each crate with more methods than that, at the file that has most of them.
pub fn large(repository: &Repository) -> Vec<Finding> {
    let sources = repository.files().filter(|file| file.extension() == "rs" && file.path.contains("/src/"));
    of_files(sources)
}

fn of_files(files: impl Iterator<Item = File>) -> Vec<Finding> {
    let mut owners: BTreeMap<(String, String), BTreeMap<String, usize>> = BTreeMap::new();
    for file in files {
        let room = file.path.split("/src/").next().unwrap_or_default().to_owned();
        for (owner, count) in methods(&file.text) {
            *owners.entry((room.clone(), owner)).or_default().entry(file.path.clone()).or_default() += count;
        }
    }
    let counted = owners.into_iter().map(|((_, owner), files)| (owner, files.values().sum::<usize>(), files));
    counted
        .filter(|(_, count, _)| *count > METHODS_MAX)
        .filter_map(|(owner, count, files)| finding(&owner, count, &files))
        .collect()
}

fn finding(owner: &str, count: usize, files: &BTreeMap<String, usize>) -> Option<Finding> {
    let (path, _) = files.iter().max_by_key(|(_, count)| **count)?;
    let what =
        format!("{owner} has {count} methods in {} files; at most {METHODS_MAX}: divide what it owns", files.len());
    Some(File::new(path, "").finding(1, what))
}

/// The types of `impl` blocks without a trait, and how many functions each block has.
fn methods(text: &str) -> Vec<(String, usize)> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        if let Some(owner) = inherent(line) {
            counts.push((owner, 0));
            is_open = true;
        } else if line == "}" {
            is_open = false;
        } else if let Some((_, count)) = counts.last_mut().filter(|_| is_open) {
            *count += usize::from(is_function(line));
        }
    }
    counts
}

/// The type of the first line of a block of inherent methods.
fn inherent(line: &str) -> Option<String> {
    let rest = line.strip_prefix("impl")?.strip_suffix('{')?;
    let rest = match rest.strip_prefix('<') {
        Some(generic) => generic.split_once("> ")?.1,
        None => rest.strip_prefix(' ')?,
    };
    let name: String = rest.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
    (!rest.contains(" for ") && !name.is_empty()).then_some(name)
}

/// Whether a line begins a function of a block at the left margin.
fn is_function(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("    ").filter(|rest| !rest.starts_with(' ')) else { return false };
    let rest = match rest.strip_prefix("pub") {
        Some(open) if open.starts_with('(') => open.split_once(") ").map_or("", |(_, rest)| rest),
        Some(open) => open.trim_start(),
        None => rest,
    };
    rest.strip_prefix("const ").unwrap_or(rest).starts_with("fn ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(header: &str, methods: usize) -> String {
        let methods: String = (0..methods).map(|number| format!("    pub(super) fn m{number}(&self) {{}}\n")).collect();
        format!("{header} {{\n{methods}}}\n")
    }

    fn found(blocks: &[(&str, &str, usize)]) -> Vec<String> {
        let files = blocks.iter().map(|(path, header, methods)| File::new(path, &block(header, *methods)));
        of_files(files).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn methods_of_a_type_count_over_all_files_of_its_crate() {
        let both = [("crates/x/src/a.rs", "impl Shard", 41), ("crates/x/src/b.rs", "impl<'a> Shard<'a>", 40)];
        assert_eq!(found(&both).len(), 1, "{:?}", found(&both));
        assert!(found(&both)[0].contains("Shard has 81 methods in 2 files"), "{:?}", found(&both));
        assert!(found(&both[..1]).is_empty());
        assert!(found(&[both[0], ("crates/y/src/b.rs", "impl Shard", 40)]).is_empty(), "another crate");
    }

    #[test]
    fn methods_of_traits_do_not_count() {
        let file = [("crates/x/src/a.rs", "impl Family for Shard", 90), ("crates/x/src/b.rs", "impl Shard", 80)];
        assert!(found(&file).is_empty());
    }
}
