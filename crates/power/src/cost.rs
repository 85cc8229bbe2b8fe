//! The bill of a fabric.

use std::{collections::BTreeMap, fmt};

use etherweave_primitives::{BitRate, InputError, Length, Money, Power};
use etherweave_topology::{Cables, LinkClass, Topology};

use crate::inventory::switches;
use crate::profile::missing;
use crate::{CableKey, Citation, Make, OpticsKey, Price, PriceBook, SwitchKey, SwitchKind};

/// Hours in a year of 365.25 days.
const YEAR_HOURS: f64 = 8_766.0;

/// Cost to buy a fabric.
#[derive(Clone, PartialEq, Debug)]
pub struct Cost {
    /// Items that are bought: switches, NICs, cables, transceivers.
    pub items: Vec<CostItem>,
    /// All items together.
    pub total: Money,
    /// Notes on what the price book does not count.
    pub notes: Vec<String>,
    /// The prices used.
    pub figures: Vec<Citation>,
}

/// A line of the bill; written, amounts are numbers.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct CostItem {
    /// The key in the price book.
    pub key: String,
    /// Purpose of the item.
    pub purpose: String,
    /// How many.
    pub count: u64,
    /// One of them.
    #[serde(serialize_with = "amount")]
    pub each: Money,
    /// All of them.
    #[serde(serialize_with = "amount")]
    pub all: Money,
}

fn amount<S: serde::Serializer>(money: &Money, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(money.amount_f64())
}

impl PriceBook {
    /// Returns the cost to buy `topology`.
    ///
    /// # Errors
    /// When the book has no price for a switch, NIC, cable or transceiver that the fabric needs.
    pub fn cost(&self, topology: &Topology) -> Result<Cost, InputError> {
        let mut bill = BillBuilder { book: self, items: Vec::new(), notes: Vec::new(), figures: BTreeMap::new() };
        bill.add_switches(topology)?;
        for cables in Cables::of(topology) {
            bill.add_cables(&cables, topology.breakout())?;
        }
        bill.add_nics(topology)?;
        let zero = Money::zero(self.currency);
        Ok(Cost {
            total: bill.items.iter().fold(zero, |sum, item| sum.plus(item.all)),
            items: bill.items,
            notes: bill.notes,
            figures: bill.figures.into_values().collect(),
        })
    }

    /// Returns the cost of `power` in a year without pause, with the facility's overhead.
    ///
    /// # Errors
    /// When the book has no price of electricity.
    pub fn year_of(&self, power: Power) -> Result<Cost, InputError> {
        let electricity = self.electricity.as_ref().ok_or_else(|| self.missing("electricity", Vec::new()))?;
        let overhead = electricity.overhead.value;
        let hours = power.as_w_f64() / 1e3 * YEAR_HOURS * overhead;
        let each = electricity.kilowatt_hour.value;
        let key = "electricity.kilowatt_hour".to_owned();
        let purpose =
            format!("a year at {:.1} kW with a facility that takes {overhead} times that", power.as_w_f64() / 1e3);
        let item = CostItem { key: key.clone(), purpose, count: hours.round() as u64, each, all: each.scaled(hours) };
        let mut ledger = crate::cited::Ledger::default();
        ledger.take("electricity.overhead", &electricity.overhead);
        ledger.note(electricity.kilowatt_hour.cite(key));
        Ok(Cost { total: item.all, items: vec![item], notes: Vec::new(), figures: ledger.into_list() })
    }

    fn missing(&self, key: &str, known: Vec<String>) -> InputError {
        missing(format!("price book {}", self.name), key, &known)
    }
}

struct BillBuilder<'a> {
    book: &'a PriceBook,
    items: Vec<CostItem>,
    notes: Vec<String>,
    figures: BTreeMap<String, Citation>,
}

struct Offer<'a> {
    key: String,
    price: &'a Price,
    each: Money,
}

impl<'a> BillBuilder<'a> {
    fn add(&mut self, offer: Offer<'_>, purpose: String, count: u64) {
        let Offer { key, price, each } = offer;
        self.figures.entry(key.clone()).or_insert_with(|| price.cite(key.clone()));
        self.items.push(CostItem { key, purpose, count, each, all: each.times(count) });
    }

    /// If a radix is given, every switch has that many ports; otherwise those in use.
    fn add_switches(&mut self, topology: &Topology) -> Result<(), InputError> {
        let mut needs: BTreeMap<SwitchKey, u64> = BTreeMap::new();
        for switch in switches(topology) {
            let kind = SwitchKind::of(topology, switch);
            let ports = topology.radix().unwrap_or_default().max(kind.ports_used());
            *needs.entry(SwitchKey { rate: kind.rate_max(), ports }).or_default() += 1;
        }
        let mut bought: BTreeMap<String, (Offer<'a>, u64)> = BTreeMap::new();
        for (need, count) in needs {
            let fits = |have: &SwitchKey| have.ports >= need.ports && have.rate >= need.rate;
            let offer = cheapest("switch", &self.book.switch, Length::default(), fits);
            let offer = offer.ok_or_else(|| self.missing("switch", &need, &self.book.switch))?;
            bought.entry(offer.key.clone()).or_insert((offer, 0)).1 += count;
        }
        bought.into_values().for_each(|(offer, count)| self.add(offer, "switches".to_owned(), count));
        Ok(())
    }

    fn add_nics(&mut self, topology: &Topology) -> Result<(), InputError> {
        if self.book.nic.is_empty() {
            self.notes.push("NICs are not counted: the price book has none".to_owned());
            return Ok(());
        }
        let mut rates: BTreeMap<BitRate, u64> = BTreeMap::new();
        for link in topology.channels().iter().step_by(2).filter(|link| link.class == LinkClass::Host) {
            *rates.entry(link.rate).or_default() += 1;
        }
        for (rate, count) in rates {
            let offer = cheapest("nic", &self.book.nic, Length::default(), |have| *have == rate);
            let offer = offer.ok_or_else(|| self.missing("nic", &rate, &self.book.nic))?;
            self.add(offer, "NICs of hosts".to_owned(), count);
        }
        Ok(())
    }

    /// The cheapest construction of equal cables; fibre counts with its transceivers.
    fn add_cables(&mut self, cables: &Cables, breakout: u32) -> Result<(), InputError> {
        let links = if cables.class == LinkClass::Host { breakout } else { 1 };
        let ready = self.cable(cables, links, |make| make != Make::Fibre);
        let fibre = self.cable(cables, links, |make| make == Make::Fibre);
        let built = fibre.and_then(|fibre| Some((fibre, self.ends(cables, links)?)));
        let price_of = |(fibre, ends): &(Offer<'_>, Vec<(Offer<'_>, u64)>)| {
            let sum = fibre.each.times(cables.cables);
            ends.iter().fold(sum, |sum, (end, count)| sum.plus(end.each.times(*count))).millionths()
        };
        let purpose = format!("{} {} of {} cables", cables.length, cables.medium.name(), cables.class.name());
        match (ready, built) {
            (Some(ready), Some(built)) if price_of(&built) < ready.each.times(cables.cables).millionths() => {
                self.add_built(built, &purpose, cables.cables);
            }
            (Some(ready), _) => self.add(ready, purpose, cables.cables),
            (None, Some(built)) => self.add_built(built, &purpose, cables.cables),
            (None, None) => return Err(self.no_cable(cables, links)),
        }
        Ok(())
    }

    fn add_built(&mut self, (fibre, ends): (Offer<'_>, Vec<(Offer<'_>, u64)>), purpose: &str, cables: u64) {
        self.add(fibre, purpose.to_owned(), cables);
        for (end, count) in ends {
            self.add(end, format!("ends of {purpose}"), count);
        }
    }

    /// The cheapest cable that fits; where some are for this class only, one of them.
    fn cable(&self, cables: &Cables, links: u32, is_wanted: impl Fn(Make) -> bool) -> Option<Offer<'a>> {
        let fits = |key: &CableKey| {
            key.rate == cables.rate
                && key.links == links
                && key.length >= cables.length
                && key.make.medium() == cables.medium
                && is_wanted(key.make)
        };
        let of_class = |class: Option<LinkClass>| {
            cheapest("cable", &self.book.cable, cables.length, |key| fits(key) && key.class == class)
        };
        of_class(Some(cables.class)).or_else(|| of_class(None))
    }

    /// Transceivers at both ends: with shared cables one at the switch, and one at each host.
    fn ends(&self, cables: &Cables, links: u32) -> Option<Vec<(Offer<'a>, u64)>> {
        let of_rate = |rate: BitRate| {
            let fits = |key: &OpticsKey| key.rate == rate && key.reach >= cables.length;
            cheapest("optics", &self.book.optics, Length::default(), fits)
        };
        if links == 1 {
            return Some(vec![(of_rate(cables.rate)?, cables.links.saturating_mul(2))]);
        }
        let cable_rate = BitRate::from_bps(cables.rate.as_bps().saturating_mul(u64::from(links)));
        Some(vec![(of_rate(cable_rate)?, cables.cables), (of_rate(cables.rate)?, cables.links)])
    }

    fn no_cable(&self, cables: &Cables, links: u32) -> InputError {
        let make = if cables.medium == Make::Copper.medium() { Make::Copper } else { Make::Active };
        let Cables { rate, length, .. } = *cables;
        let need = CableKey { rate, make, length, links, class: None };
        let mut known: Vec<String> = self.book.cable.keys().map(|key| name("cable", key)).collect();
        known.extend(self.book.optics.keys().map(|key| name("optics", key)));
        let or_fibre = match make {
            Make::Copper => "",
            Make::Active | Make::Fibre => ", nor fibre with transceivers at both ends",
        };
        self.book.missing(&format!("{} or longer{or_fibre}", name("cable", &need)), known)
    }

    fn missing<K: fmt::Display>(&self, table: &str, need: &impl fmt::Display, have: &BTreeMap<K, Price>) -> InputError {
        self.book.missing(&name(table, need), have.keys().map(|key| name(table, key)).collect())
    }
}

/// The cheapest price for `length` whose key fits; the first of equal ones.
fn cheapest<'a, K: fmt::Display>(
    table: &str,
    prices: &'a BTreeMap<K, Price>,
    length: Length,
    fits: impl Fn(&K) -> bool,
) -> Option<Offer<'a>> {
    let fitting = prices.iter().filter(|(key, _)| fits(key));
    let (key, price) = fitting.min_by_key(|(_, price)| price.at(length).millionths())?;
    Some(Offer { key: name(table, key), price, each: price.at(length) })
}

fn name(table: &str, key: &impl fmt::Display) -> String {
    format!("{table}.\"{key}\"")
}
