//! The file as text: syntax, overrides, and where a key stands.

use std::path::{Path, PathBuf};

use etherweave_topology::{TopologyError, TopologyKind};
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use crate::ScenarioError;

/// A scenario's text and its values.
pub(crate) struct Document<'a> {
    origin: &'a str,
    text: &'a str,
    /// All values, overrides included.
    pub values: Table,
}

impl<'a> Document<'a> {
    /// Parses `text`.
    pub fn parse(text: &'a str, origin: &'a str) -> Result<Document<'a>, ScenarioError> {
        let document = Document { origin, text, values: Table::new() };
        match text.parse::<Table>() {
            Ok(values) => Ok(Document { values, ..document }),
            Err(error) => {
                let start = error.span().map_or(0, |span| span.start);
                let place = Some(document.line_and_column(start));
                Err(ScenarioError { place, ..document.error("", error.message().replace('\n', "; ")) })
            }
        }
    }

    /// Sets a dotted key to a TOML literal. Elements of lists are named by their number.
    pub fn set(&mut self, key: &str, literal: &str) -> Result<(), ScenarioError> {
        let parsed: Result<Table, _> = format!("value = {literal}").parse();
        let error = |message: String| ScenarioError {
            origin: "override".to_owned(),
            place: None,
            key: key.to_owned(),
            message,
        };
        let Some(value) = parsed.ok().and_then(|mut table| table.remove("value")) else {
            return Err(error(format!("`{literal}` is no TOML value; expected one such as 5, \"200ns\" or true")));
        };
        let mut table = Value::Table(std::mem::take(&mut self.values));
        let found = put(&mut table, key, value);
        if let Value::Table(values) = table {
            self.values = values;
        }
        found.map_err(error)
    }

    /// The error about a key, where it stands in the text.
    pub fn error(&self, key: &str, message: impl Into<String>) -> ScenarioError {
        let place = self.locate(key).map(|offset| self.line_and_column(offset));
        ScenarioError { origin: self.origin.to_owned(), place, key: key.to_owned(), message: message.into() }
    }

    /// A path that the file names, seen from where the file is.
    pub fn beside(&self, name: &str) -> PathBuf {
        Path::new(self.origin).parent().unwrap_or(Path::new("")).join(name)
    }

    /// The error of a topology's parameter.
    pub fn topology_error(&self, kind: &TopologyKind, error: &TopologyError) -> ScenarioError {
        let parameter = error.key().map(|key| format!(".{key}")).unwrap_or_default();
        self.error(&format!("topology.{}{parameter}", kind.name()), error.beside_key())
    }

    /// Where a key stands, or the nearest table around it that does.
    fn locate(&self, key: &str) -> Option<usize> {
        let root = DeTable::parse(self.text).ok()?;
        let mut offset = None;
        let mut place = Place::Table(root.get_ref());
        for part in key.split('.').filter(|part| !part.is_empty()) {
            let Some((start, next)) = place.step(part) else { break };
            offset = Some(start);
            place = next;
        }
        offset
    }

    fn line_and_column(&self, offset: usize) -> (usize, usize) {
        let before = &self.text[..offset.min(self.text.len())];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

/// A table, a list or neither, on the way to a key.
enum Place<'t, 'i> {
    Table(&'t DeTable<'i>),
    List(&'t [Spanned<DeValue<'i>>]),
    Leaf,
}

impl<'t, 'i> Place<'t, 'i> {
    /// Where `part` begins, and what it holds.
    fn step(&self, part: &str) -> Option<(usize, Place<'t, 'i>)> {
        let (start, value) = match self {
            Place::Table(table) => {
                let (key, value) = table.iter().find(|(key, _)| key.get_ref().as_ref() == part)?;
                (key.span().start, value)
            }
            Place::List(list) => {
                let value = list.get(part.parse::<usize>().ok()?)?;
                (value.span().start, value)
            }
            Place::Leaf => return None,
        };
        let next = match value.get_ref() {
            DeValue::Table(table) => Place::Table(table),
            DeValue::Array(list) => Place::List(list),
            _ => Place::Leaf,
        };
        Some((start, next))
    }
}

/// Puts a value at a dotted key, making tables on the way.
fn put(root: &mut Value, key: &str, value: Value) -> Result<(), String> {
    let mut place = root;
    for part in key.split('.') {
        if part.is_empty() {
            return Err("an empty key; expected names with dots between them".to_owned());
        }
        place = match place {
            Value::Table(table) => table.entry(part).or_insert_with(|| Value::Table(Table::new())),
            Value::Array(list) => {
                let count = list.len();
                let slot = part.parse::<usize>().ok().and_then(|index| list.get_mut(index));
                slot.ok_or_else(|| format!("no element `{part}`; expected 0 to {}", count.saturating_sub(1)))?
            }
            _ => return Err(format!("`{part}` lies in a value; expected a table")),
        };
    }
    *place = value;
    Ok(())
}
