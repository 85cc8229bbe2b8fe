//! What serde and TOML say of a mistake, in the words of a scenario.

use toml::Value;

use crate::Scenario;
use crate::document::put;

/// Rust's words for what a value should be, and what a scenario's author would call it.
const WORDS: &[(&str, &str)] = &[
    ("expected u8", "expected a whole number, 0 to 255"),
    ("expected u16", "expected a whole number, 0 to 65535"),
    ("expected u32", "expected a whole number, 0 to 4294967295"),
    ("expected u64", "expected a whole number, 0 to 9223372036854775807"),
    ("expected f64", "expected a number"),
    ("expected a sequence", "expected a list"),
    ("there are no fields", "expected none"),
    ("expected fewer elements in array", "expected fewer"),
    ("expected an array of length 8", "expected a list of 8"),
    ("invalid type: map", "invalid type: table"),
];

/// A message about syntax, which always says what is expected.
pub(crate) fn syntax(message: &str) -> String {
    let message = message.replace('\n', "; ");
    if message.contains("expected") { message } else { format!("{message}; expected TOML, and each key once") }
}

/// A message about the value at `key`.
pub(crate) fn value(message: &str, key: &str, values: &toml::Table) -> String {
    let message = message.replace('\n', "; ");
    if let Some(found) = choice(&message) {
        return format!("{found}; expected {}", members(key, values));
    }
    if message.contains("unit variant, expected") {
        return format!("a name alone; expected a table, such as `{key} = {{}}`");
    }
    if let Some(field) = message.strip_prefix("missing field ") {
        return format!("no {field}; expected one, for it has no default");
    }
    let (said, of_struct) = message.split_once("expected struct ").unwrap_or((&message, ""));
    if !of_struct.is_empty() {
        return format!("{said}expected a table");
    }
    WORDS.iter().find(|(rust, _)| message.ends_with(rust)).map_or_else(
        || message.replace("invalid type: map", "invalid type: table"),
        |(rust, plain)| message.replace(rust, plain).replace("invalid type: map", "invalid type: table"),
    )
}

/// What stands where one member of a family should.
fn choice(message: &str) -> Option<&'static str> {
    match message {
        "wanted exactly 1 element, found 0 elements" => Some("an empty table"),
        "wanted exactly 1 element, more than 1 element" => Some("several members at once"),
        "invalid type: unit variant, expected string only" => Some("no member"),
        _ => None,
    }
}

/// The members of the family at `key`: serde lists them when it is given one that does not exist.
fn members(key: &str, values: &toml::Table) -> String {
    let mut probe = Value::Table(values.clone());
    let unknown = Value::Table(toml::Table::from_iter([("?".to_owned(), Value::Table(toml::Table::new()))]));
    if put(&mut probe, key, unknown).is_err() {
        return "one of its family".to_owned();
    }
    let said = probe.try_into::<Scenario>().map_or_else(|error| error.message().to_owned(), |_| String::new());
    said.split_once("expected ").map_or_else(|| "one of its family".to_owned(), |(_, members)| members.to_owned())
}
