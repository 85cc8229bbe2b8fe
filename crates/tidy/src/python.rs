//! Rules for Python: which room imports which, and why a test does not run.

use std::collections::BTreeMap;

use crate::{File, Finding, Repository, circles::Imports};

const PACKAGE: &str = "python/etherweave/";

/// The rooms that each room may import.
pub const MAY_IMPORT: [(&str, &[&str]); 16] = [
    ("api", &["archives"]),
    (
        "cli",
        &[
            "api",
            "advise",
            "archives",
            "bmwg",
            "control",
            "bench",
            "explore",
            "formats",
            "measurements",
            "pages",
            "report",
            "study",
            "sweeps",
            "uncertainty",
            "linux",
        ],
    ),
    ("pages", &["api", "advise", "archives", "bench", "bmwg", "measurements", "report", "study"]),
    ("control", &["api", "linux", "study"]),
    ("explore", &["api", "measurements", "report"]),
    ("bench", &["api", "linux", "measurements", "sweeps", "uncertainty"]),
    ("report", &["api", "archives", "measurements", "study", "uncertainty"]),
    ("advise", &["api", "sweeps", "uncertainty"]),
    ("uncertainty", &["api", "measurements", "study", "sweeps"]),
    ("study", &["api", "sweeps"]),
    ("sweeps", &["api", "measurements"]),
    ("measurements", &["api"]),
    ("bmwg", &["api", "sweeps"]),
    ("formats", &["api"]),
    ("archives", &[]),
    ("linux", &[]),
];

/// Modules beside the rooms: what starts the package, what names the functions that it offers, which load on first use,
/// and classes that callers extend.
const FACES: [(&str, &[&str]); 3] = [
    ("__main__.py", &["cli"]),
    ("__init__.py", &["api", "pages", "report", "sweeps", "uncertainty"]),
    ("extend.py", &[]),
];

/// A room imports the rooms that the table allows, and a module beside the rooms those of [`FACES`].
pub fn directions(file: &File) -> Vec<Finding> {
    let Some(room) = file.path.strip_prefix(PACKAGE).and_then(|path| path.split('/').next()) else { return Vec::new() };
    let allowed =
        MAY_IMPORT.iter().chain(&FACES).find(|(name, _)| *name == room).map_or(&[][..], |(_, allowed)| allowed);
    file.findings(|line| {
        let other = imported(line, &file.path)?;
        let is_room = MAY_IMPORT.iter().any(|(name, _)| *name == other);
        let forbidden = is_room && other != room && !allowed.contains(&other.as_str());
        forbidden.then(|| format!("`{room}` may not import `{other}`"))
    })
}

/// The imports among the files of each room of the package, at their top level.
pub fn rooms(repository: &Repository) -> Vec<Imports> {
    let mut rooms: BTreeMap<String, Vec<File>> = BTreeMap::new();
    for file in repository.files().filter(|file| file.path.starts_with(PACKAGE) && file.extension() == "py") {
        let room = file.path[PACKAGE.len()..].split_once('/').map_or("", |(room, _)| room).to_owned();
        rooms.entry(room).or_default().push(file);
    }
    rooms.values().map(|files| imports(files)).collect()
}

fn imports(files: &[File]) -> Imports {
    let modules: BTreeMap<String, &str> = files.iter().map(|file| (module(&file.path), file.path.as_str())).collect();
    let targets = |file: &File| {
        let names = top_level(&file.text).into_iter().flat_map(|statement| imported_modules(&statement, &file.path));
        let paths = names.filter_map(|name| resolve(&name, &modules));
        paths.filter(|path| *path != file.path).collect()
    };
    files.iter().map(|file| (file.path.clone(), targets(file))).collect()
}

/// `python/etherweave/report/page.py` is `etherweave.report.page`; a folder's `__init__.py` is the folder.
fn module(path: &str) -> String {
    let inside = path.strip_prefix("python/").unwrap_or(path).trim_end_matches(".py");
    inside.trim_end_matches("/__init__").replace('/', ".")
}

/// The file of a module, or of the module that holds the name.
fn resolve(name: &str, modules: &BTreeMap<String, &str>) -> Option<String> {
    let file = modules.get(name).or_else(|| modules.get(name.rsplit_once('.')?.0))?;
    Some((*file).to_owned())
}

/// Import statements that are not indented, each on one line.
fn top_level(text: &str) -> Vec<String> {
    let mut statements: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines().map(|line| line.split('#').next().unwrap_or("").trim_end()) {
        if open {
            let last = statements.last_mut().expect("an open statement");
            last.push(' ');
            last.push_str(line.trim());
            open = !line.contains(')');
        } else if line.starts_with("from ") || line.starts_with("import ") {
            statements.push(line.to_owned());
            open = line.contains('(') && !line.contains(')');
        }
    }
    statements
}

/// Every name that an import statement may mean, from the root.
fn imported_modules(statement: &str, path: &str) -> Vec<String> {
    let clean = statement.replace(['(', ')'], "");
    if let Some(names) = clean.strip_prefix("import ") {
        return names.split(',').filter_map(|name| Some(name.split_whitespace().next()?.to_owned())).collect();
    }
    let Some((module, names)) = clean.strip_prefix("from ").and_then(|rest| rest.split_once(" import ")) else {
        return Vec::new();
    };
    let Some(module) = absolute(module.trim(), path) else { return Vec::new() };
    let names = names.split(',').filter_map(|name| name.split_whitespace().next());
    names.map(|name| format!("{module}.{name}")).collect()
}

/// A skipped or expected failure says why.
pub fn skipped_tests(file: &File) -> Vec<Finding> {
    if file.extension() != "py" {
        return Vec::new();
    }
    let lines: Vec<&str> = file.text.lines().collect();
    let marked = |line: &str| ["pytest.mark.skip", "pytest.mark.xfail"].iter().any(|mark| line.contains(mark));
    let silent = |index: usize| {
        let call = lines[index..].iter().take(6).copied().collect::<Vec<_>>().join("\n");
        marked(lines[index]) && !call.contains("reason=") || lines[index].contains("pytest.skip()")
    };
    (0..lines.len())
        .filter(|index| silent(*index))
        .map(|index| file.finding(index + 1, "say why: `reason=…`"))
        .collect()
}

/// The first name below the package that a line imports, be it absolute or relative.
fn imported(line: &str, path: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [verb @ ("from" | "import"), module, ..] = words.as_slice() else { return None };
    let names = words.get(3).filter(|_| *verb == "from").map_or("", |name| name.trim_end_matches(','));
    let full = absolute(module, path)?;
    let below = format!("{full}.{names}");
    let name = below.strip_prefix("etherweave.")?.split('.').next()?;
    Some(name.to_owned())
}

/// The module that a relative one means in the file of this path: one dot is its folder, each further one the parent.
fn absolute(module: &str, path: &str) -> Option<String> {
    let dots = module.len() - module.trim_start_matches('.').len();
    if dots == 0 {
        return Some(module.to_owned());
    }
    let mut folders: Vec<&str> = path.strip_prefix("python/")?.split('/').collect();
    folders.truncate(folders.len().checked_sub(dots)?);
    folders.extend(module[dots..].split('.').filter(|part| !part.is_empty()));
    Some(folders.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::check;

    #[test]
    fn the_command_line_imports_rooms_and_no_room_imports_it() {
        check(directions, "python/etherweave/cli/study.py", "from etherweave.report import page\n", &[]);
        check(directions, "python/etherweave/report/page.py", "from etherweave.cli import main\n", &[1]);
        check(directions, "python/etherweave/api/results.py", "import etherweave.report\n", &[1]);
        check(directions, "python/etherweave/api/replays.py", "from etherweave.archives import text\n", &[]);
        check(directions, "python/etherweave/linux/links.py", "from etherweave.api import units\n", &[1]);
        check(directions, "python/etherweave/settings.py", "from etherweave.api import units\n", &[1]);
        check(directions, "python/etherweave/report/page.py", "from etherweave import control\n", &[1]);
        check(directions, "python/etherweave/report/page.py", "from etherweave import bench\n", &[1]);
        check(directions, "python/etherweave/pages/advise.py", "from etherweave import bench\n", &[]);
        check(directions, "python/etherweave/study/deployed.py", "from etherweave import control\n", &[1]);
        check(directions, "python/etherweave/control/plan.py", "from etherweave import study\n", &[]);
        check(directions, "python/etherweave/__init__.py", "from etherweave.report import plot\n", &[]);
        check(directions, "python/etherweave/__init__.py", "from etherweave.control import plan\n", &[1]);
    }

    #[test]
    fn relative_imports_are_followed() {
        check(directions, "python/etherweave/report/page.py", "from .figures import bars\n", &[]);
        check(directions, "python/etherweave/report/page.py", "from ..api.results import Result\n", &[]);
        check(directions, "python/etherweave/report/page.py", "from ..control import x\nfrom .. import cli\n", &[1, 2]);
    }

    #[test]
    fn an_import_at_the_top_counts_and_one_in_a_function_or_for_types_does_not() {
        let a = File::new(
            "python/etherweave/report/a.py",
            "from etherweave.report import (\n    b,\n)\nfrom .c import C\nif TYPE_CHECKING:\n    from .d import D\n",
        );
        let others = ["b", "c", "d"].map(|name| File::new(&format!("python/etherweave/report/{name}.py"), ""));
        let graph = imports(&[&[a][..], &others].concat());
        let expected = ["python/etherweave/report/b.py", "python/etherweave/report/c.py"];
        assert_eq!(graph["python/etherweave/report/a.py"].iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_skip_names_its_reason() {
        check(skipped_tests, "tests/a.py", "@pytest.mark.skipif(no_browser, reason=\"no browser\")\n", &[]);
        check(skipped_tests, "tests/a.py", "@pytest.mark.skipif(\n    no_browser,\n    reason=\"x\",\n)\n", &[]);
        check(skipped_tests, "tests/a.py", "@pytest.mark.skip\ndef test_a(): ...\n", &[1]);
    }
}
