//! Quantities with a unit: sizes, times, rates and lengths as a scenario writes them.

use etherweave_primitives::Stream;

/// Units of the kinds of quantities, the smallest first, with what each is worth in the smallest.
const UNITS: &[(&str, &[(&str, u128)])] = &[
    (
        "Bytes",
        &[
            ("B", 1),
            ("kB", 1_000),
            ("KiB", 1 << 10),
            ("MB", 1_000_000),
            ("MiB", 1 << 20),
            ("GB", 1_000_000_000),
            ("GiB", 1 << 30),
        ],
    ),
    ("Duration", &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)]),
    (
        "BitRate",
        &[("b/s", 1), ("kb/s", 1_000), ("Mb/s", 1_000_000), ("Gb/s", 1_000_000_000), ("Tb/s", 1_000_000_000_000)],
    ),
    ("Length", &[("mm", 1), ("cm", 10), ("m", 1_000), ("km", 1_000_000)]),
    ("Cable", &[("mm", 1), ("cm", 10), ("m", 1_000), ("km", 1_000_000)]),
];
/// Rates of Ethernet [Gb/s].
const RATES: [u64; 9] = [1, 10, 25, 40, 50, 100, 200, 400, 800];

/// Whether a definition of the schema is a quantity.
pub(crate) fn is_quantity(kind: &str) -> bool {
    UNITS.iter().any(|(name, _)| *name == kind)
}

/// A quantity in its smallest unit; `None` where the text is none.
fn smallest(text: &str) -> Option<(&'static str, u128)> {
    let text = text.strip_suffix(" copper").or(text.strip_suffix(" optical")).unwrap_or(text);
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = (text[..split].parse::<f64>().ok()?, text[split..].trim());
    UNITS.iter().find_map(|(kind, units)| {
        let (_, worth) = units.iter().find(|(name, _)| *name == unit)?;
        Some((*kind, (number * *worth as f64) as u128))
    })
}

/// The largest unit in which a quantity is a whole number.
fn text(kind: &str, amount: u128) -> String {
    let (_, units) = UNITS.iter().find(|(name, _)| *name == kind).expect("a kind of quantities");
    let (unit, worth) = units.iter().rev().find(|(_, worth)| amount.is_multiple_of(*worth)).expect("one is a divisor");
    match amount {
        0 => format!("0{}", units[0].0),
        amount => format!("{}{unit}", amount / worth),
    }
}

/// A quantity half as large; `None` where the text is none, or nothing is less.
pub(crate) fn halved(value: &str) -> Option<String> {
    let (kind, amount) = smallest(value)?;
    (amount > 1).then(|| text(kind, amount / 2))
}

/// A size, if a text is one [B].
pub(crate) fn bytes(value: &str) -> Option<u128> {
    smallest(value).filter(|(kind, _)| *kind == "Bytes").map(|(_, amount)| amount)
}

/// A rate, if a text is one [bit/s].
pub(crate) fn bits_per_second(value: &str) -> Option<u128> {
    smallest(value).filter(|(kind, _)| *kind == "BitRate").map(|(_, amount)| amount)
}

/// A time, if a text is one [ps].
pub(crate) fn picoseconds(value: &str) -> Option<u128> {
    smallest(value).filter(|(kind, _)| *kind == "Duration").map(|(_, amount)| amount)
}

/// A quantity of a kind: around its default, or anything that occurs in networks.
pub(crate) fn drawn(dice: &mut Stream, kind: &str, default: Option<&str>) -> String {
    if kind == "BitRate" && default.is_none_or(|rate| rate.ends_with("Gb/s")) {
        return format!("{}Gb/s", RATES[dice.below(RATES.len() as u64) as usize]);
    }
    let base = default.and_then(smallest).map_or(0, |(_, amount)| amount);
    let amount = match (kind, base) {
        ("Cable" | "Length", _) => [0, 500, 1_000, 3_000, 20_000, 100_000, 2_000_000][dice.below(7) as usize],
        ("Duration", 0) => 10_u128.pow(3 + dice.below(6) as u32) * u128::from(1 + dice.below(9)),
        (_, 0) => {
            let bits = 1 + dice.below(17);
            u128::from(1 + dice.below(1 << bits))
        }
        (_, base) if dice.happens(1, 8) => base + 1 - u128::from(dice.below(3)).min(base),
        (_, base) => (base << dice.below(6)) >> dice.below(10),
    };
    text(kind, amount)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_halved_in_a_unit_that_keeps_them_whole() {
        let cases = [("16MiB", "8MiB"), ("1us", "500ns"), ("1.5kB", "750B"), ("3m", "150cm"), ("1Gb/s", "500Mb/s")];
        for (quantity, half) in cases {
            assert_eq!(halved(quantity).as_deref(), Some(half));
        }
        assert_eq!(halved("1B"), None);
        assert_eq!(halved("host0"), None);
        assert_eq!(bytes("2KiB"), Some(2_048));
    }
}
