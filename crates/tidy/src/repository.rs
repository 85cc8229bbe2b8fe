//! The files that Git tracks or would track, and what there is to say about a line of them.

use std::{fmt, path::Path, path::PathBuf, process::Command};

/// A text file of the repository.
#[derive(Clone, Debug)]
pub struct File {
    /// Path from the root, with `/`.
    pub path: String,
    /// Content.
    pub text: String,
}

impl File {
    /// A file that exists only in a test.
    pub fn new(path: &str, text: &str) -> Self {
        Self { path: path.into(), text: text.into() }
    }

    /// Returns the text after the last dot of the name; the name itself when there is none (`Makefile`).
    pub fn extension(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.rsplit('.').next().unwrap_or(name)
    }

    /// The crate that holds the file, without its prefix: `sim` for `crates/sim/src/lib.rs`.
    pub fn room(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// Lines with their numbers, from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Something to say about a line.
    pub fn finding(&self, line: usize, what: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, what: what.into() }
    }

    /// One finding for every line of which `what` has something to say.
    pub fn findings<What: Into<String>>(&self, what: impl Fn(&str) -> Option<What>) -> Vec<Finding> {
        self.lines().filter_map(|(number, line)| Some(self.finding(number, what(line)?))).collect()
    }
}

/// Mistake and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Path from the root.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// Mistake, and what would be right.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Every file that Git tracks, or would track after `git add`; so a finding comes before the commit.
#[derive(Debug)]
pub struct Repository {
    root: PathBuf,
    paths: Vec<String>,
}

impl Repository {
    /// Asks Git for the files around this crate.
    ///
    /// # Panics
    /// Without Git or outside of a repository.
    pub fn open() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let listing = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(&root)
            .output()
            .expect("git lists the files of the repository");
        assert!(listing.status.success(), "{}", String::from_utf8_lossy(&listing.stderr));
        let names = String::from_utf8(listing.stdout).expect("paths are UTF-8");
        let mut paths: Vec<String> = names.split_terminator('\0').map(str::to_owned).collect();
        paths.retain(|path| root.join(path).is_file());
        paths.sort();
        paths.dedup();
        Self { root, paths }
    }

    /// Paths from the root, sorted.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Files that are text, sorted by path.
    pub fn files(&self) -> impl Iterator<Item = File> {
        self.paths.iter().filter_map(|path| self.read(path).ok())
    }

    /// The file of this path.
    ///
    /// # Panics
    /// When there is none.
    pub fn file(&self, path: &str) -> File {
        self.read(path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn read(&self, path: &str) -> std::io::Result<File> {
        Ok(File::new(path, &std::fs::read_to_string(self.root.join(path))?))
    }
}

/// Checks that a rule finds something on these lines of a file.
#[cfg(test)]
pub(crate) fn check(rule: fn(&File) -> Vec<Finding>, path: &str, text: &str, lines: &[usize]) {
    let places: Vec<usize> = rule(&File::new(path, text)).iter().map(|finding| finding.line).collect();
    assert_eq!(places, lines, "{path}: {text:?}");
}
