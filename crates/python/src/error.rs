//! A user's mistake, or one of the operating system, as Python's exception.

use std::{io, path::Path};

use etherweave_scenario::{InputError, TextPlace};
use pyo3::{create_exception, exceptions::PyOSError, exceptions::PyValueError, prelude::*};

create_exception!(
    etherweave._core,
    ScenarioError,
    PyValueError,
    "Mistakes in a scenario, a line each: ``file:line:col: key: found; expected …``."
);

/// A mistake with its place, as a structure.
#[pyclass(frozen, eq, from_py_object, module = "etherweave._core")]
#[derive(Clone, PartialEq, Eq)]
pub struct Mistake {
    mistake: etherweave_scenario::Mistake,
}

/// Arguments that make the same mistake again: file, key, found, expected; line and column in the file, and in the
/// text at the key, and the file of that text.
type MistakeParts =
    (String, String, String, String, Option<usize>, Option<usize>, Option<usize>, Option<usize>, String);

#[pymethods]
impl Mistake {
    /// A mistake; `line` and `column` count in the file, `text_line` and `text_column` in the text at the key, or in
    /// `text_file` that the key names.
    #[new]
    #[pyo3(signature = (file, key, mistake, expected=String::new(), line=None, column=None, text_line=None,
                        text_column=None, text_file=String::new()))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        file: String,
        key: String,
        mistake: String,
        expected: String,
        line: Option<usize>,
        column: Option<usize>,
        text_line: Option<usize>,
        text_column: Option<usize>,
        text_file: String,
    ) -> Mistake {
        let place = |line: Option<usize>, column| line.map(|line| TextPlace { line, column });
        let error = InputError { found: mistake, key, expected, file: text_file, place: place(text_line, text_column) };
        Mistake { mistake: etherweave_scenario::Mistake { origin: file, place: place(line, column), error } }
    }

    /// The file, as the caller named it; "override" where an override is wrong.
    #[getter]
    fn file(&self) -> &str {
        &self.mistake.origin
    }

    /// Names and list indices with dots between them; empty where no key is at fault.
    #[getter]
    fn key(&self) -> &str {
        &self.mistake.error.key
    }

    /// Value that stands there, or its fault.
    #[getter]
    fn found(&self) -> &str {
        &self.mistake.error.found
    }

    /// Values that would be right; empty where `found` says it.
    #[getter]
    fn expected(&self) -> &str {
        &self.mistake.error.expected
    }

    /// Line in the file, or in the text at the key, counted from 1.
    #[getter]
    fn line(&self) -> Option<usize> {
        self.place().map(|place| place.line)
    }

    /// Column in characters, counted from 1.
    #[getter]
    fn column(&self) -> Option<usize> {
        self.place().and_then(|place| place.column)
    }

    /// Fault and expectation, without file, key and place.
    #[getter]
    fn reason(&self) -> String {
        InputError { place: None, file: String::new(), ..self.mistake.error.clone() }.reason()
    }

    /// The same mistake at another file, key or both; the place in the former file is left out.
    #[pyo3(signature = (file, key=None))]
    fn at(&self, file: String, key: Option<String>) -> Mistake {
        let mut mistake = self.mistake.clone();
        mistake.origin = file;
        mistake.place = None;
        mistake.error.key = key.unwrap_or(mistake.error.key);
        Mistake { mistake }
    }

    /// The line that errors print.
    fn __str__(&self) -> String {
        self.mistake.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Mistake {}>", self.mistake)
    }

    fn __getnewargs__(&self) -> MistakeParts {
        let etherweave_scenario::Mistake { origin, place, error } = self.mistake.clone();
        let parts = |place: Option<TextPlace>| (place.map(|place| place.line), place.and_then(|place| place.column));
        let ((line, column), (text_line, text_column)) = (parts(place), parts(error.place));
        (origin, error.key, error.found, error.expected, line, column, text_line, text_column, error.file)
    }
}

impl Mistake {
    fn place(&self) -> Option<TextPlace> {
        self.mistake.place.or(self.mistake.error.place)
    }
}

/// An exception with these mistakes, a line each.
#[pyfunction]
#[pyo3(name = "scenario_error")]
pub fn of_mistakes(py: Python<'_>, mistakes: Vec<Mistake>) -> PyResult<Bound<'_, PyAny>> {
    let lines: Vec<String> = mistakes.iter().map(|mistake| mistake.mistake.to_string()).collect();
    let error = py.get_type::<ScenarioError>().call1((lines.join("\n"),))?;
    error.setattr("mistakes", mistakes)?;
    Ok(error)
}

/// Mistakes of a scenario as Python's exception.
pub(crate) fn scenario_error(error: &etherweave_scenario::ScenarioError) -> PyErr {
    let mistakes = error.mistakes.iter().map(|mistake| Mistake { mistake: mistake.clone() }).collect();
    Python::attach(|py| of_mistakes(py, mistakes).map_or_else(|error| error, PyErr::from_value))
}

/// Mistakes of an input that is no scenario.
pub(crate) fn input_error(origin: &str, errors: impl IntoIterator<Item = InputError>) -> PyErr {
    let mistake = |error| etherweave_scenario::Mistake { origin: origin.to_owned(), place: None, error };
    scenario_error(&etherweave_scenario::ScenarioError { mistakes: errors.into_iter().map(mistake).collect() })
}

/// Python's error of a file, with its name.
pub(crate) fn os_error(file: &Path, error: io::Error) -> PyErr {
    let Some(number) = error.raw_os_error() else { return error.into() };
    let message = error.to_string();
    // Python appends the number itself.
    let reason = message.split(" (os error").next().unwrap_or(&message);
    PyOSError::new_err((number, reason.to_owned(), file.display().to_string()))
}
