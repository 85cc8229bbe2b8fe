//! Load balancing of Ultra Ethernet by classes of Python.

use std::sync::Arc;

use etherweave_scenario::extend::{CallerChoice, CallerChoiceStart, EntropyChoice, PathFeedback, Time};
use pyo3::prelude::*;

use super::{Class, Object, amount, nothing};

/// Names of its methods, and their numbers.
const METHODS: [&str; 2] = ["next", "heed"];
const NEXT: usize = 0;
const HEED: usize = 1;

/// Start of the choices of a class.
pub(super) fn starter(class: Class) -> CallerChoiceStart {
    let class = Arc::new(class);
    CallerChoiceStart::new(Arc::new(move |entropies| {
        Box::new(PythonChoice { class: class.clone(), entropies, object: None, now: Time::ZERO }) as CallerChoice
    }))
}

/// The choice of a sender; of a connection that sends nothing, no object is made.
struct PythonChoice {
    class: Arc<Class>,
    entropies: u32,
    object: Option<Object<{ METHODS.len() }>>,
    /// Time at which it last heeded anything.
    now: Time,
}

impl EntropyChoice for PythonChoice {
    fn next(&mut self) -> u16 {
        Python::attach(|py| {
            let made = || self.class.object(py, &METHODS, (self.entropies,));
            let object = self.object.get_or_insert_with(made);
            let expected = "an entropy value, from 0 to less than the number of values";
            let read = |answer: &Bound<'_, PyAny>| {
                amount(answer, 0).filter(|&value| value < self.entropies.into()).ok_or(expected)
            };
            object.call(py, NEXT, self.now.as_ps(), (), read).unwrap_or(0) as u16
        })
    }

    fn heed(&mut self, now: Time, entropy: u16, feedback: PathFeedback) {
        self.now = now;
        let Some(object) = &self.object else { return };
        let feedback = match feedback {
            PathFeedback::Unmarked => "unmarked",
            PathFeedback::Marked => "marked",
            PathFeedback::Trimmed => "trimmed",
            PathFeedback::Lost => "lost",
        };
        Python::attach(|py| object.call(py, HEED, now.as_ps(), (now.as_ps(), entropy, feedback), nothing));
    }
}
