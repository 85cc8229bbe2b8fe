//! Names in the quotes of each format.

use etherweave_primitives::InputError;
use std::fmt::{self, Display, Formatter, Write};

use crate::Topology;

/// A field of CSV, quoted where RFC 4180 section 2.6 asks for it. A text that spreadsheets would execute as a formula
/// (OWASP, CSV Injection) has an apostrophe before it, by which they show it as it is.
pub(super) struct Csv<'a>(pub &'a str);

impl Display for Csv<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.starts_with(['=', '+', '-', '@', '\t', '\r']) {
            return Csv(&format!("'{}", self.0)).fmt(f);
        }
        // Some readers trim what is not quoted.
        let is_trimmed = self.0.trim() == self.0;
        if is_trimmed && !self.0.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
            return f.write_str(self.0);
        }
        write!(f, "\"{}\"", self.0.replace('"', "\"\""))
    }
}

/// A quoted identifier of DOT: only the quote is escaped; a backslash would begin an escape of labels.
pub(super) struct Dot<'a>(pub &'a str);

impl Display for Dot<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for character in self.0.chars() {
            match character {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                other => f.write_char(other)?,
            }
        }
        f.write_char('"')
    }
}

/// A value of an XML attribute in double quotes; white space that a parser would turn into blanks is escaped.
pub(super) struct Xml<'a>(pub &'a str);

impl Display for Xml<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.0.bytes().any(|byte| matches!(byte, b'&' | b'<' | b'>' | b'"' | b'\n' | b'\r' | b'\t')) {
            return f.write_str(self.0);
        }
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\n' | '\r' | '\t' => write!(f, "&#{};", u32::from(character))?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// Whether XML 1.0 (production 2) cannot express a character.
pub(super) fn is_no_xml(character: char) -> bool {
    (character < ' ' && !['\n', '\r', '\t'].contains(&character)) || ['\u{fffe}', '\u{ffff}'].contains(&character)
}

/// The names of all nodes, hosts first.
pub(super) fn names(topology: &Topology) -> impl Iterator<Item = &String> {
    topology.host_names.iter().chain(topology.switch_names.iter())
}

/// Refuses the first name that the format cannot express.
pub(super) fn check_names<'a>(
    mut names: impl Iterator<Item = &'a String>,
    format: &'static str,
    expected: &str,
    is_wrong: impl Fn(&str) -> bool,
) -> Result<(), InputError> {
    names.find(|name| is_wrong(name)).map_or(Ok(()), |name| {
        Err(InputError::new("", format_args!("{format} cannot express the name {name:?}"), expected))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_quotes_what_would_split_or_vanish() {
        let written = ["plain", "a,b", "say \"a\"", "two\nlines", " led"].map(|text| Csv(text).to_string());
        assert_eq!(written, ["plain", "\"a,b\"", "\"say \"\"a\"\"\"", "\"two\nlines\"", "\" led\""]);
    }

    #[test]
    fn csv_shows_formulas_as_texts() {
        let written = ["=1+1", "+1", "-1", "@A1", "\t=1", "\r=1", "=A1,B1"].map(|text| Csv(text).to_string());
        assert_eq!(written, ["'=1+1", "'+1", "'-1", "'@A1", "'\t=1", "\"'\r=1\"", "\"'=A1,B1\""]);
    }

    #[test]
    fn dot_and_xml_escape_their_own_signs() {
        assert_eq!(Dot("a\"b\\n\nc").to_string(), "\"a\\\"b\\\\n\\nc\"");
        assert_eq!(Xml("<a & \"b\">\n").to_string(), "&lt;a &amp; &quot;b&quot;&gt;&#10;");
    }
}
