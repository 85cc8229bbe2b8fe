//! Congestion controls that are classes of Python: calls of their methods, with numbers, and numbers of their answers.
//!
//! A method that the class does not write is not called. The first exception ends the run: from then on nothing is
//! called, and connections go on as if nothing controlled them until the run has noticed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use etherweave_scenario::extend::{self, SenderControl};
use etherweave_scenario::extend::{BitRate, PathTelemetry, PrototypeControl, PrototypeStart, Time};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBool;

/// Latest time that a method may name [ps]: 11 days, as the longest timer.
const TIME_MAX: u64 = 1_000_000_000_000_000_000;

/// What an acknowledgement says of congestion.
#[pyclass(frozen, get_all, module = "etherweave._core")]
pub struct Feedback {
    acked: u64,
    acknowledged: u64,
    next: u64,
    round_trip: u64,
    is_marked: bool,
}

/// A connection without history.
#[pyclass(frozen, get_all, module = "etherweave._core")]
pub struct FreshConnection {
    rate: u64,
    packet: u64,
    window: u64,
}

/// How far a connection is.
#[pyclass(frozen, get_all, module = "etherweave._core")]
pub struct Progress {
    acknowledged: u64,
    next: u64,
}

/// What a switch wrote into a packet.
#[pyclass(frozen, get_all, module = "etherweave._core")]
pub struct PortTelemetry {
    time: u64,
    sent: u64,
    queued: u32,
    port: u32,
    rate: u64,
}

impl PortTelemetry {
    fn all(path: &PathTelemetry) -> Vec<PortTelemetry> {
        let port = |&extend::PortTelemetry { time, sent, queued, port, rate }| PortTelemetry {
            time: time.as_ps(),
            sent,
            queued,
            port,
            rate: rate.as_bps(),
        };
        path.ports().iter().map(port).collect()
    }
}

/// Methods of a class, in the order of the trait.
#[derive(Clone, Copy)]
enum Method {
    Window,
    Sent,
    NextAt,
    IsOpen,
    Acknowledged,
    Measured,
    Notified,
    Lost,
    TimedOut,
    RateAt,
}

/// Their names.
const METHODS: [&str; 10] =
    ["window", "sent", "next_at", "is_open", "acknowledged", "measured", "notified", "lost", "timed_out", "rate_at"];

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

/// What starts controls: a class, its name, and the names of the methods that it writes.
pub(crate) fn starter(class: Py<PyAny>, name: String, methods: &[String], failure: Arc<Failure>) -> PrototypeStart {
    let written = METHODS.map(|method| methods.iter().any(|name| name == method));
    let name: Arc<str> = name.into();
    PrototypeStart::new(move |connection| {
        let &extend::FreshConnection { rate, packet, window } = connection;
        let fresh = FreshConnection { rate: rate.as_bps(), packet, window };
        Python::attach(|py| {
            let mut control = PythonControl {
                class: name.clone(),
                methods: Default::default(),
                window: None,
                window_max: window,
                now: Time::ZERO,
                failure: failure.clone(),
            };
            let start = || {
                let object = class.bind(py).call1((fresh,))?;
                for ((place, name), _) in control.methods.iter_mut().zip(METHODS).zip(written).filter(|at| at.1) {
                    *place = Some(object.getattr(name)?.unbind());
                }
                Ok::<_, PyErr>(())
            };
            if !failure.exists()
                && let Err(error) = start()
            {
                failure.keep(py, error, &format!("{name}.__init__"));
            }
            control.ask_window(py);
            Box::new(control) as PrototypeControl
        })
    })
}

/// The control of a connection.
struct PythonControl {
    /// Name of the class.
    class: Arc<str>,
    /// Those that it writes, bound to the object.
    methods: [Option<Py<PyAny>>; METHODS.len()],
    /// The window since the last call, and most of it [B].
    window: Option<u64>,
    window_max: u64,
    /// When anything was last called.
    now: Time,
    failure: Arc<Failure>,
}

impl PythonControl {
    /// Calls a method and reads its answer. None where the class does not write it, or has failed.
    fn call<'py, T>(
        &self,
        py: Python<'py>,
        method: Method,
        arguments: impl PyCallArgs<'py>,
        read: impl FnOnce(&Bound<'py, PyAny>) -> Result<T, &'static str>,
    ) -> Option<T> {
        let call = self.methods[method as usize].as_ref().filter(|_| !self.failure.exists())?;
        let answer = call.bind(py).call1(arguments).and_then(|answer| {
            let wrong = |expected| {
                let shown = answer.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
                PyValueError::new_err(format!("{} returned {shown}; expected {expected}", self.name(method)))
            };
            read(&answer).map_err(wrong)
        });
        answer.map_err(|error| self.failure.keep(py, error, &self.place(method))).ok()
    }

    fn name(&self, method: Method) -> String {
        format!("{}.{}", self.class, METHODS[method as usize])
    }

    /// The method and the simulated time.
    fn place(&self, method: Method) -> String {
        format!("{} at {} ps of simulated time", self.name(method), self.now.as_ps())
    }

    /// Calls a method that answers nothing, and asks for the window after it.
    fn notify<'py>(&mut self, py: Python<'py>, now: Time, method: Method, arguments: impl PyCallArgs<'py>) {
        self.now = now;
        if self.call(py, method, arguments, |_| Ok(())).is_some() {
            self.ask_window(py);
        }
    }

    fn ask_window(&mut self, py: Python<'_>) {
        let window = self.call(py, Method::Window, (), |answer| {
            let expected = "bytes, 1 or more, or None";
            if answer.is_none() { Ok(None) } else { amount(answer, 1).map(Some).ok_or(expected) }
        });
        self.window = window.map_or(self.window, |window| window.map(|bytes| bytes.min(self.window_max)));
    }

    /// When it wants to be asked, where it says: no earlier than now.
    fn asks_at(&self, py: Python<'_>) -> Option<Time> {
        let expected = "picoseconds, from 0 to 1e18";
        let read = |answer: &Bound<'_, PyAny>| amount(answer, 0).filter(|&time| time <= TIME_MAX).ok_or(expected);
        Some(Time::from_ps(self.call(py, Method::NextAt, (), read)?))
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
    answer.is_truthy().map_err(|_| "True or False")
}

impl SenderControl for PythonControl {
    fn window(&self) -> Option<u64> {
        self.window
    }

    fn sent(&mut self, now: Time, wire: u32) -> bool {
        self.now = now;
        Python::attach(|py| {
            let waits = self.call(py, Method::Sent, (now.as_ps(), wire), truth);
            if waits.is_some() {
                self.ask_window(py);
            }
            waits.unwrap_or(false)
        })
    }

    fn next_at(&self) -> Time {
        Python::attach(|py| self.asks_at(py)).map_or(self.now, |time| time.max(self.now))
    }

    fn is_open(&mut self, now: Time) -> bool {
        self.now = now;
        Python::attach(|py| {
            let Some(is_open) = self.call(py, Method::IsOpen, (now.as_ps(),), truth) else {
                return self.asks_at(py).is_none_or(|time| time <= now);
            };
            self.ask_window(py);
            if !is_open && self.asks_at(py).is_none_or(|time| time <= now) && !self.failure.exists() {
                let expected = "True, or a later time from next_at";
                let message = format!("{} returned False; expected {expected}", self.name(Method::IsOpen));
                self.failure.keep(py, PyValueError::new_err(message), &self.place(Method::IsOpen));
            }
            is_open || self.failure.exists()
        })
    }

    fn acknowledged(&mut self, now: Time, feedback: &extend::Feedback) {
        let &extend::Feedback { acked, acknowledged, next, round_trip, is_marked } = feedback;
        let round_trip = round_trip.as_ps();
        Python::attach(|py| {
            let feedback = Feedback { acked, acknowledged, next, round_trip, is_marked };
            self.notify(py, now, Method::Acknowledged, (now.as_ps(), feedback));
        });
    }

    fn measured(&mut self, path: &PathTelemetry, acknowledged: u64, next: u64) {
        Python::attach(|py| {
            self.notify(py, self.now, Method::Measured, (PortTelemetry::all(path), acknowledged, next));
        });
    }

    fn notified(&mut self, now: Time) {
        Python::attach(|py| self.notify(py, now, Method::Notified, (now.as_ps(),)));
    }

    fn lost(&mut self, now: Time, progress: extend::Progress) {
        let extend::Progress { acknowledged, next } = progress;
        Python::attach(|py| self.notify(py, now, Method::Lost, (now.as_ps(), Progress { acknowledged, next })));
    }

    fn timed_out(&mut self, now: Time) {
        Python::attach(|py| self.notify(py, now, Method::TimedOut, (now.as_ps(),)));
    }

    fn rate_at(&self, now: Time) -> Option<BitRate> {
        let expected = "bits per second, more than 0, or None";
        Python::attach(|py| {
            self.call(py, Method::RateAt, (now.as_ps(),), |answer| {
                if answer.is_none() { Ok(None) } else { amount(answer, 1).map(Some).ok_or(expected) }
            })
        })
        .flatten()
        .map(BitRate::from_bps)
    }
}
