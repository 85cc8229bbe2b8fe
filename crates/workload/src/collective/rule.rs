//! Which algorithm carries out a collective.

use etherweave_primitives::{Bytes, InputError, InputErrors};

use super::algorithm::Choice;
use super::layout::Layout;
use super::library::{Ask, Library};
use super::{Algorithm, Collective, Kind};
use crate::limits::{COLLECTIVE_MAX, WINDOW_MAX, at_most};

/// What a library picks, or what is named.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Rule {
    /// Whose decisions are taken.
    pub library: Library,
    /// This algorithm instead.
    pub algorithm: Option<Algorithm>,
    /// Messages of the named algorithm are at most so long [B].
    pub segment: Option<Bytes>,
}

impl Rule {
    /// What the library picks.
    pub fn of(library: Library) -> Rule {
        Rule { library, ..Rule::default() }
    }

    /// The algorithm for a collective on memory of this layout.
    pub(super) fn choice(&self, kind: Kind, layout: &Layout) -> Choice {
        let segment = self.segment.map(|bytes| bytes.get());
        match self.algorithm {
            Some(algorithm) => Choice { algorithm, segment, outstanding: None },
            None => self.library.choice(&Ask::of(kind, layout)),
        }
    }

    /// The algorithm that `collective` gets on `ranks` ranks, 2 or more.
    pub fn algorithm(&self, collective: &Collective, ranks: u32) -> Algorithm {
        self.choice(collective.kind(), &collective.layout(ranks)).algorithm
    }

    /// Checks the named algorithm and its segment for a collective on so many ranks.
    ///
    /// # Errors
    /// When the algorithm does not perform the collective, or not on so many ranks; when the segment has no effect, or
    /// makes too many messages.
    pub fn check(&self, collective: &Collective, ranks: u32) -> Result<(), InputErrors> {
        InputErrors::all([self.check_algorithm(collective.kind(), ranks), self.check_segment(collective)])
    }

    fn check_algorithm(&self, kind: Kind, ranks: u32) -> Result<(), InputError> {
        let Some(algorithm) = self.algorithm else { return Ok(()) };
        let Some(form) = algorithm.form_of(kind) else {
            let known: Vec<_> = Algorithm::of(kind).map(Algorithm::name).collect();
            let found = format!("{}, which performs no {}", algorithm.name(), kind.name());
            return Err(InputError::new("algorithm", found, format!("one of {}", known.join(", "))));
        };
        let found = format_args!("{} of {} on {ranks} ranks", kind.name(), algorithm.name());
        InputError::unless(form.sizes.contains(ranks), "algorithm", found, form.sizes.text())
    }

    fn check_segment(&self, collective: &Collective) -> Result<(), InputError> {
        let Some(segment) = self.segment else { return Ok(()) };
        let form = self.algorithm.and_then(|algorithm| algorithm.form_of(collective.kind()));
        if !form.is_some_and(|form| form.is_segmented) {
            let named = self.algorithm.map_or("what the library picks", Algorithm::name);
            let found = format!("{segment} for {} of {named}", collective.kind().name());
            return Err(InputError::new("segment", found, "none, or an algorithm that divides its messages"));
        }
        let least = collective.largest().get().div_ceil(WINDOW_MAX.into()).max(1);
        let expected = format_args!("{least}B or more, for at most {WINDOW_MAX} messages");
        InputError::unless(segment.get() >= least, "segment", segment, expected)
    }
}

impl Collective {
    /// Checks sizes and root on so many ranks; `key` is that of the collective.
    ///
    /// # Errors
    /// When they are out of range.
    pub fn check(&self, key: &str, ranks: u32) -> Result<(), InputErrors> {
        let name = |part: &str| format!("{key}.{}.{part}", self.kind().name());
        let (root, last) = (self.root(), ranks.saturating_sub(1));
        let (count, is_listed) = (self.sizes().len(), matches!(self.kind(), Kind::Allgatherv | Kind::Alltoallv));
        let is_count = !is_listed || (1..=ranks as usize).contains(&count);
        let lengths = format!("1 to {ranks} lengths, one for each rank or fewer that are repeated");
        InputErrors::all([
            InputError::unless(root <= last, name("root"), root, format_args!("0 to {last}")),
            at_most(&name("bytes"), self.largest(), COLLECTIVE_MAX),
            InputError::unless(is_count, name("bytes"), format_args!("{count} lengths"), lengths),
        ])
    }

    /// Its largest size [B].
    fn largest(&self) -> Bytes {
        self.sizes().iter().max().copied().unwrap_or(Bytes::ZERO)
    }
}
