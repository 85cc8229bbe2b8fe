//! Cables as a price book lists them.

use std::{fmt, str::FromStr};

use etherweave_primitives::{BitRate, Length};
use etherweave_topology::{LinkClass, Medium};

use crate::port_kind::impl_key;

/// How a cable is made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Make {
    /// Copper with its connectors.
    Copper,
    /// Fibre with its transceivers: an active optical cable.
    Active,
    /// Fibre alone; transceivers are bought apart.
    Fibre,
}

impl Make {
    /// All of them.
    pub const ALL: [Make; 3] = [Make::Copper, Make::Active, Make::Fibre];

    /// How a price book writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Make::Copper => "copper",
            Make::Active => "active",
            Make::Fibre => "fibre",
        }
    }

    /// Returns the medium of the cable.
    pub const fn medium(self) -> Medium {
        match self {
            Make::Copper => Medium::Copper,
            Make::Active | Make::Fibre => Medium::Optical,
        }
    }
}

/// A cable: `"100Gb/s copper 3m"`, `"4 x 100Gb/s copper 3m"` for a breakout cable, `"global 100Gb/s active 30m"` where
/// the price is for one class of links only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CableKey {
    /// Rate of each link [bit/s].
    pub rate: BitRate,
    /// How it is made.
    pub make: Make,
    /// How far it reaches [mm].
    pub length: Length,
    /// Links that share it, at least 1.
    pub links: u32,
    /// The only links that it is for; none: for any.
    pub class: Option<LinkClass>,
}

impl fmt::Display for CableKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(class) = self.class {
            write!(f, "{} ", class.name())?;
        }
        if self.links > 1 {
            write!(f, "{} x ", self.links)?;
        }
        write!(f, "{} {} {}", self.rate, self.make.name(), self.length)
    }
}

impl FromStr for CableKey {
    type Err = String;

    fn from_str(text: &str) -> Result<CableKey, String> {
        read(text).ok_or_else(|| {
            format!(
                "\"{text}\" is no cable; expected as \"100Gb/s copper 3m\", \"4 x 100Gb/s fibre 30m\", \"global …\""
            )
        })
    }
}

fn read(text: &str) -> Option<CableKey> {
    let classes = [LinkClass::Host, LinkClass::Local, LinkClass::Global];
    let class = classes.into_iter().find(|&class| text.split(' ').next() == Some(class.name()));
    let rest = class.map_or(text, |class| text[class.name().len()..].trim_start());
    let (links, rest) = match rest.split_once(" x ") {
        Some((links, rest)) => (links.parse().ok().filter(|links| (2..=8).contains(links))?, rest),
        None => (1, rest),
    };
    let mut words = rest.split(' ');
    let (rate, make, length) = (words.next()?, words.next()?, words.next()?);
    let make = Make::ALL.into_iter().find(|known| known.name() == make)?;
    let is_all = words.next().is_none();
    is_all.then_some(CableKey { rate: rate.parse().ok()?, make, length: length.parse().ok()?, links, class })
}

impl_key!(CableKey);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_reads_back_as_it_was_written() {
        for text in
            ["100Gb/s copper 3m", "4 x 100Gb/s fibre 30m", "global 400Gb/s active 15m", "host 2 x 400Gb/s copper 2m"]
        {
            assert_eq!(text.parse::<CableKey>().unwrap().to_string(), text);
        }
        for text in
            ["", "100Gb/s", "100Gb/s copper", "100Gb/s steel 3m", "9 x 100Gb/s copper 3m", "100Gb/s copper 3m 4m"]
        {
            assert!(text.parse::<CableKey>().unwrap_err().contains("expected as"), "{text}");
        }
    }
}
