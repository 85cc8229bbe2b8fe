//! Lines of a GOAL text as words, without comments.

/// A line's number, from 1, and its words.
pub(super) struct GoalLine<'a> {
    pub number: usize,
    pub words: Vec<&'a str>,
}

/// Takes lines apart, one after another. A comment is `//` to the end of its line, or `/*` to `*/`, over several lines
/// if need be.
#[derive(Default)]
pub(super) struct LineReader {
    number: usize,
    in_comment: bool,
}

impl LineReader {
    /// How many lines there have been.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The next line, if it has words.
    pub fn line<'a>(&mut self, line: &'a str) -> Option<GoalLine<'a>> {
        self.number += 1;
        // Editors of Windows begin texts in UTF-8 with a byte order mark.
        let line = if self.number == 1 { line.trim_start_matches('\u{feff}') } else { line };
        let (mut words, mut rest) = (Vec::new(), line);
        while !rest.is_empty() {
            rest = if self.in_comment {
                after_comment(rest, &mut self.in_comment)
            } else {
                split(rest, &mut words, &mut self.in_comment)
            };
        }
        (!words.is_empty()).then_some(GoalLine { number: self.number, words })
    }
}

/// What follows the end of a comment.
fn after_comment<'a>(rest: &'a str, in_comment: &mut bool) -> &'a str {
    match rest.split_once("*/") {
        Some((_, after)) => {
            *in_comment = false;
            after
        }
        None => "",
    }
}

/// Takes words up to the next comment; gives what follows its beginning.
fn split<'a>(rest: &'a str, words: &mut Vec<&'a str>, in_comment: &mut bool) -> &'a str {
    let line = rest.find("//").unwrap_or(rest.len());
    let block = rest.find("/*").unwrap_or(rest.len());
    let code = &rest[..line.min(block)];
    code.split_whitespace().for_each(|word| pieces(word, words));
    *in_comment = block < line;
    if *in_comment { &rest[block + 2..] } else { "" }
}

/// `10b` is a number and a unit, `l1:` a label and a colon, `{` a word of its own.
fn pieces<'a>(mut word: &'a str, words: &mut Vec<&'a str>) {
    while let Some(first) = word.chars().next() {
        let end = match first {
            '0'..='9' => word.find(|sign: char| !sign.is_ascii_digit()),
            '-' => word[1..].find(|sign: char| !sign.is_ascii_digit()).map(|at| at + 1),
            sign if is_name(sign) => word.find(|sign: char| !is_name(sign)),
            sign => Some(sign.len_utf8()),
        };
        let end = end.unwrap_or(word.len());
        words.push(&word[..end]);
        word = &word[end..];
    }
}

fn is_name(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || sign == '_'
}
