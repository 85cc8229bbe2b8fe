//! Lines of a GOAL text as words, without comments.

/// Characters of a line in an error.
const SHOWN_MAX: usize = 60;

/// A line's number, from 1, its text and its words.
pub(super) struct GoalLine<'a> {
    pub number: usize,
    text: &'a str,
    pub words: Vec<&'a str>,
}

impl GoalLine<'_> {
    /// The line as it stands in the text, without its end if it is long.
    pub fn shown(&self) -> String {
        match self.text.char_indices().nth(SHOWN_MAX) {
            Some((end, _)) => format!("{}…", &self.text[..end]),
            None => self.text.to_owned(),
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
        let (mut words, mut rest) = (Vec::new(), line);
        while !rest.is_empty() {
            rest = match self.comment {
                Some(_) => after_comment(rest, &mut self.comment),
                None => self.split(rest, &mut words),
            };
        }
        (!words.is_empty()).then_some(GoalLine { number: self.number, text: line.trim(), words })
    }

    /// Takes words up to the next comment; gives what follows its beginning.
    fn split<'a>(&mut self, rest: &'a str, words: &mut Vec<&'a str>) -> &'a str {
        let line = rest.find("//").unwrap_or(rest.len());
        let block = rest.find("/*").unwrap_or(rest.len());
        let code = &rest[..line.min(block)];
        code.split_whitespace().for_each(|word| pieces(word, words));
        self.comment = (block < line).then_some(self.number);
        if self.comment.is_some() { &rest[block + 2..] } else { "" }
    }
}

/// What follows the end of a comment.
fn after_comment<'a>(rest: &'a str, comment: &mut Option<usize>) -> &'a str {
    match rest.split_once("*/") {
        Some((_, after)) => {
            *comment = None;
            after
        }
        None => "",
    }
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
