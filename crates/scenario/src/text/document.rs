//! The file as text: syntax, overrides, and where a key stands.

use std::{fmt::Display, ops::Range, path::Path, path::PathBuf};

use etherweave_primitives::{InputError, InputErrors, TextPlace};
use toml::{Spanned, Table, Value, de::DeTable, de::DeValue};

use crate::text::error::{Mistake, ScenarioError};

/// Most names of an override's key: each is a table inside the one before.
const KEY_DEPTH_MAX: usize = 64;
/// Most characters of an override's value that a message repeats.
const LITERAL_SHOWN_MAX: usize = 60;

pub(crate) struct Document {
    origin: String,
    text: String,
    /// All values, overrides included.
    pub values: Table,
    /// Values that the author wrote, overrides included: without those of profiles.
    pub stated: Table,
    /// Values of the interconnect's profile that the scenario may take.
    pub profile: Table,
    overridden: Vec<String>,
    /// Keys whose value a file beside the scenario holds.
    pub files: Vec<HeldKey>,
}

/// Whether the values have a key, with dots.
fn has(values: &Table, key: &str) -> bool {
    let (tables, last) = key.rsplit_once('.').unwrap_or(("", key));
    let mut tables = tables.split('.').filter(|part| !part.is_empty());
    let around = tables.try_fold(values, |table, part| table.get(part)?.as_table());
    around.is_some_and(|table| table.contains_key(last))
}

/// A key whose value a file holds.
pub(crate) struct HeldKey {
    /// The key.
    pub key: String,
    /// The key that names the file.
    pub by: String,
    /// Name of the file.
    pub file: String,
}

impl Document {
    /// Parses `text` and sets `overrides`, dotted keys with TOML literals; an empty literal takes the key out.
    ///
    /// # Errors
    /// The place where the text is no TOML; every override that cannot be set.
    pub fn parse(text: &str, origin: &str, overrides: &[(String, String)]) -> Result<Document, ScenarioError> {
        let (origin, text) = (origin.to_owned(), text.to_owned());
        let (values, stated, profile) = (Table::new(), Table::new(), Table::new());
        let (overridden, files) = (Vec::new(), Vec::new());
        let mut document = Document { origin, text, values, stated, profile, overridden, files };
        document.values = document.text.parse().map_err(|error: toml::de::Error| {
            let place = Some(TextPlace::of_byte(&document.text, error.span().map_or(0, |span| span.start)));
            let message = error.message().trim().replace('\n', "; ");
            // The parser takes a word for the beginning of `true` or `false`.
            let (mistake, expected) = match message.starts_with("invalid boolean") {
                true => ("no value of TOML".to_owned(), "a number, true, false, or a text in quotes"),
                false if message.contains("expected") => (message, ""),
                false => (message, "TOML, and each key once"),
            };
            Mistake { origin: document.origin.clone(), place, error: InputError::new("", mistake, expected) }
        })?;
        let mut errors = InputErrors::default();
        for (key, literal) in overrides {
            errors.check(document.set(key, literal));
        }
        let mistake = |error| Mistake { origin: "override".to_owned(), place: None, error };
        errors.into_result().map_err(|errors| ScenarioError { mistakes: errors.into_iter().map(mistake).collect() })?;
        document.stated = document.values.clone();
        Ok(document)
    }

    /// Sets a dotted key to a TOML literal. Elements of lists are named by their number.
    fn set(&mut self, key: &str, literal: &str) -> Result<(), InputError> {
        if key.split('.').nth(KEY_DEPTH_MAX).is_some() {
            let start: String = key.chars().take(LITERAL_SHOWN_MAX).collect();
            let expected = format!("at most {KEY_DEPTH_MAX} names with dots between them");
            return Err(InputError::new(format!("{start}…"), "a key of too many names", expected));
        }
        let mut table = Value::Table(std::mem::take(&mut self.values));
        let result = if literal.is_empty() {
            take_out(&mut table, key)
        } else {
            value_of(key, literal).and_then(|value| put(&mut table, key, value))
        };
        if let Value::Table(values) = table {
            self.values = values;
        }
        self.overridden.push(key.to_owned());
        result
    }

    /// Mistakes, each with the place of its key in the text.
    pub fn locate(&self, errors: impl Into<InputErrors>) -> ScenarioError {
        let errors: InputErrors = errors.into();
        ScenarioError { mistakes: errors.into_iter().map(|error| self.mistake(error)).collect() }
    }

    /// The mistake at a key, where it stands in the text.
    pub fn error(&self, key: impl Into<String>, mistake: impl Display, expected: impl Display) -> ScenarioError {
        self.locate(InputError::new(key, mistake, expected))
    }

    /// A mistake in what the caller asks for, which does not stand in the text.
    pub fn elsewhere(&self, errors: impl Into<InputErrors>) -> ScenarioError {
        let mistake = |error| Mistake { origin: self.origin.clone(), place: None, error };
        ScenarioError { mistakes: errors.into().into_iter().map(mistake).collect() }
    }

    fn mistake(&self, error: InputError) -> Mistake {
        let error = self.of_profile(self.as_written(error));
        if self.is_overridden(&error.key) {
            return Mistake { origin: "override".to_owned(), place: None, error };
        }
        let of_key = || self.position(&error.key).map(|(offset, _)| TextPlace::of_byte(&self.text, offset));
        let own = error.place.filter(|_| error.file.is_empty());
        let place = own.and_then(|place| self.line_within(&error.key, place.line)).or_else(of_key);
        Mistake { origin: self.origin.clone(), place, error }
    }

    /// A path that the file names, seen from where the file is.
    pub fn beside(&self, name: &str) -> PathBuf {
        Path::new(&self.origin).parent().unwrap_or(Path::new("")).join(name)
    }

    /// The mistake at the key that the author wrote; of the text of a file, with the file's name.
    fn as_written(&self, error: InputError) -> InputError {
        let rest = |key: &str| error.key.strip_prefix(key).filter(|rest| rest.is_empty() || rest.starts_with('.'));
        let Some((held, rest)) = self.files.iter().find_map(|held| Some((held, rest(&held.key)?))) else {
            return error;
        };
        InputError { key: format!("{}{rest}", held.by), file: held.file.clone(), ..error }
    }

    /// Says of a mistake at a key that the author did not write that the profile has it.
    fn of_profile(&self, error: InputError) -> InputError {
        if error.key.is_empty() || has(&self.stated, &error.key) || !has(&self.profile, &error.key) {
            return error;
        }
        let InputError { key, expected, .. } = &error;
        let expected = format!("{expected}; the profile sets it, interconnect.without = [\"{key}\"] leaves it out");
        InputError { expected, ..error }
    }

    /// Whether an override has set the key or a table around it, or has made the table of this key.
    fn is_overridden(&self, key: &str) -> bool {
        let begins = |outer: &str, key: &str| {
            key.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let covers = |set: &String| begins(set, key);
        let is_within = |set: &String| !key.is_empty() && begins(key, set);
        self.overridden.iter().any(covers) || (self.overridden.iter().any(is_within) && !self.is_in_text(key))
    }

    /// Whether the text has the key itself.
    fn is_in_text(&self, key: &str) -> bool {
        let Ok(root) = DeTable::parse(&self.text) else { return false };
        let mut place = Place::Table(root.get_ref());
        key.split('.').all(|part| place.step(part).map(|(_, _, next)| place = next).is_some())
    }

    /// Where line `line`, counted from 1, of the text at `key` stands. `None` where the file does not say: a key of
    /// another origin, or a string with escapes, which may hold line ends of its own.
    fn line_within(&self, key: &str, line: usize) -> Option<TextPlace> {
        let (_, value) = self.position(key)?;
        let raw = self.text.get(value.clone())?;
        let quotes = ["\"\"\"", "'''"].into_iter().find(|quotes| raw.starts_with(quotes))?;
        let content = &raw[quotes.len()..];
        if quotes.starts_with('"') && content.contains('\\') {
            return None;
        }
        // A line end right after the quotes does not belong to the text.
        let begins_below = content.starts_with('\n') || content.starts_with("\r\n");
        let first = TextPlace::of_byte(&self.text, value.start).line;
        Some(TextPlace { line: first + line - usize::from(!begins_below), column: Some(1) })
    }

    /// Where a key stands, or the nearest table around it that does; and its value.
    fn position(&self, key: &str) -> Option<(usize, Range<usize>)> {
        let root = DeTable::parse(&self.text).ok()?;
        let mut position = None;
        let mut place = Place::Table(root.get_ref());
        for part in key.split('.').filter(|part| !part.is_empty()) {
            let Some((start, value, next)) = place.step(part) else { break };
            position = Some((start, value));
            place = next;
        }
        position
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

/// Reads the TOML literal of an override.
fn value_of(key: &str, literal: &str) -> Result<Value, InputError> {
    let parsed: Result<Table, _> = format!("value = {literal}").parse();
    // A literal with a line end in it is another document.
    let value = parsed.ok().filter(|table| table.len() == 1).and_then(|mut table| table.remove("value"));
    value.ok_or_else(|| {
        let start: String = literal.chars().take(LITERAL_SHOWN_MAX).collect();
        let rest = if start.len() < literal.len() { "…" } else { "" };
        let mistake = format!("`{start}{rest}` is no TOML value");
        InputError::new(key, mistake, "one such as 5, \"200ns\" or true")
    })
}

/// Takes the value at a dotted key out of the table around it.
fn take_out(root: &mut Value, key: &str) -> Result<(), InputError> {
    let (outer, last) = key.rsplit_once('.').map_or((None, key), |(outer, last)| (Some(outer), last));
    let around = outer.iter().flat_map(|outer| outer.split('.')).try_fold(root, |place, part| match place {
        Value::Array(list) => part.parse::<usize>().ok().and_then(|index| list.get_mut(index)),
        other => other.get_mut(part),
    });
    let missing = |mistake: &str| InputError::new(key, mistake, "a key of a table");
    match around {
        Some(Value::Table(table)) => table.remove(last).map(drop).ok_or_else(|| missing("not in the scenario")),
        Some(Value::Array(_)) => Err(missing("an element of a list")),
        _ => Err(missing("not in the scenario")),
    }
}

/// Puts a value at a dotted key, making tables on the way.
fn put(root: &mut Value, key: &str, value: Value) -> Result<(), InputError> {
    let mut place = root;
    for part in key.split('.') {
        if part.is_empty() {
            return Err(InputError::new(key, "an empty key", "names with dots between them"));
        }
        // A name alone stands for a member with its defaults.
        if matches!(place, Value::String(name) if name == part) {
            *place = Value::Table(Table::new());
        }
        place = match place {
            Value::Table(table) => table.entry(part).or_insert_with(|| Value::Table(Table::new())),
            Value::Array(list) => {
                let count = list.len();
                let slot = part.parse::<usize>().ok().and_then(|index| list.get_mut(index));
                slot.ok_or_else(|| {
                    InputError::new(key, format!("no element `{part}`"), format!("0 to {}", count.saturating_sub(1)))
                })?
            }
            _ => return Err(InputError::new(key, format!("`{part}` lies in a value"), "a table")),
        };
    }
    *place = value;
    Ok(())
}
