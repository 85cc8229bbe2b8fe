//! Congestion controls that are classes of Python.

use std::sync::Arc;

use etherweave_scenario::extend::{
    self, BitRate, PathTelemetry, PrototypeControl, PrototypeStart, SenderControl, Time,
};
use pyo3::{call::PyCallArgs, exceptions::PyValueError, prelude::*};

use super::{Class, Object, amount, nothing, time, truth};

/// Congestion as an acknowledgement reports it.
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

/// Progress of a connection.
#[pyclass(frozen, get_all, module = "etherweave._core")]
pub struct Progress {
    acknowledged: u64,
    next: u64,
}

/// Telemetry of a switch in a packet.
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

/// Start of the controls of a class.
pub(super) fn starter(class: Class) -> PrototypeStart {
    PrototypeStart::new(Arc::new(move |connection: &extend::FreshConnection| {
        let &extend::FreshConnection { rate, packet, window } = connection;
        let fresh = FreshConnection { rate: rate.as_bps(), packet, window };
        Python::attach(|py| {
            let object = class.object(py, &METHODS, (fresh,));
            let mut control = PythonControl { object, window: None, window_max: window, now: Time::ZERO };
            control.ask_window(py);
            // Whether its answer is a rate is known where nothing samples it, too.
            control.rate_at(Time::ZERO);
            Box::new(control) as PrototypeControl
        })
    }))
}

/// The control of a connection.
struct PythonControl {
    object: Object<{ METHODS.len() }>,
    /// The window since the last call, and most of it [B].
    window: Option<u64>,
    window_max: u64,
    /// Time of the last call.
    now: Time,
}

impl PythonControl {
    /// Calls a method and reads its answer, where the class writes it.
    fn call<'py, T>(
        &self,
        py: Python<'py>,
        method: Method,
        arguments: impl PyCallArgs<'py>,
        read: impl FnOnce(&Bound<'py, PyAny>) -> Result<T, &'static str>,
    ) -> Option<T> {
        self.object.call(py, method as usize, self.now.as_ps(), arguments, read)
    }

    /// Calls a method that answers nothing, and asks for the window after it.
    fn notify<'py>(&mut self, py: Python<'py>, now: Time, method: Method, arguments: impl PyCallArgs<'py>) {
        self.now = now;
        if self.call(py, method, arguments, nothing).is_some() {
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

    /// When it wants to be asked, where it says.
    fn asks_at(&self, py: Python<'_>) -> Option<Time> {
        Some(Time::from_ps(self.call(py, Method::NextAt, (), time)?))
    }
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
            let (object, method) = (&self.object, Method::IsOpen as usize);
            if !is_open && self.asks_at(py).is_none_or(|time| time <= now) && !object.failure.exists() {
                let expected = "True, or a later time from next_at";
                let message = format!("{} returned False; expected {expected}", object.name(method));
                object.keep(py, PyValueError::new_err(message), method, now.as_ps());
            }
            is_open || object.failure.exists()
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
