//! What must hold for every scenario that is accepted.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;

use etherweave_scenario::Outcome;
use toml::Table;

use crate::bounds::Facts;
use crate::curve;
use crate::outcome::difference;
use crate::settle::start;

/// Threads whose results are compared.
pub(crate) const THREADS: [usize; 3] = [1, 2, 3];

/// Bounds of the work for a case.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Events of a run, at most; a run with more is stopped, and its results are not compared.
    pub events: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { events: 1_000_000 }
    }
}

/// What does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Kind of the failure, equal for smaller scenarios that fail likewise.
    pub class: String,
    /// Figures.
    pub detail: String,
}

impl Failure {
    pub(crate) fn new(class: impl Into<String>, detail: impl Into<String>) -> Failure {
        Failure { class: class.into(), detail: detail.into() }
    }
}

/// How a scenario ended that keeps all bounds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum End {
    /// As its summary says.
    Finished(&'static str),
    /// Stopped after [`Limits::events`].
    Stopped,
}

/// Runs a scenario on one, two and three threads; what must hold is checked of each.
///
/// # Errors
/// The first thing that does not hold.
pub fn check(text: &str, limits: Limits) -> Result<End, Failure> {
    if text.parse().is_ok_and(|scenario| curve::is_curve(&scenario)) {
        return curve::check(text).map(End::Finished);
    }
    let mut first: Option<Outcome> = None;
    for threads in THREADS {
        let (outcome, warnings) = run(text, threads, limits)?;
        if outcome.summary.finished == "interrupted" {
            return unbounded(text, &outcome).map_or(Ok(End::Stopped), Err);
        }
        if let Some(first) = &first {
            if let Some(difference) = difference(first, &outcome) {
                return Err(Failure::new("threads", format!("1 and {threads} threads: {difference}")));
            }
        } else {
            let resolved: Table = outcome.resolved.parse().expect("a resolved scenario is TOML");
            Facts::new(text, &outcome, &resolved, &warnings).check()?;
            first = Some(outcome);
        }
    }
    Ok(End::Finished(first.map_or("", |outcome| outcome.summary.finished)))
}

/// A run that was stopped may have much to do; packets of it still take a bounded number of hops.
fn unbounded(text: &str, outcome: &Outcome) -> Option<Failure> {
    let resolved: Table = outcome.resolved.parse().expect("a resolved scenario is TOML");
    Facts::new(text, outcome, &resolved, &[]).hops().err()
}

fn run(text: &str, threads: usize, limits: Limits) -> Result<(Outcome, Vec<String>), Failure> {
    calmly(|| {
        let run = start(text, threads).map_err(|error| Failure::new("refused", error.to_string()))?;
        let warnings = run.estimate().warnings.clone();
        let (outcome, written) = run.finish(&mut |progress| progress.events < limits.events);
        written.map_err(|error| Failure::new("captures", error.to_string()))?;
        Ok((outcome, warnings))
    })?
}

/// Where the first panic of a case was, and what it said; threads of a run panic in the middle of nowhere.
static PANIC: Mutex<Option<(String, String)>> = Mutex::new(None);

/// Does what `act` says; a panic on any of its threads is a failure.
pub(crate) fn calmly<T>(act: impl FnOnce() -> T) -> Result<T, Failure> {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map_or_else(String::new, |place| format!("{}:{}", place.file(), place.line()));
        PANIC.lock().expect("a hook does not panic").get_or_insert((place, info.payload_as_str().unwrap_or("").into()));
    }));
    let done = panic::catch_unwind(AssertUnwindSafe(act));
    drop(panic::take_hook());
    let place = PANIC.lock().expect("a hook does not panic").take();
    done.map_err(|_| {
        let (place, message) = place.unwrap_or_default();
        Failure::new(format!("panic at {place}"), message)
    })
}
