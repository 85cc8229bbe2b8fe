//! Congestion controls that the caller of a run brings.

use etherweave_primitives::InputError;

use crate::{RunOptions, Scenario};

/// Gives the caller's congestion control to the transports that ask for it. A note for each, for the result.
///
/// # Errors
/// When a transport asks for one and the caller brings none, or the reverse; or a run has several processes.
pub(crate) fn bring(scenario: &mut Scenario, options: &RunOptions<'_>) -> Result<Vec<String>, InputError> {
    let of_jobs = scenario.job.iter_mut().enumerate().filter_map(|(number, job)| {
        let transport = job.transport.as_mut()?;
        Some((format!("job.{number}.transport"), transport))
    });
    let mut notes = Vec::new();
    for (key, transport) in std::iter::once(("transport".to_owned(), &mut scenario.transport)).chain(of_jobs) {
        let key = format!("{key}.{}.prototype", transport.name());
        let Some(prototype) = transport.prototype() else { continue };
        let class = &prototype.class;
        let call = format!("etherweave.run(scenario, extend={{\"congestion\": {class}}})");
        let expected = format!("the class from the caller: {call}");
        let start = options.prototype.ok_or_else(|| InputError::new(format!("{key}.class"), class, expected))?;
        InputError::unless(options.process.of == 1, &key, class, "a run of one process: the class is of one")?;
        prototype.start = start.clone();
        notes.push(format!(
            "{key}: congestion control by {class}, a class of the caller that the result does not contain; one thread"
        ));
    }
    let expected = "a table prototype of a RoCE transport, which the caller's class would carry out";
    InputError::unless(options.prototype.is_none() || !notes.is_empty(), "transport", "no prototype", expected)?;
    Ok(notes)
}
