//! Drivers of ranks that are classes of Python.

use std::sync::Arc;

use etherweave_scenario::extend::{self, DrivenRank, Driver, DriverStart, Duration, GraphOp, Rank, Time};
use pyo3::{exceptions::PyValueError, prelude::*};

use super::{Class, Object, amount, nothing, time};

/// The only method.
const METHODS: [&str; 1] = ["on_event"];
/// Most payload of a message [B].
const MESSAGE_MAX: u64 = 1 << 40;

/// A message that a receive has taken.
#[pyclass(frozen, get_all, module = "etherweave._core")]
#[derive(Clone)]
pub(crate) struct Received {
    peer: u32,
    tag: u32,
    bytes: u64,
}

/// Event at the rank of a driver.
#[pyclass(frozen, get_all, module = "etherweave._core")]
pub(crate) struct DriverEvent {
    /// Number of what is complete; absent when the job starts.
    operation: Option<u64>,
    received: Option<Py<Received>>,
}

/// An answer of a driver.
enum Answer {
    Perform(u8, GraphOp),
    Wait(Duration),
}

/// Collects what a driver answers.
#[pyclass(module = "etherweave._core")]
pub(crate) struct NextOperations {
    rank: u32,
    ranks: u32,
    streams: u32,
    /// Operations and waits so far: the number of the next one.
    count: u64,
    answers: Vec<Answer>,
}

/// The number, or what was expected in place of it.
fn checked<T>(value: Option<T>, name: &str, argument: &Bound<'_, PyAny>, expected: &str) -> PyResult<T> {
    let shown = || argument.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    value.ok_or_else(|| PyValueError::new_err(format!("{name}: {}; expected {expected}", shown())))
}

impl NextOperations {
    fn add(&mut self, answer: Answer) -> u64 {
        self.answers.push(answer);
        self.count += 1;
        self.count - 1
    }

    /// Performs an operation on a stream; absent: the first.
    fn perform(&mut self, stream: Option<&Bound<'_, PyAny>>, op: GraphOp) -> PyResult<u64> {
        let number = |stream| {
            let expected = format!("a stream from 0 to {}", self.streams - 1);
            let number = amount(stream, 0).filter(|&stream| stream < self.streams.into());
            checked(number, "stream", stream, &expected)
        };
        let number = stream.map_or(Ok(0), number)?;
        Ok(self.add(Answer::Perform(number as u8, op)))
    }

    fn peer(&self, peer: &Bound<'_, PyAny>) -> PyResult<Rank> {
        let expected = format!("another rank than {}, from 0 to {}", self.rank, self.ranks - 1);
        let number = amount(peer, 0).filter(|&peer| peer < self.ranks.into() && peer != u64::from(self.rank));
        Ok(Rank::new(checked(number, "peer", peer, &expected)? as u32))
    }
}

fn bytes_of(bytes: &Bound<'_, PyAny>) -> PyResult<u64> {
    let number = amount(bytes, 0).filter(|&bytes| bytes <= MESSAGE_MAX);
    checked(number, "bytes", bytes, "a payload from 0 to 2^40")
}

fn tag_of(tag: &Bound<'_, PyAny>) -> PyResult<u32> {
    let number = amount(tag, 0).filter(|&tag| tag < u32::MAX.into());
    Ok(checked(number, "tag", tag, "a number from 0 to 2^32 - 2")? as u32)
}

fn duration_of(duration: &Bound<'_, PyAny>) -> PyResult<Duration> {
    checked(time(duration).ok(), "duration", duration, super::EXPECTED_TIME).map(Duration::from_ps)
}

#[pymethods]
impl NextOperations {
    /// Sends a message.
    #[pyo3(signature = (peer, bytes, tag=None, stream=None))]
    fn send(
        &mut self,
        peer: &Bound<'_, PyAny>,
        bytes: &Bound<'_, PyAny>,
        tag: Option<&Bound<'_, PyAny>>,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let tag = tag.map_or(Ok(0), tag_of)?;
        let op = GraphOp::Send { peer: self.peer(peer)?, tag, bytes: bytes_of(bytes)? };
        self.perform(stream, op)
    }

    /// Receives a message.
    #[pyo3(signature = (peer, bytes, tag=None, stream=None))]
    fn receive(
        &mut self,
        peer: Option<&Bound<'_, PyAny>>,
        bytes: &Bound<'_, PyAny>,
        tag: Option<&Bound<'_, PyAny>>,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let peer = peer.map(|peer| self.peer(peer)).transpose()?;
        let op = GraphOp::Receive { peer, tag: tag.map(tag_of).transpose()?, bytes: bytes_of(bytes)? };
        self.perform(stream, op)
    }

    /// Computes.
    #[pyo3(signature = (duration, stream=None))]
    fn compute(&mut self, duration: &Bound<'_, PyAny>, stream: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
        self.perform(stream, GraphOp::Compute { duration: duration_of(duration)? })
    }

    /// Waits, beside all that is in progress.
    fn wait(&mut self, duration: &Bound<'_, PyAny>) -> PyResult<u64> {
        Ok(self.add(Answer::Wait(duration_of(duration)?)))
    }
}

/// Maker of the drivers of a class.
pub(super) fn starter(class: Class) -> DriverStart {
    DriverStart::new(Arc::new(move |of: DrivenRank| {
        Python::attach(|py| {
            let DrivenRank { rank, ranks, streams, seed } = of;
            let object = class.object(py, &METHODS, (rank, ranks, seed));
            let next = NextOperations { rank, ranks, streams, count: 0, answers: Vec::new() };
            let next = Py::new(py, next).expect("an object without a constructor is made");
            Box::new(PythonDriver { object, next, numbers: Vec::new() }) as Box<dyn Driver>
        })
    }))
}

/// The driver of a rank.
struct PythonDriver {
    object: Object<{ METHODS.len() }>,
    next: Py<NextOperations>,
    /// Python's number of each operation, by the core's, which gives a number again once it is free.
    numbers: Vec<u64>,
}

impl PythonDriver {
    /// An event with Python's number.
    fn event(&self, py: Python<'_>, event: extend::DriverEvent) -> PyResult<DriverEvent> {
        let extend::DriverEvent::Complete { operation, received } = event else {
            return Ok(DriverEvent { operation: None, received: None });
        };
        let received = received
            .map(|extend::Received { peer, tag, bytes }| Py::new(py, Received { peer: peer.get(), tag, bytes }));
        Ok(DriverEvent { operation: Some(self.numbers[operation as usize]), received: received.transpose()? })
    }

    /// Hands an answer to the core.
    fn answer(&mut self, answer: Answer, count: &mut u64, next: &mut extend::NextOperations<'_>) {
        let number = match answer {
            Answer::Perform(stream, op) => next.perform(stream, op),
            Answer::Wait(duration) => next.wait(duration),
        } as usize;
        self.numbers.resize(self.numbers.len().max(number + 1), 0);
        self.numbers[number] = *count;
        *count += 1;
    }
}

impl Driver for PythonDriver {
    fn on_event(&mut self, now: Time, event: extend::DriverEvent, next: &mut extend::NextOperations<'_>) {
        Python::attach(|py| {
            let mut count = self.next.borrow(py).count;
            let event = self.event(py, event).expect("an object without a constructor is made");
            let arguments = (now.as_ps(), event, self.next.clone_ref(py));
            self.object.call(py, 0, now.as_ps(), arguments, nothing);
            let answers = std::mem::take(&mut self.next.borrow_mut(py).answers);
            if !self.object.failure.exists() {
                answers.into_iter().for_each(|answer| self.answer(answer, &mut count, next));
            }
        });
    }
}
