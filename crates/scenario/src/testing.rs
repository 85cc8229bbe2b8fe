//! Helpers of unit tests: folders of their own, and what a run of a scenario says.

use std::{fs, path::PathBuf};

use crate::Run;

/// A folder of a test, which is gone at its end.
pub(crate) struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("etherweave-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Writes a file, and makes the folders on the way to it.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Where a scenario in it stands.
    pub fn origin(&self) -> String {
        self.0.join("a.toml").display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn overrides(changed: &[(&str, &str)]) -> Vec<(String, String)> {
    changed.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// Warnings of a scenario with some keys changed, before its run.
pub(crate) fn warnings(text: &str, changed: &[(&str, &str)]) -> Vec<String> {
    Run::start(text, "x.toml", &overrides(changed), 1, &[]).unwrap().estimate().warnings.clone()
}

/// The resolved scenario of a run, how it ended [ns], and its fingerprint.
pub(crate) fn outcome(text: &str, origin: &str) -> Result<(String, f64, String), String> {
    let run = Run::start(text, origin, &[], 1, &[]).map_err(|error| error.to_string())?;
    let outcome = run.finish(&mut |_| true).0;
    Ok((outcome.resolved, outcome.summary.end_ns, format!("{:?}", outcome.summary.fingerprint)))
}
