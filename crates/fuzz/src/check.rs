//! Invariants of every scenario that is accepted.

use etherweave_scenario::Outcome;
use toml::Table;

use crate::launch::{THREADS, start, start_with};
use crate::{bounds::Facts, curve, failure::Failure, failure::calmly, outcome::difference};

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

/// How a scenario ended that keeps all bounds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum End {
    /// Ended, with the word of its summary.
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
    let first = first.expect("a run on one thread");
    let difference = skipping(text, &first, limits)?.and_then(|outcome| difference(&first, &outcome));
    let failure = |difference| Err(Failure::new("fast_forward", format!("in full and with exact skips: {difference}")));
    difference.map_or(Ok(End::Finished(first.summary.finished)), failure)
}

/// Outcome with exact skips, where a scenario that asks for none has any; without what only the one or the other has.
fn skipping(text: &str, full: &Outcome, limits: Limits) -> Result<Option<Outcome>, Failure> {
    calmly(|| {
        let changes = [("run.fast_forward".to_owned(), "{}".to_owned())];
        let run = (!full.resolved.contains("[run.fast_forward]")).then(|| start_with(text, &changes, 1).ok()).flatten();
        let mut outcome = run?.finish(&mut |progress| progress.events < limits.events).0.with_all_tables();
        let tables = outcome.tables.len();
        outcome.tables.retain(|table| table.name != "skips");
        // Behind its last job a run ends with timers that find nothing, whose rhythm is no state; tables have its end.
        if [full, &outcome].iter().all(|run| run.summary.finished == "complete") {
            outcome.summary.end_ns = full.summary.end_ns;
        }
        outcome.summary.fingerprint.clone_from(&full.summary.fingerprint);
        outcome.summary.warnings.clone_from(&full.summary.warnings);
        (outcome.tables.len() < tables).then_some(outcome)
    })
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
        let outcome = outcome.with_all_tables();
        written.map_err(|error| Failure::new("captures", error.to_string()))?;
        Ok((outcome, warnings))
    })?
}
