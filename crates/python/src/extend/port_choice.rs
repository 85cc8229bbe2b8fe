//! Choices of ports at switches by classes of Python.

use std::sync::Arc;

use etherweave_scenario::extend::{AskingPacket, CallerPortChoice, PortChoice, PortChoiceStart, QueuedPort};
use pyo3::{prelude::*, types::PyList};

use super::{Class, Object, amount};

/// Name of its method.
const METHODS: [&str; 1] = ["choose"];
/// Picoseconds in a nanosecond.
const NS: u64 = 1_000;

/// Start of the choices of a class.
pub(super) fn starter(class: Class) -> PortChoiceStart {
    PortChoiceStart::new(Arc::new(move |switch| {
        Python::attach(|py| {
            Box::new(PythonChoice { object: class.object(py, &METHODS, (switch,)) }) as CallerPortChoice
        })
    }))
}

/// The choice of a switch.
struct PythonChoice {
    object: Object<{ METHODS.len() }>,
}

impl PortChoice for PythonChoice {
    fn choose(&mut self, now_ns: u64, packet: AskingPacket, ports: &[QueuedPort]) -> usize {
        let AskingPacket { source, destination, bits } = packet;
        Python::attach(|py| {
            let now = now_ns * NS;
            let place = |answer: &Bound<'_, PyAny>| {
                let port = amount(answer, 0);
                let is_named = |candidate: &QueuedPort| Some(u64::from(candidate.port)) == port;
                ports.iter().position(is_named).ok_or("the number of one of the ports")
            };
            let queues = PyList::new(py, ports.iter().map(|port| (port.port, port.queued)));
            let queues = queues.expect("a list of as many elements as it says");
            self.object.call(py, 0, now, (now, source, destination, bits, queues), place).unwrap_or(0)
        })
    }
}
