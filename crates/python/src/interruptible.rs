//! Work that Ctrl-C ends, also where it does not report how far it is.

use std::{
    panic::resume_unwind, sync::mpsc::RecvTimeoutError, sync::mpsc::sync_channel, thread::Builder, time::Duration,
};

use pyo3::prelude::*;

/// Between two looks for a signal.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Stack of a main thread of Linux.
const STACK_BYTES: usize = 8 << 20;

/// Does work on a thread of its own, while this one, which must not hold the interpreter, handles signals. After one
/// that raises, the work is left alone: what it makes is dropped when it is done, or the process ends before.
///
/// # Errors
/// Exception of a handler of signals, as `KeyboardInterrupt`.
///
/// # Panics
/// When the work does.
pub(crate) fn interruptible<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    let (sender, receiver) = sync_channel(1);
    let send = move || {
        // Nobody receives it after an interrupt.
        let _ = sender.send(work());
    };
    let thread = Builder::new().name("work".to_owned()).stack_size(STACK_BYTES).spawn(send)?;
    loop {
        match receiver.recv_timeout(LOOK_EVERY) {
            Ok(made) => return Ok(made),
            Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())?,
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    match thread.join() {
        Ok(()) => unreachable!("work that ends has sent what it made"),
        Err(panic) => resume_unwind(panic),
    }
}
