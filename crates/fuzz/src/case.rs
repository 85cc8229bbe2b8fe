//! A case: a seed, its scenario, and what came of it.

use std::fmt;

use etherweave_primitives::{Purpose, Stream};
use etherweave_scenario::Mistake;

use crate::check::{End, Limits, check};
use crate::{Draw, failure::Failure, failure::calmly, settle, settle::Size, settle::refusal};

/// A scenario that was drawn and settled.
pub struct Case {
    /// Its text.
    pub text: String,
    /// Mistakes that were mended on the way.
    pub mistakes: Vec<Mistake>,
    /// Its result.
    pub verdict: Verdict,
}

/// Result of a case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It ran, and kept all bounds.
    Ran(End),
    /// It was refused to the end, with the key.
    Refused(String),
    /// Something does not hold.
    Failed(Failure),
}

impl Verdict {
    /// Whether something does not hold.
    pub fn has_failed(&self) -> bool {
        matches!(self, Verdict::Failed(_))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Ran(End::Finished(end)) => write!(f, "ran: {end}"),
            Verdict::Ran(End::Stopped) => write!(f, "ran: stopped, too many events"),
            Verdict::Refused(key) => write!(f, "refused: {key}"),
            Verdict::Failed(failure) => write!(f, "failed: {}", failure.class),
        }
    }
}

/// Draws, settles and checks the case of a seed.
pub fn case(draw: &Draw, seed: u64, limits: Limits) -> Case {
    let mut dice = Stream::new(seed, Purpose::Traffic, 1);
    let drawn = draw.scenario(seed);
    let text = crate::settle::text(&drawn);
    let settled = match calmly(|| settle(drawn, &mut dice)) {
        Ok(settled) => settled,
        Err(failure) => return Case { text, mistakes: Vec::new(), verdict: Verdict::Failed(failure) },
    };
    let verdict = verdict(&settled.text, &settled.mistakes, settled.runs, limits);
    Case { text: settled.text, mistakes: settled.mistakes, verdict }
}

fn verdict(text: &str, mistakes: &[Mistake], runs: bool, limits: Limits) -> Verdict {
    if let Some(failure) = mistakes.iter().find_map(unclear) {
        return Verdict::Failed(failure);
    }
    if !runs {
        return Verdict::Refused(mistakes.last().map_or_else(String::new, |mistake| class(&mistake.error.key)));
    }
    check(text, limits).map_or_else(Verdict::Failed, Verdict::Ran)
}

/// Result of a scenario that exists; a scenario that is too large for a case is refused.
pub fn verdict_of(text: &str, limits: Limits) -> Verdict {
    match calmly(|| refusal(text)) {
        Err(failure) => Verdict::Failed(failure),
        Ok(Err(error)) => verdict(text, &error.mistakes, false, limits),
        Ok(Ok(Size::Small)) => verdict(text, &[], true, limits),
        Ok(Ok(Size::Large | Size::Endless)) => Verdict::Refused("too large for a case".to_owned()),
    }
}

/// A refusal names a key and says in one line what was expected.
fn unclear(mistake: &Mistake) -> Option<Failure> {
    let line = mistake.to_string();
    let is_clear = !mistake.error.key.is_empty() && line.contains("expected") && !line.contains('\n');
    (!is_clear).then(|| Failure::new("a refusal names a key and what was expected", line))
}

/// A key without numbers of elements: `job.N.workload`.
pub(crate) fn class(key: &str) -> String {
    let part = |part: &str| if part.parse::<u64>().is_ok() { "N".to_owned() } else { part.to_owned() };
    key.split('.').map(part).collect::<Vec<_>>().join(".")
}
