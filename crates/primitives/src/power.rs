//! Power, and the energy of single acts.

use std::{iter::Sum, ops::Add, ops::AddAssign};

use crate::unit::{Unit, impl_text_form};

/// Power [µW]. 2^64 µW are 18 TW.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Power(u64);

/// The energy of one act: a bit compared, a packet stored [aJ]. 2^64 aJ are 18 J; what a fabric uses in a year is
/// power times time, and no single act.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Energy(u64);

impl Power {
    /// None at all.
    pub const ZERO: Power = Power(0);

    /// So many microwatts.
    pub const fn from_uw(uw: u64) -> Power {
        Power(uw)
    }

    /// So many watts.
    pub const fn from_w(w: u64) -> Power {
        Power(w.saturating_mul(1_000_000))
    }

    /// Watts, for tables and figures.
    pub fn as_w_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// So many of the same, at most what the type holds.
    pub const fn times(self, count: u64) -> Power {
        Power(self.0.saturating_mul(count))
    }

    /// A share of it, rounded to the nearest microwatt; nothing for a share that is no number or below 0.
    pub fn share(self, share: f64) -> Power {
        Power(rounded(self.0 as f64 * share))
    }
}

impl Energy {
    /// None at all.
    pub const ZERO: Energy = Energy(0);

    /// So many attojoules.
    pub const fn from_aj(aj: u64) -> Energy {
        Energy(aj)
    }

    /// Returns the power that so many acts per second draw, rounded to the nearest microwatt.
    pub fn at_rate(self, acts_per_second: f64) -> Power {
        Power(rounded(self.0 as f64 * acts_per_second / 1e12))
    }
}

/// The cast saturates: nothing below 0 or without a value, the largest number beyond it.
fn rounded(value: f64) -> u64 {
    value.round() as u64
}

impl Add for Power {
    type Output = Power;
    fn add(self, other: Power) -> Power {
        Power(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Power {
    fn add_assign(&mut self, other: Power) {
        *self = *self + other;
    }
}

impl Sum for Power {
    fn sum<I: Iterator<Item = Power>>(parts: I) -> Power {
        parts.fold(Power::ZERO, Add::add)
    }
}

impl Add for Energy {
    type Output = Energy;
    fn add(self, other: Energy) -> Energy {
        Energy(self.0.saturating_add(other.0))
    }
}

impl Unit for Power {
    const NAME: &'static str = "power";
    const SUFFIXES: &'static [(&'static str, u64)] =
        &[("uW", 1), ("mW", 1_000), ("W", 1_000_000), ("kW", 1_000_000_000), ("MW", 1_000_000_000_000)];
    fn from_base(uw: u64) -> Self {
        Power(uw)
    }
    fn base(self) -> u64 {
        self.0
    }
}

impl Unit for Energy {
    const NAME: &'static str = "energy";
    const SUFFIXES: &'static [(&'static str, u64)] = &[
        ("aJ", 1),
        ("fJ", 1_000),
        ("pJ", 1_000_000),
        ("nJ", 1_000_000_000),
        ("uJ", 1_000_000_000_000),
        ("mJ", 1_000_000_000_000_000),
        ("J", 1_000_000_000_000_000_000),
    ];
    fn from_base(aj: u64) -> Self {
        Energy(aj)
    }
    fn base(self) -> u64 {
        self.0
    }
}

impl_text_form!(Power);
impl_text_form!(Energy);

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    struct Port {
        #[allow(dead_code)]
        power: Power,
    }

    #[test]
    fn quantities_read_back_as_they_were_written() {
        for text in ["30W", "480mW", "15MW", "0uW"] {
            assert_eq!(text.parse::<Power>().unwrap().to_string(), text);
        }
        for text in ["580aJ", "4504800fJ", "18J"] {
            assert_eq!(text.parse::<Energy>().unwrap().to_string(), text);
        }
        assert_eq!("0.58fJ".parse(), Ok(Energy::from_aj(580)));
    }

    #[test]
    fn an_energy_at_a_rate_is_a_power() {
        // 4.5048 nJ, 78.125 million times a second: 0.3519375 W.
        let read: Energy = "4.5048nJ".parse().unwrap();
        assert_eq!(read.at_rate(78.125e6), Power::from_uw(351_938));
        assert_eq!((read.at_rate(f64::NAN), read.at_rate(-1.0)), (Power::ZERO, Power::ZERO));
    }

    #[test]
    fn a_bare_number_names_the_units_it_lacks() {
        let error = toml::from_str::<Port>("power = 30").unwrap_err().to_string();
        assert!(error.contains("a power as a string with its unit"), "{error}");
        let error = toml::from_str::<Port>("power = \"30\"").unwrap_err().to_string();
        assert!(error.contains("the unit is missing") && error.contains("kW"), "{error}");
    }

    #[test]
    fn sums_stop_at_the_largest_value() {
        assert_eq!(Power::from_uw(u64::MAX) + Power::from_w(1), Power::from_uw(u64::MAX));
        assert_eq!(Power::from_w(3).times(u64::MAX), Power::from_uw(u64::MAX));
    }
}
