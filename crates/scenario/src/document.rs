//! The file as text: syntax, overrides, and where a key stands.

use std::ops::Range;
use std::path::{Path, PathBuf};

use etherweave_topology::{TextPlace, TopologyError, TopologyKind};
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use crate::{ScenarioError, plain};

/// A scenario's text and its values.
pub(crate) struct Document<'a> {
    origin: &'a str,
    text: &'a str,
    /// All values, overrides included.
    pub values: Table,
    /// Keys that an override has set.
    overridden: Vec<String>,
    /// Keys whose value a file beside the scenario holds, each with the key that names the file.
    pub files: Vec<(String, String)>,
}

impl<'a> Document<'a> {
    /// Parses `text`.
    pub fn parse(text: &'a str, origin: &'a str) -> Result<Document<'a>, ScenarioError> {
        let document = Document { origin, text, values: Table::new(), overridden: Vec::new(), files: Vec::new() };
        match text.parse::<Table>() {
            Ok(values) => Ok(Document { values, ..document }),
            Err(error) => {
                let start = error.span().map_or(0, |span| span.start);
                let place = Some(document.line_and_column(start));
                Err(ScenarioError { place, ..document.error("", plain::syntax(error.message())) })
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
        self.overridden.push(key.to_owned());
        found.map_err(error)
    }

    /// The error about a key, where it stands in the text.
    pub fn error(&self, key: &str, message: impl Into<String>) -> ScenarioError {
        let (key, message) = (self.written(key).to_owned(), message.into());
        if self.is_overridden(&key) {
            return ScenarioError { origin: "override".to_owned(), place: None, key, message };
        }
        let place = self.locate(&key).map(|(offset, _)| self.line_and_column(offset));
        ScenarioError { origin: self.origin.to_owned(), place, key, message }
    }

    /// A path that the file names, seen from where the file is.
    pub fn beside(&self, name: &str) -> PathBuf {
        Path::new(self.origin).parent().unwrap_or(Path::new("")).join(name)
    }

    /// The error of a topology's parameter.
    pub fn topology_error(&self, kind: &TopologyKind, error: &TopologyError) -> ScenarioError {
        let parameter = error.key().map(|key| format!(".{key}")).unwrap_or_default();
        let key = format!("topology.{}{parameter}", kind.name());
        let told = self.error(&key, error.beside_key());
        match error {
            TopologyError::Text { place: TextPlace::Line(line), .. } => {
                ScenarioError { place: self.line_within(&key, *line).or(told.place), ..told }
            }
            _ => told,
        }
    }

    /// The key as the author wrote it.
    fn written<'k>(&'k self, key: &'k str) -> &'k str {
        self.files.iter().find(|(held, _)| held == key).map_or(key, |(_, named)| named)
    }

    /// Whether an override has set the key or a table around it.
    fn is_overridden(&self, key: &str) -> bool {
        let covers =
            |set: &String| key.strip_prefix(set.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        self.overridden.iter().any(covers)
    }

    /// Where line `line`, counted from 1, of the text at `key` stands. `None` where that cannot be told from the
    /// file: a key of another origin, or a string with escapes, which may hold line ends of its own.
    pub fn line_within(&self, key: &str, line: usize) -> Option<(usize, usize)> {
        let key = self.written(key);
        let (_, value) = self.locate(key).filter(|_| !self.is_overridden(key))?;
        let raw = self.text.get(value.clone())?;
        let quotes = ["\"\"\"", "'''"].into_iter().find(|quotes| raw.starts_with(quotes))?;
        let content = &raw[quotes.len()..];
        if quotes.starts_with('"') && content.contains('\\') {
            return None;
        }
        // A line end right after the quotes does not belong to the text.
        let begins_below = content.starts_with('\n') || content.starts_with("\r\n");
        let (first, _) = self.line_and_column(value.start);
        Some((first + line - usize::from(!begins_below), 1))
    }

    /// Where a key stands, or the nearest table around it that does; and its value.
    fn locate(&self, key: &str) -> Option<(usize, Range<usize>)> {
        let root = DeTable::parse(self.text).ok()?;
        let mut found = None;
        let mut place = Place::Table(root.get_ref());
        for part in key.split('.').filter(|part| !part.is_empty()) {
            let Some((start, value, next)) = place.step(part) else { break };
            found = Some((start, value));
            place = next;
        }
        found
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
    /// Where `part` begins, where its value stands, and what it holds.
    fn step(&self, part: &str) -> Option<(usize, Range<usize>, Place<'t, 'i>)> {
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
        Some((start, value.span(), next))
    }
}

/// Puts a value at a dotted key, making tables on the way.
pub(crate) fn put(root: &mut Value, key: &str, value: Value) -> Result<(), String> {
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
