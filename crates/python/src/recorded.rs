//! Recorded programs for Python: a directory goes in, tables and a schedule come out.

use std::path::PathBuf;

use etherweave_scenario::{InputError, RecordedProgram};
use pyo3::{prelude::*, types::PyDict};

use crate::{error::input_error, run::by_name};

/// A program that was recorded.
#[pyclass(frozen, module = "etherweave._core")]
pub struct Recording {
    program: RecordedProgram,
}

fn refused(error: InputError) -> PyErr {
    input_error("", [error])
}

#[pymethods]
impl Recording {
    /// Reads the files of a directory.
    #[staticmethod]
    fn read(py: Python<'_>, directory: PathBuf) -> PyResult<Recording> {
        let read = py.detach(|| RecordedProgram::read(&directory));
        read.map(|program| Recording { program }).map_err(refused)
    }

    /// Returns the facts about the recorded program, as JSON.
    #[getter]
    fn facts(&self) -> String {
        self.program.facts_json()
    }

    /// Returns the operations of ranks, and the messages that went between two of them.
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_name(py, &py.detach(|| self.program.tables()).map_err(refused)?)
    }

    /// The program as GOAL text.
    fn goal(&self, py: Python<'_>, library: &str, ranks_per_node: u32, compute_scale: f64) -> PyResult<String> {
        py.detach(|| self.program.goal(library, ranks_per_node, compute_scale)).map_err(refused)
    }
}
