//! Kinds of ports: a rate and what is plugged in.

use std::{fmt, str::FromStr};

use etherweave_primitives::BitRate;
use etherweave_topology::Medium;

/// Ports that draw alike: `"40Gb/s copper"` in a profile.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PortKind {
    /// Rate of the whole port [bit/s]: of all hosts on it where they share a breakout cable.
    pub rate: BitRate,
    /// Medium of its cable.
    pub medium: Medium,
}

impl fmt::Display for PortKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.rate, self.medium.name())
    }
}

impl FromStr for PortKind {
    type Err = String;

    fn from_str(text: &str) -> Result<PortKind, String> {
        let expected = || format!("\"{text}\" is no kind of port; expected a rate and a medium, as \"40Gb/s copper\"");
        let (rate, medium) = text.split_once(' ').ok_or_else(expected)?;
        let rate = rate.parse().map_err(|_| expected())?;
        let medium = Medium::ALL.into_iter().find(|known| known.name() == medium.trim()).ok_or_else(expected)?;
        Ok(PortKind { rate, medium })
    }
}

/// Text form of a key: read by `FromStr`, written by `Display`.
macro_rules! impl_key {
    ($key:ty) => {
        impl serde::Serialize for $key {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $key {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <String as serde::Deserialize>::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use impl_key;

impl_key!(PortKind);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_reads_back_as_it_was_written() {
        for text in ["40Gb/s copper", "800Gb/s optical"] {
            assert_eq!(text.parse::<PortKind>().unwrap().to_string(), text);
        }
        let error = "40 copper".parse::<PortKind>().unwrap_err();
        assert!(error.contains("as \"40Gb/s copper\""), "{error}");
    }
}
