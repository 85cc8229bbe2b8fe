//! Cables as they are ordered: a length, and what it is made of.

use std::{fmt, str::FromStr};

use etherweave_primitives::{BitRate, Length, text_form};

/// Medium that carries the signal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Medium {
    /// Passive twinaxial copper, or twisted pair.
    Copper,
    /// Fibre, with its transceivers or as an active optical cable.
    Optical,
}

impl Medium {
    /// All of them.
    pub const ALL: [Medium; 2] = [Medium::Copper, Medium::Optical];

    /// How a scenario writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Medium::Copper => "copper",
            Medium::Optical => "optical",
        }
    }

    /// Copper where a passive cable reaches, optical beyond.
    pub fn reaching(length: Length, rate: BitRate) -> Medium {
        if length <= copper_reach(rate) { Medium::Copper } else { Medium::Optical }
    }
}

/// The longest passive copper cable at a rate [m]: IEEE 802.3-2022 clause 85 (40GBASE-CR4), clause 92 (100GBASE-CR4),
/// clause 136 (200GBASE-CR4) and 802.3ck-2022 clause 162 (400GBASE-CR4).
fn copper_reach(rate: BitRate) -> Length {
    let gigabits = rate.as_bps().div_ceil(1_000_000_000);
    Length::from_m(match gigabits {
        0..=40 => 7,
        41..=100 => 5,
        101..=200 => 3,
        _ => 2,
    })
}

/// A cable of some length: `"3m"`, `"3m copper"` or `"20m optical"` in a scenario.
///
/// Where the medium is not given, it is copper as far as copper reaches at the link's rate ([`Medium::reaching`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cable {
    length: Length,
    medium: Option<Medium>,
}

impl Cable {
    /// A cable of `metres`, of the medium that reaches.
    pub const fn from_m(metres: u64) -> Cable {
        Cable { length: Length::from_m(metres), medium: None }
    }

    /// A cable of a given medium.
    pub const fn new(length: Length, medium: Medium) -> Cable {
        Cable { length, medium: Some(medium) }
    }

    /// How long it is.
    pub const fn length(self) -> Length {
        self.length
    }

    /// Returns the medium of the cable when it carries `rate`.
    pub fn medium(self, rate: BitRate) -> Medium {
        self.medium.unwrap_or_else(|| Medium::reaching(self.length, rate))
    }
}

impl From<Length> for Cable {
    fn from(length: Length) -> Cable {
        Cable { length, medium: None }
    }
}

impl fmt::Display for Cable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.medium {
            None => write!(f, "{}", self.length),
            Some(medium) => write!(f, "{} {}", self.length, medium.name()),
        }
    }
}

impl FromStr for Cable {
    type Err = String;

    fn from_str(text: &str) -> Result<Cable, String> {
        let trimmed = text.trim();
        let named = Medium::ALL.into_iter().find_map(|medium| Some((trimmed.strip_suffix(medium.name())?, medium)));
        let (length, medium) = named.map_or((trimmed, None), |(length, medium)| (length, Some(medium)));
        let length = length.trim_end().parse().map_err(|error| format!("{error}, and then copper or optical"))?;
        Ok(Cable { length, medium })
    }
}

text_form!(
    Cable,
    "a cable as a string, such as \"3m\" or \"20m optical\"",
    "^[0-9]+(\\.[0-9]+)? ?(mm|cm|m|km)( (copper|optical))?$",
    serde::de::Error::custom
);

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, metres: u64, medium: Medium) {
        let cable: Cable = text.parse().unwrap();
        assert_eq!((cable.length(), cable.medium(BitRate::from_gbps(100))), (Length::from_m(metres), medium), "{text}");
        assert_eq!(cable.to_string().parse(), Ok(cable));
    }

    #[test]
    fn the_medium_is_what_reaches_unless_it_is_given() {
        check("5m", 5, Medium::Copper);
        check("6m", 6, Medium::Optical);
        check("3m optical", 3, Medium::Optical);
        check("30 m copper", 30, Medium::Copper);
    }

    #[test]
    fn faster_links_reach_less_far_on_copper() {
        let medium = |gigabits| Medium::reaching(Length::from_m(3), BitRate::from_gbps(gigabits));
        assert_eq!([10, 100, 200, 400].map(medium), {
            use Medium::{Copper, Optical};
            [Copper, Copper, Copper, Optical]
        });
    }

    #[test]
    fn a_text_that_is_no_cable_is_an_error_with_the_expected_form() {
        let error = "3m steel".parse::<Cable>().unwrap_err();
        assert!(error.contains("the unit is not known") && error.contains("copper or optical"), "{error}");
        #[derive(Debug, serde::Deserialize)]
        struct Holder {
            #[allow(dead_code)]
            cable: Cable,
        }
        let error = toml::from_str::<Holder>("cable = 3").unwrap_err().to_string();
        assert!(error.contains("\"20m optical\""), "{error}");
    }
}
