//! Figures with their sources, and what a sum of them may claim.

use std::{collections::BTreeMap, fmt};

/// Basis of a figure, most certain first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// A paper, standard, data sheet or price list says it.
    Published,
    /// Computed from published figures, as the source says.
    Derived,
    /// Chosen so that a published result comes out.
    Fitted,
    /// No public figure exists; the source says how it was estimated.
    Estimate,
    /// A placeholder of plausible size, to be replaced.
    Example,
}

impl Basis {
    /// How a profile writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Basis::Published => "published",
            Basis::Derived => "derived",
            Basis::Fitted => "fitted",
            Basis::Estimate => "estimate",
            Basis::Example => "example",
        }
    }
}

/// Where a figure comes from; never empty.
#[derive(Clone, PartialEq, Eq, Debug, serde::Deserialize, serde::Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Source(String);

impl Source {
    /// The text.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Source {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Source, &'static str> {
        let has_words = text.chars().any(char::is_alphabetic);
        if has_words { Ok(Source(text)) } else { Err("a source says where the figure comes from; expected words") }
    }
}

impl From<Source> for String {
    fn from(source: Source) -> String {
        source.0
    }
}

/// A figure with its source: `{ value = "30W", basis = "published", source = "…" }`.
#[derive(Clone, PartialEq, Debug, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct Cited<T> {
    /// The figure.
    pub value: T,
    /// Basis of the figure.
    pub basis: Basis,
    /// Where it comes from.
    pub source: Source,
}

/// A figure that entered a result.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Citation {
    /// Its key in the profile or price book.
    pub key: String,
    /// The figure with its unit.
    pub value: String,
    /// Basis of the figure.
    pub basis: Basis,
    /// Where it comes from.
    pub source: String,
    /// When it held, where that is given.
    pub date: Option<String>,
}

/// Collects what was used, each figure once, in order of keys.
#[derive(Default)]
pub(crate) struct Ledger(BTreeMap<String, Citation>);

impl Ledger {
    /// Takes a figure, and notes that it was.
    pub(crate) fn take<T: Copy + fmt::Display>(&mut self, key: &str, cited: &Cited<T>) -> T {
        let source = cited.source.text().to_owned();
        let value = cited.value.to_string();
        self.note(Citation { key: key.to_owned(), value, basis: cited.basis, source, date: None });
        cited.value
    }

    pub(crate) fn note(&mut self, citation: Citation) {
        self.0.entry(citation.key.clone()).or_insert(citation);
    }

    pub(crate) fn into_list(self) -> Vec<Citation> {
        self.0.into_values().collect()
    }
}

/// Certainty of a result: no more than that of the least certain figure in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Certainty {
    /// The least certain basis; published where no figure was used.
    pub basis: Basis,
    /// How many figures were used.
    pub figures: usize,
    /// The keys of those that are not published, with their basis.
    pub uncertain: Vec<(String, Basis)>,
}

impl Certainty {
    /// Returns the certainty of a result from these figures.
    pub fn of(figures: &[Citation]) -> Certainty {
        let uncertain = figures.iter().filter(|figure| figure.basis != Basis::Published);
        Certainty {
            basis: figures.iter().map(|figure| figure.basis).max().unwrap_or(Basis::Published),
            figures: figures.len(),
            uncertain: uncertain.map(|figure| (figure.key.clone(), figure.basis)).collect(),
        }
    }
}

impl fmt::Display for Certainty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Certainty { basis, figures, uncertain } = self;
        if uncertain.is_empty() {
            return write!(f, "all {figures} figures are published");
        }
        let what = match basis {
            Basis::Published | Basis::Derived => "a model with derived figures",
            Basis::Fitted => "a model with fitted figures",
            Basis::Estimate => "an estimate",
            Basis::Example => "an example, not an offer",
        };
        let listed: Vec<String> = uncertain.iter().map(|(key, basis)| format!("{key} ({})", basis.name())).collect();
        write!(f, "{what}: {} of {figures} figures are not published: {}", uncertain.len(), listed.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(key: &str, basis: Basis) -> Citation {
        Citation { key: key.into(), value: "1W".into(), basis, source: "a test".into(), date: None }
    }

    #[test]
    fn a_sum_is_no_more_certain_than_its_least_certain_figure() {
        let figures = [figure("a", Basis::Published), figure("b", Basis::Estimate), figure("c", Basis::Fitted)];
        let text = Certainty::of(&figures).to_string();
        assert_eq!(text, "an estimate: 2 of 3 figures are not published: b (estimate), c (fitted)");
        assert_eq!(Certainty::of(&figures[..1]).to_string(), "all 1 figures are published");
    }

    #[test]
    fn a_figure_without_a_source_is_refused() {
        let error = toml::from_str::<Cited<u32>>("value = 1\nbasis = \"published\"\nsource = \" \"").unwrap_err();
        assert!(error.to_string().contains("expected words"), "{error}");
        let error = toml::from_str::<Cited<u32>>("value = 1\nsource = \"x\"\nbasis = \"sure\"").unwrap_err();
        assert!(error.to_string().contains("`published`"), "{error}");
    }
}
