//! Amounts of money: a decimal number and a currency.

use std::{fmt, str::FromStr};

use crate::unit::{invalid, misread, no_number, scaled};
use crate::{InputError, text_form};

/// Millionths in one unit of a currency: a kilowatt-hour costs less than a hundredth.
const MILLIONTHS: u64 = 1_000_000;

/// A currency by its three letters, as ISO 4217 has them; whether the list has them is not checked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Currency([u8; 3]);

/// An amount in a currency, in millionths: `"1250 USD"`, `"0.085 EUR"`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Money {
    millionths: u64,
    currency: Currency,
}

impl Currency {
    /// Its letters.
    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a currency is made of ASCII letters")
    }

    fn of(code: &str) -> Option<Currency> {
        let letters: [u8; 3] = code.as_bytes().try_into().ok()?;
        letters.iter().all(u8::is_ascii_uppercase).then_some(Currency(letters))
    }
}

impl Money {
    /// Nothing, in a currency.
    pub const fn zero(currency: Currency) -> Money {
        Money { millionths: 0, currency }
    }

    /// Returns the currency.
    pub const fn currency(self) -> Currency {
        self.currency
    }

    /// How much, for tables and figures.
    pub fn amount_f64(self) -> f64 {
        self.millionths as f64 / MILLIONTHS as f64
    }

    /// How much in millionths of the currency's unit.
    pub const fn millionths(self) -> u64 {
        self.millionths
    }

    /// So many of the same, at most what the type holds.
    pub const fn times(self, count: u64) -> Money {
        Money { millionths: self.millionths.saturating_mul(count), currency: self.currency }
    }

    /// So many, in parts, rounded to the nearest millionth; nothing for a number below 0 or that is none.
    pub fn scaled(self, factor: f64) -> Money {
        Money { millionths: (self.millionths as f64 * factor).round() as u64, currency: self.currency }
    }

    /// Both together, at most what the type holds.
    ///
    /// # Panics
    /// When the currencies differ: whoever reads prices checks that they agree.
    pub fn plus(self, other: Money) -> Money {
        assert_eq!(self.currency, other.currency, "only amounts in one currency have a sum");
        Money { millionths: self.millionths.saturating_add(other.millionths), currency: self.currency }
    }
}

impl TryFrom<String> for Currency {
    type Error = String;

    fn try_from(code: String) -> Result<Currency, String> {
        Currency::of(&code).ok_or_else(|| format!("\"{code}\" is no currency; expected three capital letters, as USD"))
    }
}

impl From<Currency> for String {
    fn from(currency: Currency) -> String {
        currency.code().to_owned()
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.millionths / MILLIONTHS, self.millionths % MILLIONTHS);
        let digits = format!("{rest:06}");
        let decimals = digits.trim_end_matches('0');
        let point = if decimals.is_empty() { "" } else { "." };
        write!(f, "{whole}{point}{decimals} {}", self.currency)
    }
}

impl FromStr for Money {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Money, InputError> {
        let fail = |reason| misread("price", text, reason, &["USD", "EUR", "or another code of ISO 4217"]);
        let trimmed = text.trim();
        let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, code) = (&trimmed[..split], trimmed[split..].trim_start());
        if number.is_empty() {
            return Err(fail(no_number(trimmed)));
        }
        if code.is_empty() {
            return Err(fail("the currency is missing"));
        }
        let currency = Currency::of(code).ok_or_else(|| fail("a currency is three capital letters"))?;
        let millionths = scaled(number, MILLIONTHS);
        let millionths =
            millionths.ok_or_else(|| fail("the number is malformed, too large, or finer than 0.000001"))?;
        Ok(Money { millionths, currency })
    }
}

text_form!(
    Money,
    "a price as a string with its currency, such as \"1250 USD\"",
    "^[0-9]+(\\.[0-9]+)? ?[A-Z]{3}$",
    |error| invalid(&error)
);

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, reason: &str) {
        let error = text.parse::<Money>().unwrap_err().to_string();
        assert!(error.contains(reason) && error.contains("USD, EUR"), "{error}");
    }

    #[test]
    fn a_price_reads_back_as_it_was_written() {
        for text in ["1250 USD", "0.085 EUR", "0 JPY", "99.9 CHF"] {
            assert_eq!(text.parse::<Money>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_price_says_what_would_be() {
        check("1250", "the currency is missing");
        check("USD 1250", "does not start with a number");
        check("-5 USD", "is negative");
        check("1250 usd", "three capital letters");
        check("1250 €", "three capital letters");
        check("1.2.3 USD", "malformed");
        check("0.0000001 USD", "finer than");
    }

    #[test]
    fn sums_and_multiples_stop_at_the_largest_amount() {
        let much: Money = "18000000000000 USD".parse().unwrap();
        assert_eq!(much.times(3).millionths(), u64::MAX);
        assert_eq!(much.plus(much).millionths(), u64::MAX);
        assert_eq!("2 USD".parse::<Money>().unwrap().scaled(1.25).to_string(), "2.5 USD");
    }
}
