//! What a fabric costs to buy, and a year of its electricity.

use etherweave_power::{Certainty, Citation, Cost, PriceBook};
use etherweave_primitives::{InputError, Power};
use etherweave_topology::Topology;

use crate::DesignSpec;

/// The bill of a fabric.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Bill {
    /// The price book.
    pub book: String,
    /// Description of the book.
    pub about: String,
    /// The currency of all amounts.
    pub currency: String,
    /// Items that are bought.
    pub items: Vec<BillItem>,
    /// All of it.
    pub total: f64,
    /// A year of electricity at the worst case, with the facility's overhead; none where the book has no price of it.
    pub electricity_year: Option<f64>,
    /// Certainty of the sums.
    pub certainty: String,
    /// Costs that the book does not count.
    pub notes: Vec<String>,
    /// The prices used, each with its source.
    pub figures: Vec<Figure>,
}

/// A line of the bill.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct BillItem {
    /// The key in the price book.
    pub key: String,
    /// Purpose of the item.
    pub purpose: String,
    /// How many.
    pub count: u64,
    /// One of them.
    pub each: f64,
    /// All of them.
    pub all: f64,
}

/// A figure that entered a sum.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Figure {
    /// Its key in the profile or price book.
    pub key: String,
    /// The figure with its unit.
    pub value: String,
    /// Published, fitted, estimate or example.
    pub basis: &'static str,
    /// Where it comes from.
    pub source: String,
    /// When it held, where that is given.
    pub date: Option<String>,
}

impl Figure {
    pub(crate) fn of(citation: &Citation) -> Figure {
        Figure {
            key: citation.key.clone(),
            value: citation.value.clone(),
            basis: citation.basis.name(),
            source: citation.source.clone(),
            date: citation.date.clone(),
        }
    }
}

/// The book of prices that is used unless another is named.
const BOOK: &str = "example";

impl Bill {
    /// # Errors
    /// When the named book does not exist, cannot be read, or lacks a part of the fabric. Where none is named, the one
    /// that comes with Etherweave may lack a part: then the reason is the inner error.
    pub(crate) fn of(
        topology: &Topology,
        power: Option<Power>,
        spec: &DesignSpec,
    ) -> Result<Result<Bill, String>, InputError> {
        let within = |key| move |error: InputError| error.within(key);
        match (&spec.prices, &spec.prices_text) {
            (Some(_), Some(_)) => {
                Err(InputError::new("prices", "given beside a book in prices_text or prices_file", "one"))
            }
            (Some(name), None) => {
                let book = PriceBook::shipped(name).map_err(within("prices"))?;
                Bill::by(&book, topology, power).map(Ok).map_err(within("prices"))
            }
            (None, Some(text)) => {
                let book = PriceBook::parse("prices_text", text).map_err(within("prices_text"))?;
                Bill::by(&book, topology, power).map(Ok).map_err(within("prices_text"))
            }
            (None, None) => {
                let book = PriceBook::shipped(BOOK).map_err(within("prices"))?;
                Ok(Bill::by(&book, topology, power).map_err(|error| error.found))
            }
        }
    }

    fn by(book: &PriceBook, topology: &Topology, power: Option<Power>) -> Result<Bill, InputError> {
        let cost = book.cost(topology)?;
        let year = power.filter(|_| book.electricity.is_some()).map(|power| book.year_of(power)).transpose()?;
        let figures: Vec<Citation> = [Some(&cost), year.as_ref()].into_iter().flatten().flat_map(figures_of).collect();
        Ok(Bill {
            book: book.name.clone(),
            about: book.about.clone(),
            currency: cost.total.currency().code().to_owned(),
            items: cost.items.iter().map(BillItem::of).collect(),
            total: cost.total.amount_f64(),
            electricity_year: year.map(|year| year.total.amount_f64()),
            certainty: Certainty::of(&figures).to_string(),
            figures: figures.iter().map(Figure::of).collect(),
            notes: cost.notes,
        })
    }
}

fn figures_of(cost: &Cost) -> impl Iterator<Item = Citation> {
    cost.figures.iter().cloned()
}

impl BillItem {
    fn of(item: &etherweave_power::CostItem) -> BillItem {
        BillItem {
            key: item.key.clone(),
            purpose: item.purpose.clone(),
            count: item.count,
            each: item.each.amount_f64(),
            all: item.all.amount_f64(),
        }
    }
}
