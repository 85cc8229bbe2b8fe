//! Classes of Python that decide in place of members of the core: calls of their methods, with numbers, and numbers of
//! their answers.
//!
//! A method that the class does not write is not called. The first exception ends the run: from then on nothing is
//! called, and the core goes on as if nothing decided until the run has noticed.

mod congestion;
mod driver;
mod load_balancing;
mod port_choice;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use etherweave_scenario::extend::Prototypes;
use pyo3::{call::PyCallArgs, exceptions::PyValueError, prelude::*, types::PyBool};

pub(crate) use congestion::{Feedback, FreshConnection, PortTelemetry, Progress};
pub(crate) use driver::{DriverEvent, NextOperations, Received};

/// Latest time that a method may name, and longest duration [ps]: 11 days, as the longest timer.
const TIME_MAX: u64 = 1_000_000_000_000_000_000;
/// Range of a time, as errors name it.
const EXPECTED_TIME: &str = "picoseconds, from 0 to 1e18";

/// A class of the caller: what it decides on, the class, its name, and the names of the methods that it writes.
#[derive(FromPyObject)]
pub(crate) struct Extension(String, Py<PyAny>, String, Vec<String>);

/// Prototypes of classes, as the core takes them.
///
/// # Panics
/// When a kind is not known; Python checks them.
pub(crate) fn prototypes(extensions: Vec<Extension>, failure: &Arc<Failure>) -> Option<Prototypes> {
    let mut prototypes = Prototypes::default();
    let is_empty = extensions.is_empty();
    for Extension(kind, class, name, methods) in extensions {
        let class = Class { class, name: name.into(), methods, failure: failure.clone() };
        match kind.as_str() {
            "congestion" => prototypes.congestion = congestion::starter(class),
            "load_balancing" => prototypes.load_balancing = load_balancing::starter(class),
            "port_choice" => prototypes.port_choice = port_choice::starter(class),
            "driver" => prototypes.driver = driver::starter(class),
            other => unreachable!("{other} is no extension"),
        }
    }
    (!is_empty).then_some(prototypes)
}

/// The first exception of a class.
#[derive(Default)]
pub(crate) struct Failure {
    exists: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Failure {
    /// Whether there is one.
    pub(crate) fn exists(&self) -> bool {
        self.exists.load(Ordering::Relaxed)
    }

    /// It, once.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps an exception with a note of where it was raised.
    fn keep(&self, py: Python<'_>, error: PyErr, place: &str) {
        // An exception that takes no note is worth more than the note.
        let _ = error.value(py).call_method1("add_note", (format!("raised by {place}, which ended the run"),));
        *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        self.exists.store(true, Ordering::Relaxed);
    }
}

/// A class whose objects decide.
struct Class {
    class: Py<PyAny>,
    name: Arc<str>,
    methods: Vec<String>,
    failure: Arc<Failure>,
}

impl Class {
    /// An object of it, made with these arguments, by the methods of a list that it writes.
    fn object<'py, const N: usize>(
        &self,
        py: Python<'py>,
        names: &'static [&'static str; N],
        arguments: impl PyCallArgs<'py>,
    ) -> Object<N> {
        let mut object =
            Object { class: self.name.clone(), names, methods: [const { None }; N], failure: self.failure.clone() };
        if self.failure.exists() {
            return object;
        }
        let made = self.class.bind(py).call1(arguments).and_then(|made| {
            for (place, name) in object.methods.iter_mut().zip(names) {
                if self.methods.iter().any(|written| written == name) {
                    *place = Some(made.getattr(*name)?.unbind());
                }
            }
            Ok(())
        });
        if let Err(error) = made {
            self.failure.keep(py, error, &format!("{}.__init__", self.name));
        }
        object
    }
}

/// An object of a class, as its methods.
struct Object<const N: usize> {
    /// Name of the class.
    class: Arc<str>,
    names: &'static [&'static str; N],
    /// Those that the class writes, bound to the object.
    methods: [Option<Py<PyAny>>; N],
    failure: Arc<Failure>,
}

impl<const N: usize> Object<N> {
    /// Calls a method at a simulated time [ps] and reads its answer. None where the class does not write it, or has
    /// failed.
    fn call<'py, T>(
        &self,
        py: Python<'py>,
        method: usize,
        now: u64,
        arguments: impl PyCallArgs<'py>,
        read: impl FnOnce(&Bound<'py, PyAny>) -> Result<T, &'static str>,
    ) -> Option<T> {
        let call = self.methods[method].as_ref().filter(|_| !self.failure.exists())?;
        let answer = call.bind(py).call1(arguments).and_then(|answer| {
            let wrong = |expected| {
                let shown = answer.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
                PyValueError::new_err(format!("{} returned {shown}; expected {expected}", self.name(method)))
            };
            read(&answer).map_err(wrong)
        });
        answer.map_err(|error| self.keep(py, error, method, now)).ok()
    }

    /// Keeps an exception of a method.
    fn keep(&self, py: Python<'_>, error: PyErr, method: usize, now: u64) {
        self.failure.keep(py, error, &format!("{} at {now} ps of simulated time", self.name(method)));
    }

    fn name(&self, method: usize) -> String {
        format!("{}.{}", self.class, self.names[method])
    }
}

/// A number of at least `least`, without what is behind its point.
fn amount(answer: &Bound<'_, PyAny>, least: u64) -> Option<u64> {
    if answer.is_instance_of::<PyBool>() {
        return None;
    }
    let real = || answer.extract::<f64>().ok().filter(|value| (0.0..u64::MAX as f64).contains(value));
    let value = answer.extract::<u64>().ok().or_else(|| real().map(|value| value as u64));
    value.filter(|&value| value >= least)
}

fn truth(answer: &Bound<'_, PyAny>) -> Result<bool, &'static str> {
    answer.extract().map_err(|_| "True or False")
}

/// The answer of a method that has none; that of one with `yield` is a generator, which nothing runs.
fn nothing(answer: &Bound<'_, PyAny>) -> Result<(), &'static str> {
    answer.is_none().then_some(()).ok_or("None")
}

/// A time or a duration [ps].
fn time(answer: &Bound<'_, PyAny>) -> Result<u64, &'static str> {
    amount(answer, 0).filter(|&time| time <= TIME_MAX).ok_or(EXPECTED_TIME)
}
