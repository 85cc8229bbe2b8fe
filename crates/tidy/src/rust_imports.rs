//! Imports among the Rust files of a crate, by `use crate::…`, `use super::…` and `use self::…`.
//!
//! Left out are tests, modules above a file (it belongs to them), and re-exports of `lib.rs`, which gathers all.

use std::collections::{BTreeMap, BTreeSet};

use crate::{File, Repository, circles::Imports};

/// The modules that lead to a file, without `crate`.
type Module = Vec<String>;

/// The imports of each crate.
pub fn crates(repository: &Repository) -> Vec<Imports> {
    let mut sources: BTreeMap<String, Vec<File>> = BTreeMap::new();
    for file in repository.files().filter(is_source) {
        let room = file.room().expect("a source has a room").to_owned();
        sources.entry(room).or_default().push(file);
    }
    sources.values().map(|files| imports(files)).collect()
}

fn is_source(file: &File) -> bool {
    let is_test = file.path.contains("/tests/") || file.path.ends_with("tests.rs");
    file.path.contains("/src/") && file.extension() == "rs" && !is_test && file.room().is_some()
}

/// The imports among these files of one crate.
pub fn imports(files: &[File]) -> Imports {
    let modules: BTreeMap<Module, &str> = files.iter().map(|file| (module(&file.path), file.path.as_str())).collect();
    let targets = |file: &File| -> BTreeSet<String> {
        let own = module(&file.path);
        let paths = statements(&file.text).into_iter().flat_map(|tree| leaves(&tree));
        let targets = paths.filter_map(|path| resolve(&absolute(&path, &own)?, &modules));
        targets.filter(|(target, _)| !own.starts_with(target)).map(|(_, file)| file.to_owned()).collect()
    };
    files.iter().map(|file| (file.path.clone(), targets(file))).collect()
}

/// `crates/sim/src/host/mod.rs` is `host`, `crates/sim/src/host/queue.rs` is `host::queue`.
fn module(path: &str) -> Module {
    let inside = path.split_once("/src/").map_or(path, |(_, inside)| inside).trim_end_matches(".rs");
    let mut parts: Module = inside.split('/').map(str::to_owned).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}

/// The modules and the item of a path, from the root of the crate; none for a path into another crate.
fn absolute(path: &str, own: &[String]) -> Option<Module> {
    let (first, rest) = path.split_once("::")?;
    let base = match first {
        "crate" => &[],
        "self" => own,
        "super" => &own[..own.len().checked_sub(1)?],
        _ => return None,
    };
    match rest.starts_with("super::") {
        true => absolute(rest, base),
        false => Some(base.iter().cloned().chain(rest.split("::").map(str::to_owned)).collect()),
    }
}

/// The innermost module of a path, and its file; none for the root.
fn resolve<'m>(path: &[String], modules: &'m BTreeMap<Module, &str>) -> Option<(&'m Module, &'m str)> {
    let (module, file) = (1..=path.len()).rev().find_map(|length| modules.get_key_value(&path[..length]))?;
    Some((module, *file))
}

/// The trees of `use` statements at the top level of a file, but for those under `#[cfg(test)]`.
fn statements(text: &str) -> Vec<String> {
    let mut trees: Vec<String> = Vec::new();
    let (mut is_open, mut is_test) = (false, false);
    for line in text.lines().map(|line| line.split("//").next().unwrap_or("").trim_end()) {
        if is_open {
            let last = trees.last_mut().expect("an open statement");
            last.push_str(line.trim().trim_end_matches(';'));
            is_open = !line.ends_with(';');
        } else if line == "#[cfg(test)]" {
            is_test = true;
        } else if let Some(tree) = tree(line).filter(|_| !is_test) {
            trees.push(tree.trim_end_matches(';').to_owned());
            is_open = !line.ends_with(';');
        } else if is_test && line.ends_with('{') {
            break;
        } else if !line.starts_with('#') && !line.is_empty() {
            is_test = false;
        }
    }
    trees
}

/// Returns the names that a line of `use` imports, or begins to.
fn tree(line: &str) -> Option<&str> {
    let private = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None => line,
    };
    private.strip_prefix("use ")
}

/// The paths of a tree such as `crate::{b, c::{D, E as F}}`.
fn leaves(tree: &str) -> Vec<String> {
    let Some((head, rest)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap_or(tree).trim().to_owned()];
    };
    let inside = &rest[..rest.rfind('}').unwrap_or(rest.len())];
    let parts = parts(inside).into_iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(|part| leaves(&format!("{}{}", head.trim(), part.trim()))).collect()
}

/// Splits at the commas that stand outside of braces.
fn parts(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&list[start..]);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circles::circles;

    fn check(files: &[(&str, &str)], expected: &[(&str, &str)]) {
        let of = |path: &str| format!("crates/x/src/{path}");
        let files: Vec<File> = files.iter().map(|(path, text)| File::new(&of(path), text)).collect();
        let graph = imports(&files);
        let edges: Vec<(String, String)> =
            graph.iter().flat_map(|(from, all)| all.iter().map(|to| (from.clone(), to.clone()))).collect();
        let expected: Vec<(String, String)> = expected.iter().map(|(from, to)| (of(from), of(to))).collect();
        assert_eq!(edges, expected);
    }

    #[test]
    fn a_use_leads_to_the_file_of_the_innermost_module() {
        let b = ("b.rs", "pub struct B;\n");
        check(&[("a.rs", "use crate::b::B;\n"), b], &[("a.rs", "b.rs")]);
        check(&[("a.rs", "pub(crate) use crate::{\n    b::{B, C as D},\n};\n"), b], &[("a.rs", "b.rs")]);
        let folder = [("a.rs", "use crate::f::{F, g::G};\n"), ("f/g.rs", ""), ("f/mod.rs", "")];
        check(&folder, &[("a.rs", "f/g.rs"), ("a.rs", "f/mod.rs")]);
    }

    #[test]
    fn siblings_and_modules_below_count_by_super_and_self() {
        let files = [("f/a.rs", "use super::b::B;\n"), ("f/b.rs", "use super::super::c::C;\n"), ("c.rs", "")];
        check(&files, &[("f/a.rs", "f/b.rs"), ("f/b.rs", "c.rs")]);
        let below = [("f/a.rs", ""), ("f/mod.rs", "use self::a::A;\npub use a::A;\n")];
        check(&below, &[("f/mod.rs", "f/a.rs")]);
    }

    #[test]
    fn siblings_that_import_each_other_by_super_are_a_circle() {
        let file = |path: &str, text: &str| File::new(&format!("crates/x/src/{path}"), text);
        let pair = [file("f/a.rs", "use super::b::B;\n"), file("f/b.rs", "use super::a::A;\n")];
        assert_eq!(circles(&imports(&pair)).len(), 1);
        assert!(circles(&imports(&[pair[0].clone(), file("f/b.rs", "")])).is_empty());
    }

    #[test]
    fn tests_other_crates_and_modules_above_do_not_count() {
        let others = "use std::fmt;\nuse super::B;\n#[cfg(test)]\nuse crate::b::B;\n";
        let tests = "#[cfg(test)]\nmod tests {\nuse crate::b::B;\n}\n";
        check(&[("a.rs", &format!("{others}{tests}")), ("b.rs", "")], &[]);
        check(&[("f/g/a.rs", "use super::super::F;\nuse crate::f::F;\n"), ("f/mod.rs", ""), ("f/g/mod.rs", "")], &[]);
        check(&[("a.rs", "#[cfg(test)]\nmod tests;\nuse crate::b::B;\n"), ("b.rs", "")], &[("a.rs", "b.rs")]);
    }
}
