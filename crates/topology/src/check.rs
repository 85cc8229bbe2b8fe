//! Ranges of parameters, and counts before anything is allocated by them.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use crate::TopologyError;
use crate::builder::LINKS_MAX;

/// A parameter lies in its range.
pub(crate) fn in_range(
    name: impl Into<Cow<'static, str>>,
    value: u32,
    range: RangeInclusive<u32>,
) -> Result<(), TopologyError> {
    if range.contains(&value) {
        return Ok(());
    }
    let (least, most) = range.into_inner();
    let expected = if most == u32::MAX { format!("at least {least}") } else { format!("{least} to {most}") };
    Err(TopologyError::parameter(name, value, expected))
}

pub(crate) fn at_least_one(name: impl Into<Cow<'static, str>>, value: u32) -> Result<(), TopologyError> {
    in_range(name, value, 1..=u32::MAX)
}

/// A list has as many elements as it may.
pub(crate) fn list_len(name: &'static str, len: usize, range: RangeInclusive<usize>) -> Result<(), TopologyError> {
    if range.contains(&len) {
        return Ok(());
    }
    let expected = format!("{} to {} elements", range.start(), range.end());
    Err(TopologyError::parameter(name, format!("{len} long"), expected))
}

/// The fabric fits the memory; `links` may have saturated on the way.
pub(crate) fn links(links: u64) -> Result<(), TopologyError> {
    if links > LINKS_MAX {
        return Err(TopologyError::TooLarge { what: "links".to_owned(), limit: LINKS_MAX });
    }
    Ok(())
}

/// A product that stops at the largest number instead of wrapping.
pub(crate) fn product(factors: impl IntoIterator<Item = u32>) -> u64 {
    factors.into_iter().fold(1, |product: u64, factor| product.saturating_mul(u64::from(factor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_outside_is_told_the_range() {
        assert_eq!(in_range("k", 3, 1..=3), Ok(()));
        assert_eq!(in_range("k", 0, 1..=3).unwrap_err().to_string(), "k is 0; expected 1 to 3");
        assert_eq!(at_least_one("k", 0).unwrap_err().to_string(), "k is 0; expected at least 1");
        assert_eq!(list_len("sizes", 0, 1..=5).unwrap_err().to_string(), "sizes is 0 long; expected 1 to 5 elements");
    }

    #[test]
    fn products_saturate() {
        assert_eq!(product([u32::MAX; 3]), u64::MAX);
        assert!(links(product([u32::MAX; 3])).is_err());
    }
}
