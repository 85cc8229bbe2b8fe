//! Lines of a GOAL text as words, without comments.

/// Characters of a line in an error.
const SHOWN_MAX: usize = 60;

/// Words of most lines: `l1: send 8b to 1 tag 0 cpu 0` has eleven.
const WORDS: usize = 12;

/// A line's number, from 1, its text and its words.
pub(super) struct GoalLine<'a> {
    pub number: usize,
    text: &'a str,
    pub words: Vec<&'a str>,
}

impl GoalLine<'_> {
    /// The line as it stands in the text, without its end if it is long.
    pub fn shown(&self) -> String {
        let text = self.text.trim();
        match text.char_indices().nth(SHOWN_MAX) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text.to_owned(),
        }
    }
}

/// Takes lines apart, one after another. A comment is `//` to the end of its line, or `/*` to `*/`, over several lines
/// if need be.
#[derive(Default)]
pub(super) struct LineReader {
    number: usize,
    /// The line in which the present comment begins.
    comment: Option<usize>,
}

impl LineReader {
    /// How many lines there have been.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The line in which a comment begins that has not ended.
    pub fn open_comment(&self) -> Option<usize> {
        self.comment
    }

    /// The next line, if it has words.
    pub fn line<'a>(&mut self, line: &'a str) -> Option<GoalLine<'a>> {
        self.number += 1;
        // Editors of Windows begin texts in UTF-8 with a byte order mark.
        let line = if self.number == 1 { line.trim_start_matches('\u{feff}') } else { line };
        let (mut words, mut rest) = (Vec::with_capacity(WORDS), line);
        while !rest.is_empty() {
            rest = match self.comment {
                Some(_) => after_comment(rest, &mut self.comment),
                None => self.split(rest, &mut words),
            };
        }
        (!words.is_empty()).then_some(GoalLine { number: self.number, text: line, words })
    }

    /// Takes words up to the next comment; gives what follows its beginning.
    fn split<'a>(&mut self, rest: &'a str, words: &mut Vec<&'a str>) -> &'a str {
        let bytes = rest.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let end = match byte {
                b' ' => {
                    at += 1;
                    continue;
                }
                b'/' if bytes.get(at + 1) == Some(&b'/') => return "",
                b'/' if bytes.get(at + 1) == Some(&b'*') => {
                    self.comment = Some(self.number);
                    return &rest[at + 2..];
                }
                b'0'..=b'9' | b'-' => end_of(bytes, at + 1, u8::is_ascii_digit),
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => end_of(bytes, at + 1, is_name),
                _ => {
                    let sign = rest[at..].chars().next().expect("a character begins behind each word");
                    let end = at + sign.len_utf8();
                    if sign.is_whitespace() {
                        at = end;
                        continue;
                    }
                    end
                }
            };
            words.push(&rest[at..end]);
            at = end;
        }
        ""
    }
}

fn after_comment<'a>(rest: &'a str, comment: &mut Option<usize>) -> &'a str {
    match rest.split_once("*/") {
        Some((_, after)) => {
            *comment = None;
            after
        }
        None => "",
    }
}

/// End of a word whose bytes from `start` on are of a kind: `10b` is a number and a unit, `l1:` a label and a colon.
/// Any other sign is a word of its own.
fn end_of(bytes: &[u8], start: usize, is_inside: impl Fn(&u8) -> bool) -> usize {
    bytes[start..].iter().position(|byte| !is_inside(byte)).map_or(bytes.len(), |length| start + length)
}

fn is_name(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_'
}
