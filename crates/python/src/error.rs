//! A user's mistake, or one of the operating system, as Python's exception.

use std::io;
use std::path::Path;

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    etherweave._core,
    ScenarioError,
    PyValueError,
    "Mistakes in a scenario, a line each: ``file:line:col: key: found; expected …``."
);

pub(crate) fn scenario_error(error: &etherweave_scenario::ScenarioError) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

/// Python's error of a file, with its name.
pub(crate) fn os_error(file: &Path, error: io::Error) -> PyErr {
    let Some(number) = error.raw_os_error() else { return error.into() };
    let message = error.to_string();
    // Python appends the number itself.
    let reason = message.split(" (os error").next().unwrap_or(&message);
    PyOSError::new_err((number, reason.to_owned(), file.display().to_string()))
}
