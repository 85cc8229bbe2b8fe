//! Processes of an MPI job that carry a run together: joined once, left once, and agreed before a run begins.

use std::{sync::OnceLock, sync::atomic::AtomicBool, sync::atomic::Ordering};

use etherweave_scenario::{InputError, Processes};
use pyo3::prelude::*;

use crate::error::input_error;

static JOINED: OnceLock<Processes> = OnceLock::new();
/// Whether all processes know that all have prepared their run, or which has not.
static HAS_AGREED: AtomicBool = AtomicBool::new(false);

/// All processes if they have been joined, or this one alone.
pub(crate) fn processes() -> &'static Processes {
    JOINED.get().unwrap_or(&Processes::ALONE)
}

/// Joins the processes of the MPI job: the number of this one, and how many there are. None if the core is built
/// without MPI, or after the first call.
#[pyfunction]
pub fn join_processes() -> Option<(usize, usize)> {
    let joined = JOINED.get_or_init(|| Processes::join().unwrap_or(Processes::ALONE));
    joined.is_joined().then(|| (joined.worker().number, joined.worker().of))
}

/// Waits for all processes and leaves them. A mistake before the run is reported to those that are about to begin it.
#[pyfunction]
pub fn leave_processes(mistake: Option<String>) {
    if !HAS_AGREED.swap(true, Ordering::Relaxed) {
        processes().share(mistake);
    }
    processes().share(0_u32);
    processes().leave();
}

/// Ends all processes at once.
#[pyfunction]
pub fn abort_processes(code: i32) {
    processes().abort(code);
}

/// Returns the result that this process has prepared, once all have prepared theirs; otherwise its own mistake, or that
/// of the first process that made one.
pub(crate) fn agree<T>(prepared: PyResult<T>) -> PyResult<T> {
    HAS_AGREED.store(true, Ordering::Relaxed);
    let mistakes = processes().share(prepared.as_ref().err().map(text));
    let first = mistakes.into_iter().enumerate().find_map(|(number, mistake)| Some((number, mistake?)));
    match first {
        Some((number, mistake)) => {
            let lines = mistake.lines().map(|line| InputError::new("", line, ""));
            prepared.and_then(|_| Err(input_error(&format!("process {number}"), lines)))
        }
        None => prepared,
    }
}

/// Whether all processes have begun their run, or ended before it.
pub(crate) fn has_agreed() -> bool {
    HAS_AGREED.load(Ordering::Relaxed)
}

/// Returns the message of an error, or its type.
fn text(error: &PyErr) -> String {
    Python::attach(|py| {
        let message = error.value(py).to_string();
        if message.is_empty() { error.get_type(py).to_string() } else { message }
    })
}
