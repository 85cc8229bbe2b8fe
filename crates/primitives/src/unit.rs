//! Quantities as text: a decimal number and its unit, without exception.

use std::fmt;

use crate::InputError;

/// A quantity that is written as a number with a unit suffix.
pub(crate) trait Unit: Copy {
    /// Name of the quantity in an error message.
    const NAME: &'static str;
    /// Suffixes and their size in the base unit, ascending. `Display` uses the largest that divides.
    const SUFFIXES: &'static [(&'static str, u64)];
    /// Other suffixes that files of other tools have, and their size; `Display` writes none of them.
    const ALIASES: &'static [(&'static str, u64)] = &[];
    /// Whether `1US` is read as `1us`: case then parts no two units but bits and bytes, by the case of their `b`.
    const IGNORES_CASE: bool = false;
    /// The quantity of so many base units.
    fn from_base(base: u64) -> Self;
    fn base(self) -> u64;
}

pub(crate) fn misread(quantity: &str, text: &str, reason: &str, units: &[&str]) -> InputError {
    let mistake = format!("\"{text}\" is not a {quantity}: {reason}");
    InputError::new("", mistake, format!("a number with one of the units {}", units.join(", ")))
}

pub(crate) fn invalid<E: serde::de::Error>(error: &InputError) -> E {
    E::invalid_value(serde::de::Unexpected::Other(&error.found), &error.expected.as_str())
}

/// Reads `"1.5us"` and the like. Exact: the decimal fraction is scaled in integers.
pub(crate) fn parse<U: Unit>(text: &str) -> Result<U, InputError> {
    let fail = |reason| {
        let units: Vec<_> = U::SUFFIXES.iter().map(|&(suffix, _)| suffix).collect();
        misread(U::NAME, text, reason, &units)
    };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, suffix) = (&trimmed[..split], trimmed[split..].trim_start());
    if number.is_empty() {
        return Err(fail(no_number(trimmed)));
    }
    if suffix.is_empty() {
        return Err(fail("the unit is missing"));
    }
    let scale = scale_of::<U>(suffix).ok_or_else(|| unknown::<U>(fail("the unit is not known"), number, suffix))?;
    scaled(number, scale)
        .map(U::from_base)
        .ok_or_else(|| fail("the number is malformed, too large, or finer than the base unit"))
}

/// Why a text does not begin with digits.
pub(crate) fn no_number(text: &str) -> &'static str {
    if text.starts_with('-') { "it is negative" } else { "it does not start with a number" }
}

/// The base units of a suffix: by its letters, or by the only unit that has them in another case. A single letter has
/// its case, as `m` and `M`; capitals alone do not say whether `B` are bits or bytes.
fn scale_of<U: Unit>(suffix: &str) -> Option<u64> {
    // Both characters of Unicode for micro.
    let suffix = &suffix.replace(['\u{b5}', '\u{3bc}'], "u");
    let units = || U::SUFFIXES.iter().chain(U::ALIASES);
    if let Some(&(_, scale)) = units().find(|(known, _)| known == suffix) {
        return Some(scale);
    }
    let has_bytes = |text: &str| text.contains('B');
    let is_clear = suffix.len() > 1 && !(has_bytes(suffix) && *suffix == suffix.to_ascii_uppercase());
    let is_alike = |known: &str| known.eq_ignore_ascii_case(suffix) && has_bytes(known) == has_bytes(suffix);
    let mut scales = units().filter(|(known, _)| is_alike(known)).map(|&(_, scale)| scale);
    let scale = scales.next().filter(|_| U::IGNORES_CASE && is_clear)?;
    scales.all(|other| other == scale).then_some(scale)
}

/// The mistake with the units that may be meant in front of all that there are: `4MB or 4MiB` for `4M`. Of a rate of
/// bytes these are units of bytes, unless capitals alone leave open what `B` is.
fn unknown<U: Unit>(error: InputError, number: &str, suffix: &str) -> InputError {
    let letters = |text: &str| text.to_lowercase().replace('i', "").replace("ps", "/s");
    let (stated, is_mega) = (letters(suffix), suffix.starts_with('M'));
    let has_bytes = suffix.contains('B');
    let is_open = *suffix == *suffix.to_ascii_uppercase();
    let of_bytes = U::ALIASES.iter().filter(|(unit, _)| has_bytes && unit.ends_with("B/s"));
    let known = U::SUFFIXES.iter().filter(|(unit, _)| !has_bytes || is_open || unit.contains('B'));
    let units = || {
        let units = known.clone().chain(of_bytes.clone()).map(|&(unit, _)| unit);
        units.filter(|unit| !(is_mega && unit.starts_with('m')))
    };
    let begin = units().filter(|unit| letters(unit).starts_with(&stated));
    let mut meant: Vec<&str> = begin.collect();
    if meant.is_empty() {
        let length = |unit: &&str| letters(unit).len();
        let contained: Vec<&str> = units().filter(|unit| stated.starts_with(&letters(unit))).collect();
        let longest = contained.iter().map(length).max();
        meant = contained.into_iter().filter(|unit| Some(length(unit)) == longest).collect();
    }
    let meant: Vec<String> = meant.into_iter().map(|unit| format!("{number}{unit}")).collect();
    let expected =
        if meant.is_empty() { error.expected } else { format!("{}, {}", meant.join(" or "), error.expected) };
    InputError { expected, ..error }
}

/// `number · scale` when that is a whole number that fits.
pub(crate) fn scaled(number: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || fraction.len() > 18 {
        return None;
    }
    let digits = format!("{whole}{fraction}").parse::<u128>().ok()?;
    let divisor = 10u128.pow(fraction.len() as u32);
    let product = digits.checked_mul(u128::from(scale))?;
    (product % divisor == 0).then(|| u64::try_from(product / divisor).ok())?
}

/// Writes the quantity with the largest unit that leaves a whole number.
pub(crate) fn display<U: Unit>(value: U, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let base = value.base();
    let largest = U::SUFFIXES.iter().rev().find(|&&(_, scale)| base.is_multiple_of(scale) && base != 0);
    let &(suffix, scale) = largest.unwrap_or(&U::SUFFIXES[0]);
    write!(f, "{}{suffix}", base / scale)
}

/// Text form of a unit type, all from its suffix list.
macro_rules! impl_text_form {
    ($unit:ident) => {
        impl std::str::FromStr for $unit {
            type Err = crate::InputError;
            fn from_str(text: &str) -> Result<Self, crate::InputError> {
                crate::unit::parse(text)
            }
        }

        impl std::fmt::Display for $unit {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                crate::unit::display(*self, f)
            }
        }

        $crate::text_form!($unit, crate::unit::expected::<$unit>(), crate::unit::pattern::<$unit>(), |error| {
            crate::unit::invalid(&error)
        });
    };
}
pub(crate) use impl_text_form;

/// A string pattern: digits, then one of the suffixes.
pub(crate) fn pattern<U: Unit>() -> String {
    let suffixes: Vec<_> = U::SUFFIXES.iter().chain(U::ALIASES).map(|&(suffix, _)| suffix).collect();
    format!("^[0-9]+(\\.[0-9]+)? ?({})$", suffixes.join("|"))
}

/// Returns what is expected in place of anything but a string: a bare number lacks its unit.
pub(crate) fn expected<U: Unit>() -> String {
    let &(suffix, _) = U::SUFFIXES.last().expect("every unit has a suffix");
    format!("a {} as a string with its unit, such as \"1{suffix}\"", U::NAME)
}
