//! Files that have their name when they are complete: what is left of one that was cut would look like a result.

use std::{fs, fs::File, path::Path, path::PathBuf};

use pyo3::prelude::*;

use crate::error::os_error;

/// A file that is not complete. Dropped without [`PartFile::place`], it is removed.
pub struct PartFile {
    part: PathBuf,
    target: PathBuf,
    /// None once it is placed, or where the target is no regular file, such as a pipe, and is written to as it is.
    is_open: bool,
}

impl PartFile {
    /// Begins a file beside its place.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(path: &Path) -> PyResult<(PartFile, File)> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let is_open = fs::metadata(&target).map_or(true, |known| known.is_file());
        let mut part = target.clone().into_os_string();
        if is_open {
            part.push(".part");
        }
        let part = PathBuf::from(part);
        let file = File::create(&part).map_err(|error| os_error(path, error))?;
        Ok((PartFile { part, target, is_open }, file))
    }

    /// Gives the file its name: it is complete.
    ///
    /// # Errors
    /// When it cannot be renamed.
    pub fn place(mut self) -> PyResult<()> {
        if !self.is_open {
            return Ok(());
        }
        self.is_open = false;
        fs::rename(&self.part, &self.target).map_err(|error| {
            let _ = fs::remove_file(&self.part);
            os_error(&self.target, error)
        })
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if self.is_open {
            let _ = fs::remove_file(&self.part);
        }
    }
}
