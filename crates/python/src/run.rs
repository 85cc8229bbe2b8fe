//! Runs for Python: a scenario's text goes in, tables come out.

use std::{
    fs::File, io::BufWriter, io::Write, path::PathBuf, sync::Arc, sync::OnceLock, time::Duration, time::Instant,
};

use etherweave_scenario::{Outcome, RunOptions, Scenario};
use pyo3::{prelude::*, types::PyDict};

use crate::extend::{Extension, Failure, prototypes};
use crate::{
    error::input_error, error::os_error, error::scenario_error, interruptible::interruptible, part_file::PartFile,
    processes::agree, processes::processes, table::Table, table::columns,
};

/// The caller hears of progress no more often.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Outcome of a simulation.
#[pyclass(frozen, module = "etherweave._core")]
pub struct Run {
    outcome: Outcome,
}

#[pymethods]
impl Run {
    /// The result tables by name.
    #[getter]
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tables = by_name(py, &self.outcome.tables)?;
        for late in &self.outcome.late {
            tables.set_item(late.name, Table::late(late.clone()))?;
        }
        Ok(tables)
    }

    /// The resolved scenario, as TOML.
    #[getter]
    fn resolved(&self) -> &str {
        &self.outcome.resolved
    }

    /// The figures of the whole run, as JSON.
    #[getter]
    fn summary(&self) -> String {
        self.outcome.summary.to_json()
    }
}

/// Tables as a dictionary.
pub(crate) fn by_name<'py>(py: Python<'py>, tables: &[etherweave_scenario::Table]) -> PyResult<Bound<'py, PyDict>> {
    let named = PyDict::new(py);
    for table in tables {
        named.set_item(table.name, lent_table(table))?;
    }
    Ok(named)
}

/// A table for Python.
pub(crate) fn lent_table(table: &etherweave_scenario::Table) -> Table {
    Table::new(table.name, columns(table))
}

/// JSON Schema of a scenario file.
#[pyfunction]
pub fn schema() -> String {
    etherweave_scenario::schema()
}

/// The scenario with every default filled in, as TOML.
#[pyfunction]
pub fn resolve(text: &str, origin: &str, overrides: Vec<(String, String)>) -> PyResult<String> {
    let scenario = Scenario::parse(text, origin, &overrides).map_err(|error| scenario_error(&error))?;
    Ok(scenario.resolved())
}

/// Payload of a full frame of the run's transport, and what it takes of a link with preamble and gap [B].
#[pyfunction]
pub fn full_frame(resolved: &str) -> PyResult<(u64, u64)> {
    let scenario = Scenario::parse(resolved, "resolved", &[]).map_err(|error| scenario_error(&error))?;
    Ok(scenario.full_frame())
}

/// The table `sweep` of a file as JSON, every default written out; None without one.
#[pyfunction]
pub fn sweep(text: &str, origin: &str) -> PyResult<Option<String>> {
    etherweave_scenario::sweep(text, origin).map_err(|error| scenario_error(&error))
}

/// The figures that a scenario has from its interconnect, with basis and source, as JSON.
#[pyfunction]
pub fn figures(text: &str, origin: &str, overrides: Vec<(String, String)>) -> PyResult<String> {
    etherweave_scenario::figures(text, origin, &overrides).map_err(|error| scenario_error(&error))
}

/// Returns the needs that a run of the scenario is expected to have, and warnings, as JSON; it is not run.
#[pyfunction]
pub fn foresee(py: Python<'_>, text: &str, origin: &str, overrides: Vec<(String, String)>) -> PyResult<String> {
    let (text, origin) = (text.to_owned(), origin.to_owned());
    let estimate = py.detach(|| interruptible(move || etherweave_scenario::foresee(&text, &origin, &overrides)))?;
    estimate.map(|estimate| estimate.to_json()).map_err(|error| scenario_error(&error))
}

/// Figures of a workload that are known before it is simulated, as JSON; `workload` is its table, as JSON.
#[pyfunction]
pub fn workload_figures(workload: &str, seed: u64) -> PyResult<String> {
    etherweave_scenario::workload_figures(workload, seed).map_err(|errors| input_error("", errors))
}

/// Simulates; `pcap` are hosts to capture and a file for the frames of each, `snap_length` is what is kept of a frame;
/// `progress` gets the state of the run and returns whether to continue. `on_start` gets the estimate before the first
/// event, as JSON. `extensions` are classes of the caller. Ctrl-C ends a run as interrupted.
#[pyfunction]
#[pyo3(signature = (text, origin, overrides, threads, pcap, progress, memory_limit=None, on_start=None,
                    snap_length=None, extensions=Vec::new()))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub fn run(
    py: Python<'_>,
    text: &str,
    origin: &str,
    overrides: Vec<(String, String)>,
    threads: usize,
    pcap: Vec<(String, String)>,
    progress: Option<Py<PyAny>>,
    memory_limit: Option<&str>,
    on_start: Option<Py<PyAny>>,
    snap_length: Option<&str>,
    extensions: Vec<Extension>,
) -> PyResult<Run> {
    let raised = Arc::new(Failure::default());
    let brought = prototypes(extensions, &raised);
    let (hosts, files): (Vec<String>, Vec<String>) = pcap.into_iter().unzip();
    let (outcome, failure) = py.detach(|| {
        let process = processes().worker();
        let (text, origin, capture) = (text.to_owned(), origin.to_owned(), hosts.clone());
        let (memory_limit, snap_length) = (memory_limit.map(str::to_owned), snap_length.map(str::to_owned));
        let is_extended = brought.is_some();
        let start = move || {
            let (memory_limit, snap_length) = (memory_limit.as_deref(), snap_length.as_deref());
            let (capture, prototypes) = (&capture[..], brought.as_ref());
            let options = RunOptions { threads, capture, memory_limit, snap_length, process, prototypes };
            etherweave_scenario::Run::start_with(&text, &origin, &overrides, options)
        };
        let failed = Arc::new(OnceLock::new());
        let prepare = || {
            let mut run = interruptible(start)?.map_err(|error| scenario_error(&error))?;
            // Before the run: a file that cannot be written is reported at once.
            let own = hosts.iter().zip(&files).filter(|(host, _)| run.has_capture(host));
            let files = own.map(|(host, path)| {
                let path = PathBuf::from(path);
                PartFile::create(&path).map(|(part, file)| (host, (part, file, path)))
            });
            let mut parts = Vec::new();
            for (host, (part, file, path)) in files.collect::<PyResult<Vec<_>>>()? {
                run.capture_to(host, BufWriter::new(Watched { file, path, failed: failed.clone() }))?;
                parts.push(part);
            }
            if let Some(on_start) = on_start {
                Python::attach(|py| on_start.call1(py, (run.estimate().to_json(),)))?;
            }
            Ok((run, parts))
        };
        let (run, parts) = agree(prepare())?;
        let mut reporter = ProgressReporter::new(progress, run.end().map(|end| end.as_ns_f64()));
        let finish = || {
            let is_sound = || failed.get().is_none() && !raised.exists();
            run.finish_on(processes(), &mut |now| is_sound() && reporter.report(&now))
        };
        // A class is called so often that the interpreter is not given back between: its own turns let others in.
        let (outcome, captured) = if is_extended { Python::attach(|_| finish()) } else { finish() };
        captured.map_err(|error| match failed.get() {
            // The number says more than a copy of the error would.
            Some((path, number)) => os_error(path, number.map_or(error, std::io::Error::from_raw_os_error)),
            None => error.into(),
        })?;
        parts.into_iter().try_for_each(PartFile::place)?;
        Ok::<_, PyErr>((outcome, raised.take().or(reporter.failure)))
    })?;
    match failure {
        Some(error) if !error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) => Err(error),
        _ => Ok(Run { outcome }),
    }
}

/// A file; the run need not go on once it cannot be written.
struct Watched {
    file: File,
    path: PathBuf,
    /// The first file that could not be written, and the number of its error.
    failed: Arc<OnceLock<(PathBuf, Option<i32>)>>,
}

impl Write for Watched {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes).inspect_err(|error| {
            if error.kind() != std::io::ErrorKind::Interrupted {
                let _ = self.failed.set((self.path.clone(), error.raw_os_error()));
            }
        })
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// Passes progress on to Python, seldom enough to cost nothing.
struct ProgressReporter {
    callback: Option<Py<PyAny>>,
    end_ns: Option<f64>,
    started: Instant,
    last: Instant,
    failure: Option<PyErr>,
}

impl ProgressReporter {
    fn new(callback: Option<Py<PyAny>>, end_ns: Option<f64>) -> ProgressReporter {
        let now = Instant::now();
        ProgressReporter { callback, end_ns, started: now, last: now, failure: None }
    }

    /// Whether to continue.
    fn report(&mut self, now: &etherweave_scenario::Progress) -> bool {
        if self.last.elapsed() < PROGRESS_EVERY {
            return true;
        }
        self.last = Instant::now();
        let answer = Python::attach(|py| {
            py.check_signals()?;
            let Some(callback) = &self.callback else { return Ok(true) };
            let facts = PyDict::new(py);
            facts.set_item("simulated_ns", now.now.as_ns_f64())?;
            facts.set_item("end_ns", self.end_ns)?;
            facts.set_item("packet_hops", now.hops)?;
            facts.set_item("wall_s", self.started.elapsed().as_secs_f64())?;
            facts.set_item("fraction", now.fraction)?;
            facts.set_item("fraction_max", now.fraction_max)?;
            callback.call1(py, (facts,))?.is_truthy(py)
        });
        answer.unwrap_or_else(|error| {
            self.failure = Some(error);
            false
        })
    }
}
