//! Ranges of parameters, and counts before anything is allocated by them.

use std::{fmt, ops::RangeInclusive};

use etherweave_primitives::{InputError, InputErrors};

/// More links than any simulated fabric has: a typing error must not fill the memory.
const LINKS_MAX: u64 = 1 << 22;

pub(crate) fn in_range(key: impl Into<String>, value: u32, range: RangeInclusive<u32>) -> Result<(), InputError> {
    let is_within = range.contains(&value);
    let (least, most) = range.into_inner();
    let expected = if most == u32::MAX { format!("at least {least}") } else { format!("{least} to {most}") };
    InputError::unless(is_within, key, value, expected)
}

pub(crate) fn at_least_one(key: impl Into<String>, value: u32) -> Result<(), InputError> {
    in_range(key, value, 1..=u32::MAX)
}

pub(crate) fn each_at_least_one<K: Into<String>>(
    values: impl IntoIterator<Item = (K, u32)>,
) -> Result<(), InputErrors> {
    InputErrors::all(values.into_iter().map(|(key, value)| at_least_one(key, value)))
}

pub(crate) fn list_len(key: &str, len: usize, range: RangeInclusive<usize>) -> Result<(), InputError> {
    let expected = format_args!("{} to {} elements", range.start(), range.end());
    InputError::unless(range.contains(&len), key, format_args!("{len} elements"), expected)
}

/// The links fit into memory; their number may be a product that stopped at the largest number.
pub(crate) fn links(links: u64) -> Result<(), InputError> {
    if links > LINKS_MAX {
        return Err(too_large("links", LINKS_MAX));
    }
    Ok(())
}

/// The mistake of more than ids can count.
pub(crate) fn too_large(what: impl fmt::Display, limit: u64) -> InputError {
    InputError::new("", format_args!("too many {what}"), format_args!("at most {limit}"))
}

/// A product that stops at the largest number instead of wrapping.
pub(crate) fn product(factors: impl IntoIterator<Item = u32>) -> u64 {
    factors.into_iter().fold(1, |product: u64, factor| product.saturating_mul(u64::from(factor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_out_of_range_is_an_error_with_the_range() {
        assert_eq!(in_range("k", 3, 1..=3), Ok(()));
        assert_eq!(in_range("k", 0, 1..=3).unwrap_err().to_string(), "k: 0; expected 1 to 3");
        assert_eq!(at_least_one("k", 0).unwrap_err().to_string(), "k: 0; expected at least 1");
        assert_eq!(list_len("sizes", 0, 1..=5).unwrap_err().to_string(), "sizes: 0 elements; expected 1 to 5 elements");
    }

    #[test]
    fn products_saturate() {
        assert_eq!(product([u32::MAX; 3]), u64::MAX);
        assert!(links(product([u32::MAX; 3])).is_err());
    }
}
