//! Price books and power profiles that stand for themselves, before a fabric is designed with them.

use etherweave_power::{PowerProfile, PriceBook};
use etherweave_primitives::InputError;

/// Reads the price book or the power profile that `key` of a scenario names, or whose text it has: afterwards a mistake
/// at this key is a part that the document lacks.
///
/// # Errors
/// When there is none of this name, the text is none, or `key` is another key.
pub fn check_document(key: &str, document: &str) -> Result<(), InputError> {
    let read = match key {
        "design.prices" => PriceBook::shipped(document).map(drop),
        "design.prices_text" => PriceBook::parse(key, document).map(drop),
        "design.power" => PowerProfile::shipped(document).map(drop),
        "design.power_text" => PowerProfile::parse(key, document).map(drop),
        other => return Err(InputError::new(other, "no document", "design.prices, design.power, or one with _text")),
    };
    read.map_err(|error| error.within(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read_by_its_key_and_its_mistake_is_at_that_key() {
        assert_eq!(check_document("design.prices", "example"), Ok(()));
        assert_eq!(check_document("design.prices", "nowhere").unwrap_err().key, "design.prices");
        let misspelt = check_document("design.power", "ethernet-2g").unwrap_err();
        assert!(misspelt.expected.ends_with("; nearest is `ethernet-25g`"), "{misspelt}");
        let error = check_document("design.power_text", "name = 1").unwrap_err();
        assert_eq!((error.key.as_str(), error.place.map(|place| place.line)), ("design.power_text", Some(1)));
        assert_eq!(check_document("seed", "1").unwrap_err().key, "seed");
    }
}
