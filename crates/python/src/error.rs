//! A user's mistake as Python's exception.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
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
