//! A user's mistake as a value: the key, what stands there, and what would be right.
//!
//! Every crate returns it for a parameter that cannot be, with the key as that crate knows it; the crate around it
//! prefixes the key by [`within`](InputError::within). The reader of the file adds file, line and column. Nobody reads
//! a key or a range out of the text of a message.
//!
//! ```
//! use etherweave_primitives::{InputError, InputErrors};
//! let error = InputError::new("latency", "0ns", "at least 1ns").within("switch");
//! assert_eq!(error.to_string(), "switch.latency: 0ns; expected at least 1ns");
//!
//! // Mistakes that do not depend on each other are collected and returned together.
//! let mut errors = InputErrors::default();
//! errors.check(InputError::unless(2 < 1, "radix", 2, "less than 1"));
//! errors.check(InputError::unless(0 < 1, "hosts", 0, "less than 1"));
//! assert_eq!(errors.into_result().unwrap_err().to_string(), "radix: 2; expected less than 1");
//! ```

use std::fmt;

/// Mistake in an input: what is wrong, where, and what was expected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InputError {
    /// Path of the key or parameter, names and list indices with dots between them; empty where no key is at fault.
    pub key: String,
    /// The value that stands there, or what is wrong with it.
    pub found: String,
    /// Value that would be right, in words that follow "expected"; empty where `found` says it.
    pub expected: String,
    /// The file that has the text of the value; empty where the text stands at the key.
    pub file: String,
    /// Where, if the value is a text of several lines.
    pub place: Option<TextPlace>,
}

/// A place in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextPlace {
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1; absent where only the line is known.
    pub column: Option<usize>,
}

impl InputError {
    /// The mistake at `key`.
    pub fn new(key: impl Into<String>, mistake: impl fmt::Display, expected: impl fmt::Display) -> InputError {
        let (found, expected) = (mistake.to_string(), expected.to_string());
        InputError { key: key.into(), found, expected, file: String::new(), place: None }
    }

    /// An error about `key` unless `is_right`.
    ///
    /// # Errors
    /// When it is not.
    pub fn unless(
        is_right: bool,
        key: impl Into<String>,
        mistake: impl fmt::Display,
        expected: impl fmt::Display,
    ) -> Result<(), InputError> {
        if is_right { Ok(()) } else { Err(InputError::new(key, mistake, expected)) }
    }

    /// Returns what is wrong and what was expected, without the key: for a text that names the place itself.
    pub fn reason(&self) -> String {
        InputError { key: String::new(), ..self.clone() }.to_string()
    }

    /// The same mistake in a line of the text at its key.
    pub fn at_line(self, line: usize) -> InputError {
        InputError { place: Some(TextPlace { line, column: None }), ..self }
    }

    /// The same mistake, seen from outside the table `prefix`.
    pub fn within(self, prefix: &str) -> InputError {
        let key = match (prefix, self.key.as_str()) {
            ("", _) => self.key,
            (_, "") => prefix.to_owned(),
            (_, key) => format!("{prefix}.{key}"),
        };
        InputError { key, ..self }
    }
}

impl TextPlace {
    /// The place of a byte of a text; of the end, when the text is shorter.
    pub fn of_byte(text: &str, byte: usize) -> TextPlace {
        let mut byte = byte.min(text.len());
        while !text.is_char_boundary(byte) {
            byte -= 1;
        }
        let before = &text[..byte];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before[line_start..].chars().count() + 1;
        TextPlace { line: before.matches('\n').count() + 1, column: Some(column) }
    }
}

impl fmt::Display for TextPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        self.column.map_or(Ok(()), |column| write!(f, ", column {column}"))
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        match (self.file.as_str(), self.place) {
            ("", None) => {}
            ("", Some(place)) => write!(f, "{place}: ")?,
            (file, None) => write!(f, "\"{file}\": ")?,
            (file, Some(place)) => write!(f, "\"{file}\", {place}: ")?,
        }
        f.write_str(&self.found)?;
        if self.expected.is_empty() { Ok(()) } else { write!(f, "; expected {}", self.expected) }
    }
}

impl std::error::Error for InputError {}

/// Mistakes that do not depend on each other.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InputErrors(Vec<InputError>);

impl InputErrors {
    /// Whether independent checks all hold.
    ///
    /// # Errors
    /// The mistakes of those that do not.
    pub fn all(checks: impl IntoIterator<Item = Result<(), InputError>>) -> Result<(), InputErrors> {
        checks.into_iter().filter_map(Result::err).collect::<InputErrors>().into_result()
    }

    /// Adds one.
    pub fn push(&mut self, error: InputError) {
        self.0.push(error);
    }

    /// Adds the mistakes of a part that failed; the value of one that did not.
    pub fn check<T>(&mut self, part: Result<T, impl Into<InputErrors>>) -> Option<T> {
        part.map_err(|errors| self.0.extend(errors.into().0)).ok()
    }

    /// Reads every element of the list at a key; adds the mistakes of those that fail, each at its number.
    pub fn each<S, T, E: Into<InputErrors>>(
        &mut self,
        key: &str,
        list: impl IntoIterator<Item = S>,
        mut read: impl FnMut(S) -> Result<T, E>,
    ) -> Vec<T> {
        let numbered = list.into_iter().enumerate();
        let read = |(number, element)| {
            let read = read(element).map_err(|errors| errors.into().within(&format!("{key}.{number}")));
            self.check(read)
        };
        numbered.filter_map(read).collect()
    }

    /// The same mistakes, seen from outside the table `prefix`.
    pub fn within(self, prefix: &str) -> InputErrors {
        InputErrors(self.0.into_iter().map(|error| error.within(prefix)).collect())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the mistakes in the order of their discovery.
    pub fn iter(&self) -> std::slice::Iter<'_, InputError> {
        self.0.iter()
    }

    /// Nothing, if there is no mistake.
    ///
    /// # Errors
    /// The mistakes.
    pub fn into_result(self) -> Result<(), InputErrors> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl From<InputError> for InputErrors {
    fn from(error: InputError) -> InputErrors {
        InputErrors(vec![error])
    }
}

impl FromIterator<InputError> for InputErrors {
    fn from_iter<I: IntoIterator<Item = InputError>>(errors: I) -> InputErrors {
        InputErrors(errors.into_iter().collect())
    }
}

impl IntoIterator for InputErrors {
    type Item = InputError;
    type IntoIter = std::vec::IntoIter<InputError>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a InputErrors {
    type Item = &'a InputError;
    type IntoIter = std::slice::Iter<'a, InputError>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// One line for each.
impl fmt::Display for InputErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(InputError::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for InputErrors {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_key_place_found_and_expected_as_far_as_they_are_known() {
        let error = InputError::new("links", "3 fields", "four: from,to,rate,length");
        assert_eq!(error.to_string(), "links: 3 fields; expected four: from,to,rate,length");
        assert_eq!(error.clone().at_line(3).to_string(), "links: line 3: 3 fields; expected four: from,to,rate,length");
        assert_eq!(InputError::new("", "no job", "").to_string(), "no job");
        let place = Some(TextPlace { line: 2, column: Some(7) });
        let placed = InputError { place, ..error };
        assert!(placed.to_string().starts_with("links: line 2, column 7: 3 fields"));
        let of_file = InputError { file: "l.csv".to_owned(), ..placed };
        assert!(of_file.to_string().starts_with("links: \"l.csv\", line 2, column 7: 3 fields"));
    }

    #[test]
    fn tables_around_a_key_come_before_it() {
        let error = InputError::new("offset", 0, "at least 1").within("adversarial").within("patterns.2");
        assert_eq!(error.key, "patterns.2.adversarial.offset");
        assert_eq!(InputError::new("", "empty", "a table").within("switch").within("").key, "switch");
    }

    #[test]
    fn all_mistakes_of_independent_parts_are_returned() {
        let mut errors = InputErrors::default();
        let at_least_one = |key: &str, value: u32| InputError::unless(value > 0, key, value, "at least 1");
        assert_eq!(errors.check(at_least_one("p", 1)), Some(()));
        assert_eq!(errors.check(at_least_one("a", 0)), None);
        errors.check(at_least_one("h", 0));
        let errors = errors.within("topology.dragonfly").into_result().unwrap_err();
        let lines = "topology.dragonfly.a: 0; expected at least 1\ntopology.dragonfly.h: 0; expected at least 1";
        assert_eq!(errors.to_string(), lines);
        assert_eq!(InputErrors::default().into_result(), Ok(()));
    }

    #[test]
    fn a_byte_of_a_text_has_a_line_and_a_column_of_characters() {
        let place = |byte| TextPlace::of_byte("é\nab", byte).to_string();
        assert_eq!(place(0), "line 1, column 1");
        assert_eq!(place(1), "line 1, column 1");
        assert_eq!(place(2), "line 1, column 2");
        assert_eq!(place(4), "line 2, column 2");
        assert_eq!(place(99), "line 2, column 3");
    }
}
