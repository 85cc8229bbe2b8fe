//! Rules for Python: which room imports which, and why a test does not run.

use crate::{File, Finding};

const PACKAGE: &str = "python/etherweave/";

/// The rooms that each room may import. A module beside the rooms (`run.py`) may import modules beside the rooms.
const MAY_IMPORT: [(&str, &[&str]); 5] = [
    ("cli", &["control", "bench", "report", "study"]),
    ("control", &[]),
    ("bench", &[]),
    ("report", &["bench", "study"]),
    ("study", &["control", "bench"]),
];

/// `cli` stands on all others, `report` on `study` and `bench`, `study` on `control` and `bench`; those two do not know
/// each other, and nothing knows `cli`.
pub fn directions(file: &File) -> Vec<Finding> {
    let Some(room) = file.path.strip_prefix(PACKAGE).and_then(|path| path.split('/').next()) else { return Vec::new() };
    let allowed = MAY_IMPORT.iter().find(|(name, _)| *name == room).map_or(&[][..], |(_, allowed)| allowed);
    file.findings(|line| {
        let other = imported(line, &file.path)?;
        let is_room = MAY_IMPORT.iter().any(|(name, _)| *name == other);
        let forbidden = is_room && other != room && !allowed.contains(&other.as_str());
        forbidden.then(|| format!("`{room}` may not import `{other}`"))
    })
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

    fn check(rule: fn(&File) -> Vec<Finding>, path: &str, text: &str, lines: &[usize]) {
        let found: Vec<usize> = rule(&File::new(path, text)).iter().map(|finding| finding.line).collect();
        assert_eq!(found, lines, "{path}: {text:?}");
    }

    #[test]
    fn the_command_line_imports_rooms_and_no_room_imports_it() {
        check(directions, "python/etherweave/cli/study.py", "from etherweave.report import page\n", &[]);
        check(directions, "python/etherweave/report/page.py", "from etherweave.cli import main\n", &[1]);
        check(directions, "python/etherweave/results.py", "import etherweave.report\n", &[1]);
        check(directions, "python/etherweave/report/page.py", "from etherweave import control\n", &[1]);
        check(directions, "python/etherweave/report/page.py", "from etherweave import bench\n", &[]);
        check(directions, "python/etherweave/study/deployed.py", "from etherweave import control\n", &[]);
        check(directions, "python/etherweave/control/plan.py", "from etherweave import study\n", &[1]);
    }

    #[test]
    fn relative_imports_are_followed() {
        check(directions, "python/etherweave/report/page.py", "from .figures import bars\n", &[]);
        check(directions, "python/etherweave/report/page.py", "from ..results import Result\n", &[]);
        check(directions, "python/etherweave/report/page.py", "from ..control import x\nfrom .. import cli\n", &[1, 2]);
    }

    #[test]
    fn a_skip_names_its_reason() {
        check(skipped_tests, "tests/a.py", "@pytest.mark.skipif(no_browser, reason=\"no browser\")\n", &[]);
        check(skipped_tests, "tests/a.py", "@pytest.mark.skipif(\n    no_browser,\n    reason=\"x\",\n)\n", &[]);
        check(skipped_tests, "tests/a.py", "@pytest.mark.skip\ndef test_a(): ...\n", &[1]);
    }
}
