//! Lines of the repository by kind, beside the lines that each kind may have.

use std::fmt;

use crate::File;

#[derive(Clone, Copy, Debug)]
struct Kind {
    name: &'static str,
    /// Folder that holds them; empty for every folder.
    folder: &'static str,
    /// Ends of their names, without the dot.
    endings: &'static [&'static str],
    /// Upper bound [lines].
    lines_max: Option<usize>,
}

/// A file belongs to the first kind that it fits.
const KINDS: [Kind; 7] = [
    Kind { name: "Rust, with tests", folder: "", endings: &["rs"], lines_max: Some(110_000) },
    Kind { name: "Python, package", folder: "python/", endings: &["py"], lines_max: Some(56_000) },
    Kind { name: "Python, tests", folder: "tests/", endings: &["py"], lines_max: Some(30_000) },
    Kind { name: "Python, others", folder: "", endings: &["py"], lines_max: None },
    Kind { name: "documents", folder: "", endings: &["md"], lines_max: Some(8_000) },
    Kind { name: "C", folder: "", endings: &["c", "h"], lines_max: None },
    Kind { name: "pages and scripts", folder: "", endings: &["j2", "css", "js", "sh"], lines_max: None },
];

impl Kind {
    fn holds(&self, file: &File) -> bool {
        file.path.starts_with(self.folder) && self.endings.contains(&file.extension())
    }
}

/// Lines of each kind.
#[derive(Debug, Default)]
pub struct Lines([usize; KINDS.len()]);

impl Lines {
    /// Counts every line of these files.
    pub fn count(files: impl Iterator<Item = File>) -> Self {
        let mut lines = Self::default();
        for file in files {
            if let Some(kind) = KINDS.iter().position(|kind| kind.holds(&file)) {
                lines.0[kind] += file.text.lines().count();
            }
        }
        lines
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{:<18} {:>8} {:>8} {:>8}", "", "lines", "budget", "over by")?;
        for (kind, lines) in KINDS.iter().zip(self.0) {
            let budget = kind.lines_max.map_or("none".into(), |max| max.to_string());
            let excess = kind.lines_max.map_or(String::new(), |max| lines.saturating_sub(max).to_string());
            let row = format!("{:<18} {lines:>8} {budget:>8} {excess:>8}", kind.name);
            writeln!(out, "{}", row.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(files: &[(&str, usize)]) -> String {
        Lines::count(files.iter().map(|(path, lines)| File::new(path, &"x\n".repeat(*lines)))).to_string()
    }

    #[test]
    fn a_file_counts_for_the_first_kind_that_it_fits() {
        let table = printed(&[
            ("crates/sim/src/lib.rs", 3),
            ("python/etherweave/a.py", 4),
            ("tests/api/test_a.py", 5),
            ("tests/data/a.csv", 1000),
            ("studies/a/study.py", 6),
            ("README.md", 7),
        ]);
        let counted: Vec<&str> = table.lines().skip(1).filter_map(|row| row[18..27].trim().into()).collect();
        assert_eq!(counted, ["3", "4", "5", "6", "7", "0", "0"]);
    }

    #[test]
    fn lines_beyond_a_budget_are_printed() {
        let table = printed(&[("a.md", 8_002)]);
        assert!(table.contains("documents              8002     8000        2\n"), "{table}");
        assert!(table.contains("Python, others            0     none\n"), "{table}");
    }
}
