//! Quantities with a unit: sizes, times, rates and lengths as a scenario writes them.

use etherweave_primitives::{BitRate, Bytes, Duration, Length, Stream};

/// Definitions of the schema that are quantities. A cable is its length.
const KINDS: [&str; 5] = ["Bytes", "Duration", "BitRate", "Length", "Cable"];
/// Rates of Ethernet [Gb/s].
const RATES: [u64; 9] = [1, 10, 25, 40, 50, 100, 200, 400, 800];

pub(crate) fn is_quantity(kind: &str) -> bool {
    KINDS.contains(&kind)
}

/// The kind of a quantity, and its amount in the smallest unit; `None` where the text is none.
fn smallest(text: &str) -> Option<(&'static str, u64)> {
    let text = text.strip_suffix(" copper").or(text.strip_suffix(" optical")).unwrap_or(text);
    let bytes = || text.parse().ok().map(|bytes: Bytes| ("Bytes", bytes.get()));
    let time = || text.parse().ok().map(|time: Duration| ("Duration", time.as_ps()));
    let rate = || text.parse().ok().map(|rate: BitRate| ("BitRate", rate.as_bps()));
    let length = || text.parse().ok().map(|length: Length| ("Length", length.as_mm()));
    bytes().or_else(time).or_else(rate).or_else(length)
}

/// A quantity of a kind, in the largest unit in which it is a whole number.
fn text(kind: &str, amount: u64) -> String {
    match kind {
        "Bytes" => Bytes::new(amount).to_string(),
        "Duration" => Duration::from_ps(amount).to_string(),
        "BitRate" => BitRate::from_bps(amount).to_string(),
        _ => Length::from_mm(amount).to_string(),
    }
}

/// A quantity half as large; `None` where the text is none, or nothing is less.
pub(crate) fn halved(value: &str) -> Option<String> {
    let (kind, amount) = smallest(value)?;
    (amount > 1).then(|| text(kind, amount / 2))
}

/// A size, if a text is one [B].
pub(crate) fn bytes(value: &str) -> Option<u64> {
    smallest(value).filter(|(kind, _)| *kind == "Bytes").map(|(_, amount)| amount)
}

/// A time, if a text is one [ps].
pub(crate) fn picoseconds(value: &str) -> Option<u64> {
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
        ("Duration", 0) => 10_u64.pow(3 + dice.below(6) as u32) * (1 + dice.below(9)),
        (_, 0) => {
            let bits = 1 + dice.below(17);
            1 + dice.below(1 << bits)
        }
        (_, base) if dice.happens(1, 8) => base + 1 - dice.below(3).min(base),
        (_, base) => (u128::from(base) << dice.below(6) >> dice.below(10)) as u64,
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
