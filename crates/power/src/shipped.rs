//! The profiles and price books that come with Etherweave, by name.

use etherweave_primitives::{InputError, no_such};

const PROFILES: &[(&str, &str)] = &[
    ("exascale-2015", include_str!("../../../profiles/power/exascale-2015.toml")),
    ("ethernet-100g", include_str!("../../../profiles/power/ethernet-100g.toml")),
    ("ethernet-25g", include_str!("../../../profiles/power/ethernet-25g.toml")),
    ("ethernet-400g", include_str!("../../../profiles/power/ethernet-400g.toml")),
    ("ethernet-800g", include_str!("../../../profiles/power/ethernet-800g.toml")),
];

const PRICE_BOOKS: &[(&str, &str)] = &[("example", include_str!("../../../profiles/price/example.toml"))];

/// Names of the power profiles.
pub fn profiles() -> Vec<&'static str> {
    names(PROFILES)
}

/// Names of the price books.
pub fn price_books() -> Vec<&'static str> {
    names(PRICE_BOOKS)
}

/// The text of a power profile, as a start for your own.
///
/// # Errors
/// When there is none of this name.
pub fn profile_text(name: &str) -> Result<&'static str, InputError> {
    text("power profile", PROFILES, name)
}

/// The text of a price book, as a start for your own.
///
/// # Errors
/// When there is none of this name.
pub fn price_book_text(name: &str) -> Result<&'static str, InputError> {
    text("price book", PRICE_BOOKS, name)
}

fn names(list: &[(&'static str, &str)]) -> Vec<&'static str> {
    list.iter().map(|&(name, _)| name).collect()
}

fn text(what: &'static str, list: &[(&'static str, &'static str)], name: &str) -> Result<&'static str, InputError> {
    let entry = list.iter().find(|(known, _)| *known == name);
    entry.map(|&(_, text)| text).ok_or_else(|| no_such("", what, name, &names(list)))
}
