//! Lines of a GOAL text as words, without comments.

/// Characters of a line in an error.
const SHOWN_MAX: usize = 60;

/// Words of most lines.
const WORDS: usize = 8;

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
        let (mut words, mut rest) = (Vec::with_capacity(WORDS), line);
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
        let mut comments = rest.match_indices('/').filter_map(|(at, _)| Some((at, *rest.as_bytes().get(at + 1)?)));
        let comment = comments.find(|(_, second)| matches!(second, b'/' | b'*'));
        let code = &rest[..comment.map_or(rest.len(), |(at, _)| at)];
        code.split_whitespace().for_each(|word| pieces(word, words));
        let block = comment.filter(|&(_, second)| second == b'*');
        self.comment = block.map(|_| self.number);
        block.map_or("", |(at, _)| &rest[at + 2..])
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

/// `10b` is a number and a unit, `l1:` a label and a colon, `{` a word of its own.
fn pieces<'a>(mut word: &'a str, words: &mut Vec<&'a str>) {
    while let Some(first) = word.chars().next() {
        let behind = word.bytes().skip(1);
        let end = match first {
            '0'..='9' | '-' => 1 + behind.take_while(u8::is_ascii_digit).count(),
            'a'..='z' | 'A'..='Z' | '_' => 1 + behind.take_while(is_name).count(),
            sign => sign.len_utf8(),
        };
        let (piece, others) = word.split_at(end);
        words.push(piece);
        word = others;
    }
}

fn is_name(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_'
}
