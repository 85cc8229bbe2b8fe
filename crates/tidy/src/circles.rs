//! Circles of imports within a room: files that can be understood, tested or moved only together.
//!
//! Each language finds its own imports. Left out are tests, and imports inside functions, which run later.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{File, Finding};

/// Files that a file imports, by path.
pub type Imports = BTreeMap<String, BTreeSet<String>>;

/// One finding per set of files that import each other, with a shortest circle among them.
pub fn circles(imports: &Imports) -> Vec<Finding> {
    let mut seen = BTreeSet::new();
    let mut findings = Vec::new();
    for file in imports.keys() {
        let reached = reachable(imports, file);
        if seen.contains(file) || !reached.contains(file) {
            continue;
        }
        let together: Vec<&String> = reached.iter().filter(|other| reachable(imports, other).contains(file)).collect();
        seen.extend(together.iter().map(|path| (*path).clone()));
        findings.push(finding(imports, &together));
    }
    findings
}

fn finding(imports: &Imports, together: &[&String]) -> Finding {
    let shortest = together.iter().map(|file| circle(imports, file)).min_by_key(Vec::len).unwrap_or_default();
    let what = format!(
        "{} files import each other in a circle, such as {}; all: {}",
        together.len(),
        shortest.join(" -> "),
        together.iter().map(|path| path.as_str()).collect::<Vec<_>>().join(" "),
    );
    File::new(&shortest[0], "").finding(1, what)
}

fn reachable(imports: &Imports, file: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![file.to_owned()];
    while let Some(next) = waiting.pop() {
        for other in imports.get(&next).into_iter().flatten() {
            if reached.insert(other.clone()) {
                waiting.push(other.clone());
            }
        }
    }
    reached
}

/// A shortest path from a file back to itself, with the file at both ends.
fn circle(imports: &Imports, file: &str) -> Vec<String> {
    let mut before: BTreeMap<String, String> = BTreeMap::new();
    let mut waiting = VecDeque::from([file.to_owned()]);
    while let Some(next) = waiting.pop_front() {
        for other in imports.get(&next).into_iter().flatten() {
            if other == file {
                let mut path = vec![file.to_owned(), next.clone()];
                while path.last().is_some_and(|last| last != file) {
                    path.push(before[&path[path.len() - 1]].clone());
                }
                path.reverse();
                return path;
            }
            if !before.contains_key(other) {
                before.insert(other.clone(), next.clone());
                waiting.push_back(other.clone());
            }
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(edges: &[(&str, &str)]) -> Imports {
        let mut all = Imports::new();
        for (from, to) in edges {
            all.entry((*from).to_owned()).or_default().insert((*to).to_owned());
        }
        all
    }

    #[test]
    fn a_chain_is_no_circle() {
        assert!(circles(&imports(&[("a", "b"), ("b", "c"), ("a", "c")])).is_empty());
    }

    #[test]
    fn a_circle_is_found_once_and_shown_at_its_shortest() {
        let findings = circles(&imports(&[("a", "b"), ("b", "c"), ("c", "a"), ("b", "a"), ("d", "a")]));
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].what.starts_with("3 files import each other in a circle, such as a -> b -> a; all: a b c"));
    }

    #[test]
    fn two_circles_are_two_findings() {
        assert_eq!(circles(&imports(&[("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")])).len(), 2);
    }
}
