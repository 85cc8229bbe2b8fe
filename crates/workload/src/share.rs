//! A part of a whole: an offered load, or a share of the packets.

use std::str::FromStr;

use etherweave_primitives::InputError;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};

/// A number from 0 to 1, or a percentage, kept in parts of 10^9: what a scenario writes in decimals is exact.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, serde::Serialize)]
#[serde(into = "f64")]
pub struct Share(u64);

impl Share {
    /// Nothing of it.
    pub const NONE: Share = Share(0);
    /// The least that is more than nothing.
    pub const MIN: Share = Share(1);
    /// All of it.
    pub const ALL: Share = Share(Share::PARTS);
    /// Number of parts of a whole, in which a share is counted.
    pub const PARTS: u64 = 1_000_000_000;

    /// A percentage.
    ///
    /// # Panics
    /// Above 100.
    pub const fn percent(hundredths: u64) -> Share {
        assert!(hundredths <= 100, "a share is at most the whole");
        Share(hundredths * (Share::PARTS / 100))
    }

    /// Parts of [`Share::PARTS`].
    pub const fn parts(self) -> u64 {
        self.0
    }
}

impl TryFrom<f64> for Share {
    type Error = InputError;
    fn try_from(number: f64) -> Result<Share, InputError> {
        let parts = (number * Share::PARTS as f64).round();
        // A number that is not one (NaN) is in no range.
        if !(0.0..=1.0).contains(&number) || (number > 0.0 && parts == 0.0) {
            return Err(InputError::new("", format!("{number:?}"), "0, or 1e-9 to 1"));
        }
        Ok(Share(parts as u64))
    }
}

impl FromStr for Share {
    type Err = InputError;
    fn from_str(text: &str) -> Result<Share, InputError> {
        let percentage = || Share::try_from(text.strip_suffix('%')?.trim_end().parse::<f64>().ok()? / 100.0).ok();
        percentage().ok_or_else(|| InputError::new("", text, "0 to 1, or \"0 %\" to \"100 %\""))
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Share, D::Error> {
        deserializer.deserialize_any(ShareVisitor)
    }
}

struct ShareVisitor;

impl Visitor<'_> for ShareVisitor {
    type Value = Share;
    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a share such as 0.01 or \"1 %\"")
    }
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Share, E> {
        Share::try_from(number).map_err(E::custom)
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Share, E> {
        self.visit_f64(number as f64)
    }
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Share, E> {
        self.visit_f64(number as f64)
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Share, E> {
        text.parse().map_err(E::custom)
    }
}

impl From<Share> for f64 {
    fn from(share: Share) -> f64 {
        share.0 as f64 / Share::PARTS as f64
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f64::from(*self).fmt(f)
    }
}

impl JsonSchema for Share {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Share".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let percentage = r"^[0-9]+(\.[0-9]+)? ?%$";
        json_schema!({ "type": ["number", "string"], "minimum": 0, "maximum": 1, "pattern": percentage })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_and_read_back() {
        for (number, parts) in [(0.0, 0), (0.35, 350_000_000), (1.0, 1_000_000_000), (1e-9, 1)] {
            let share = Share::try_from(number).unwrap();
            assert_eq!((share.parts(), f64::from(share)), (parts, number));
        }
        assert_eq!(Share::percent(35), Share::try_from(0.35).unwrap());
    }

    #[test]
    fn percentages_are_shares() {
        for (text, share) in [("1 %", 0.01), ("0.5%", 0.005), ("100 %", 1.0), ("0 %", 0.0)] {
            assert_eq!(text.parse::<Share>().unwrap(), Share::try_from(share).unwrap());
        }
        for text in ["101 %", "-1 %", "1", "%", "one %"] {
            let error = text.parse::<Share>().unwrap_err().to_string();
            assert_eq!(error, format!("{text}; expected 0 to 1, or \"0 %\" to \"100 %\""));
        }
    }

    #[test]
    fn numbers_outside_0_to_1_are_rejected() {
        let rejected = [(-0.1, "-0.1"), (2.0, "2.0"), (1e-300, "1e-300"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")];
        for (number, text) in rejected {
            let error = Share::try_from(number).unwrap_err().to_string();
            assert_eq!(error, format!("{text}; expected 0, or 1e-9 to 1"));
        }
    }
}
