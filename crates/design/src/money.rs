//! Price of a fabric, and of the electricity for a year.

use etherweave_power::{Certainty, Citation, CostItem, PriceBook};
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
    pub items: Vec<CostItem>,
    /// All of it.
    pub total: f64,
    /// A year of electricity at the worst case, with the facility's overhead; none where the book has no price of it.
    pub electricity_year: Option<f64>,
    /// Certainty of the sums.
    pub certainty: String,
    /// Costs that the book does not count.
    pub notes: Vec<String>,
    /// The prices used, each with its source.
    pub figures: Vec<Citation>,
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
        let of_year = year.iter().flat_map(|year| &year.figures);
        let figures: Vec<Citation> = cost.figures.iter().chain(of_year).cloned().collect();
        Ok(Bill {
            book: book.name.clone(),
            about: book.about.clone(),
            currency: cost.total.currency().code().to_owned(),
            total: cost.total.amount_f64(),
            items: cost.items,
            electricity_year: year.map(|year| year.total.amount_f64()),
            certainty: Certainty::of(&figures).to_string(),
            figures,
            notes: cost.notes,
        })
    }
}
