//! Price books: what the parts of a fabric cost.

use std::{collections::BTreeMap, fmt, str::FromStr};

use etherweave_primitives::{BitRate, Currency, InputError, Length, Money};

use crate::{Basis, CableKey, Citation, Cited, Source, port_kind::impl_key, profile::read, shipped};

/// Prices of parts, read from TOML. All prices are in one currency.
#[derive(Clone, PartialEq, Debug, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct PriceBook {
    /// Name of the book; not part of the text.
    #[serde(skip)]
    pub name: String,
    /// Description in a sentence.
    pub about: String,
    /// The currency of every price.
    pub currency: Currency,
    /// Switches by ports and rate: the cheapest that has enough of both is taken.
    #[serde(default)]
    pub switch: BTreeMap<SwitchKey, Price>,
    /// A host's NIC by rate. Absent: NICs are not counted.
    #[serde(default)]
    pub nic: BTreeMap<BitRate, Price>,
    /// Cables: the cheapest that fits and reaches is taken, and one for the link's own class first.
    #[serde(default)]
    pub cable: BTreeMap<CableKey, Price>,
    /// Transceivers, one at each end of a fibre, by rate and reach.
    #[serde(default)]
    pub optics: BTreeMap<OpticsKey, Price>,
    /// Prices of electricity. Absent: unknown.
    pub electricity: Option<Electricity>,
}

/// A price with its source: `{ value = "120 USD", basis = "published", source = "…", date = "2024-05" }`.
#[derive(Clone, PartialEq, Debug, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Price of one.
    pub value: Money,
    /// On top of it for every metre that is needed; cables only.
    pub per_metre: Option<Money>,
    /// Basis of the price.
    pub basis: Basis,
    /// Where it comes from.
    pub source: Source,
    /// When it held; needed unless it is an example.
    pub date: Option<String>,
}

/// Prices of electricity.
#[derive(Clone, PartialEq, Debug, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct Electricity {
    /// A kilowatt-hour.
    pub kilowatt_hour: Price,
    /// Power of the whole facility over that of its equipment, at least 1: PUE of ISO/IEC 30134-2.
    pub overhead: Cited<f64>,
}

impl Price {
    pub(crate) fn at(&self, length: Length) -> Money {
        let metres = length.as_mm() as f64 / 1e3;
        self.per_metre.map_or(self.value, |each| self.value.plus(each.scaled(metres)))
    }

    pub(crate) fn cite(&self, key: String) -> Citation {
        let per_metre = self.per_metre.map(|each| format!(" and {each} per metre")).unwrap_or_default();
        Citation {
            key,
            value: format!("{}{per_metre}", self.value),
            basis: self.basis,
            source: self.source.text().to_owned(),
            date: self.date.clone(),
        }
    }
}

/// A switch: `"64 x 400Gb/s"`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SwitchKey {
    /// Rate of each port [bit/s].
    pub rate: BitRate,
    /// How many ports it has, at least 1.
    pub ports: u32,
}

/// A transceiver: `"400Gb/s 500m"`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct OpticsKey {
    /// Its rate [bit/s].
    pub rate: BitRate,
    /// How far it reaches [mm].
    pub reach: Length,
}

impl fmt::Display for SwitchKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {}", self.ports, self.rate)
    }
}

impl FromStr for SwitchKey {
    type Err = String;

    fn from_str(text: &str) -> Result<SwitchKey, String> {
        let read = || {
            let (ports, rate) = text.split_once(" x ")?;
            let ports = ports.parse().ok().filter(|&ports| ports > 0)?;
            Some(SwitchKey { rate: rate.parse().ok()?, ports })
        };
        read().ok_or_else(|| format!("\"{text}\" is no switch; expected ports and rate, as \"64 x 400Gb/s\""))
    }
}

impl fmt::Display for OpticsKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.rate, self.reach)
    }
}

impl FromStr for OpticsKey {
    type Err = String;

    fn from_str(text: &str) -> Result<OpticsKey, String> {
        let read = || {
            let (rate, reach) = text.split_once(' ')?;
            Some(OpticsKey { rate: rate.parse().ok()?, reach: reach.parse().ok()? })
        };
        read().ok_or_else(|| format!("\"{text}\" is no transceiver; expected rate and reach, as \"400Gb/s 500m\""))
    }
}

impl_key!(SwitchKey);
impl_key!(OpticsKey);

impl PriceBook {
    /// Reads a price book.
    ///
    /// # Errors
    /// When the text is no price book, with line and column; when a price is in another currency, has no date though it
    /// is no example, or has metres though it is no cable's.
    pub fn parse(name: &str, text: &str) -> Result<PriceBook, InputError> {
        let mut book: PriceBook = read(text)?;
        book.name = name.to_owned();
        book.check()?;
        Ok(book)
    }

    /// A price book that comes with Etherweave; [`shipped::PRICE_BOOKS`] lists them.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn shipped(name: &str) -> Result<PriceBook, InputError> {
        PriceBook::parse(name, shipped::PRICE_BOOKS.entry("", "price book", name)?.1)
    }

    fn check(&self) -> Result<(), InputError> {
        for (key, price) in self.prices() {
            self.check_price(&key, price)?;
        }
        let overhead = self.electricity.as_ref().map(|electricity| electricity.overhead.value);
        match overhead.filter(|overhead| !(1.0..=10.0).contains(overhead)) {
            Some(overhead) => Err(InputError::new("electricity.overhead", overhead, "1 to 10")),
            None => Ok(()),
        }
    }

    fn check_price(&self, key: &str, price: &Price) -> Result<(), InputError> {
        let amounts = [Some(price.value), price.per_metre];
        if let Some(other) = amounts.into_iter().flatten().find(|amount| amount.currency() != self.currency) {
            return Err(InputError::new(key, other, format!("a price in {}, as the book says", self.currency)));
        }
        if price.date.is_none() && price.basis != Basis::Example {
            return Err(InputError::new(
                format!("{key}.date"),
                "missing",
                "when the price held, or basis = \"example\"",
            ));
        }
        match price.per_metre.filter(|_| !key.starts_with("cable.")) {
            Some(each) => Err(InputError::new(format!("{key}.per_metre"), each, "none but for cables")),
            None => Ok(()),
        }
    }

    fn prices(&self) -> impl Iterator<Item = (String, &Price)> {
        let electricity = self.electricity.as_ref();
        let named = |table: &'static str| move |key: &dyn fmt::Display| format!("{table}.\"{key}\"");
        let switches = self.switch.iter().map(move |(key, price)| (named("switch")(key), price));
        let nics = self.nic.iter().map(move |(key, price)| (named("nic")(key), price));
        let cables = self.cable.iter().map(move |(key, price)| (named("cable")(key), price));
        let optics = self.optics.iter().map(move |(key, price)| (named("optics")(key), price));
        let hour = electricity.map(|tariff| ("electricity.kilowatt_hour".to_owned(), &tariff.kilowatt_hour));
        switches.chain(nics).chain(cables).chain(optics).chain(hour)
    }
}
