//! Schedules for Python: a scenario's text goes in, files for the executor come out; and the executor's own sources.

use std::io::{self, BufReader, BufWriter, Read};
use std::{fs::File, path::Path, path::PathBuf};

use etherweave_scenario::InputError;
use pyo3::{prelude::*, types::PyBytes};

use crate::error::{input_error, os_error, scenario_error};
use crate::{interruptible::interruptible, part_file::PartFile};

/// Piece of a text that is read at once [B]: some milliseconds' work.
const PIECE_BYTES: usize = 1 << 20;

/// The jobs of a scenario, as files that the executor reads.
#[pyclass(frozen, module = "etherweave._core")]
pub struct Schedules {
    schedules: etherweave_scenario::Schedules,
}

#[pymethods]
impl Schedules {
    /// Returns the name of the scenario.
    #[getter]
    fn name(&self) -> &str {
        &self.schedules.name
    }

    /// Returns the seed of all random streams.
    #[getter]
    fn seed(&self) -> u64 {
        self.schedules.seed
    }

    /// The resolved scenario, as TOML.
    #[getter]
    fn resolved(&self) -> &str {
        &self.schedules.resolved
    }

    /// Rate of the slowest link of a host that a job has [b/s].
    #[getter]
    fn rate_bps(&self) -> u64 {
        self.schedules.rate_bps
    }

    /// When the run ends at the latest [ns].
    #[getter]
    fn end_ns(&self) -> Option<f64> {
        self.schedules.end_ns
    }

    /// A schedule for each job.
    #[getter]
    fn jobs(&self) -> Vec<Schedule> {
        self.schedules.jobs.iter().cloned().map(|job| Schedule { job }).collect()
    }
}

/// The schedule of a job.
#[pyclass(frozen, module = "etherweave._core")]
pub struct Schedule {
    job: etherweave_scenario::JobSchedule,
}

#[pymethods]
impl Schedule {
    /// Returns the name of the job in tables.
    #[getter]
    fn name(&self) -> &str {
        &self.job.name
    }

    /// The host of each rank, as the topology calls it.
    #[getter]
    fn hosts(&self) -> Vec<String> {
        self.job.hosts.clone()
    }

    /// How much it is, as JSON.
    #[getter]
    fn amounts(&self) -> String {
        self.job.amounts_json()
    }

    /// Writes the programs or graphs as GOAL text.
    fn write_goal(&self, py: Python<'_>, file: PathBuf) -> PyResult<()> {
        py.detach(|| write(&file, &self.job.name, |mut out| self.job.goal(&mut out)))
    }

    /// Writes the programs or graphs as GOAL binary.
    fn write_goal_binary(&self, py: Python<'_>, file: PathBuf) -> PyResult<()> {
        py.detach(|| write(&file, &self.job.name, |out| self.job.goal_binary(out)))
    }

    /// The programs as execution traces of Chakra, one of each rank.
    fn chakra<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let written = py.detach(|| self.job.chakra());
        let written = written.map_err(|error| input_error(&self.job.name, [error]))?;
        Ok(written.iter().map(|trace| PyBytes::new(py, trace)).collect())
    }

    /// The file.
    #[getter]
    fn bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.job.bytes.as_ref().map_err(scenario_error)?;
        Ok(PyBytes::new(py, bytes))
    }
}

/// Writes a file, which has its name when it is whole: what is left of an interrupted one would look like a schedule.
fn write(file: &Path, of: &str, content: impl FnOnce(BufWriter<File>) -> Result<(), InputError>) -> PyResult<()> {
    let (part, made) = PartFile::create(file)?;
    content(BufWriter::new(made)).map_err(|error| input_error(of, [error]))?;
    part.place()
}

/// A file of which Python learns after each piece how much has been read, so that Ctrl-C takes effect.
struct ReportedFile {
    file: File,
    read: u64,
    length: u64,
    progress: Option<Py<PyAny>>,
    failure: Option<PyErr>,
}

impl Read for ReportedFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let answer = Python::attach(|py| {
            py.check_signals()?;
            self.progress.as_ref().map(|progress| progress.call1(py, (self.read, self.length))).transpose()
        });
        if let Err(failure) = answer {
            self.failure = Some(failure);
            return Err(io::Error::other("interrupted"));
        }
        let count = self.file.read(bytes)?;
        self.read += count as u64;
        Ok(count)
    }
}

/// Writes a GOAL text as GOAL binary; `progress` gets the bytes that have been read, and those of the text.
#[pyfunction]
#[pyo3(signature = (text, binary, progress=None))]
pub fn convert_goal(py: Python<'_>, text: PathBuf, binary: PathBuf, progress: Option<Py<PyAny>>) -> PyResult<()> {
    py.detach(|| {
        let file = File::open(&text).map_err(|error| os_error(&text, error))?;
        let length = file.metadata().map_err(|error| os_error(&text, error))?.len();
        let file = ReportedFile { file, read: 0, length, progress, failure: None };
        let mut lines = BufReader::with_capacity(PIECE_BYTES, file);
        let of = text.display().to_string();
        let result = write(&binary, &of, |out| etherweave_scenario::convert_goal(&mut lines, out));
        lines.into_inner().failure.map_or(result, Err)
    })
}

/// The jobs of a scenario as schedules; each program runs once before it counts, every block at most `warm_up` times.
#[pyfunction]
pub fn schedules(
    py: Python<'_>,
    text: &str,
    origin: &str,
    overrides: Vec<(String, String)>,
    warm_up: u32,
) -> PyResult<Schedules> {
    let (text, origin) = (text.to_owned(), origin.to_owned());
    let make = move || etherweave_scenario::Schedules::of(&text, &origin, &overrides, warm_up);
    let made = py.detach(|| interruptible(make))?;
    made.map(|schedules| Schedules { schedules }).map_err(|error| scenario_error(&error))
}

/// Files of `mpi`, each with its text.
macro_rules! sources {
    ($($name:literal)*) => { vec![$(($name, include_str!(concat!("../../../mpi/", $name)))),*] };
}

/// The sources of the executor and of the recorder, by file name: the package carries them, to be compiled where they
/// run.
#[pyfunction]
pub fn executor_sources() -> Vec<(&'static str, &'static str)> {
    sources!(
        "check.c" "clocks.c" "clocks.h" "executor.c" "fortran.c" "pingpong.c" "priorities.c" "priorities.h"
        "program.c" "program.h"
        "record_collectives.c" "record_communicators.c" "record_messages.c" "record_requests.c"
        "recorder.c" "recorder.h" "records.c" "records.h" "requests.c" "schedule.c" "schedule.h"
        "sized_collectives.h" "sized_messages.h" "streams.c" "streams.h"
    )
}
