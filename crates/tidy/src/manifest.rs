//! Rules for manifests: which crate may use which, and why a dependency is there.

use crate::{File, Finding};

/// The crates that each crate may use. Everything else is forbidden.
pub const MAY_USE: [(&str, &[&str]); 19] = [
    ("primitives", &[]),
    ("kernel", &["primitives"]),
    ("topology", &["primitives"]),
    ("routing", &["primitives", "topology", "workload"]),
    ("forwarding", &["primitives", "topology", "routing", "workload"]),
    ("workload", &["primitives"]),
    ("power", &["primitives", "topology"]),
    ("design", &["primitives", "topology", "routing", "forwarding", "power"]),
    ("transport", &["primitives", "kernel"]),
    ("fluid", &["primitives", "kernel"]),
    ("engine", &["primitives", "kernel", "topology", "routing", "transport", "fluid"]),
    ("switch", &["primitives", "kernel", "topology", "routing", "fluid", "engine"]),
    ("host", &["primitives", "kernel", "topology", "routing", "workload", "transport", "fluid", "engine"]),
    (
        "sim",
        &[
            "primitives",
            "kernel",
            "topology",
            "routing",
            "forwarding",
            "workload",
            "transport",
            "fluid",
            "engine",
            "switch",
            "host",
        ],
    ),
    ("openloop", &["primitives", "kernel", "topology", "routing", "forwarding", "workload"]),
    (
        "scenario",
        &[
            "primitives",
            "kernel",
            "topology",
            "routing",
            "forwarding",
            "workload",
            "sim",
            "power",
            "design",
            "openloop",
        ],
    ),
    ("python", &["scenario"]),
    ("fuzz", &["primitives", "topology", "scenario"]),
    ("tidy", &[]),
];

const PREFIX: &str = "etherweave-";

/// A crate uses the crates that the table allows, in its tests too.
pub fn directions(file: &File) -> Vec<Finding> {
    let Some(room) = file.room().filter(|_| file.path.ends_with("/Cargo.toml")) else { return Vec::new() };
    let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == room) else {
        return vec![file.finding(1, format!("`{room}` is not in the table of directions"))];
    };
    used(&file.text)
        .into_iter()
        .filter(|name| !allowed.contains(&name.as_str()) && name != room)
        .map(|name| {
            file.finding(line_of(file, &name), format!("`{room}` may not use `{name}`; it may use {allowed:?}"))
        })
        .collect()
}

/// The table allows no edge that no manifest has: what nobody uses may be forbidden.
pub fn unused_permissions(file: &File) -> Vec<Finding> {
    let Some(room) = file.room().filter(|_| file.path.ends_with("/Cargo.toml")) else { return Vec::new() };
    let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == room) else { return Vec::new() };
    let used = used(&file.text);
    let unused = allowed.iter().filter(|name| !used.iter().any(|dependency| dependency == *name));
    unused.map(|name| file.finding(1, format!("`{room}` may use `{name}` and does not; forbid it"))).collect()
}

/// Crates of this repository in all three tables of dependencies, without the prefix.
fn used(manifest: &str) -> Vec<String> {
    let manifest: toml::Table = manifest.parse().expect("Cargo reads this manifest, so it is TOML");
    ["dependencies", "dev-dependencies", "build-dependencies"]
        .iter()
        .filter_map(|table| manifest.get(*table)?.as_table())
        .flat_map(|table| table.keys())
        .filter_map(|name| Some(name.strip_prefix(PREFIX)?.to_owned()))
        .collect()
}

fn line_of(file: &File, room: &str) -> usize {
    let name = format!("{PREFIX}{room}");
    file.lines().find(|(_, line)| line.trim_start().starts_with(&name)).map_or(1, |(number, _)| number)
}

/// Every dependency from outside has a comment above or beside it that says why it is there.
///
/// `x = { workspace = true }` has its reason in the workspace; crates of this repository need none.
pub fn reasons(file: &File) -> Vec<Finding> {
    let numbers = match file.path.rsplit('/').next() {
        Some("Cargo.toml") => cargo_dependencies(&file.text),
        Some("pyproject.toml") => python_dependencies(&file.text),
        _ => Vec::new(),
    };
    let lines: Vec<&str> = file.text.lines().collect();
    let explained = |number: usize| {
        let above = number.checked_sub(2).is_some_and(|above| lines[above].trim_start().starts_with('#'));
        above || lines[number - 1].contains(" # ")
    };
    numbers
        .into_iter()
        .filter(|number| !explained(*number))
        .map(|number| file.finding(number, "say beside it why this dependency is here"))
        .collect()
}

/// Lines of a Cargo manifest that bring in a crate from outside.
fn cargo_dependencies(text: &str) -> Vec<usize> {
    let mut inside = false;
    let mut numbers = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.starts_with('[') {
            inside = line.trim_end().ends_with("dependencies]");
        } else if inside && is_external(line) {
            numbers.push(index + 1);
        }
    }
    numbers
}

fn is_external(line: &str) -> bool {
    let names = line.starts_with(|letter: char| letter.is_ascii_alphabetic()) && line.contains('=');
    names && !line.starts_with(PREFIX) && !line.contains("workspace = true")
}

/// Lines of a pyproject that stand in a list of requirements.
fn python_dependencies(text: &str) -> Vec<usize> {
    const LISTS: [&str; 2] = ["dependencies = [", "requires = ["];
    let mut inside = false;
    let mut is_optional = false;
    let mut numbers = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.starts_with('[') {
            is_optional = line == "[project.optional-dependencies]";
        }
        let opens = is_optional && line.contains(" = [") || LISTS.iter().any(|list| line.starts_with(list));
        inside = (inside || opens) && line != "]";
        let names = if opens { line.contains('"') } else { line.trim_start().starts_with('"') };
        if inside && names {
            numbers.push(index + 1);
        }
        inside &= !line.ends_with(']');
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::check;

    #[test]
    fn routing_may_use_topology_and_topology_may_not_use_routing() {
        let uses = |room: &str| format!("[dependencies]\n{PREFIX}{room} = {{ workspace = true }}\n");
        check(directions, "crates/routing/Cargo.toml", &uses("topology"), &[]);
        check(directions, "crates/topology/Cargo.toml", &uses("routing"), &[2]);
        check(directions, "crates/attic/Cargo.toml", &uses("topology"), &[1]);
    }

    #[test]
    fn a_permission_that_nobody_uses_is_found() {
        let uses = format!("[dependencies]\n{PREFIX}primitives = {{ workspace = true }}\n");
        check(unused_permissions, "crates/topology/Cargo.toml", &uses, &[]);
        check(unused_permissions, "crates/power/Cargo.toml", &uses, &[1]);
    }

    #[test]
    fn sim_and_power_do_not_know_each_other() {
        let uses = |table: &str, room: &str| format!("[{table}]\n{PREFIX}{room} = {{ workspace = true }}\n");
        check(directions, "crates/sim/Cargo.toml", &uses("dependencies", "power"), &[2]);
        check(directions, "crates/power/Cargo.toml", &uses("dev-dependencies", "sim"), &[2]);
    }

    #[test]
    fn a_crate_from_outside_says_why() {
        check(reasons, "Cargo.toml", "[dependencies]\n# Reads TOML.\ntoml = \"1\"\n", &[]);
        check(reasons, "Cargo.toml", "[dependencies]\ntoml = \"1\" # Reads TOML.\n", &[]);
        check(reasons, "Cargo.toml", "[dependencies]\ntoml = \"1\"\n", &[2]);
        check(reasons, "Cargo.toml", "[dependencies]\nserde = { workspace = true }\n", &[]);
        check(reasons, "Cargo.toml", "[package]\nname = \"x\"\n", &[]);
    }

    #[test]
    fn a_package_from_outside_says_why() {
        check(reasons, "pyproject.toml", "dependencies = [\n    # Draws.\n    \"matplotlib\",\n]\n", &[]);
        check(reasons, "pyproject.toml", "dependencies = [\n    \"matplotlib\",\n]\n\"x\"\n", &[2]);
        check(reasons, "pyproject.toml", "requires = [\"maturin\"]\nx = 1\n", &[1]);
        check(reasons, "pyproject.toml", "[project.optional-dependencies]\nx = [\n    \"matplotlib\",\n]\n", &[3]);
        check(reasons, "pyproject.toml", "[x]\nx = [\n    \"matplotlib\",\n]\n", &[]);
    }
}
